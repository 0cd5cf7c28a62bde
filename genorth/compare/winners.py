"""Who wins each row, by how much, and which runs failed: as data and as tables."""

from __future__ import annotations

import math

import attrs

from genorth.compare.record import Record, Records
from genorth.compare.rows import Runs, best_of, by_row, elsewhere, time_entry, tolerance_text
from genorth.compare.table import (
    Block,
    Column,
    Entry,
    Labels,
    Line,
    Table,
    count,
    scientific,
    seconds_text,
    times,
    words,
)


@attrs.frozen
class Best:
    """Who wins a row (problem, size, tolerance): the fastest of those that solved most seeds."""

    problem: str
    size: str
    tolerance: float
    #: None where nobody solved it.
    solver: str | None
    #: Seconds, the median over the seeds; NaN where nobody solved it.
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


def best(records: Records) -> list[Best]:
    """The winner of each row, and how many times longer the others took."""
    found = []
    for row, runs in by_row(records).items():
        winner = best_of(runs)
        time = math.nan if winner is None else runs[winner].time
        ratios = {
            solver: entry.time / time if winner is not None and time > 0 else math.inf
            for solver, entry in runs.items()
        }
        at_least = {
            solver: entry.spent / time
            for solver, entry in runs.items()
            if math.isinf(ratios[solver]) and entry.out_of_time and time > 0
        }
        notes = {solver: entry.note for solver, entry in runs.items() if entry.note}
        found.append(Best(*row, winner, time, ratios, at_least, notes, elsewhere(runs)))
    return found


def best_table(records: Records, labels: Labels | None = None) -> Table:
    """One line for each row: the winner, its time, and how many times longer each other solver took."""
    labels = labels or {}
    found = best(records)
    solvers = list(dict.fromkeys(solver for row in found for solver in row.ratios))
    columns = [
        *(Column(name, numeric=False) for name in ("Problem", "Size")),
        Column("tol"),
        Column("Best", numeric=False),
        Column("Seconds"),
        *(Column(labels.get(solver, solver), "times the time of the best") for solver in solvers),
    ]
    lines = []
    for row in found:
        name = "none" if row.solver is None else labels.get(row.solver, row.solver)
        ratios = [_ratio(row, solver) for solver in solvers]
        time = Entry(failed=True) if row.solver is None else Entry(seconds_text(row.time), row.time)
        first = [
            words(labels.get(row.problem, row.problem)),
            words(row.size),
            Entry(tolerance_text(row.tolerance), row.tolerance),
            words(name),
        ]
        lines.append(Line([*first, time, *ratios]))
    footnote = ">: it ran out of time. Other f: it ended at a higher value of f than the lowest found from the same start."
    return Table("", columns, [Block("", lines)], "", footnote)


def _ratio(row: Best, solver: str) -> Entry:
    if solver in row.at_least:  # ">" says already that the time ran out
        bound = times(row.at_least[solver])
        return attrs.evolve(bound, text=f"> {bound.text}", hint=row.notes[solver], failed=True)
    notes = [row.notes.get(solver), "other f" if solver in row.elsewhere else ""]
    return attrs.evolve(
        times(row.ratios.get(solver, math.nan)),
        note=", ".join(filter(None, notes)),
        bold=solver == row.solver,
    )


def failures_table(records: Records, labels: Labels | None = None) -> Table | None:
    """Every run that failed, with what it said; None where none did."""
    labels = labels or {}
    failed = [record for record in records if not record.success]
    if not failed:
        return None
    names = (
        "Problem",
        "Size",
        "Seed",
        "Solver",
        "tol",
        "Status",
        "Seconds",
        "Gradient norm",
        "What it said",
    )
    numeric = {"Seed", "tol", "Seconds", "Gradient norm"}
    return Table(
        "",
        [Column(name, numeric=name in numeric) for name in names],
        [Block("", [Line(_failure(record, labels)) for record in failed])],
    )


def _failure(record: Record, labels: Labels) -> list[Entry]:
    runs = Runs((record,))
    return [
        words(labels.get(record.problem, record.problem)),
        words(record.size),
        count(record.seed),
        words(labels.get(record.solver, record.solver)),
        Entry(tolerance_text(record.tolerance), record.tolerance),
        words(runs.note),
        attrs.evolve(time_entry(runs), note="", hint="", failed=False),
        scientific(record.gradient_norm),
        words(record.message),
    ]
