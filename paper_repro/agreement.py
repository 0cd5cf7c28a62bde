"""What the paper says beside what we find: its figures, table by table, and its claims.

Random instances agree in size only, machines differ, and the paper's code is not public: what can
be reproduced are the size of f, iteration counts within a factor, and which solvers win.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from genorth.compare import Records, join
from genorth.compare.analysis import Row, Runs, best, best_of, by_row, elsewhere
from genorth.compare.render import Table, ranged, seconds_text, tolerance_text
from genorth.solve.solver import PENALTY, RIEMANNIAN
from paper_repro import data
from paper_repro.experiments import FAST, PAPERS, REFERENCE, SOLVERS, TABLES, table
from paper_repro.findings import ratios
from paper_repro.findings import table as made

# ---------------------------------------------------------------------- figures

_ZERO = 1e-6  # an f below has gone to zero: its size only says how far the last step went
_FACTOR = 2.0  # within which iteration counts are said to agree
_HEADS = (
    "table",
    "solved by both",
    "by the paper alone",
    "here alone",
    "f over the paper's",
    "iterations over the paper's",
    f"within {_FACTOR:g}x",
    "same solver fastest",
    "same family",
    "one of ours faster",
)


def agreement(records: Records) -> Table:
    """The paper's runs beside ours; ratios are medians over the runs that both solve (range)."""
    lines = []
    for number in TABLES:
        rows = by_row(records.where(problem=table(number).name))
        if rows:
            lines.append([number, *_solved(number, rows), *_winners(number, rows)])
    return made(_HEADS, lines)


def _solved(number: int, rows: Mapping[Row, Mapping[str, Runs]]) -> list[object]:
    """Who solves what, and the values and iterations of what both solve."""
    pairs = [
        (row, runs[row.solver])
        for row in table(number).paper()
        if row.solver in (runs := rows.get((table(number).name, row.size, row.tolerance), {}))
    ]
    both = [(row, mine) for row, mine in pairs if row.solved and not mine.failed]
    theirs = sum(row.solved and not mine.solved for row, mine in pairs)
    ours = sum(bool(mine.solved) and not row.solved for row, mine in pairs)
    found = [(*row.figures[:2], mine) for row, mine in both]
    values = [mine.median("fun") / fun for fun, _, mine in found if fun > _ZERO]
    counts = [mine.median("nit") / nit for _, nit, mine in found if nit]
    near = sum(1 / _FACTOR <= count <= _FACTOR for count in counts)
    return [
        len(both),
        theirs,
        ours,
        ranged(values, ".2g") if values else "both zero" if both else "-",
        ranged(counts, ".2g") if counts else "-",
        f"{near} of {len(counts)}",
    ]


def _winners(number: int, rows: Mapping[Row, Mapping[str, Runs]]) -> list[str]:
    """The fastest of the paper's six, there and here, row by row; and the fastest of all."""
    paper, same, kind, ours = table(number).paper(), 0, 0, 0
    for (_, size, tolerance), runs in rows.items():
        timed = {
            row.figures[-1]: row.solver
            for row in paper
            if (row.size, row.tolerance) == (size, tolerance) and row.solved
        }
        mine = best_of(runs, [solver for solver in PAPERS if solver in runs])
        if timed and mine is not None:
            theirs = timed[min(timed)]
            same += mine == theirs
            kind += SOLVERS[mine].family == SOLVERS[theirs].family
        ours += best_of(runs) not in (None, *PAPERS)
    return [f"{count} of {len(rows)}" for count in (same, kind, ours)]


# ---------------------------------------------------------------------- claims

_ALL = tuple(TABLES)
#: What the paper says of tables (of their largest size): who is faster than whom. A side is a
#: family, or a solver by its name in the paper.
_CLAIMS = (
    (
        "The penalty surpasses Riemannian solvers on large problems",
        (1, 2),
        True,
        PENALTY,
        RIEMANNIAN,
    ),
    ("Penalty methods outperform Riemannian ones as n grows", (3, 4), True, PENALTY, RIEMANNIAN),
    ("RCG is less efficient than RGD, by the cost of transport", _ALL, False, "RGD", "RCG"),
    ("On tensors CDFGD is comparable with RGD", (5, 6, 7), False, "CDFGD", "RGD"),
    ("On tensors CDFCG is comparable with RCG", (5, 6, 7), False, "CDFCG", "RCG"),
    ("On tensors CDFLBFGS beats Riemannian solvers", (5, 6, 7), False, "CDFLBFGS", RIEMANNIAN),
)


