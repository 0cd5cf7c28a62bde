"""The runs behind one entry of a table: one solver in one row, over all seeds.

A row is a problem, a size and a tolerance. Tables, summary and plots all ask here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from genorth.compare.runs.record import NOT_RUN, OUT_OF_TIME, Record, Records
from genorth.errors import refuse
from genorth.solve.solver import FAMILIES

#: The row of a table: problem, size, tolerance.
Row = tuple[str, str, float]

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
        values = [float(getattr(record, figure)) for record in self.records]
        finite = [value for value in values if math.isfinite(value)]
        return statistics.median(finite) if finite else math.nan

    def spread(self, figure: str) -> tuple[float, float, float]:
        """Least, median and greatest over the seeds, a failed run counting as infinite."""
        values = [getattr(r, figure) if r.success else math.inf for r in self.records]
        return min(values), statistics.median(values), max(values)

    @property
    def time(self) -> float:
        """The median time, a failed run counting as infinite."""
        return self.spread("time")[1]

    @property
    def out_of_time(self) -> bool:
        """True if a run failed by the clock, so that `spent` is a lower bound of its time."""
        return any(record.status in OUT_OF_TIME for record in self.failed)

    @property
    def spent(self) -> float:
        """The median time of the runs that failed."""
        return Runs(self.failed).median("time")

    @property
    def note(self) -> str:
        """Why runs failed and, if not all did, how many; empty if all succeeded."""
        return note_of([record.status for record in self.failed], len(self.records))

    def rank(self, figure: str = "time") -> tuple[float, float]:
        """Sorts the solvers of a row: by the share of seeds solved, then by time or a figure."""
        return -len(self.solved) / len(self.records), self.spread(figure)[1]


def short_status(status: str) -> str:
    """The status in a word or two: "time limit"."""
    return status.lower().replace("_", " ")


def note_of(failed: Sequence[str], total: int) -> str:
    """The statuses of the failed runs, of so many in all: "1 of 3 time limit"."""
    share = f"{len(failed)} of {total} " if 0 < len(failed) < total else ""
    return share + ", ".join(dict.fromkeys(map(short_status, failed)))


def by_row(records: Records) -> dict[Row, dict[str, Runs]]:
    """Group the runs by row and solver.

    Args:
        records: The records.

    Returns:
        Rows with sizes as they appear and tolerances from loose to tight; in each the solvers,
        family by family.
    """
    places = {
        place: number
        for number, place in enumerate(dict.fromkeys((r.problem, r.size) for r in records))
    }
    rows = sorted(records.distinct("row"), key=lambda row: (places[row[:2]], -row[2]))
    solvers = records.solvers
    collected: dict[Row, dict[str, list[Record]]] = {
        row: {solver: [] for solver in solvers} for row in rows
    }
    for record in records:
        collected[record.row][record.solver].append(record)
    return {
        row: {solver: Runs(tuple(runs)) for solver, runs in entries.items() if runs}
        for row, entries in collected.items()
    }


def by_problem(records: Records) -> dict[str, dict[Row, dict[str, Runs]]]:
    """Group the rows by problem."""
    rows = by_row(records)
    return {
        problem: {row: runs for row, runs in rows.items() if row[0] == problem}
        for problem in records.distinct("problem")
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
    names = _solving(runs, among)
    return min(names, key=lambda name: runs[name].rank(figure), default=None)


def _solving(runs: Mapping[str, Runs], among: Iterable[str] | None) -> list[str]:
    """Those that solve more than half of the seeds; of these, those that have most seeds.

    A single start, however lucky, is no rival of five.
    """
    names = runs if among is None else among
    solving = [name for name in names if math.isfinite(runs[name].time)]
    most = max((len(runs[name].records) for name in solving), default=0)
    return [name for name in solving if len(runs[name].records) == most]


def shared(runs: Mapping[str, Runs], *like: str) -> dict[str, Runs]:
    """The runs of a row from the starts that all of these solvers have.

    Each start has an case of its own, so that a figure of one solver is held against that of
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
    names = _solving(runs, among)
    best = best_of(runs, names, figure)
    if best is None:
        return ()
    _, _, longest = runs[best].spread(figure)
    near = (name for name in names if name != best and runs[name].spread(figure)[0] <= longest)
    return best, *near


def best_by_family(runs: Mapping[str, Runs]) -> dict[str, str | None]:
    """The best solver of each family that runs in a row; None for one that solves nothing."""
    present = [kind for kind in FAMILIES if any(each.family == kind for each in runs.values())]
    return {
        kind: best_of(runs, [name for name in runs if runs[name].family == kind])
        for kind in present
    }


def elsewhere(runs: Mapping[str, Runs]) -> dict[str, float]:
    """Find the solvers of a row whose f is not the lowest, each with its excess.

    A run counts where f - f_best > 1e-3 (f_start - f_best), f_best being the lowest f that any
    solver reached from the same start: this tells another minimum from rounding, also where f_best
    is zero.
    """
    lowest: dict[int, float] = {}
    start: dict[int, float] = {}
    every = [record for entry in runs.values() for record in entry.solved]
    for record in every:
        lowest[record.seed] = min(record.fun, lowest.get(record.seed, math.inf))
        if record.trace.cost and not math.isnan(record.trace.cost[0]):
            start[record.seed] = max(record.trace.cost[0], start.get(record.seed, -math.inf))
    found: dict[str, float] = {}
    for record in every:
        excess = record.fun - lowest[record.seed]
        if record.seed in start and excess > _ANOTHER * (start[record.seed] - lowest[record.seed]):
            found[record.solver] = max(excess, found.get(record.solver, 0.0))
    return found
