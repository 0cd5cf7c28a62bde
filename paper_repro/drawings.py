"""The paper's figures, drawn from their data.

Figures 1 and 3 with three panels each, and the bars of Figure 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genorth.compare.styles import BLUE, GREEN, GREY, ORANGE, VERMILLION, styles
from paper_repro.figures import ITERATIONS, METHODS, per_iteration

_NAMES = {
    "cdf-gd": "CDFGD",
    "cdf-cg": "CDFCG",
    "rgd-faithful": "RGD",
    "rcg-faithful": "RCG",
    "rgd-fast": "RGD, fast geometry",
    "rcg-fast": "RCG, fast geometry",
}
_LOOK = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "axes.axisbelow": True,
}


def draw(number: int, data: Mapping[str, Any]) -> Any:
    """The matplotlib Figure; without pyplot, so that nothing opens."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ImportError(
            "figures are drawn by matplotlib: pip install 'genorth[report]'"
        ) from error
    with matplotlib.rc_context(_LOOK):
        if number == 2:
            figure = matplotlib.figure.Figure((9.0, 3.0), layout="constrained")
            _bars_of_errors(figure.subplots(), data["runs"][0])
            return figure
        figure = matplotlib.figure.Figure((11.0, 3.8), layout="constrained")
        runs = {(run["size"], run["solver"]): run for run in data["runs"] if run["iterations"]}
        sizes = list(dict.fromkeys(size for size, _ in runs))
        left, middle, right = figure.subplots(1, 3, width_ratios=(3, 4, 4))
        _shares(left, sizes, runs)
        _totals(middle, sizes, runs)
        _each_iteration(right, sizes, runs)
        for axis in (left, middle, right):
            axis.set_xticks(
                range(len(sizes)), sizes, rotation=30, ha="right", rotation_mode="anchor"
            )
        return figure


_Runs = Mapping[tuple[str, str], Mapping[str, Any]]


def _shares(axis: Any, sizes: Sequence[str], runs: _Runs) -> None:
    """Left: the share of retraction and gradient in the time of RGD.

    Narrow bars: in the fast geometry.
    """
    for solver, shift, width, alpha in (
        ("rgd-faithful", -0.12, 0.44, 1.0),
        ("rgd-fast", 0.26, 0.22, 0.55),
    ):
        for place, size in enumerate(sizes):
            run = runs.get((size, solver))
            if run is None:
                continue
            bottom = 0.0
            for part, color in (("retraction", VERMILLION), ("gradient", GREEN)):
                share = 100 * run[part] / run["seconds"]
                axis.bar(place + shift, share, width, bottom, color=color, alpha=alpha)
                bottom += share
            axis.bar(
                place + shift, max(100 - bottom, 0), width, bottom, color=GREY, alpha=alpha / 2
            )
    for name, color in (("retraction", VERMILLION), ("gradient", GREEN), ("rest", GREY)):
        axis.bar(0, 0, color=color, label=name)
    axis.set(ylabel="share of the time of RGD (%)", ylim=(0, 100))
    axis.set_title("RGD (wide) and in the fast geometry (narrow)")
    axis.legend(
        ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.07), borderaxespad=0.0, columnspacing=1.0
    )


def _totals(axis: Any, sizes: Sequence[str], runs: _Runs) -> None:
    """Middle: total, gradient and retraction time of CDFGD and RGD."""
    bars = [
        ("cdf-gd", "seconds", BLUE, "CDFGD total"),
        ("cdf-gd", "gradient", "#8FC3E3", "CDFGD gradient"),
        ("rgd-faithful", "seconds", "#7A2E00", "RGD total"),
        ("rgd-faithful", "gradient", GREEN, "RGD gradient"),
        ("rgd-faithful", "retraction", VERMILLION, "RGD retraction"),
        ("rgd-fast", "seconds", GREY, "RGD total, fast geometry"),
    ]
    width = 0.84 / len(bars)
    for i, (solver, part, color, name) in enumerate(bars):
        places = [k for k, size in enumerate(sizes) if (size, solver) in runs]
        values = [ITERATIONS * per_iteration(runs[sizes[k], solver], part) for k in places]
        axis.bar(
            [k - 0.42 + (i + 0.5) * width for k in places], values, width, color=color, label=name
        )
    axis.set(yscale="log", ylabel=f"seconds of {ITERATIONS} iterations")
    axis.legend(
        ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0, columnspacing=1.0
    )


def _each_iteration(axis: Any, sizes: Sequence[str], runs: _Runs) -> None:
    """Right: time per iteration of the four methods, and of the two Riemannian ones in the fast geometry."""
    look = styles(METHODS)
    for solver in METHODS:
        places = [k for k, size in enumerate(sizes) if (size, solver) in runs]
        values = [1e3 * per_iteration(runs[sizes[k], solver]) for k in places]
        axis.plot(
            places,
            values,
            label=_NAMES[solver],
            **look[solver].line() | {"marker": "o", "markevery": None},
        )
    axis.set(yscale="log", ylabel="milliseconds per iteration")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(
        ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0, columnspacing=1.0
    )


def _bars_of_errors(axis: Any, run: Mapping[str, Any]) -> None:
    """Blue: the error of the start against each sample; orange: that of the solution."""
    places = np.arange(len(run["initial"]))
    axis.bar(places - 0.2, run["initial"], 0.4, color=BLUE, label="start")
    axis.bar(places + 0.2, run["final"], 0.4, color=ORANGE, label="solution of CDFCG")
    axis.set(xlabel="sample", ylabel="|X - X_i|", xlim=(-1, len(places)))
    axis.legend(ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0)
