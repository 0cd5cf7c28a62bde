"""The runs of one solver in one row, over all seeds; who wins each row, and by how much.

A row is a problem, a size and a tolerance. Tables, summary and plots all ask here: solver against
solver, family against family, and what one ingredient is worth.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import attrs
import numpy as np

from genorth.compare.runs.record import NOT_RUN, OUT_OF_TIME, Records
from genorth.errors import refuse, require, require_known
from genorth.solve.solver import FAMILIES

#: The row of a table: problem, size, tolerance.
Row = tuple[str, str, float]
#: What runs are compared by: wall seconds, CPU seconds, evaluations.
MEASURES = ("time", "cpu", "evaluations")
#: What an ingredient is worth is told in these.
GAINS = ("time", "evaluations")

# of the decrease: a value of f that is higher by more belongs to another minimum, or to none
_ANOTHER = 1e-3


def require_records(records: Any) -> Records:
    """Return the records, or refuse what is none."""
    if not isinstance(records, Records):
        need = "Records, as compare.run and compare.load return them"
        refuse("records", need, type(records).__name__)
    return records


@attrs.frozen
class Runs:
    """The runs of one solver in one row, one for each seed."""

    records: tuple[Any, ...]

    @property
    def family(self) -> str:
        """The family of the solver."""
        return self.records[0].family

    @property
    def solved(self) -> tuple[Any, ...]:
        """Those that succeeded."""
        return tuple(record for record in self.records if record.success)

    @property
    def failed(self) -> tuple[Any, ...]:
        """Those that did not."""
        return tuple(record for record in self.records if not record.success)

    @property
    def ran(self) -> bool:
        """True if the solver left figures in one run at least."""
        return any(record.status not in ("RAISED", *NOT_RUN) for record in self.records)

    def median(self, figure: str) -> float:
        """The median of a figure over the runs that have it, failed or not; NaN if none has."""
        values = [getattr(record, figure) for record in self.records]
        finite = [float(each) for each in values if each is not None and math.isfinite(each)]
        return statistics.median(finite) if finite else math.nan

    def spread(self, figure: str) -> tuple[float, float, float]:
        """Least, median and greatest over the seeds; a failed run, or no figure, is infinite."""
        found = [float(getattr(r, figure)) if r.success else math.inf for r in self.records]
        values = [math.inf if math.isnan(value) else value for value in found]
        return min(values), statistics.median(values), max(values)

    @property
    def time(self) -> float:
        """The median time, a failed run counting as infinite."""
        return self.spread("time")[1]

    @property
    def out_of_time(self) -> bool:
        """True if a run failed by the clock, so that its time is a lower bound."""
        return any(record.status in OUT_OF_TIME for record in self.failed)

    @property
    def note(self) -> str:
        """Why runs failed and, if not all did, how many; empty if all succeeded."""
        failed, total = [record.status for record in self.failed], len(self.records)
        share = f"{len(failed)} of {total} " if 0 < len(failed) < total else ""
        return share + ", ".join(dict.fromkeys(map(short_status, failed)))

    def rank(self, figure: str = "time") -> tuple[float, float]:
        """Sorts the solvers of a row: by the share of seeds solved, then by time or a figure."""
        return -len(self.solved) / len(self.records), self.spread(figure)[1]


def short_status(status: str) -> str:
    """The status in a word or two: "time limit"."""
    return status.lower().replace("_", " ")


def by_row(records: Records) -> dict[Row, dict[str, Runs]]:
    """Group the runs by row and solver.

    Args:
        records: The records.

    Returns:
        Rows with sizes as they appear and tolerances from loose to tight; in each the solvers,
        family by family.
    """
    found = {row: mine.by("solver") for row, mine in records.by("row").items()}
    places, solvers = list(dict.fromkeys(row[:2] for row in found)), records.solvers
    return {
        row: {name: Runs(tuple(found[row][name])) for name in solvers if name in found[row]}
        for row in sorted(found, key=lambda row: (places.index(row[:2]), -row[2]))
    }


def best_of(
    runs: Mapping[str, Runs], among: Iterable[str] | None = None, figure: str = "time"
) -> str | None:
    """Find the fastest solver among those that solved most seeds.

    Args:
        runs: The runs of a row, by solver.
        among: The solvers to consider; all by default.
        figure: What is to be least, a field of a record.

    Returns:
        Its name; None if no solver solved more than half of the seeds.
    """
    return min(
        _solving(runs, among, figure), key=lambda name: runs[name].rank(figure), default=None
    )


def _solving(runs: Mapping[str, Runs], among: Iterable[str] | None, figure: str) -> list[str]:
    """Those that solve more than half of the seeds; of these, those that have most seeds.

    A single start, however lucky, is no rival of five.
    """
    names = runs if among is None else among
    solving = [name for name in names if math.isfinite(runs[name].spread(figure)[1])]
    most = max((len(runs[name].records) for name in solving), default=0)
    return [name for name in solving if len(runs[name].records) == most]


def shared(runs: Mapping[str, Runs], *like: str) -> dict[str, Runs]:
    """The runs of a row from the starts that all of these solvers have.

    Each start has a problem of its own, so that a figure of one solver is held against that of
    another from the same starts alone.
    """
    seeds = set.intersection(*({r.seed for r in runs[name].records} for name in like))
    found = {
        name: Runs(tuple(r for r in each.records if r.seed in seeds)) for name, each in runs.items()
    }
    return {name: each for name, each in found.items() if each.records}


def leaders(
    runs: Mapping[str, Runs], among: Iterable[str] | None = None, figure: str = "time"
) -> tuple[str, ...]:
    """Find the best solver, and those that cannot be told from it.

    These solve the row too, and their range of times over the seeds overlaps that of the best:

        min t <= max t_best

    Args:
        runs: The runs of a row, by solver.
        among: The solvers to consider; all by default.
        figure: What is to be least, a field of a record, in place of the time t.

    Returns:
        The best first. One alone is the winner; of several none is.
    """
    names = _solving(runs, among, figure)
    best = best_of(runs, names, figure)
    if best is None:
        return ()
    _, _, longest = runs[best].spread(figure)
    near = (name for name in names if name != best and runs[name].spread(figure)[0] <= longest)
    return best, *near


def best_by_family(runs: Mapping[str, Runs]) -> dict[str, str | None]:
    """The best solver of each family that runs in a row; None for one that solves nothing."""
    return {
        kind: best_of(runs, mine)
        for kind in FAMILIES
        if (mine := [name for name in runs if runs[name].family == kind])
    }


def elsewhere(runs: Mapping[str, Runs]) -> dict[str, tuple[float, ...]]:
    """Find the solvers of a row whose f is not the lowest, each with its excess from those starts.

    A run counts where f - f_best > 1e-3 (f_start - f_best), f_best being the lowest f that any
    solver reached from the same start: this tells another minimum from rounding, also where f_best
    is zero.
    """
    every = [record for entry in runs.values() for record in entry.solved]
    found: dict[str, tuple[float, ...]] = {}
    for seed in dict.fromkeys(record.seed for record in every):
        mine = [record for record in every if record.seed == seed]
        costs = (record.trace.cost[0] for record in mine if record.trace.cost)
        lowest = min(record.fun for record in mine)
        start = max((cost for cost in costs if not math.isnan(cost)), default=math.inf)
        for record in mine:
            excess = record.fun - lowest
            if excess > _ANOTHER * (start - lowest):
                found[record.solver] = (*found.get(record.solver, ()), excess)
    return found


# ---------------------------------------------------------------------- who wins, by how much


@attrs.frozen
class Best:
    """Who wins a row (problem, size, tolerance): the first of those that solved most seeds."""

    problem: str
    size: str
    tolerance: float
    #: None if no solver solved it.
    solver: str | None
    #: Wall seconds (or the measure that counts), the median over the seeds; NaN if unsolved.
    time: float
    #: Of each solver over that of the best: infinite for one that failed; below 1 for one that
    #: failed at times.
    ratios: dict[str, float]
    #: For one that ran out of time: its ratio is more than this.
    at_least: dict[str, float]
    #: Why and how often each solver failed, of those that did.
    notes: dict[str, str]
    #: Solvers that ended at a higher value of f, and by how much from each such start.
    elsewhere: dict[str, tuple[float, ...]]
    #: How many runs failed.
    failed: int = 0
    #: Solvers that cannot be told from the best: their times over the seeds overlap with its times.
    tied: tuple[str, ...] = ()


def best(records: Records, by: str = "time") -> list[Best]:
    """Find the winner of each row, and how many times more the others took.

    Args:
        records: The records.
        by: What counts: "time" (wall seconds), "cpu" (CPU seconds) or "evaluations".

    Returns:
        One `Best` for each row.
    """
    found = []
    require_known("by", by, MEASURES)
    for row, runs in by_row(require_records(records)).items():
        winner = best_of(runs, figure=by)
        least = {name: each.spread(by)[1] for name, each in runs.items()}
        time = math.nan if winner is None else least[winner]
        ratios = {name: each / time if time > 0 else math.inf for name, each in least.items()}
        at_least = {
            solver: Runs(entry.failed).median(by) / time
            for solver, entry in runs.items()
            if math.isinf(ratios[solver]) and entry.out_of_time and time > 0
        }
        notes = {solver: entry.note for solver, entry in runs.items() if entry.note}
        failed, higher = sum(len(entry.failed) for entry in runs.values()), elsewhere(runs)
        tied = leaders(runs, figure=by)[1:]
        found.append(Best(*row, winner, time, ratios, at_least, notes, higher, failed, tied))
    return found


def behind(runs: Mapping[str, Runs]) -> dict[str, float]:
    """How far each family is behind in a row: the time of its best solver over the least time.

    Both are medians over the starts that this solver has, among the best solvers of the families:

        t / min t >= 1

    Args:
        runs: The runs of a row, by solver.

    Returns:
        The ratios, infinite for a family that does not solve the row; empty where none solves it.
    """
    found = best_by_family(runs)
    first = [name for name in found.values() if name is not None]
    return {
        kind: math.inf if name is None else over_least(runs, name, first)
        for kind, name in (found.items() if first else ())
    }


def over_least(runs: Mapping[str, Runs], name: str, among: Iterable[str]) -> float:
    """The time of a solver over the least among some, from the starts that it has.

    Args:
        runs: The runs of a row, by solver.
        name: The solver.
        among: The solvers to compare it with.

    Returns:
        The ratio of the medians; infinite where the solver fails.
    """
    same = shared(runs, name)
    least = min(same[each].time for each in (name, *among) if each in same)
    time = same[name].time
    return time / max(least, np.finfo(float).tiny) if math.isfinite(time) else math.inf


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
                same = shared(runs, first, second) or runs
                ratios.append(_ratio(same, second, first))
                overlap.append(len(leaders(same, (first, second))) > 1)
            elif first is not None or second is not None:
                alone[pair[0] if second is None else pair[1]] += 1
        yield Duel(*pair, tuple(ratios), alone, tuple(overlap))


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
    gains: dict[str, list[float]] = {measure: [] for measure in GAINS}
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
    return Effect(solver, other, count, {name: tuple(g) for name, g in gains.items()}, *only)
