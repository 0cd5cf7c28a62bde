"""Tables of records: in the layout of the paper, of the way to a common target, and of who wins each row.

Figures are medians over the seeds, times with infinity for a run that failed; where some failed, the entry says how
many and why. The functions that end in `_table` or `_tables` give `Table` objects, for the report; the others text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from genorth.compare.families import by_family, family
from genorth.compare.formats import render
from genorth.compare.record import Records
from genorth.compare.rows import Runs, best_of, by_row, time_entry, tolerance_text
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
from genorth.compare.target import Reached, reached, targets
from genorth.compare.winners import Best, best, best_table, failures_table

#: (problem, size, solver, tolerance) -> fun, nit, gradient_norm, feasibility, seconds; also
#: ">1800", or None.
Reference = Mapping[tuple[str, str, str, float], Sequence[float | str | None]]

__all__ = [
    "Best",
    "best",
    "best_table",
    "failures_table",
    "paper_layout",
    "paper_tables",
    "target_tables",
    "to_target",
]

_FIGURES = ("fun", "nit", "gradient_norm", "feasibility", "time")
_HEADS = ("Fval", "Iter", "Grad", "Feas", "CPU time (s)")
_BESIDE = ("fun", "nit", "time")  # shown beside the paper's
_WRITE = {"fun": scientific, "nit": count, "gradient_norm": scientific, "feasibility": scientific}


# ---------------------------------------------------------------------- the paper's layout


def paper_layout(
    records: Records,
    format: str = "markdown",
    reference: Reference | None = None,
    labels: Labels | None = None,  # noqa: A002
) -> str:
    """For each problem a table as in the paper.

    Blocks of sizes, lines of solvers, five figures for each tolerance.

    format: "markdown", "text", "csv", "latex" or "html". reference: figures to show beside ours
    (Fval, Iter and CPU time), by (problem, size, solver, tolerance). labels: how problems and
    solvers are to be called, by name.
    """
    return render(paper_tables(records, reference, labels), format)


def paper_tables(
    records: Records, reference: Reference | None = None, labels: Labels | None = None
) -> list[Table]:
    """What `paper_layout` writes, one table for each problem."""
    labels, reference = labels or {}, reference or {}
    return [
        _paper_table(
            records.where(problem=problem), reference, labels, labels.get(problem, problem)
        )
        for problem in records.distinct("problem")
    ]


def _paper_table(records: Records, reference: Reference, labels: Labels, caption: str) -> Table:
    rows, tolerances = by_row(records), targets(records)
    beside = {
        tolerance: any(key[0] == records[0].problem and key[3] == tolerance for key in reference)
        for tolerance in tolerances
    }
    columns = [Column("Solver", numeric=False)]
    for tolerance in tolerances:
        columns += _paper_columns(f"tol = {tolerance_text(tolerance)}", beside[tolerance])
    blocks = []
    for size in records.distinct("size"):
        mine = {row[2]: runs for row, runs in rows.items() if row[1] == size}
        lines = []
        for solver, rule in _with_rules(records.where(size=size).distinct("solver")):
            entries = [words(labels.get(solver, solver))]
            for tolerance in tolerances:
                runs = mine.get(tolerance, {})
                figures = reference.get((records[0].problem, size, solver, tolerance), (None,) * 5)
                shown = dict(zip(_FIGURES, figures, strict=True)) if beside[tolerance] else {}
                entries += _paper_entries(runs.get(solver), solver == best_of(runs), shown)
            lines.append(Line(entries, rule))
        blocks.append(Block(size, lines))
    seeds = len(records.distinct("seed"))
    footnote = f"Medians over {seeds} seeds. " if seeds > 1 else ""
    return Table(caption, columns, blocks, "Size", f"{footnote}Bold: the fastest of its block.")


def _with_rules(solvers: Sequence[str]) -> list[tuple[str, bool]]:
    """The solvers by family; True where a new family begins, which a rule tells from the one above."""
    ordered = by_family(list(solvers))
    return [
        (name, n > 0 and family(name) != family(ordered[n - 1])) for n, name in enumerate(ordered)
    ]


def _paper_columns(group: str, beside: bool) -> list[Column]:
    columns = []
    for figure, head in zip(_FIGURES, _HEADS, strict=True):
        columns.append(Column(head, group))
        if beside and figure in _BESIDE:
            columns.append(Column("paper", group, alone=f"{head} paper"))
    return columns


def _paper_entries(
    runs: Runs | None, best: bool, reference: Mapping[str, float | str | None]
) -> list[Entry]:
    entries = []
    for figure in _FIGURES:
        entries.append(_figure(runs, figure, best))
        if reference and figure in _BESIDE:
            entries.append(_theirs(reference[figure], figure))
    return entries


def _figure(runs: Runs | None, figure: str, best: bool) -> Entry:
    if runs is None:
        return Entry()
    if figure == "time":
        return time_entry(runs, best)
    if all(record.status in ("RAISED", "UNSUPPORTED") for record in runs.records):
        return Entry(failed=True)
    return attrs.evolve(_WRITE[figure](runs.median(figure)), failed=not runs.solved)


def _theirs(value: float | str | None, figure: str) -> Entry:
    """A figure of the paper, which may be missing or be ">1800"."""
    if isinstance(value, str):
        return Entry(value, value)
    if value is None or not math.isfinite(value):
        return Entry()
    return Entry(seconds_text(value), value) if figure == "time" else _WRITE[figure](value)


# ---------------------------------------------------------------------- to a common target


def to_target(records: Records, format: str = "markdown", labels: Labels | None = None) -> str:  # noqa: A002
    """For each problem, how each solver got to each target.

    Seconds, evaluations, their ratio to the best, and |C|.

    The targets are the tolerances of the records. The figures are read off the traces: the first
    line whose gradient norm is at most the target (and |C| at most 0.1, as h may be stationary away
    from M).
    """
    return render(target_tables(records, labels), format)


def target_tables(records: Records, labels: Labels | None = None) -> list[Table]:
    """What `to_target` writes, one table for each problem."""
    labels = labels or {}
    return [
        _target_table(records.where(problem=problem), labels, labels.get(problem, problem))
        for problem in records.distinct("problem")
    ]


def _target_table(records: Records, labels: Labels, caption: str) -> Table:
    columns = [Column("Solver", numeric=False)]
    for target in targets(records):
        group = f"gradient norm {tolerance_text(target)}"
        for name in ("Seconds", "Evaluations"):
            columns += [Column(name, group), Column("ratio", group, alone=f"{name} ratio")]
        columns.append(Column("Feas", group))
    blocks = []
    for size in records.distinct("size"):
        mine = records.where(size=size)
        solvers = mine.distinct("solver")
        ways = {
            target: {solver: reached(mine.where(solver=solver), target) for solver in solvers}
            for target in targets(records)
        }
        lines = []
        for solver, rule in _with_rules(solvers):
            entries = [words(labels.get(solver, solver))]
            for way in ways.values():
                entries += _target_entries(way, solver)
            lines.append(Line(entries, rule))
        blocks.append(Block(size, lines))
    footnote = (
        "The first iterate whose gradient norm is at most the target, by the traces. Ratio: to the best. Feas: of "
        "that iterate, before a penalty method restores it."
    )
    return Table(caption, columns, blocks, "Size", footnote)


def _target_entries(ways: Mapping[str, Reached], solver: str) -> list[Entry]:
    way = ways[solver]
    entries = []
    for figure in ("seconds", "evaluations"):
        value, best = way.median(figure), least(ways, figure)
        if math.isinf(value):
            spent = max((each for each in way.spent if math.isfinite(each)), default=math.nan)
            text = (
                "-" if figure == "evaluations" or math.isnan(spent) else f"> {seconds_text(spent)}"
            )
            entries += [
                Entry(text, None, way.note if figure == "seconds" else "", failed=True),
                Entry(failed=True),
            ]
        else:
            entry = (
                Entry(seconds_text(value), value, way.note) if figure == "seconds" else count(value)
            )
            entries += [
                attrs.evolve(entry, bold=value == best),
                times(value / best if best > 0 else 1.0),
            ]
    away = way.median("feasibility")
    return [*entries, Entry(failed=True) if math.isinf(away) else scientific(away)]


def least(ways: Mapping[str, Reached], figure: str) -> float:
    """The smallest median among the solvers that met the target for most seeds."""
    most = max(way.count for way in ways.values())
    return min(way.median(figure) for way in ways.values() if way.count == most)
