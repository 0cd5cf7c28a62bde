"""Rows sharded over devices and processes: NumPy's iterates, and no array of n rows anywhere."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("sharded_run.py")
ROOT = Path(__file__).parents[2]


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return int(s.getsockname()[1])


def run(processes: int, devices: int, out: Path) -> dict[str, Any]:
    """The report of a run in that many processes, each with that many devices."""
    pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    environment["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "0"  # programs are read
    port = _free_port()
    started = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(rank), str(processes), str(port), str(out)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        said = [process.communicate(timeout=300)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started), "\n".join(said)
    report: dict[str, Any] = json.loads(out.read_text())
    return report


@pytest.mark.slow
def test_two_processes_with_two_devices_each_give_the_iterates_of_numpy(tmp_path):
    """Over 20 iterations of rgd and rlbfgs, and for random points, restore and retractions."""
    found = run(2, 2, tmp_path / "report.json")["differences"]
    assert {"rgd", "rlbfgs"} <= found["generalized"].keys()
    assert all(value <= 1e-10 for by in found.values() for value in by.values()), found


@pytest.mark.slow
def test_four_devices_give_the_iterates_of_numpy_and_exchange_small_matrices(tmp_path):
    """In the compiled gradient and step: at most 3 all-reduces, no other exchange, no n rows.

    A form that is a function with a sum over rows of its own adds two of them.
    """
    report = run(1, 4, tmp_path / "report.json")
    found = report["differences"]
    assert {"rtr", "odf-lbfgs", "landing"} <= found["generalized"].keys()
    assert all(value <= 1e-10 for by in found.values() for value in by.values()), found
    columns, explicit = report["refused"]
    assert columns.startswith("x0: need rows sharded over devices") and "Shard the rows" in columns
    assert "Explicit" in explicit and "jax.sharding.Mesh" in explicit
    for name, program in report["programs"].items():
        own = 2 if name == "function" else 0
        assert 1 <= program["all-reduce"] <= 3 + own, (name, program)
        assert 1 <= program["newton"] <= 1 + own // 2, (name, program)
        assert program["others"] == [], (name, program)
        assert max(program["rows"]) == 160 // 4, (name, program)
