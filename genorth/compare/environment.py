"""What a figure depends on beyond the code: versions, machine, BLAS and its threads."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from genorth.compare.limits import threadpoolctl

_PACKAGES = ("numpy", "scipy", "pymanopt", "cdopt")


def environment() -> dict[str, str]:
    """Versions, processor, cores, memory, system, and each BLAS with the threads that it has now."""
    import genorth

    pools = [pool for pool in threadpoolctl().threadpool_info() if pool["user_api"] == "blas"]
    return {
        "genorth": genorth.__version__,
        "python": platform.python_version(),
        **{package: found for package in _PACKAGES if (found := _version(package))},
        "processor": _processor(),
        "cores": str(_cores()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "blas": "; ".join(map(_pool, pools)) or "none found",
        "threads": ", ".join(sorted({str(pool["num_threads"]) for pool in pools})) or "unknown",
    }


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The model; platform.processor() is empty or just the architecture on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (AttributeError, ValueError, OSError):
        return "unknown"


def _pool(pool: dict[str, Any]) -> str:
    details = [pool[key] for key in ("architecture", "threading_layer") if pool.get(key)]
    folder = Path(pool["filepath"]).parent.name  # "numpy.libs": wheels bring a BLAS of their own
    owner = f" of {folder.removesuffix('.libs')}" if folder.endswith(".libs") else ""
    return f"{pool['internal_api']} {pool['version'] or '?'}{owner} ({', '.join(details)}), threads {pool['num_threads']}"
