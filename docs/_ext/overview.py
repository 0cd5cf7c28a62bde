"""Draw docs/_static/overview.svg from the records of docs/results: python docs/_ext/overview.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import attrs
from matplotlib.figure import Figure

from genorth.solve.solver import PENALTY, RIEMANNIAN
from paper_repro import experiments

DOCS = Path(__file__).parents[1]
_STYLES = {1e-5: ("o", "#1f77b4"), 1e-9: ("D", "#d62728")}


@attrs.frozen
class Ratio:
    """How many times longer one solver takes than another in a row; `more`: at least, or longer."""

    problem: str
    size: str
    tolerance: float
    value: float
    more: bool


def ratios(records: Any, slow: Callable[[Any], bool], fast: Callable[[Any], bool]) -> list[Ratio]:
    """The time of the best of some solvers over that of the best of others, row by row."""
    rows: dict[tuple[str, str, float], list[Any]] = {}
    for record in records:
        rows.setdefault((record.problem, record.size, record.tolerance), []).append(record)
    found = []
    for row, runs in rows.items():
        best = min((run.time for run in runs if fast(run) and run.success), default=math.inf)
        done = min((run.time for run in runs if slow(run) and run.success), default=math.inf)
        spent = min((run.time for run in runs if slow(run)), default=math.nan)
        found.append(Ratio(*row, min(done, spent) / best, math.isinf(done)))
    return found


def by_family(records: Any) -> list[Ratio]:
    """The best penalty method over the best Riemannian solver."""
    return ratios(records, lambda run: run.family == PENALTY, lambda run: run.family == RIEMANNIAN)


def by_geometry(records: Any) -> list[Ratio]:
    """Gradient descent as the paper ran it over the fastest solver."""

    def faithful(run: Any) -> bool:
        return (run.about.algorithm, run.about.variant) == ("gd", "faithful")

    return ratios(records, faithful, lambda _: True)


def figure(records: Any) -> Figure:
    """Two panels with one line per table and size."""
    rows = list(dict.fromkeys((record.problem, record.size) for record in records))
    place = {row: -index - 0.7 * _table(rows, row) for index, row in enumerate(rows)}
    drawing = Figure((9, 6.2), layout="constrained")
    left, right = drawing.subplots(1, 2, sharey=True)
    _draw(left, by_family(records), place)
    left.set_title("best penalty method / best Riemannian solver", fontsize=10)
    left.axvspan(0.2, 1, color="#e8f0e8", zorder=0)
    left.set_xlim(0.2, 100)
    left.text(0.9, 1.2, "penalty wins", fontsize=8, horizontalalignment="right")
    left.text(1.1, 1.2, "Riemannian wins", fontsize=8)
    _draw(right, by_geometry(records), place)
    right.set_title("RGD as the paper ran it / fastest solver", fontsize=10)
    left.set_yticks(list(place.values()), [f"{_short(problem)} {size}" for problem, size in rows])
    left.tick_params(axis="y", labelsize=8)
    left.set_ylim(min(place.values()) - 1, 2.2)
    for tolerance, (marker, color) in _STYLES.items():
        exponent = round(math.log10(tolerance))
        right.plot([], [], marker, color=color, label=f"to $10^{{{exponent}}}$", markersize=5)
    right.plot([], [], "k>", markersize=5, label="ran out of time: more")
    right.legend(fontsize=8, loc="lower right")
    return drawing


def _table(rows: list[tuple[str, str]], row: tuple[str, str]) -> int:
    return list(dict.fromkeys(problem for problem, _ in rows)).index(row[0])


def _short(problem: str) -> str:
    number, name = problem.removeprefix("Table ").split(": ")
    return f"{number}: {name.replace('joint diagonalisation', 'joint diag.')}"


def _draw(ax: Any, found: list[Ratio], place: dict[tuple[str, str], float]) -> None:
    for (tolerance, (marker, color)), more in product(_STYLES.items(), (False, True)):
        drawn = [ratio for ratio in found if (ratio.tolerance, ratio.more) == (tolerance, more)]
        shift = 0.18 if tolerance > 1e-7 else -0.18
        y = [place[ratio.problem, ratio.size] + shift for ratio in drawn]
        x = [ratio.value for ratio in drawn]
        ax.plot(x, y, ">" if more else marker, color=color, markersize=5)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("ratio of times")
    ax.grid(axis="x", linewidth=0.4)


def load() -> Any:
    """The records of docs/results."""
    return experiments.load(DOCS / "results")


def main() -> None:
    """Write the figure."""
    import matplotlib

    # text stays text, and the same records give the same file
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "genorth"}
    figure(load()).savefig(DOCS / "_static" / "overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
