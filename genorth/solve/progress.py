"""What a run says while it goes on: a `Reporter`, which the monitor calls as it does a callback.

So every solver has it without a line of its own, and its time is not on the clock.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.optional import installed
from genorth.solve.result import Progress

_PERIOD = 0.1  # seconds between two drawings of a line
# an estimate of the end is made from the last half of these iterates, and of at least so many
_WINDOW, _LEAST = 400, 8
_CLEAR = 0.7  # correlation of time and log |grad| from which on the norm is said to fall
_PATIENCE = 10.0  # seconds after which a silent run in a terminal says how to see it


class Reporter(ABC):
    """Sees each iterate, and the end of the run."""

    @abstractmethod
    def __call__(self, progress: Progress) -> None:
        """The next iterate."""

    def close(self) -> None:
        """The run is over."""
        return


class Estimate:
    """The seconds that are left, if the gradient norm goes on to fall as in the last iterations."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=_WINDOW)
        self._tol = 0.0

    def see(self, progress: Progress) -> None:
        """The next iterate."""
        self._tol = progress.tol
        if 0 < progress.gradient_norm < math.inf:
            self._seen.append((progress.time, math.log(progress.gradient_norm)))

    def seconds(self) -> float:
        """By the line through log |grad| against time; NaN where that does not fall clearly."""
        if len(self._seen) < _LEAST or not self._tol > 0:
            return math.nan
        last = list(self._seen)[-max(_LEAST, len(self._seen) // 2) :]
        times, logs = np.array(last).T
        times, spread = times - times.mean(), float(np.std(logs))
        square = float(times @ times)
        rate = -float(times @ logs) / square if square > 0 else 0.0
        explained = rate * math.sqrt(square / len(logs))
        if not explained > _CLEAR * spread:
            return math.nan
        now = logs.mean() - rate * times[-1]
        return max(now - math.log(self._tol), 0.0) / rate

    def __str__(self) -> str:
        left = self.seconds()
        return "no end in sight" if math.isnan(left) else f"{left:.1g} s left"


class Line(Reporter):
    """One line on standard error, which is drawn anew: with rich where it is installed."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._drawn, self._estimate = -_PERIOD, Estimate()
        self._write = _styled() if installed("rich") else _plain

    def __call__(self, progress: Progress) -> None:
        """Draw it, but not more often than one can see."""
        self._last = progress
        self._estimate.see(progress)
        if (now := time.perf_counter()) >= self._drawn + _PERIOD:
            self._drawn = now
            self._write(f"{text(progress)}, {self._estimate}", "\r")

    def close(self) -> None:
        """The last iterate stays."""
        if self._last is not None:
            self._write(text(self._last), "\n")
        self.__init__()  # type: ignore[misc]


class Every(Reporter):
    """Each k-th iterate, and the last one, on a line of its own.

    Args:
        count: k.
        write: What takes the lines. Default: standard error.
    """

    def __init__(self, count: int, write: Callable[[str], Any] | None = None) -> None:
        self._count, self._write = count, _plain if write is None else write
        self._estimate = Estimate()
        self._left: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Write it if it is its turn."""
        turn = progress.nit % self._count == 0
        self._left = None if turn else progress
        self._estimate.see(progress)
        if turn:
            self._write(f"{text(progress)}, {self._estimate}")

    def close(self) -> None:
        """The last iterate, unless it has been written."""
        if self._left is not None:
            self._write(text(self._left))
        self._left, self._estimate = None, Estimate()


class Hint(Reporter):
    """Says once, after ten seconds, how to see the progress of a run."""

    def __init__(self) -> None:
        self._told = False

    def __call__(self, progress: Progress) -> None:
        """Look at the clock."""
        if not self._told and progress.time > _PATIENCE:
            self._told = True
            _plain(
                f"genorth: {text(progress)}. To see more of this run pass progress=True, or "
                "progress=k for each k-th iteration."
            )


def reporter(progress: Any) -> Reporter | None:
    """The reporter that an argument `progress` asks for.

    Args:
        progress: None or False for silence, True for a line that is drawn anew, k > 0 for each k-th
            iterate, the name of a logger, or a `Reporter`.

    Returns:
        The reporter; None for silence.

    Raises:
        ValueError: For anything else.
    """
    if progress is None or isinstance(progress, Reporter):
        return progress
    if isinstance(progress, bool):
        return Line() if progress else None
    if isinstance(progress, int | np.integer) and progress > 0:
        return Every(int(progress))
    if isinstance(progress, str) and progress:
        return Every(1, logging.getLogger(progress).info)
    need = "True, False, None, an integer k > 0 (each k-th iteration) or the name of a logger"
    refuse("progress", need, repr(progress))


def hint() -> Reporter | None:
    """The reporter of a run that nobody asked to report: none outside of a terminal."""
    return Hint() if sys.stderr is not None and sys.stderr.isatty() else None


def text(progress: Progress) -> str:
    """The figures of an iterate, on one line whose columns stay where they are."""
    return (
        f"iteration {progress.nit:<5} f = {progress.fun:<12.7g} "
        f"|grad| = {progress.gradient_norm:.1e} |C| = {progress.feasibility:.0e} "
        f"{progress.time:.1f} s"
    )


def _plain(line: str, end: str = "\n") -> None:
    sys.stderr.write(line + end)
    sys.stderr.flush()


def _styled() -> Callable[[str, str], None]:
    """As `_plain`, cut to the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    # not as a cell of Jupyter, where each print would be a line
    console = Console(stderr=True, force_jupyter=False)

    def write(line: str, end: str) -> None:
        console.print(Text(line), end=end, no_wrap=True, overflow="crop")

    return write
