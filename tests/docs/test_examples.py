"""The scripts of docs/examples run, at a smaller size."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_modes_of_a_laplacian():
    """With rows over two devices; the eigenvalues of the grid are known."""
    pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    flags = "--xla_force_host_platform_device_count=2"
    ended = subprocess.run(
        [sys.executable, ROOT / "docs/examples/laplacian_modes.py", "--grid=12,9,9", "--levels=1"],
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("CONVERGED") == 2
    assert "each device holds 486 of 972 rows" in ended.stdout
    error = re.search(r"largest relative error of an eigenvalue: (\S+)", ended.stdout)
    assert error is not None and abs(float(error[1])) < 1e-4
