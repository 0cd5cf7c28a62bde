"""What one ingredient is worth: a solver with it against the same solver without it, row by row."""

from __future__ import annotations

import math
import statistics

import attrs

from genorth.compare.analysis.rows import by_row, require_records, shared
from genorth.compare.runs.record import Records
from genorth.errors import require

#: What is compared.
MEASURES = ("time", "evaluations")


@attrs.frozen
class Effect:
    """Two solvers that differ in one ingredient, in the rows in which both run."""

    solver: str
    other: str
    #: In how many rows both run.
    rows: int
    #: For each measure the figure of `other` over that of `solver`, in the rows that both solve.
    gains: dict[str, tuple[float, ...]]
    #: Rows that only one of them solves.
    only_solver: int
    only_other: int

    def gain(self, measure: str) -> float:
        """The median gain; NaN if there is no row that both solve."""
        return statistics.median(self.gains[measure]) if self.gains[measure] else math.nan

    def range(self, measure: str) -> tuple[float, float]:
        """The least and the largest gain."""
        gains = self.gains[measure] or (math.nan,)
        return min(gains), max(gains)


def effect(records: Records, solver: str, other: str) -> Effect:
    """Compare a solver with another that lacks one ingredient.

    A solver solves a row if it succeeds from more than half of the starts that both have; figures
    are medians over these.

    Args:
        records: The records.
        solver: The solver with the ingredient.
        other: The one without it.

    Returns:
        The gains: time and evaluations of `other` over those of `solver`.

    Raises:
        ValueError: If no row has records of both.
    """
    rows = [
        (same[solver], same[other])
        for runs in by_row(require_records(records)).values()
        if solver in runs and other in runs
        for same in [shared(runs, solver, other)]
        if solver in same
    ]
    require(rows, "records", f"a row with {solver!r} and {other!r}", "none")
    gains: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    only = [0, 0]
    for mine, theirs in rows:
        done = [math.isfinite(mine.time), math.isfinite(theirs.time)]
        if all(done):
            gains["time"].append(theirs.time / mine.time)
            counts = theirs.median("evaluations"), mine.median("evaluations")
            gains["evaluations"].append(counts[0] / max(counts[1], 1.0))
        elif any(done):
            only[done.index(True)] += 1
    return Effect(
        solver, other, len(rows), {name: tuple(each) for name, each in gains.items()}, *only
    )
