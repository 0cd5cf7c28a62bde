"""The machine: what a figure depends on beyond the code, and the bounds within which solvers run.

A fixed number of BLAS threads, an alarm, and global state that is put back.
"""

from __future__ import annotations

import gc
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from genorth.optional import optional
from genorth.solve.clock import Clock

_PACKAGES = ("numpy", "scipy", "pymanopt", "cdopt", "torch", "geoopt")
# seconds between two alarms: a solver may have swallowed the first, or be busy cleaning up
_AGAIN = 1.0


class PastLimitError(BaseException):
    """Raised inside a solver that runs past its limit; `except Exception` does not catch it."""


def threadpoolctl() -> Any:
    """The module, or an error that names the extra."""
    return optional("threadpoolctl", "report", "A comparison, which fixes the BLAS threads,")


def pinned(threads: int) -> AbstractContextManager[Any]:
    """Run the block with this many threads in every BLAS (NumPy and SciPy bring one each)."""
    return threadpoolctl().threadpool_limits(limits=threads)


@contextmanager
def interrupted(seconds: float, clock: Clock | None = None) -> Iterator[None]:
    """Raise `PastLimitError` in the block after so many seconds.

    They are of wall time, or of a clock that runs in the block and stands still while we measure.
    By SIGALRM: it reaches Python code only, so that a single call into C is waited for; and it
    needs the main thread of a POSIX system. Elsewhere the block is not interrupted. An alarm that
    was set before is set again afterwards. Where the block catches the exception and goes on, the
    next alarm raises it again at the line that follows, which is outside of that `try`.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    armed, caught = True, False
    outside, tracing = sys._getframe(2), sys.gettrace()

    def interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001  a handler's arguments
        nonlocal caught
        if not armed or (clock is not None and clock.elapsed()[0] < seconds):
            return
        if caught:
            sys.settrace(lambda *_: None)
            while frame is not None and frame is not outside:
                frame.f_trace = leave
                frame = frame.f_back
        caught = True
        raise PastLimitError

    def leave(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG001  as sys.settrace has it
        if event == "line" and armed:
            raise PastLimitError
        return leave

    begin = time.monotonic()
    handler = signal.signal(signal.SIGALRM, interrupt)
    earlier = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        try:
            yield
        finally:
            armed = False  # an alarm during what follows would leave the handler in place
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.settrace(tracing)
        if earlier[0]:
            left = earlier[0] - (time.monotonic() - begin)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), earlier[1])


@contextmanager
def contained() -> Iterator[None]:
    """Put back what a block may change for all that comes after it.

    NumPy's error state, warning filters, the working directory, the standard streams, the clocks of
    `time`, the recursion limit and the garbage collector.
    """
    clocks = time.perf_counter, time.process_time, time.monotonic
    folder, streams = os.curdir, (sys.stdin, sys.stdout, sys.stderr)
    with suppress(OSError):  # it may have been removed
        folder = os.getcwd()
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    try:
        with np.errstate(), warnings.catch_warnings():
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        time.perf_counter, time.process_time, time.monotonic = clocks
        sys.setrecursionlimit(limit)
        (gc.enable if collecting else gc.disable)()
        with suppress(OSError):
            os.chdir(folder)


# ---------------------------------------------------------------------- what it is


def environment(processes: int) -> dict[str, str]:
    """Versions, commit, host, processor, cores, memory, system, each BLAS with its threads."""
    import genorth

    pools = [pool for pool in threadpoolctl().threadpool_info() if pool["user_api"] == "blas"]
    return {
        "genorth": genorth.__version__,
        **({"commit": found} if (found := _commit()) else {}),
        "python": platform.python_version(),
        **{package: found for package in _PACKAGES if (found := _version(package))},
        "host": platform.node() or "unknown",
        "processor": _processor(),
        "cores": str(cores()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "blas": "; ".join(map(_pool, pools)) or "none found",
        "threads": ", ".join(sorted({str(pool["num_threads"]) for pool in pools})) or "unknown",
        "processes": str(processes),
    }


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _commit() -> str | None:
    """The commit of a checkout, "-dirty" where files differ from it; None for an installed copy."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here.parent), *arguments]
        return subprocess.run(
            command, capture_output=True, check=True, timeout=10, text=True
        ).stdout.strip()

    try:
        # fails in another project's checkout, as a virtual environment may be
        git("ls-files", "--error-unmatch", here.name)
        return git("describe", "--always", "--dirty", "--abbrev=10") or None
    except (OSError, subprocess.SubprocessError):
        return None


def _processor() -> str:
    """The model; platform.processor() is empty or just the architecture on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (AttributeError, ValueError, OSError):
        return "unknown"


def _pool(pool: dict[str, Any]) -> str:
    details = [pool[key] for key in ("architecture", "threading_layer") if pool.get(key)]
    folder = Path(pool["filepath"]).parent.name  # "numpy.libs": wheels bring a BLAS of their own
    owner = f" of {folder.removesuffix('.libs')}" if folder.endswith(".libs") else ""
    about = f"{pool['internal_api']} {pool['version'] or '?'}{owner} ({', '.join(details)})"
    return f"{about}, threads {pool['num_threads']}"
