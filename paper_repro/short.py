"""The comparison in one line per table.

Who is fastest, what the penalty costs, and what the fast geometry gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from genorth.compare import Records
from genorth.compare.families import PENALTY, RIEMANNIAN, family
from genorth.compare.rows import Row, Runs, best_of, by_row
from genorth.compare.table import times
from paper_repro.experiments import TOLERANCES

_HEADS = (
    "table and sizes",
    "fastest",
    "best penalty method over best Riemannian solver, time",
    "RGD as the paper ran it over the fastest",
)
_Cell = Callable[[Mapping[str, Runs]], str]


def short(records: Records) -> str:
    """A Markdown table; each entry has the sizes in order to 1e-5, then, behind a semicolon, to 1e-9."""
    rows, lines = by_row(records), ["| " + " | ".join(_HEADS) + " |", "|" + "---|" * len(_HEADS)]
    for problem in records.distinct("problem"):
        mine = {row: runs for row, runs in rows.items() if row[0] == problem}
        sizes = ", ".join(records.where(problem=problem).distinct("size"))
        cells = [_entry(mine, cell) for cell in (_fastest, _penalty, _faithful)]
        lines.append(
            "| " + " | ".join([f"{problem.removeprefix('Table ')}, {sizes}", *cells]) + " |"
        )
    return "\n".join(lines) + "\n"


def _entry(rows: Mapping[Row, Mapping[str, Runs]], cell: _Cell) -> str:
    return "; ".join(
        ", ".join(cell(runs) for row, runs in rows.items() if row[2] == tolerance)
        for tolerance in TOLERANCES
    )


def _fastest(runs: Mapping[str, Runs]) -> str:
    return best_of(runs) or "none"


def _penalty(runs: Mapping[str, Runs]) -> str:
    penalty, riemannian = (
        best_of(runs, [name for name in runs if family(name) == kind])
        for kind in (PENALTY, RIEMANNIAN)
    )
    if riemannian is None:
        return "-"
    if penalty is not None:
        return times(runs[penalty].time / runs[riemannian].time).text
    spent = [
        entry.spent for name, entry in runs.items() if family(name) == PENALTY and entry.out_of_time
    ]
    return f"> {times(min(spent) / runs[riemannian].time).text}" if spent else "-"


def _faithful(runs: Mapping[str, Runs]) -> str:
    best, faithful = best_of(runs), runs.get("rgd-faithful")
    if best is None or faithful is None:
        return "-"
    if math.isfinite(faithful.time):
        return times(faithful.time / runs[best].time).text
    return f"> {times(faithful.spent / runs[best].time).text}" if faithful.out_of_time else "-"
