"""What `import genorth` costs.

No optional package, and under 0.3 s on top of NumPy and scipy.linalg.
"""

import math
import subprocess
import sys

import pytest

from genorth.optional import optional

OPTIONAL = (
    "pymanopt",
    "matplotlib",
    "rich",
    "jax",
    "torch",
    "optax",
    "hypothesis",
    "pytest",
    "array_api_strict",
    "cdopt",
)
SECONDS = 0.3
RUNS = 3

_CLOCK = """
import time
import numpy, scipy.linalg
start = time.process_time()
import genorth
print(time.process_time() - start)
"""


def _run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_import_brings_in_no_optional_package():
    found = _run(f"import sys, genorth; print(*sorted(set({OPTIONAL!r}) & set(sys.modules)))")
    assert found == ""


def test_import_takes_under_a_third_of_a_second():
    """In processor time, and the best of a few runs.

    An import does not wait, except for other work on the machine.
    """
    assert min(float(_run(_CLOCK)) for _ in range(RUNS)) < SECONDS


def test_a_missing_package_is_named_with_its_extra():
    assert optional("math", "report", "This test").pi == math.pi
    with pytest.raises(ImportError, match=r"^This test needs not_there: pip install 'genorth\[rep"):
        optional("not_there.inside", "report", "This test")