def claims(records: Records) -> Table:
    """Each claim of the paper, with what the records say of its solvers and of ours."""
    compared = []
    for claim, numbers, largest, first, second in _CLAIMS:
        mine = [records.where(problem=table(number).name) for number in numbers]
        part = join(
            each.where(size=each.distinct("size")[-1]) if largest else each for each in mine
        )
        sides = [[_side(part, side, ours) for side in (first, second)] for ours in (False, True)]
        places = f"Tables {', '.join(map(str, numbers))}"
        compared.append([f"{claim} ({places})", *(_ahead(part, *each) for each in sides)])
    heads = ("the paper says", "as the paper ran it", "with ours")
    return made(heads, [_values(records), *compared, _share(records)], len(heads))


def _side(records: Records, side: str, ours: bool) -> set[str]:
    """The solvers of a side, as the paper ran them or with ours."""
    if side in data.SOLVERS:
        return {FAST.get(side, data.SOLVERS[side]) if ours else data.SOLVERS[side]}
    names = {name for name, about in records.solvers.items() if about.family == side}
    return names if ours else names & {*PAPERS}


def _ahead(records: Records, first: set[str], second: set[str]) -> str:
    """How often the best of some is faster than the best of others, and its time over theirs."""
    found = ratios(records, first, second)
    won = sum(ratio < 1 for ratio in found)
    both = [ratio for ratio in found if 0 < ratio < math.inf]
    middle = f"; {statistics.median(both):.2g} times the time where both solve" if both else ""
    return f"faster in {won} of {len(found)} rows{middle}"


def _values(records: Records) -> list[str]:
    cells = []
    for solvers in (PAPERS, records.solvers):
        mine = records.where(lambda r, solvers=solvers: r.solver in solvers)
        rows, away = by_row(mine), max(r.feasibility for r in mine if r.success)
        same = sum(not elsewhere(runs) for runs in rows.values())
        cells.append(f"same f in {same} of {len(rows)} rows, |C| at most {away:.1e}")
    return ["Penalty methods reach the f of Riemannian solvers, with high feasibility", *cells]


def _share(records: Records) -> list[str]:
    shares = [
        statistics.median(
            [
                sum(r.seconds.get(phase, 0.0) for phase in ("retraction", "projection")) / r.time
                for r in records.where(solver=solver)
                if r.problem.endswith("matching") and r.time > 0
            ]
            or [math.nan]
        )
        for solver in (data.SOLVERS["RGD"], FAST["RGD"])
    ]
    claim = "RGD spends over 90 % of its time in retraction and projection (Figure 1)"
    return [claim, *(f"{share:.0%} in the median" for share in shares)]


# ---------------------------------------------------------------------- leads

#: The lead over RGD as the paper ran it is measured where that takes over so many seconds.
FROM = 5.0


def leads(records: Records) -> Table:
    """How much faster than RGD as the paper ran it the best solver is, from the same starts.

    The last column is the time of the best over that of its evaluations of f: near 1, f is the
    bottleneck.
    """
    seeds, lines = records.where(solver=REFERENCE).distinct("seed"), []
    same = records.where(lambda record: record.seed in seeds)
    rows = by_row(same)
    for row in best(same):
        more = "> " if REFERENCE in row.at_least else ""
        lead = row.at_least.get(REFERENCE, row.ratios.get(REFERENCE, math.nan))
        if FROM < lead * row.time < math.inf:
            runs = rows[row.problem, row.size, row.tolerance][str(row.solver)]
            bound = statistics.median(run.time / run.seconds["cost"] for run in runs.solved)
            where = f"{row.problem} {row.size} to {tolerance_text(row.tolerance)}"
            seconds = f"{more}{seconds_text(lead * row.time)}"
            lines.append(
                [where, seconds, row.solver, f"{more}{seconds_text(lead)}", seconds_text(bound)]
            )
    return made(("where", "seconds of RGD", "fastest", "lead", "its time over that of f"), lines)
