"""What `import genorth` costs.

No optional package, and little more time than NumPy and scipy.linalg, which it needs, take.
"""

import math

import pytest

from genorth.optional import optional
from support.processes import printed

_NAMED = "pymanopt matplotlib rich jax torch optax hypothesis pytest array_api_strict cdopt"
OPTIONAL = _NAMED.split()
RUNS = 3

_CLOCK = """
import time
start = time.process_time()
import numpy, scipy.linalg
middle = time.process_time()
import genorth
print((time.process_time() - middle) / (middle - start))
"""


def test_import_brings_in_no_optional_package():
    found = printed(f"import sys, genorth; print(*sorted(set({OPTIONAL!r}) & set(sys.modules)))")
    assert found == "\n"


def test_import_takes_little_more_time_than_what_it_needs():
    """In processor time, and the best of a few runs: 0.2 to 0.4 s, by the machine."""
    assert min(float(printed(_CLOCK)) for _ in range(RUNS)) < 1.5


def test_a_missing_package_is_named_with_its_extra():
    assert optional("math", "report", "This test").pi == math.pi
    with pytest.raises(ImportError, match=r"^This test needs not_there: pip install 'genorth\[rep"):
        optional("not_there.inside", "report", "This test")
