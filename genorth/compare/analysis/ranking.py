"""Who wins each row and by how much: solver against solver, family against family.

And what one ingredient is worth: a solver with it against the same solver without it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from itertools import combinations

import attrs
import numpy as np

from genorth.compare.analysis.rows import (
    Row,
    Runs,
    best_by_family,
    best_of,
    by_row,
    elsewhere,
    leaders,
    require_records,
    shared,
)
from genorth.compare.runs.record import Records
from genorth.errors import require

#: What an effect is measured in.
MEASURES = ("time", "evaluations")


@attrs.frozen
class Best:
    """Who wins a row (problem, size, tolerance): the fastest of those that solved most seeds."""

    problem: str
    size: str
    tolerance: float
    #: None if no solver solved it.
    solver: str | None
    #: Seconds, the median over the seeds; NaN if no solver solved it.
    time: float
    #: Time of each solver over that of the best: infinite for one that failed; below 1 for one that
    #: failed at times.
    ratios: dict[str, float]
    #: For one that ran out of time: its ratio is more than this.
    at_least: dict[str, float]
    #: Why and how often each solver failed, of those that did.
    notes: dict[str, str]
    #: Solvers that ended at a higher value of f, and by how much.
    elsewhere: dict[str, float]
    #: How many runs failed.
    failed: int = 0
    #: Solvers that cannot be told from the best: their times over the seeds overlap with its times.
    tied: tuple[str, ...] = ()


def best(records: Records) -> list[Best]:
    """Find the winner of each row, and how many times longer the others took.

    Args:
        records: The records.

    Returns:
        One `Best` for each row.
    """
    found = []
    for row, runs in by_row(require_records(records)).items():
        winner = best_of(runs)
        time = math.nan if winner is None else runs[winner].time
        ratios = {name: each.time / time if time > 0 else math.inf for name, each in runs.items()}
        at_least = {
            solver: entry.spent / time
            for solver, entry in runs.items()
            if math.isinf(ratios[solver]) and entry.out_of_time and time > 0
        }
        notes = {solver: entry.note for solver, entry in runs.items() if entry.note}
        failed, tied = sum(len(entry.failed) for entry in runs.values()), leaders(runs)[1:]
        higher = elsewhere(runs)
        found.append(Best(*row, winner, time, ratios, at_least, notes, higher, failed, tied))
    return found


def behind(runs: Mapping[str, Runs]) -> dict[str, float]:
    """How far each family is behind in a row: the time of its best solver over the best time.

    Args:
        runs: The runs of a row, by solver.

    Returns:
        The ratios, from the starts that the two share, infinite for a family that does not solve
        the row, and below 1 for one that is faster but fails from more starts or has fewer; empty
        where none solves it.
    """
    best = best_of(runs)
    if best is None:
        return {}
    return {
        kind: math.inf if name is None else _ratio(_same(runs, name, best), name, best)
        for kind, name in best_by_family(runs).items()
    }


def _same(runs: Mapping[str, Runs], *names: str) -> Mapping[str, Runs]:
    """The runs from the starts that the solvers share; all where they share none."""
    return shared(runs, *names) or runs


def _ratio(runs: Mapping[str, Runs], name: str, other: str) -> float:
    """The time of a solver over that of another."""
    return runs[name].time / max(runs[other].time, np.finfo(float).tiny)


@attrs.frozen
class Duel:
    """Two families in the rows where both have solvers: the best of one against the other's."""

    first: str
    second: str
    #: Time of the second over the time of the first, in each row that both solve.
    ratios: tuple[float, ...]
    #: In how many rows only one of them succeeds, by family.
    alone: dict[str, int]
    #: For each ratio, whether the times of the two overlap over the seeds, so that neither wins.
    overlap: tuple[bool, ...] = ()

    @property
    def won(self) -> tuple[int, int]:
        """In how many rows the first wins, and in how many the second."""
        clear = [r for r, open_ in zip(self.ratios, self.overlap, strict=True) if not open_]
        return sum(ratio > 1 for ratio in clear), sum(ratio <= 1 for ratio in clear)


def duels(rows: Mapping[Row, Mapping[str, Runs]]) -> Iterator[Duel]:
    """Compare the families that run in these rows, each pair once."""
    bests = [(runs, best_by_family(runs)) for runs in rows.values()]
    families = dict.fromkeys(kind for _, best in bests for kind in best)
    for pair in combinations(families, 2):
        ratios, overlap, alone = [], [], dict.fromkeys(pair, 0)
        for runs, found in bests:
            if not all(kind in found for kind in pair):
                continue
            first, second = (found[kind] for kind in pair)
            if first is not None and second is not None:
                same = _same(runs, first, second)
                ratios.append(_ratio(same, second, first))
                overlap.append(len(leaders(same, (first, second))) > 1)
            elif first is not None or second is not None:
                alone[pair[0] if second is None else pair[1]] += 1
        yield Duel(*pair, tuple(ratios), alone, tuple(overlap))


@attrs.frozen
class Lead:
    """How often the best solver of a row is so many times faster than a given one."""

    #: Rows in which it is.
    held: tuple[Row, ...]
    #: Rows in which it is not.
    missed: tuple[Row, ...]
    #: Rows in which the given one ran out of time too early to tell.
    undecided: tuple[Row, ...]


def lead(records: Records, over: str, factor: float, from_seconds: float) -> Lead:
    """Count the rows in which the best solver is at least `factor` times faster than `over`.

    Both from the starts that `over` has.

    Args:
        records: The records.
        over: The name of a solver.
        factor: How many times faster.
        from_seconds: Only rows in which `over` takes longer than this, or runs out of time later.

    Returns:
        The rows, by outcome.
    """
    found: dict[str, list[Row]] = {"held": [], "missed": [], "undecided": []}
    for row, runs in by_row(require_records(records)).items():
        if over not in runs:
            continue
        runs = shared(runs, over)
        theirs = runs[over]
        exact = math.isfinite(theirs.time)
        seconds = theirs.time if exact else theirs.spent if theirs.out_of_time else math.nan
        if seconds > from_seconds:
            winner = best_of(runs)
            held = winner is not None and seconds >= factor * runs[winner].time
            found["held" if held else "missed" if exact else "undecided"].append(row)
    return Lead(**{name: tuple(rows) for name, rows in found.items()})


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
    gains: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    only, count = [0, 0], 0
    for runs in by_row(require_records(records)).values():
        same = shared(runs, solver, other) if {solver, other} <= runs.keys() else {}
        if not same:
            continue
        count += 1
        mine, theirs = same[solver], same[other]
        done = [math.isfinite(mine.time), math.isfinite(theirs.time)]
        if all(done):
            gains["time"].append(theirs.time / mine.time)
            ours = max(mine.median("evaluations"), 1.0)
            gains["evaluations"].append(theirs.median("evaluations") / ours)
        elif any(done):
            only[done.index(True)] += 1
    require(count, "records", f"a row with {solver!r} and {other!r}", "none")
    found = {name: tuple(each) for name, each in gains.items()}
    return Effect(solver, other, count, found, *only)
