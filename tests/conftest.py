"""How the tests run: Hypothesis profiles, one BLAS thread, and a header.

The header names what was measured with.
"""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
import scipy
import scipy.linalg  # loads SciPy's own BLAS, so that the limit below reaches it
from hypothesis import HealthCheck, Phase, settings

try:
    import threadpoolctl
except ImportError:  # an extra; without it BLAS keeps its own number of threads
    threadpoolctl = None

# JAX compiles in a hurry: most programs of the tests run a few times only.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
_EXAMPLES = 20
_COMMON = {
    "deadline": None,  # the first call of a path pays for imports and caches
    "print_blob": True,  # a failure prints how to run it again
    "suppress_health_check": [HealthCheck.too_slow],  # speaks of the machine, which may be shared
}
# The default draws the same examples each time (their seed is a hash of the test), so that a change
# is judged by what it changed; the other two draw new ones, and a failure of theirs prints how to
# run it again.
settings.register_profile("quick", max_examples=_EXAMPLES, derandomize=True, **_COMMON)
settings.register_profile("fresh", max_examples=_EXAMPLES, derandomize=False, **_COMMON)
settings.register_profile("thorough", max_examples=10 * _EXAMPLES, derandomize=False, **_COMMON)
settings.register_profile(
    "mutation", settings.get_profile("quick"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "quick")
)  # --hypothesis-profile comes later and wins


def pytest_configure(config: pytest.Config) -> None:
    if threadpoolctl is not None:
        # Two xdist workers with two BLAS threads each would fight for two cores.
        config.stash[_LIMITS] = threadpoolctl.threadpool_limits(limits=1)


_LIMITS = pytest.StashKey[object]()


def _installed(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def _blas() -> str:
    if threadpoolctl is None:
        return "unknown (no threadpoolctl)"
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(
        f"{pool['internal_api']} {pool['version']} x {pool['num_threads']} threads"
        for pool in pools
    )


def pytest_report_header() -> list[str]:
    profile = settings()
    return [
        f"arrays: numpy {np.__version__}, scipy {scipy.__version__}, "
        + ", ".join(map(_installed, ("array-api-strict", "jax", "torch"))),
        f"blas: {_blas()}; {os.cpu_count()} cores, {platform.machine()}",
        f"hypothesis: {profile.max_examples} examples per property, "
        + ("the same in every run" if profile.derandomize else "new ones in every run"),
    ]
