"""The runs behind one entry of a table.

One solver in one row (problem, size, tolerance), over all seeds.

Also which solver of a row is the best, and how a run that failed is called; tables, summary and
plots all ask here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

import attrs

from genorth.compare.families import by_family
from genorth.compare.record import OUT_OF_TIME, Record, Records
from genorth.compare.table import Entry, seconds_text

#: The row of a table: problem, size, tolerance.
Row = tuple[str, str, float]

# of the decrease: a value of f that is higher by more belongs to another minimum, or to none
_ANOTHER = 1e-3


@attrs.frozen
class Runs:
    """The runs of one solver in one row, one for each seed."""

    records: tuple[Record, ...]

    @property
    def solved(self) -> tuple[Record, ...]:
        """Those that succeeded."""
        return tuple(record for record in self.records if record.success)

    @property
    def failed(self) -> tuple[Record, ...]:
        """Those that did not."""
        return tuple(record for record in self.records if not record.success)

    def median(self, figure: str) -> float:
        """The median of a figure over the runs that have it, failed or not; NaN where none has."""
        values = [float(getattr(record, figure)) for record in self.records]
        finite = [value for value in values if math.isfinite(value)]
        return statistics.median(finite) if finite else math.nan

    @property
    def time(self) -> float:
        """The median time, a run that failed counting as infinite.

        So is the median where half of them failed.
        """
        return statistics.median(
            record.time if record.success else math.inf for record in self.records
        )

    @property
    def out_of_time(self) -> bool:
        """True if one of those that failed did so by the clock, so that `spent` is a lower bound of its time."""
        return any(record.status in OUT_OF_TIME for record in self.failed)

    @property
    def spent(self) -> float:
        """The median time of those that failed."""
        return Runs(self.failed).median("time")

    @property
    def note(self) -> str:
        """Nothing where all succeeded, else why they failed and, where it was not all of them, how many did."""
        return note_of([record.status for record in self.failed], len(self.records))

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts the solvers of a row: first who solved more seeds, then who took less time."""
        return -len(self.solved), self.time


def short(status: str) -> str:
    """The status in a word or two: "time limit"."""
    return status.lower().replace("_", " ")


def note_of(failed: Sequence[str], total: int) -> str:
    """What is to be said of so many runs, of which some failed with these statuses.

    "1 of 3 time limit".
    """
    share = f"{len(failed)} of {total} " if 0 < len(failed) < total else ""
    return share + ", ".join(dict.fromkeys(map(short, failed)))


def tolerance_text(tolerance: float) -> str:
    """1e-5, as the paper writes it."""
    digits, _, exponent = f"{tolerance:e}".partition("e")
    short = digits.rstrip("0").rstrip(".")
    return f"{tolerance:g}" if -3 < int(exponent) < 3 else f"{short}e{int(exponent)}"


def row_text(row: Row) -> str:
    """The row in words: "matching (100,10) to 1e-5"."""
    return " ".join(filter(None, [row[0], row[1], "to", tolerance_text(row[2])]))


def time_entry(runs: Runs, best: bool = False) -> Entry:
    """The median time, the time spent where that is infinite ("> 60" by a time limit), and the note of the failures."""
    hint = " ".join(dict.fromkeys(record.message for record in runs.failed))
    if math.isfinite(runs.time):
        return Entry(seconds_text(runs.time), runs.time, runs.note, hint, best)
    if math.isnan(runs.spent):
        return Entry(note=runs.note, hint=hint, failed=True)
    more = "> " if runs.out_of_time else ""
    return Entry(more + seconds_text(runs.spent), runs.spent, runs.note, hint, failed=True)


def by_row(records: Records) -> dict[Row, dict[str, Runs]]:
    """The runs by row and solver.

    Sizes as they appear, tolerances from loose to tight, solvers by family.
    """
    places = {
        place: number
        for number, place in enumerate(dict.fromkeys((r.problem, r.size) for r in records))
    }
    rows = sorted(records.distinct("row"), key=lambda row: (places[row[:2]], -row[2]))
    solvers = by_family(records.distinct("solver"))
    collected: dict[Row, dict[str, list[Record]]] = {
        row: {solver: [] for solver in solvers} for row in rows
    }
    for record in records:
        collected[record.row][record.solver].append(record)
    return {
        row: {solver: Runs(tuple(runs)) for solver, runs in entries.items() if runs}
        for row, entries in collected.items()
    }


def best_of(runs: Mapping[str, Runs], among: Iterable[str] | None = None) -> str | None:
    """The solver that is fastest among those that solved most seeds.

    None where none solved more than half of them.
    """
    names = [name for name in (runs if among is None else among) if math.isfinite(runs[name].time)]
    return min(names, key=lambda name: runs[name].rank, default=None)


def elsewhere(runs: Mapping[str, Runs]) -> dict[str, float]:
    """Solvers whose f is not the lowest of the row, each with its excess.

    A run from the same start counts where f - f_best > 1e-3 (f_start - f_best), f_best being the
    lowest f that any solver reached from that start: this tells another minimum from rounding, also
    where f_best is zero.
    """
    lowest: dict[int, float] = {}
    start: dict[int, float] = {}
    every = [record for entry in runs.values() for record in entry.solved]
    for record in every:
        lowest[record.seed] = min(record.fun, lowest.get(record.seed, math.inf))
        if record.trace.cost:
            start[record.seed] = max(record.trace.cost[0], start.get(record.seed, -math.inf))
    found: dict[str, float] = {}
    for record in every:
        excess = record.fun - lowest[record.seed]
        if record.seed in start and excess > _ANOTHER * (start[record.seed] - lowest[record.seed]):
            found[record.solver] = max(excess, found.get(record.solver, 0.0))
    return found
