"""The comparison in words: who wins, by how much, over how many rows, and what failed and why."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from genorth.compare.analysis import rows as ranking
from genorth.compare.analysis.rows import (
    Duel,
    Row,
    Runs,
    by_problem,
    by_row,
    duels,
    elsewhere,
    leaders,
    require_records,
    short_status,
)
from genorth.compare.render.table import Labels, Names, counted, names_of, seconds_text
from genorth.compare.runs.record import NOT_RUN, Records

_Rows = Mapping[Row, Mapping[str, Runs]]
_OVERLAP = "The ranges of the fastest over the starts overlap"
_MEET = "their ranges overlap"
_SKIPPED = {
    "UNSUPPORTED": "skipped, because the solver does not run on the problem",
    "UNPREPARED": "skipped, because the problem could not be made",
}


def sentences(records: Records, labels: Labels | None = None) -> list[str]:
    """Say what a reader must know first.

    Args:
        records: The records.
        labels: How problems and solvers are to be called, by name.

    Returns:
        One paragraph for each problem, and one or two on failures.
    """
    return [f"{name}: {text}" if name else text for name, text in paragraphs(records, labels)]


def paragraphs(records: Records, labels: Labels | None = None) -> list[tuple[str, str]]:
    """Return the paragraphs of `sentences`, each with the problem that it is about, if any."""
    names = names_of(require_records(records), labels)
    if not len(records):
        return [("", "There are no records.")]
    found = []
    for problem, rows in by_problem(records).items():
        parts = [_winners(rows, names), *_families(rows), *_other_values(rows, names)]
        found.append((names[problem], " ".join(filter(None, parts))))
    return found + [("", text) for text in _failures(records, names)]


def headline(records: Records, labels: Labels | None = None) -> list[str]:
    """Say in a few short sentences who wins over all rows, by how much, and how sure that is.

    Args:
        records: The records.
        labels: As for `sentences`.

    Returns:
        The sentences.
    """
    names, rows = names_of(require_records(records), labels), by_row(records)
    return [text for text in (_winners(rows, names), *_families(rows), _sure(records)) if text]


def line(records: Records, labels: Labels | None = None) -> str:
    """Say in one line who wins most rows, and how far the best of each family is behind.

    Args:
        records: The records.
        labels: As for `sentences`.

    Returns:
        The line: "rtr wins both rows; penalty 5.6x, Riemannian 1x the best time".
    """
    names, rows = names_of(require_records(records), labels), by_row(records)
    found = [leaders(runs) for runs in rows.values()]
    counts = Counter(names[each[0]] for each in found if len(each) == 1).most_common(1)
    parts = [f"{name} wins {_share(count, len(rows))}" for name, count in counts] or ["no winner"]
    ratios: dict[str, list[float]] = {}
    for runs in rows.values():
        for kind, ratio in ranking.behind(runs).items():
            ratios.setdefault(kind, []).append(ratio)
    if len(ratios) > 1:  # infinite where a family solves less than half of the rows
        middles = {kind: statistics.median(each) for kind, each in ratios.items()}
        shown = (
            f"{kind} {_digits(each)}x" if math.isfinite(each) else f"{kind} unsolved"
            for kind, each in middles.items()
        )
        parts.append(f"{', '.join(shown)} the best time")
    failed = sum(not record.success and record.status not in NOT_RUN for record in records)
    parts += [f"{failed} of {len(records)} runs failed"] if failed else []
    return "; ".join(parts)


def lead(
    records: Records, over: str, factor: float, from_seconds: float, labels: Labels | None = None
) -> str:
    """Say in how many rows the best solver is at least `factor` times faster than `over`.

    Args:
        records: The records.
        over: The name of a solver.
        factor: How many times faster.
        from_seconds: Only rows in which `over` takes longer than this, or runs out of time later.
        labels: As for `sentences`.

    Returns:
        The sentences; rows in which the lead is smaller are named.
    """
    found = ranking.lead(records, over, factor, from_seconds)
    names = names_of(records, labels)
    name, total = names[over], sum(map(len, (found.held, found.missed, found.undecided)))
    limit = f"over {seconds_text(from_seconds)} s"
    if not total:
        return f"{name} takes {limit} in no row."
    held = f"{len(found.held)} of {counted(total, 'row')} where {name} takes {limit}"
    parts = [f"The best solver is at least {factor:g}x faster than {name} in {held}."]
    if found.missed:
        parts.append(f"It is not at {_listed([names.row(row) for row in found.missed])}.")
    if found.undecided:
        rows = counted(len(found.undecided), "row")
        parts.append(f"{rows} cannot be decided: {name} ran out of time.")
    return " ".join(parts)


def _winners(rows: _Rows, names: Names) -> str:
    found, total = [leaders(runs) for runs in rows.values()], len(rows)
    counts = Counter(names[each[0]] for each in found if len(each) == 1).most_common()
    nobody, overlap = found.count(()), sum(len(each) > 1 for each in found)
    parts = [f"{name} is fastest in {_share(count, total)}" for name, count in counts[:1]]
    parts += [f"{name} in {count}" for name, count in counts[1:]]
    text = f"{_listed(parts)}." if parts else ""
    none = f"No solver succeeds in {_share(nobody, total)}." if nobody else ""
    tied = f"{_OVERLAP} in {_share(overlap, total)}: no winner there." if overlap else ""
    return " ".join(filter(None, [text, tied, none]))


def _sure(records: Records) -> str:
    """How sure it is: over how many starts."""
    starts = len(records.distinct("seed"))
    if starts > 1:
        return f"Medians over {starts} starts; who wins, wins over the whole range of them."
    return "One start each: how much the times vary from start to start is not known."


def _families(rows: _Rows) -> list[str]:
    """Each pair of families: the best of one against the best of the other, row by row."""
    found = list(duels(rows))
    several = len(found) > 1
    parts = [_duel(duel, several) for duel in found if duel.ratios]
    for duel in found:
        for kind, other in ((duel.first, duel.second), (duel.second, duel.first)):
            rival = f", not {other} ones" if several else ""
            if count := duel.alone[kind]:
                parts.append(f"Only {kind} solvers succeed in {counted(count, 'row')}{rival}.")
    return parts


def _duel(duel: Duel, several: bool) -> str:
    """Riemannian wins both rows, 5.6x faster in the median (3.8x to 10x)."""
    (first, second), count = duel.won, len(duel.ratios)
    winner, other, won, ratios = duel.first, duel.second, first, list(duel.ratios)
    if second > first:
        winner, other, won, ratios = other, winner, second, [1 / ratio for ratio in ratios]
    name = f"{winner[0].upper()}{winner[1:]}"
    if not won:
        return f"{name} and {other} cannot be told apart in {_share(count, count)}: {_MEET}."
    wins = f"{name} {f'beats {other} in' if several else 'wins'} {_share(won, count)}"
    undecided = f" ({sum(duel.overlap)} undecided)" if any(duel.overlap) else ""
    middle = statistics.median(ratios)
    faster = f"{_digits(middle)}x faster" if middle >= 1 else f"{_digits(1 / middle)}x slower"
    if count > 1:
        faster += f" in the median ({_digits(min(ratios))}x to {_digits(max(ratios))}x)"
    return f"{wins}{undecided}, {faster}."


def _digits(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"


def _other_values(rows: _Rows, names: Names) -> list[str]:
    """A winner that ended at a higher value of f won another race."""
    found = []
    for row, runs in rows.items():
        first, excess = leaders(runs), elsewhere(runs)
        if first and first[0] in excess:
            who = f"the {'winner' if len(first) == 1 else 'fastest'}, {names[first[0]]},"
            by = f"{excess[first[0]]:.2g} above the lowest"
            found.append(f"At {names.row(row)} {who} ends at an f {by}.")
    return found


def _failures(records: Records, names: Names) -> list[str]:
    ran = records.where(lambda record: record.status not in NOT_RUN)
    failed, found = ran.where(success=False), []
    if len(failed):
        kinds = failed.by("status").items()
        parts = [
            f"{short_status(status)} {len(mine)} ({_who(mine, names)})" for status, mine in kinds
        ]
        found.append(f"{len(failed)} of {counted(len(ran), 'run')} failed: {'; '.join(parts)}.")
    elif len(ran):
        found.append("The run succeeded." if len(ran) == 1 else f"All {len(ran)} runs succeeded.")
    saddles = ran.where(lambda record: getattr(record, "certificate", "") == "saddle")
    if len(saddles):
        found.append(f"{counted(len(saddles), 'run')} ended at a saddle: {_who(saddles, names)}.")
    for status, reason in _SKIPPED.items():
        if len(skipped := records.where(status=status)):
            runs = f"{counted(len(skipped), 'run')} {'was' if len(skipped) == 1 else 'were'}"
            found.append(f"{runs} {reason}: {_who(skipped, names)}.")
    return found


def _who(records: Records, names: Names) -> str:
    """How many of each solver: "cdf-gd 2, rgd 1"."""
    counts = Counter(names[record.solver] for record in records).most_common()
    return ", ".join(f"{name} {count}" for name, count in counts)


def _share(count: int, total: int) -> str:
    """The one row, both rows, all 3 rows, 2 of 3 rows."""
    if count < total:
        return f"{count} of {counted(total, 'row')}"
    return {1: "the one row", 2: "both rows"}.get(total, f"all {total} rows")


def _listed(parts: Sequence[str]) -> str:
    """A, b and c."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
