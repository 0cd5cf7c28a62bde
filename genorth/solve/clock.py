"""`Clock`: the wall and CPU time of a call, less what this library's own measuring took.

Monitors report their measuring here; the time that a solver reports of itself plays no part.
"""

from __future__ import annotations

import math
from time import perf_counter, process_time  # as they are now: a solver may replace them
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genorth.solve.monitor import Monitor
    from genorth.solve.result import Trace

_Moment = tuple[float, float]


def moment() -> _Moment:
    """Now, in seconds of wall time and of CPU time."""
    return perf_counter(), process_time()


def _since(begin: _Moment, without: _Moment = (0.0, 0.0), until: _Moment | None = None) -> _Moment:
    """Seconds since then; never negative, as a clock may be set back."""
    wall, cpu = moment() if until is None else until
    return max(wall - begin[0] - without[0], 0.0), max(cpu - begin[1] - without[1], 0.0)


class Clock:
    """Runs while its block does: `with Clock(problem) as clock`.

    Attributes:
        seconds: Wall and CPU seconds of the block, without measuring, never negative.
    """

    _running: list[Clock] = []  # noqa: RUF012  those of all threads

    def __init__(self, problem: Any) -> None:
        self._problem = problem
        self._measured = (0.0, 0.0)
        self._paused: _Moment | None = None
        self._monitors: list[tuple[Monitor, float, int]] = []
        self.seconds = (0.0, 0.0)

    def __enter__(self) -> Clock:
        self._running.append(self)
        self._begin = moment()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = self.elapsed()
        self._running.remove(self)

    def elapsed(self) -> _Moment:
        """Wall and CPU seconds so far; while the library is measuring, those until it began to."""
        return _since(self._begin, self._measured, self._paused)

    def kept(self, trace: Any) -> tuple[Trace, float, int] | None:
        """The trace if a monitor kept it, else that of the last one with lines, and when it began.

        In our seconds and evaluations; None if no monitor watched the run.
        """
        # a certificate has a monitor too, which keeps no line
        told = [each for each in self._monitors if len(each[0].trace)] or self._monitors
        ours = [each for each in self._monitors if each[0].trace is trace] or told
        return (ours[-1][0].trace, *ours[-1][1:]) if ours else None

    @classmethod
    def hear(cls, monitor: Monitor) -> None:
        """A monitor begins to watch a run."""
        for clock in cls._running:
            evaluations = clock._problem.counts.evaluations
            clock._monitors.append((monitor, clock.elapsed()[0], evaluations))

    @classmethod
    def begin(cls) -> _Moment:
        """Now, for `measured`. CPU time takes a system call: NaN where no clock is running."""
        if not cls._running:
            return perf_counter(), math.nan
        now = moment()
        for clock in cls._running:
            clock._paused = now
        return now

    @classmethod
    def measured(cls, begin: _Moment) -> None:
        """The library has been measuring since `begin`."""
        if cls._running and not math.isnan(begin[1]):
            wall, cpu = _since(begin)
            for clock in cls._running:
                clock._measured = clock._measured[0] + wall, clock._measured[1] + cpu
                clock._paused = None
