"""The comparison in words: who wins, by how much, over how many rows, and what failed and why."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from genorth.compare.analysis.rows import (
    Duel,
    Row,
    Runs,
    best_by_family,
    by_row,
    duels,
    elsewhere,
    leaders,
    over_least,
    require_records,
    short_status,
)
from genorth.compare.render.table import Labels, Names, counted, digits, names_of
from genorth.compare.runs.record import NOT_RUN, Records

_NAMED = 3  # solvers that a sentence names
_Rows = Mapping[Row, Mapping[str, Runs]]
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
    for problem, mine in records.by("problem").items():
        rows = by_row(mine)
        parts = [
            *(_winners(rows, names), _tied(rows), *_families(rows)),
            *_other_values(rows, names),
        ]
        found.append((names[problem], " ".join(filter(None, parts))))
    return found + [("", text) for text in _failures(records, names)]


def headline(records: Records, labels: Labels | None = None, own: Sequence[str] = ()) -> list[str]:
    """Say in a few short sentences who wins over all rows, by how much, and how sure that is.

    Args:
        records: The records.
        labels: As for `sentences`.
        own: The user's solvers, which the first sentences are about.

    Returns:
        The sentences.
    """
    names, rows = names_of(require_records(records), labels), by_row(records)
    mine = [_own(records, rows, names, solver) for solver in own]
    return [
        text
        for text in (*mine, _winners(rows, names), *_families(rows), _sure(records, rows))
        if text
    ]


def _own(records: Records, rows: _Rows, names: Names, solver: str) -> str:
    """Your solver is fastest in 1 of 3 rows, 1.3x the least time in the median (1x to 4x)."""
    mine = [runs for runs in rows.values() if solver in runs]
    ratios = [r for runs in mine if math.isfinite(r := over_least(runs, solver, runs))]
    won = sum(leaders(runs) == (solver,) for runs in mine)
    median = " in the median" if len(ratios) > 1 else ""
    near = (
        f"; it takes {digits(statistics.median(ratios))}x the least time{median}{_range(ratios)}"
        if ratios and won < len(mine)
        else ""
    )
    runs = records.where(solver=solver)
    solved = f"{len(runs.where(success=True))} of {counted(len(runs), 'run')}"
    return (
        f"Your solver {names[solver]} is fastest in {_share(won, len(mine))}"
        f"{near}, and solves {solved}."
    )


def _winners(rows: _Rows, names: Names) -> str:
    """Rtr is fastest in 12 of 25 rows, rgd in 4, cdf-gd in 3 and others in 2."""
    found, total = [leaders(runs) for runs in rows.values()], len(rows)
    counts = Counter(names[each[0]] for each in found if len(each) == 1).most_common()
    parts = [f"{name} is fastest in {_share(count, total)}" for name, count in counts[:1]]
    parts += [f"{name} in {count}" for name, count in counts[1:_NAMED]]
    if rest := sum(count for _, count in counts[_NAMED:]):
        parts.append(f"others in {rest}")
    nobody = found.count(())
    none = f"{'no' if parts else 'No'} solver succeeds in {_share(nobody, total)}" if nobody else ""
    text = "; ".join(filter(None, [_listed(parts), none]))
    return f"{text}." if text else ""


def _tied(rows: _Rows) -> str:
    overlap = sum(len(leaders(runs)) > 1 for runs in rows.values())
    where = f"overlap in {_share(overlap, len(rows))}: no winner there."
    return f"The ranges of the fastest over the starts {where}" if overlap else ""


def _sure(records: Records, rows: _Rows) -> str:
    """How sure it is: over how many starts, and in how many rows nobody wins."""
    starts, tied = len(records.distinct("seed")), _tied(rows)
    if starts == 1:
        sure = "One start each: how much the times vary from start to start is not known."
        return f"{sure} {tied}".strip()
    who = f"t{tied[1:]}" if tied else "who wins, wins over the whole range of them."
    return f"Medians over {starts} starts; {who}"


def _families(rows: _Rows) -> list[str]:
    """The best of a family against the best of the others, row by row; where only one succeeds."""
    found, wins = list(duels(rows)), Counter[str]()
    for duel in found:
        wins.update(dict(zip((duel.first, duel.second), duel.won, strict=True)))
    top = max(wins, key=lambda kind: wins[kind], default="")
    mine = [duel for duel in found if duel.ratios and top in (duel.first, duel.second)]
    total = len(rows) if len(found) > 1 else 0
    clauses = ", and ".join(_duel(duel, top, total) for duel in mine)
    able = [
        [kind for kind, best in each.items() if best is not None]
        for each in map(best_by_family, rows.values())
        if len(each) > 1
    ]
    alone = Counter(each[0] for each in able if len(each) == 1).most_common()
    parts = [f"nly {kind} solvers succeed in {counted(n, 'row')}" for kind, n in alone[:1]]
    parts += [f"only {kind} ones in {n}" for kind, n in alone[1:]]
    texts = [
        f"{top[:1].upper()}{top[1:]} {clauses}" if mine else "",
        f"O{_listed(parts)}" if parts else "",
    ]
    return [f"{text}." for text in texts if text]


def _duel(duel: Duel, winner: str, total: int) -> str:
    """Wins both rows, 5.6x faster in the median (3.8x to 10x).

    Args:
        duel: The winner and another family.
        winner: Who is compared with the other one.
        total: How many rows there are, if there are further families.
    """
    turned, count = winner != duel.first, len(duel.ratios)
    other, won = (duel.first, duel.won[1]) if turned else (duel.second, duel.won[0])
    ratios = [1 / ratio if turned else ratio for ratio in duel.ratios]
    both = " that both solve" if count < total else ""
    if all(duel.overlap):
        where = f"{_share(count, count)}{both}: their ranges overlap"
        return f"cannot be told apart from {other} in {where}"
    wins = f"{f'beats {other} in' if total else 'wins'} {_share(won, count)}{both}"
    if won and duel.won[0] == duel.won[1]:
        wins = f"wins as many rows as {other}, {won} of {count}{both}"
    undecided = f" ({sum(duel.overlap)} undecided)" if any(duel.overlap) else ""
    middle = statistics.median(ratios)
    pace = digits(max(middle, 1 / middle))
    faster = "as fast" if pace == "1" else f"{pace}x {'faster' if middle >= 1 else 'slower'}"
    wide = f" in the median{_range(ratios)}" if count > 1 else ""
    over = "" if count == 1 or middle >= 1 else f"but over {_share(count, count)} it is "
    return f"{wins}{undecided}, {over}{faster}{wide}"


def _range(ratios: Sequence[float]) -> str:
    """In brackets, where the ratios differ: " (1x to 3.4x)"."""
    low, high = digits(min(ratios, default=1.0)), digits(max(ratios, default=1.0))
    return f" ({low}x to {high}x)" if low != high else ""


def _other_values(rows: _Rows, names: Names) -> list[str]:
    """A winner that ended at a higher value of f won another race."""
    found = []
    for row, runs in rows.items():
        first, excess = leaders(runs), elsewhere(runs)
        if first and first[0] in excess:
            who = f"the {'winner' if len(first) == 1 else 'fastest'}, {names[first[0]]},"
            higher, starts = excess[first[0]], len(runs[first[0]].records)
            ends = f"{who} ends at an f {digits(max(higher))} above the lowest found"
            often = f", from {len(higher)} of {starts} starts" if starts > 1 else ""
            found.append(f"At {names.row(row)} {ends}{often}.")
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
