"""What holds a solver within bounds.

A fixed number of BLAS threads, and an end where it does not look at the clock.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, ModuleType
from typing import Any

# seconds between two interruptions: a solver may have swallowed the first, or be busy cleaning up
_AGAIN = 1.0


class PastLimitError(BaseException):
    """Raised inside a solver that runs past its limit.

    Not an Exception, so that `except Exception` lets it pass.
    """


def threadpoolctl() -> ModuleType:
    """The module, or an error that names the extra."""
    try:
        import threadpoolctl
    except ImportError as error:
        raise ImportError(
            "Comparisons run with a fixed number of BLAS threads, by threadpoolctl: pip install genorth[report]"
        ) from error
    return threadpoolctl


def pinned(threads: int) -> AbstractContextManager[Any]:
    """This many threads in every BLAS that is loaded (NumPy and SciPy bring one each), as long as the block lasts."""
    return threadpoolctl().threadpool_limits(limits=threads)


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Raise `PastLimitError` in the block after so many seconds of wall time.

    By SIGALRM: it reaches Python code only, so that a single call into C is waited for; and it
    needs the main thread of a POSIX system. Elsewhere the block is not interrupted. An alarm that
    was set before is set again afterwards.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    armed = True

    def interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature of a handler
        if armed:
            raise PastLimitError

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
        if earlier[0]:
            left = earlier[0] - (time.monotonic() - begin)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), earlier[1])
