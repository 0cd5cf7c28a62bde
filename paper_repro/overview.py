"""The comparison in one line per table: who is fastest, and what each family costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from genorth.compare import Records
from genorth.solve.solver import PENALTY, RIEMANNIAN
from paper_repro.experiments import SOLVERS, TOLERANCES
from paper_repro.internals import Row, Runs, best_of, by_row, times

_Cell = Callable[[Mapping[str, Runs]], str]


def overview(records: Records) -> str:
    """A Markdown table; entries have the sizes in order, to 1e-5 and after a semicolon to 1e-9."""
    rows = by_row(records)
    lines = [["table and sizes", *_CELLS], ["---"] * (1 + len(_CELLS))]
    for problem in records.distinct("problem"):
        mine = {row: runs for row, runs in rows.items() if row[0] == problem}
        sizes = ", ".join(records.where(problem=problem).distinct("size"))
        cells = [_entry(mine, cell) for cell in _CELLS.values()]
        lines.append([f"{problem.removeprefix('Table ')}, {sizes}", *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _entry(rows: Mapping[Row, Mapping[str, Runs]], cell: _Cell) -> str:
    return "; ".join(
        ", ".join(cell(runs) for row, runs in rows.items() if row[2] == tolerance)
        for tolerance in TOLERANCES
    )


def _fastest(runs: Mapping[str, Runs]) -> str:
    return best_of(runs) or "none"


def _penalty(runs: Mapping[str, Runs]) -> str:
    return _ratio(_family(runs, PENALTY), _family(runs, RIEMANNIAN))


def _faithful(runs: Mapping[str, Runs]) -> str:
    return _ratio({name: run for name, run in runs.items() if name == "rgd-faithful"}, runs)


def _family(runs: Mapping[str, Runs], family: str) -> dict[str, Runs]:
    return {name: run for name, run in runs.items() if SOLVERS[name].family == family}


def _ratio(slow: Mapping[str, Runs], fast: Mapping[str, Runs]) -> str:
    """The time of the best of some over that of the best of others; a bound if out of time."""
    best, over = best_of(fast), best_of(slow)
    if best is None:
        return "-"
    if over is not None:
        return times(slow[over].time / fast[best].time).text
    spent = min((run.spent for run in slow.values() if run.out_of_time), default=math.nan)
    return "-" if math.isnan(spent) else f"> {times(spent / fast[best].time).text}"


_CELLS: Mapping[str, _Cell] = {
    "fastest": _fastest,
    "best penalty method over best Riemannian solver, time": _penalty,
    "RGD as the paper ran it over the fastest": _faithful,
}
