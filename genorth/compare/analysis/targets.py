"""Time and evaluations to a common target: when the trace first had so small a gradient norm.

One run to a tight tolerance gives the time to every looser one, so that solvers are compared at the
same point, whatever their own last step added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import attrs

from genorth.compare.analysis.rows import note_of
from genorth.compare.runs.record import OUT_OF_TIME, Record, Records
from genorth.penalty.base import AWAY

# A run that ended so reached what its trace says; one that ended otherwise (raised, diverged, not
# stationary) did not.
_SOUND = (*OUT_OF_TIME, "ITERATION_LIMIT", "EVALUATION_LIMIT", "CALLBACK", "STALLED")


@attrs.frozen
class Reached:
    """How a solver got to a target: an entry for each seed, infinite where it did not."""

    seconds: tuple[float, ...]
    evaluations: tuple[float, ...]
    #: |C| there.
    feasibility: tuple[float, ...]
    #: Why the target was not met, for each seed for which it was not.
    reasons: tuple[str, ...]
    #: How long those runs took.
    spent: tuple[float, ...]
    #: True if the seconds are the solver's word: no monitor of ours kept the trace.
    unchecked: bool = False

    @property
    def count(self) -> int:
        """For how many seeds the target was met."""
        return sum(math.isfinite(value) for value in self.seconds)

    def median(self, figure: str) -> float:
        """The median, a seed for which the target was not met counting as infinite."""
        return statistics.median(getattr(self, figure))

    @property
    def note(self) -> str:
        """Why the target was not met and, of several seeds, how often; whose word the time is."""
        word = "solver's word" if self.unchecked and self.count else ""
        return ", ".join(filter(None, [note_of(self.reasons, len(self.seconds)), word]))


def crossing(record: Record, target: float) -> int | None:
    """The first line of the trace with gradient norm <= target and |C| <= 0.1, or None.

    With a larger |C| a small gradient of h means nothing: h may be stationary away from M.
    """
    if not (record.success or record.status in _SOUND):
        return None
    lines = zip(record.trace.gradient_norm, record.trace.feasibility, strict=True)
    return next(
        (n for n, (norm, away) in enumerate(lines) if norm <= target and away <= AWAY), None
    )


def reach(runs: Sequence[Record], target: float) -> tuple[Record, int] | None:
    """The run that shows the way to the target, of one solver from one start, and the line.

    The run to this very tolerance if it got there; else the one to the loosest tolerance that did.
    """
    for record in sorted(runs, key=lambda run: (run.tolerance != target, -run.tolerance)):
        line = crossing(record, target)
        if line is not None:
            return record, line
    return None


def reached(runs: Iterable[Record], target: float) -> Reached:
    """How one solver got to the target, from each of its starts.

    Args:
        runs: The records of the solver on one problem and size.
        target: The gradient norm.
    """
    by_seed: dict[int, list[Record]] = {}
    for record in runs:
        by_seed.setdefault(record.seed, []).append(record)
    figures: list[tuple[float, float, float]] = []
    reasons, spent, unchecked = [], [], False
    for records in by_seed.values():
        found = reach(records, target)
        if found is None:
            last = min(records, key=lambda run: (run.tolerance != target, run.tolerance))
            # It met its own tolerance, and was not asked for this one.
            reasons.append("not asked" if last.success else last.status)
            spent.append(last.time)
            figures.append((math.inf, math.inf, math.inf))
        else:
            run, line = found
            trace, unchecked = run.trace, unchecked or run.traced_by == "solver"
            at = trace.time[line], float(trace.evaluations[line]), trace.feasibility[line]
            figures.append(at)
    seconds, evaluations, feasibility = zip(*figures, strict=True)
    return Reached(seconds, evaluations, feasibility, tuple(reasons), tuple(spent), unchecked)


def targets(records: Records) -> list[float]:
    """The tolerances of the records, from loose to tight."""
    return sorted(records.distinct("tolerance"), reverse=True)
