"""Figures 1 and 3: where the time of 100 iterations goes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of

import genorth as go
from baselines import SOLVERS
from genorth.compare.render import BLUE, GREEN, GREY, ORANGE, VERMILLION, Table, ranged
from genorth.optional import optional
from genorth.solve.solver import PENALTY
from paper_repro import data
from paper_repro.experiments import FAST
from paper_repro.findings import table
from paper_repro.problems.base import PaperProblem, Size

ITERATIONS = 100
#: The four methods of the paper, and two of them in the fast geometry, with their names in plots.
METHODS = MappingProxyType(
    {data.SOLVERS[name]: name for name in ("CDFGD", "CDFCG", "RGD", "RCG")}
    | {ours: f"{name}, fast geometry" for name, ours in FAST.items()}
)
_LEGEND: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.02),
    "borderaxespad": 0.0,
    "columnspacing": 1.0,
}
GD, RGD, FAST_RGD = data.SOLVERS["CDFGD"], data.SOLVERS["RGD"], FAST["RGD"]


@attrs.frozen
class Run:
    """The iterations of one method at one size from one start, with the seconds of their parts."""

    size: str = attrs.field(validator=instance_of(str))
    solver: str = attrs.field(validator=instance_of(str))
    iterations: int = attrs.field(validator=[instance_of(int), ge(0)])
    status: str = attrs.field(validator=instance_of(str))
    seconds: float = attrs.field(validator=gt(0))
    gradient: float = attrs.field(validator=ge(0))
    retraction: float = attrs.field(validator=ge(0))
    transport: float = attrs.field(validator=ge(0))
    start: int = attrs.field(default=0, validator=[instance_of(int), ge(0)])

    @property
    def summary(self) -> str:
        """The run in a few words."""
        return f"{self.iterations} iterations, {self.seconds:.3g} s"


def measure(problem: PaperProblem, size: Size, solver: str, start: int, limit: float) -> Run:
    """100 iterations from a random point; fewer where the run ends before, by itself or by time.

    The time of an iteration does not depend on what the mean is one of, so `cheap` instances do.
    """
    penalty = SOLVERS[solver].family == PENALTY
    instance = size.evolve(**problem.cheap).generated()
    made = instance.problem()
    result = SOLVERS[solver](
        made,
        instance.start(1 + start),
        tol=0,
        max_iterations=ITERATIONS,
        max_time=limit,
        keep_points=penalty,
        **({"beta": problem.beta} if penalty else {}),
    )
    seconds = result.seconds
    gradient = (
        _penalty_gradient(go.ConstraintDissolving(made, problem.beta), result)
        if penalty
        else seconds["cost"] + seconds["gradient"]
    )
    return Run(
        size.name,
        solver,
        result.nit,
        result.status.name,
        result.time,
        min(gradient, result.time),
        seconds.get("retraction", 0.0),
        seconds.get("transport", 0.0),
        start,
    )


def _penalty_gradient(h: go.ConstraintDissolving, result: go.Result) -> float:
    """The time of h and its gradient at the iterates, times evaluations per iterate."""
    points = result.trace.points or []
    begin = time.perf_counter()
    for X in points:
        h.value_and_gradient(X)
    return (time.perf_counter() - begin) * result.nfev / max(len(points), 1)


def frame(runs: Sequence[Run]) -> Any:
    """Seconds per iteration, in all and by part: median, least and most over the starts.

    Returns:
        A DataFrame by size and method, NaN for a method that made no iteration.
    """
    pandas = optional("pandas", "report", "a figure")
    found = pandas.DataFrame(attrs.asdict(run) for run in runs if run.iterations)
    each = found[["seconds", "gradient", "retraction"]].div(found["iterations"], axis=0)
    by_method = each.groupby([found["size"], found["solver"]], sort=False)
    every = pandas.MultiIndex.from_product([found["size"].unique(), METHODS])
    return by_method.agg(["median", "min", "max"]).reindex(every)


def told(runs: Sequence[Run]) -> Table:
    """Milliseconds per iteration, the share of retraction and gradient, and what ended early."""
    lines = []
    for size, mine in frame(runs).groupby(level=0, sort=False):
        here = [run for run in runs if run.size == size]
        shares = [
            100 * (run.retraction + run.gradient) / run.seconds for run in here if run.solver == RGD
        ]
        early = dict.fromkeys(
            f"{run.solver} after {run.iterations} ({run.status.lower().replace('_', ' ')})"
            for run in here
            if run.iterations < ITERATIONS
        )
        times = (f"{1e3 * each:.3g}" for each in mine["seconds", "median"])
        share = ranged(shares, 2) if shares else "-"
        lines.append([size, *times, share, ", ".join(early) or "-"])
    heads = [f"{name}, ms per iteration" for name in METHODS.values()]
    more = ["retraction and gradient, % of RGD", f"ended before {ITERATIONS} iterations, scaled"]
    return table(["size", *heads, *more], lines)


def draw(runs: Sequence[Run]) -> Any:
    """Three panels: the shares of RGD, totals, and the time of an iteration.

    Medians over the starts; thin lines and bands are their ranges.
    """
    import matplotlib.figure

    figure = matplotlib.figure.Figure((11.0, 3.8), layout="constrained")
    each = frame(runs)
    sizes = each.index.unique(0)
    panels = figure.subplots(1, 3, width_ratios=(3, 4, 4))
    for panel, axis in zip((_shares, _totals, _each_iteration), panels, strict=True):
        panel(axis, np.arange(len(sizes)), {name: each.xs(name, level=1) for name in METHODS})
        axis.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right", rotation_mode="anchor")
    return figure


def _shares(axis: Any, places: Any, each: dict[str, Any]) -> None:
    """Left: retraction and gradient in the time of RGD; narrow bars: in the fast geometry."""
    colors = {"retraction": VERMILLION, "gradient": GREEN}
    looks = {RGD: (-0.12, 0.44, 1.0), FAST_RGD: (0.26, 0.22, 0.55)}
    for solver, (shift, width, alpha) in looks.items():
        total, bottom = each[solver]["seconds", "median"], 0.0 * places
        for part, color in colors.items():
            share = 100 * each[solver][part, "median"] / total
            axis.bar(places + shift, share, width, bottom, color=color, alpha=alpha)
            bottom = bottom + share
        rest = (100 - bottom).clip(lower=0)
        axis.bar(places + shift, rest, width, bottom, color=GREY, alpha=alpha / 2)
    for name, color in (colors | {"rest": GREY}).items():
        axis.bar(0, 0, color=color, label=name)
    axis.set(ylabel="share of the time of RGD (%)", ylim=(0, 100))
    axis.set_title("RGD (wide) and in the fast geometry (narrow)")
    axis.legend(ncols=3, **_LEGEND | {"bbox_to_anchor": (0.0, 1.07)})


def _totals(axis: Any, places: Any, each: dict[str, Any]) -> None:
    """Middle: total, gradient and retraction time of CDFGD and RGD."""
    bars = [
        (GD, "seconds", BLUE, "CDFGD total"),
        (GD, "gradient", "#8FC3E3", "CDFGD gradient"),
        (RGD, "seconds", "#7A2E00", "RGD total"),
        (RGD, "gradient", GREEN, "RGD gradient"),
        (RGD, "retraction", VERMILLION, "RGD retraction"),
        (FAST_RGD, "seconds", GREY, "RGD total, fast geometry"),
    ]
    width = 0.84 / len(bars)
    for i, (solver, part, color, name) in enumerate(bars):
        middle, low, high = (ITERATIONS * each[solver][part]).to_numpy().T
        look = {"color": color, "label": name, "error_kw": {"elinewidth": 0.8}}
        shift = (i + 0.5) * width - 0.42
        axis.bar(places + shift, middle, width, yerr=[middle - low, high - middle], **look)
    axis.set(yscale="log", ylabel=f"seconds of {ITERATIONS} iterations")
    axis.legend(ncols=2, **_LEGEND)


def _each_iteration(axis: Any, places: Any, each: dict[str, Any]) -> None:
    """Right: time per iteration; solid: penalty methods, dashed: Riemannian, dotted: fast."""
    colors = (BLUE, ORANGE, VERMILLION, GREEN, VERMILLION, GREEN)
    looks = zip(METHODS.items(), colors, ("-", "-", "--", "--", ":", ":"), strict=True)
    for (solver, name), color, line in looks:
        middle, low, high = (1e3 * each[solver]["seconds"]).to_numpy().T
        axis.fill_between(places, low, high, color=color, alpha=0.2, linewidth=0)
        axis.plot(places, middle, marker="o", color=color, linestyle=line, label=name)
    axis.set(yscale="log", ylabel="milliseconds per iteration")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(ncols=2, **_LEGEND)
