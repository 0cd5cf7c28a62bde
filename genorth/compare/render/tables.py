"""Tables of records: the paper's layout, the way to a common target, who wins, what failed.

Figures are medians over the seeds, times with infinity for a run that failed; where some failed,
the entry says how many and why. The functions that end in `_table` or `_tables` return `Table`
objects, for the report; the others text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from genorth.compare.analysis.profiles import UNITS, at_target
from genorth.compare.analysis.rows import (
    GAINS,
    Best,
    Effect,
    Runs,
    best,
    by_row,
    leaders,
    require_records,
    short_status,
)
from genorth.compare.render.table import (
    Block,
    Entry,
    Head,
    Labels,
    Line,
    Names,
    Table,
    count,
    digits,
    names_of,
    plain,
    render,
    scientific,
    seconds,
    seconds_text,
    times,
    tolerance_text,
    value,
    words,
)
from genorth.compare.runs.record import FAILURES, PAPER, Column, Records
from genorth.errors import require
from genorth.solve.solver import PENALTY

#: (problem, size, solver, tolerance) -> fun, nit, gradient_norm, feasibility, seconds; also
#: ">1800", or None.
Reference = Mapping[tuple[str, str, str, float], Sequence[float | str | None]]

_MOST = 12  # problems that have a column of their own
_TINY = 1e-300  # of a time, where it is zero
_FIGURES = ("fun", "nit", "gradient_norm", "feasibility", "cpu")

__all__ = [
    "Best",
    "best",
    "best_table",
    "failures_table",
    "paper_layout",
    "paper_tables",
    "solved_table",
    "target_tables",
    "to_target",
]


# ---------------------------------------------------------------------- the paper's layout


def paper_layout(
    records: Records,
    format: str = "markdown",  # noqa: A002  the name that users know from pandas
    reference: Reference | None = None,
    labels: Labels | None = None,
) -> str:
    """Write a table as in the paper for each problem.

    Blocks of sizes, lines of solvers, the five figures of the paper and the wall time for each
    tolerance, and those of further constraints where there are any.

    Args:
        records: The records.
        format: "markdown", "text", "csv", "latex" or "html".
        reference: Figures to show beside ours (Fval, Iter and CPU time), by (problem, size,
            solver, tolerance).
        labels: How problems and solvers are to be called, by name.

    Returns:
        The tables in the format.
    """
    return render(paper_tables(records, reference, labels), format)


def paper_tables(
    records: Records, reference: Reference | None = None, labels: Labels | None = None
) -> list[Table]:
    """Make the tables that `paper_layout` writes, one for each problem.

    Args:
        records: The records.
        reference: As for `paper_layout`.
        labels: As for `paper_layout`.

    Returns:
        The tables.
    """
    names = names_of(require_records(records), labels)
    figures = checked(reference)
    return [_paper_table(mine, figures, names) for mine in records.by("problem").values()]


def checked(reference: Reference | None) -> Reference:
    """The figures to show beside ours; none by default."""
    need = "a mapping of (problem, size, solver, tolerance) to figures"
    require(isinstance(reference, Mapping | None), "reference", need, reference)
    return reference or {}


def _paper_table(records: Records, reference: Reference, names: Names) -> Table:
    rows, tolerances, problem = by_row(records), _tolerances(records), records[0].problem
    printed = {key[3] for key in reference if key[0] == problem}  # tolerances of the paper
    # each column, and whether it is ours
    shown = [
        (tolerance, column, ours)
        for tolerance in tolerances
        for column in records.columns
        if PAPER in column.tables and column.used(records)
        for ours in ((True, False) if column.beside and tolerance in printed else (True,))
    ]
    heads = [Head("Solver", numeric=False)]
    for tolerance, column, ours in shown:
        group, alone = f"tol = {tolerance_text(tolerance)}", f"{column.heading} paper"
        heads.append(Head(column.heading, group) if ours else Head("paper", group, alone=alone))

    def entries(size: str, solver: str) -> Iterator[Entry]:
        for tolerance, column, ours in shown:
            figures = reference.get((problem, size, solver, tolerance), ())
            theirs = dict(zip(_FIGURES, figures, strict=False))
            row = rows.get((problem, size, tolerance), {})
            yield _ours(column, row, solver) if ours else _theirs(column, theirs.get(column.name))

    seeds = len(records.distinct("seed"))
    several = (
        f"Medians over {seeds} starts, times with their range. Bold: the least of its block, by "
        "wall and by CPU time, unless the range of another overlaps its range."
    )
    footnote = several if seeds > 1 else "Bold: the least of its block, by wall and by CPU time."
    return Table(names[problem], heads, _by_size(records, names, entries), "Size", footnote)


def _by_size(
    records: Records, names: Names, entries: Callable[[str, str], Iterable[Entry]]
) -> list[Block]:
    """A block for each size, and in it a line for each solver, by `entries(size, solver)`."""
    return [
        Block(plain(size), _lines(mine, names, partial(entries, size)))
        for size, mine in records.by("size").items()
    ]


def _lines(records: Records, names: Names, entries: Callable[[str], Iterable[Entry]]) -> list[Line]:
    """A line for each solver, family by family, with a rule where a new family begins."""
    lines, family = list[Line](), ""
    for solver, about in records.solvers.items():
        rule = family not in ("", about.family)
        lines.append(Line([words(names[solver]), *entries(solver)], rule))
        family = about.family
    return lines


def _ours(column: Column, row: Mapping[str, Runs], solver: str) -> Entry:
    """A figure over the seeds: the median; for times also their range, bold for the winner."""
    if solver not in row:
        return Entry()
    runs = row[solver]
    if column.name in ("time", "cpu"):
        bold = (solver,) == leaders(row, figure=column.name)
        return attrs.evolve(_time(runs, column.name), bold=bold)
    entry = _written(column, runs.median(column.name)) if runs.ran else Entry()
    return attrs.evolve(entry, failed=not runs.solved)


def _time(runs: Runs, figure: str = "time") -> Entry:
    """The median time and, of several seeds, the range; or the time spent if it is infinite.

    "2.1 (1.8 to 3.0)"; "> 60" by a time limit. Why runs failed stands beside the wall time.
    """
    hint = plain(" ".join(dict.fromkeys(record.message for record in runs.failed)))
    middle, spent = runs.spread(figure)[1], Runs(runs.failed).median(figure)
    said = runs.note if figure == "time" else ""
    if math.isfinite(middle):
        times = [getattr(record, figure) for record in runs.solved]
        wide = f"{seconds_text(min(times))} to {seconds_text(max(times))}" if times[1:] else ""
        return Entry(seconds_text(middle), middle, ", ".join(filter(None, [wide, said])), hint)
    if math.isnan(spent):
        return Entry(note=said, hint=hint, failed=True)
    text = f"{'> ' * runs.out_of_time}{seconds_text(spent)}"
    return Entry(text, spent, said, hint, failed=True)


def _theirs(column: Column, value: float | str | None) -> Entry:
    """A figure of the paper, which may be missing or be ">1800"."""
    if isinstance(value, str):
        return words(value)
    return Entry() if value is None or not math.isfinite(value) else _written(column, value)


_FORMS: Mapping[str, Callable[[Any], Entry]] = {
    "words": words,
    "status": lambda value: words(short_status(value)),
    "count": count,
    "value": value,
    "scientific": scientific,
    "seconds": seconds,
    "tolerance": lambda value: Entry(tolerance_text(value), value),
}


def _written(column: Column, value: Any, names: Names | None = None) -> Entry:
    if column.form == "name":
        return words((names or Names())[value])
    return _FORMS[column.form](value)


# ---------------------------------------------------------------------- to a common target


def to_target(
    records: Records,
    format: str = "markdown",  # noqa: A002  the name that users know from pandas
    labels: Labels | None = None,
) -> str:
    """Write a table for each problem of how each solver got to each target.

    Seconds, evaluations, their ratio to the best, and |C|. The targets are the tolerances of the
    records. The figures are read off the traces: the first line whose gradient norm is at most the
    target (and |C| at most 0.1, as h may be stationary away from M).

    Args:
        records: The records.
        format: As for `paper_layout`.
        labels: As for `paper_layout`.

    Returns:
        The tables in the format.
    """
    return render(target_tables(records, labels), format)


def target_tables(records: Records, labels: Labels | None = None) -> list[Table]:
    """Make the tables that `to_target` writes, one for each problem.

    Args:
        records: The records.
        labels: As for `paper_layout`.

    Returns:
        The tables.
    """
    names = names_of(require_records(records), labels)
    return [_target_table(mine, names) for mine in at_target(records).by("problem").values()]


def _target_table(records: Records, names: Names) -> Table:
    heads, rows, problem = [Head("Solver", numeric=False)], by_row(records), records[0].problem
    for target in _tolerances(records):
        group = f"gradient norm {tolerance_text(target)}"
        for name in ("Seconds", "Evaluations"):
            heads += [Head(name, group), Head("ratio", group, alone=f"{name} ratio")]
        heads.append(Head("Feas", group))

    def entries(size: str, solver: str) -> Iterator[Entry]:
        for target in _tolerances(records):
            yield from _target_entries(rows.get((problem, size, target), {}), solver)

    penalty = any(about.family == PENALTY for about in records.solvers.values())
    footnote = (
        "The first iterate whose gradient norm is at most the target, by the traces. Ratio: to the "
        "best. Bold: the least, unless the range of another overlaps its range. "
        f"Feas: of that iterate{', before a penalty method restores it' * penalty}."
    )
    return Table(names[problem], heads, _by_size(records, names, entries), "Size", footnote)


def _target_entries(row: Mapping[str, Runs], solver: str) -> list[Entry]:
    """Seconds and evaluations, each with the ratio to the best, and |C|."""
    if solver not in row or math.isinf(row[solver].time):
        return [_time(row[solver]) if solver in row else Entry(), *[Entry(failed=True)] * 4]
    entries, runs = [], row[solver]
    for figure, entry in (("time", _time(runs)), ("evaluations", None)):
        middle, first = runs.spread(figure)[1], leaders(row, figure=figure)
        least = row[first[0] if first else solver].spread(figure)[1]
        entry = attrs.evolve(count(middle) if entry is None else entry, bold=first == (solver,))
        entries += [entry, times(middle / max(least, _TINY))]
    return [*entries, scientific(runs.median("feasibility"))]


def _tolerances(records: Records) -> list[float]:
    """From loose to tight."""
    return sorted(records.distinct("tolerance"), reverse=True)


# ---------------------------------------------------------------------- who wins, what failed


def best_table(
    records: Records, labels: Labels | None = None, ratios: bool = True, by: str = "time"
) -> Table:
    """Make the table of winners: for each row the best solver, its time, and the others' ratios.

    Args:
        records: The records.
        labels: As for `paper_layout`.
        ratios: False for how many runs of the row failed, in place of the ratios.
        by: What counts: "time" (wall seconds), "cpu" (CPU seconds) or "evaluations".

    Returns:
        The table.
    """
    found, names, unit = best(records, by), names_of(records, labels), UNITS[by]
    solvers = dict.fromkeys(solver for row in found for solver in row.ratios) if ratios else {}
    heads = [
        *(Head(name, numeric=False) for name in ("Problem", "Size")),
        Head("tol"),
        Head("Best", numeric=False),
        Head(f"{unit[0].upper()}{unit[1:]}"),
        *(Head(names[solver], f"{unit} relative to the best") for solver in solvers),
        *([] if ratios else [Head("failed")]),
    ]
    said = {
        ">: it ran out of time.": ratios and any(row.at_least for row in found),
        "Other f: it ended at a higher value of f than the lowest found from the same start.": (
            ratios and any(row.elsewhere for row in found)
        ),
        "Several names: their ranges over the starts overlap, and none wins.": any(
            row.tied for row in found
        ),
    }
    footnote = " ".join(text for text, seen in said.items() if seen)
    block = Block("", [_best_line(row, solvers, names) for row in found])
    return Table("", heads, [block], "", footnote)


def _best_line(row: Best, solvers: Iterable[str], names: Names) -> Line:
    best = " or ".join(names[solver] for solver in (row.solver, *row.tied) if solver is not None)
    entries = [
        *map(words, (names[row.problem], row.size)),
        _FORMS["tolerance"](row.tolerance),
        words(best or "none"),
        attrs.evolve(seconds(row.time), failed=row.solver is None),
    ]
    return Line([*entries, *([_ratio(row, solver) for solver in solvers] or [count(row.failed)])])


def _ratio(row: Best, solver: str) -> Entry:
    if solver in row.at_least:  # ">" says already that the time ran out
        bound = times(row.at_least[solver])
        return attrs.evolve(bound, text=f"> {bound.text}", hint=row.notes[solver], failed=True)
    notes = [row.notes.get(solver), "other f" if solver in row.elsewhere else ""]
    entry = times(row.ratios.get(solver, math.nan))
    return attrs.evolve(
        entry, note=", ".join(filter(None, notes)), bold=solver == row.solver and not row.tied
    )


def solved_table(records: Records, labels: Labels | None = None) -> Table:
    """Make the table of how many runs each solver solves, by problem (up to 12) and in all.

    Args:
        records: The records.
        labels: As for `paper_layout`.

    Returns:
        The table.
    """
    names = names_of(require_records(records), labels)
    parts = records.by("problem")
    if len(parts) > 1:
        parts = (parts if len(parts) <= _MOST else {}) | {"all": records}
    counts = Counter((r.solver, part, r.success) for part, mine in parts.items() for r in mine)
    heads = [Head("Solver", numeric=False), Head("Family", numeric=False)]
    heads += [Head(names[part] if part != "all" else "All") for part in parts]

    def entries(solver: str) -> Iterator[Entry]:
        yield words(records.solvers[solver].family)
        for part in parts:
            solved = counts[solver, part, True]
            total = solved + counts[solver, part, False]
            yield Entry(f"{solved} of {total}", solved / total) if total else Entry()

    return Table("", heads, [Block("", _lines(records, names, entries))])


def effects_table(effects: Iterable[tuple[str, Effect]], labels: Labels | None = None) -> Table:
    """Make the table of what ingredients are worth.

    Args:
        effects: Each with the words that say what the ingredient is.
        labels: How solvers are to be called, by name.

    Returns:
        The table.
    """
    heads = [
        *(Head(name, numeric=False) for name in ("Ingredient", "with", "without")),
        Head("rows"),
        *(Head(name, "times less with it, median (range)") for name in GAINS),
        *(Head(name, "solved") for name in ("only with", "only without")),
    ]
    lines = []
    for name, found in effects:
        solvers = [words((labels or {}).get(each, each)) for each in (found.solver, found.other)]
        counts = [count(each) for each in (found.only_solver, found.only_other)]
        gains = [_gain(found, measure) for measure in GAINS]
        lines.append(Line([words(name), *solvers, count(found.rows), *gains, *counts]))
    return Table("", heads, [Block("", lines)])


def _gain(found: Effect, measure: str) -> Entry:
    middle = found.gain(measure)
    low, high = map(digits, found.range(measure))
    return Entry() if math.isnan(middle) else Entry(f"{middle:.2f} ({low} to {high})", middle)


def failures_table(records: Records, labels: Labels | None = None) -> Table | None:
    """Make the table of all runs that failed, each with its message.

    Args:
        records: The records.
        labels: As for `paper_layout`.

    Returns:
        The table; None if no run failed.
    """
    failed, names = require_records(records).where(success=False), names_of(records, labels)
    if not len(failed):
        return None
    shown = [column for column in records.columns if FAILURES in column.tables]
    lines = [
        Line([_written(column, column.get(record), names) for column in shown]) for record in failed
    ]
    heads = [Head(column.heading, numeric=column.numeric) for column in shown]
    return Table("", heads, [Block("", lines)])
