"""Time and evaluations to a common target, read off the traces.

When the gradient norm was first at most the target.

One run to a tight tolerance tells the time to every looser one, so that solvers are compared at the
same point of their way, whatever their own last step added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import attrs

from genorth.compare.record import OUT_OF_TIME, Record, Records
from genorth.compare.rows import note_of
from genorth.penalty.beta import AWAY

# A run that ended so reached what its trace says; one that ended otherwise (raised, diverged, not
# stationary) did not.
_SOUND = (*OUT_OF_TIME, "ITERATION_LIMIT", "EVALUATION_LIMIT", "CALLBACK", "STALLED")


@attrs.frozen
class Reached:
    """A solver's way to a target, from each start.

    Seconds, evaluations and |C| there, infinite where not met.
    """

    seconds: tuple[float, ...]
    evaluations: tuple[float, ...]
    feasibility: tuple[float, ...]
    #: Why it was not met, for each seed that did not.
    reasons: tuple[str, ...]
    #: The seconds after which those ended that did not.
    spent: tuple[float, ...]

    @property
    def count(self) -> int:
        """For how many seeds it was met."""
        return sum(math.isfinite(value) for value in self.seconds)

    def median(self, figure: str) -> float:
        """The median, a start from which the target was not met counting as infinite."""
        return statistics.median(getattr(self, figure))

    @property
    def note(self) -> str:
        """Nothing where all seeds met the target, else why not and, of several, how many."""
        return note_of(self.reasons, len(self.seconds))


def crossing(record: Record, target: float) -> int | None:
    """The first line of the trace with gradient norm <= target and |C| <= 0.1.

    None where there is none.

    With a larger |C| a small gradient of h means nothing: h may be stationary away from M.
    """
    if not (record.success or record.status in _SOUND):
        return None
    lines = zip(record.trace.gradient_norm, record.trace.feasibility, strict=True)
    return next(
        (n for n, (norm, away) in enumerate(lines) if norm <= target and away <= AWAY), None
    )


def reach(runs: Sequence[Record], target: float) -> tuple[Record, int] | None:
    """The run (of one solver from one start, to any tolerances) that shows the way to the target, and the line.

    The run to this very tolerance where it got there; else the one to the loosest tolerance that did.
    """
    for record in sorted(runs, key=lambda run: (run.tolerance != target, -run.tolerance)):
        line = crossing(record, target)
        if line is not None:
            return record, line
    return None


def reached(runs: Iterable[Record], target: float) -> Reached:
    """How one solver got to the target, from each of its starts."""
    by_seed: dict[int, list[Record]] = {}
    for record in runs:
        by_seed.setdefault(record.seed, []).append(record)
    figures: list[tuple[float, float, float]] = []
    reasons, spent = [], []
    for records in by_seed.values():
        found = reach(records, target)
        if found is None:
            last = min(records, key=lambda run: (run.tolerance != target, run.tolerance))
            # It met its own tolerance, and was not asked for this one.
            reasons.append("not asked" if last.success else last.status)
            spent.append(last.time)
            figures.append((math.inf, math.inf, math.inf))
        else:
            trace, line = found[0].trace, found[1]
            figures.append(
                (trace.time[line], float(trace.evaluations[line]), trace.feasibility[line])
            )
    seconds, evaluations, feasibility = zip(*figures, strict=True)
    return Reached(seconds, evaluations, feasibility, tuple(reasons), tuple(spent))


def targets(records: Records) -> list[float]:
    """The tolerances of the records, from loose to tight."""
    return sorted(records.distinct("tolerance"), reverse=True)
