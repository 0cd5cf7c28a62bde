"""How a comparison tells of its progress: an object with four methods.

Here the silent one and the one of plain lines.

The bar for a terminal is in `genorth.compare.terminal`.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Protocol, TextIO, runtime_checkable

from genorth.compare.instance import Instance
from genorth.compare.record import Record
from genorth.errors import refuse


@runtime_checkable
class Progress(Protocol):
    """What `run` calls; `begin` of several runs may come before the first `finish` where jobs > 1."""

    def start(self, total: int) -> None:
        """So many runs are to be made.

        Those that were kept from an earlier call are not among them.
        """

    def begin(self, instance: Instance, seed: int, solver: str, tolerance: float) -> None:
        """A run begins. A record that is carried over from a looser tolerance has no beginning."""

    def finish(self, record: Record) -> None:
        """A run is finished, and its record is on disk."""

    def close(self) -> None:
        """Nothing more comes; also after an exception."""


class Silent:
    """Says nothing."""

    def start(self, total: int) -> None:
        """Nothing."""

    def begin(self, instance: Instance, seed: int, solver: str, tolerance: float) -> None:
        """Nothing."""

    def finish(self, record: Record) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """One line for each finished run, for log files."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._finished = self._total = 0

    def start(self, total: int) -> None:
        """Take down the total."""
        self._finished, self._total = 0, total

    def begin(self, instance: Instance, seed: int, solver: str, tolerance: float) -> None:
        """Nothing: a line is written when the run is finished."""

    def finish(self, record: Record) -> None:
        """Write the line."""
        self._finished += 1
        run = f"{record.problem} {record.size} seed {record.seed}, {record.solver} to {record.tolerance:g}"
        end = f"{record.status}, {record.time:.3g} s, {record.nit} iterations, gradient {record.gradient_norm:.2g}"
        stream = self._stream or sys.stderr  # looked up now: it may have been redirected since
        stream.write(f"[{self._finished}/{self._total}] {run}: {end}\n")
        stream.flush()

    def close(self) -> None:
        """Nothing is open."""


def chosen(progress: Any) -> Progress:
    """The object for "auto" (a bar on a terminal where rich is installed, else lines), None, or one of the user's."""
    if progress is None:
        return Silent()
    if progress == "auto":
        if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
            from genorth.compare.terminal import Bar

            return Bar()
        return Lines()
    if isinstance(progress, str) or not isinstance(progress, Progress):
        refuse(
            "progress",
            "'auto', None, or an object with start, begin, finish and close",
            repr(progress),
        )
    return progress
