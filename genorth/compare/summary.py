"""The comparison in words: who wins each problem, by how much, over how many rows, and what failed and why."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from genorth.compare.families import PENALTY, RIEMANNIAN, family
from genorth.compare.record import Record, Records
from genorth.compare.rows import Row, Runs, best_of, by_row, elsewhere, row_text, short
from genorth.compare.table import Labels, seconds_text

_Rows = dict[Row, dict[str, Runs]]


def sentences(records: Records, labels: Labels | None = None) -> list[str]:
    """What a reader must know first, a few sentences for each problem and one or two on failures."""
    labels = labels or {}
    if not len(records):
        return ["There are no records."]
    rows = by_row(records)
    found = []
    for problem in records.distinct("problem"):
        mine = {row: runs for row, runs in rows.items() if row[0] == problem}
        parts = [_winners(mine, labels), _families(mine), _other_values(mine, labels)]
        found.append(f"{labels.get(problem, problem)}: " + " ".join(filter(None, parts)))
    return [*found, *_failures(list(records), labels)]


def lead(
    records: Records, over: str, factor: float, from_seconds: float, labels: Labels | None = None
) -> str:
    """In how many rows the best solver is at least `factor` times faster than the solver `over`.

    Of the rows in which that takes more than `from_seconds`, or runs out of time after them: its
    time is then a lower bound, and where the bound is not enough nothing can be told. Rows in which
    the lead is smaller are named.
    """
    labels = labels or {}
    held, missed, open_ = 0, list[str](), 0
    for row, runs in by_row(records).items():
        seconds, exact = _time_of(runs.get(over))
        if not seconds > from_seconds:
            continue
        best = best_of(runs)
        if best is not None and seconds >= factor * runs[best].time:
            held += 1
        elif exact:
            missed.append(row_text((labels.get(row[0], row[0]), *row[1:])))
        else:
            open_ += 1
    name, total = labels.get(over, over), held + len(missed) + open_
    limit = f"over {seconds_text(from_seconds)} s"
    if not total:
        return f"{name} takes {limit} in no row."
    than = f"at least {factor:g} times faster than {name}"
    parts = [
        f"The best solver is {than} in {held} of {_rows(total)} in which that takes {limit}.",
        f"It is not at {_listed(missed)}." if missed else "",
        f"In {_rows(open_)} it cannot be told, as {name} ran out of time." if open_ else "",
    ]
    return " ".join(filter(None, parts))


def _time_of(runs: Runs | None) -> tuple[float, bool]:
    """The time of a solver in a row, and whether it is that or a lower bound.

    NaN where it has none.
    """
    if runs is None:
        return math.nan, True
    if math.isfinite(runs.time):
        return runs.time, True
    return (runs.spent if runs.out_of_time else math.nan), False


def _winners(rows: _Rows, labels: Labels) -> str:
    winners = [best_of(runs) for runs in rows.values()]
    counts = Counter(labels.get(name, name) for name in winners if name is not None).most_common()
    nobody, total = winners.count(None), _rows(len(rows))
    parts = [f"{name} is fastest in {count} of {total}" for name, count in counts[:1]]
    parts += [f"{name} in {count}" for name, count in counts[1:]]
    text = _listed(parts) + "." if parts else ""
    return " ".join(
        filter(None, [text, f"No solver solves {nobody} of {total}." if nobody else ""])
    )


def _families(rows: _Rows) -> str:
    """The best penalty method against the best Riemannian solver of the same row, whoever wins."""
    ratios, only = [], Counter[str]()
    for runs in rows.values():
        best = {
            kind: best_of(runs, [s for s in runs if family(s) == kind])
            for kind in (PENALTY, RIEMANNIAN)
        }
        entered = all(any(family(s) == kind for s in runs) for kind in best)
        ours, theirs = best[PENALTY], best[RIEMANNIAN]
        if ours is not None and theirs is not None:
            ratios.append(runs[theirs].time / runs[ours].time)
        elif entered and (ours is None) != (theirs is None):
            only[PENALTY if ours is not None else RIEMANNIAN] += 1
    parts = [_duel(ratios)] if ratios else []
    parts += [f"In {_rows(count)} only {kind} solvers succeed." for kind, count in only.items()]
    return " ".join(parts)


def _duel(ratios: Sequence[float]) -> str:
    """Ratios above one are in favour of the penalty."""
    won, count = sum(ratio > 1 for ratio in ratios), len(ratios)
    rows = "the one row" if count == 1 else "both rows" if count == 2 else f"all {count} rows"
    verdict = f"In {rows} that both families solve the best penalty method {'beats' if won else 'loses to'} the best"
    if 0 < won < count:
        verdict = f"Of {count} rows that both families solve the best penalty method wins {won} against the best"
    verdict += f" Riemannian solver{f' and loses {count - won}' if 0 < won < count else ''}"
    middle = _factor(statistics.median(ratios))
    if count == 1:
        return f"{verdict}: it is {middle}."
    return f"{verdict}: it is {middle} in the median, from {_factor(min(ratios))} to {_factor(max(ratios))}."


def _factor(ratio: float) -> str:
    """3.4 times faster, 2.1 times slower."""
    if f"{ratio:.2g}" == "1" or f"{1 / ratio:.2g}" == "1":
        return "equally fast"
    return f"{_digits(ratio)} times faster" if ratio > 1 else f"{_digits(1 / ratio)} times slower"


def _digits(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"


def _other_values(rows: _Rows, labels: Labels) -> str:
    """A winner that ended at another value of f won another race."""
    told = []
    for row, runs in rows.items():
        winner = best_of(runs)
        excess = elsewhere(runs)
        if winner in excess:
            told.append(f"{labels.get(winner, winner)} at {row_text(row)}, by {excess[winner]:.2g}")
    return (
        f"The winner ends at a higher value of f than another solver: {_listed(told)}."
        if told
        else ""
    )


def _failures(records: Sequence[Record], labels: Labels) -> list[str]:
    left_out = [record for record in records if record.status == "UNSUPPORTED"]
    failed = [record for record in records if not record.success and record.status != "UNSUPPORTED"]
    ran = len(records) - len(left_out)
    found = []
    if ran:
        parts = [
            f"{_by_solver(failed, status, labels)}"
            for status in dict.fromkeys(r.status for r in failed)
        ]
        detail = f": {'; '.join(parts)}" if parts else ""
        runs = "1 run" if ran == 1 else f"{ran} runs"
        found.append(f"{len(failed) or 'None'} of {runs} failed{detail}.")
    if left_out:
        solvers = Counter(labels.get(record.solver, record.solver) for record in left_out)
        names = ", ".join(f"{name} {count}" for name, count in solvers.most_common())
        were = "1 run was" if len(left_out) == 1 else f"{len(left_out)} runs were"
        found.append(f"{were} not possible, as the solver does not run on the problem: {names}.")
    return found


def _by_solver(failed: Sequence[Record], status: str, labels: Labels) -> str:
    solvers = Counter(
        labels.get(record.solver, record.solver) for record in failed if record.status == status
    )
    names = ", ".join(f"{name} {count}" for name, count in solvers.most_common())
    return f"{short(status)} {sum(solvers.values())} ({names})"


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _listed(parts: Sequence[str]) -> str:
    """A, b and c."""
    return (
        parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
    )
