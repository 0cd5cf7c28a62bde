"""What a run says while it goes on: a `Reporter`, which the monitor calls as it does a callback.

So every solver has it without a line of its own, and its time is not on the clock.
"""

from __future__ import annotations

import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.optional import installed
from genorth.solve.result import Progress

_PERIOD = 0.1  # seconds between two drawings of a line
_PATIENCE = 10.0  # seconds after which a silent run in a terminal says how to see it


class Reporter(ABC):
    """Sees each iterate, and the end of the run."""

    @abstractmethod
    def __call__(self, progress: Progress) -> None:
        """The next iterate."""

    def close(self) -> None:
        """The run is over."""
        return


class Line(Reporter):
    """One line on standard error, which is drawn anew: with rich where it is installed."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._drawn = -_PERIOD
        self._write = _styled() if installed("rich") else _plain

    def __call__(self, progress: Progress) -> None:
        """Draw it, but not more often than one can see."""
        self._last = progress
        if (now := time.perf_counter()) >= self._drawn + _PERIOD:
            self._drawn = now
            self._write(text(progress), "\r")

    def close(self) -> None:
        """The last iterate stays."""
        if self._last is not None:
            self._write(text(self._last), "\n")
        self._last, self._drawn = None, -_PERIOD


class Every(Reporter):
    """Each k-th iterate, and the last one, on a line of its own.

    Args:
        count: k.
        write: What takes the lines. Default: standard error.
    """

    def __init__(self, count: int, write: Callable[[str], Any] | None = None) -> None:
        self._count, self._write = count, _plain if write is None else write
        self._left: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Write it if it is its turn."""
        turn = progress.nit % self._count == 0
        self._left = None if turn else progress
        if turn:
            self._write(text(progress))

    def close(self) -> None:
        """The last iterate, unless it has been written."""
        if self._left is not None:
            self._write(text(self._left))
        self._left = None


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
        f"iteration {progress.nit:<6} f = {progress.fun:<17.10g} "
        f"|grad| = {progress.gradient_norm:.2e}  |C| = {progress.feasibility:.1e}  "
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
