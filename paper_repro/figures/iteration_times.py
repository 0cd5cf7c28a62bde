"""Figures 1 and 3: where the time of 100 iterations goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of

import genorth as go
from baselines import SOLVERS
from genorth.compare.render import BLUE, GREEN, GREY, ORANGE, VERMILLION, ranged
from genorth.solve.solver import PENALTY
from paper_repro import data
from paper_repro.experiments import FAST
from paper_repro.problems.base import Matrix, PaperProblem, Size

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
    def told(self) -> str:
        """The run in a few words."""
        return f"{self.iterations} iterations, {self.seconds:.3g} s"

    def per_iteration(self, part: str = "seconds") -> float:
        """Seconds per iteration, in all or in one part."""
        return float(getattr(self, part)) / self.iterations


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


# ---------------------------------------------------------------------- in words


def sentences(runs: Sequence[Run]) -> list[str]:
    """The share of retraction and gradient in RGD, the time of an iteration, what ended early."""
    told = []
    for size in dict.fromkeys(run.size for run in runs if run.iterations):
        mine = {name: _of(runs, size, solver) for solver, name in METHODS.items()}
        shares = [100 * (run.retraction + run.gradient) / run.seconds for run in mine["RGD"]]
        share = f"retraction and gradient {ranged(shares, '.0f')} % of RGD; " if shares else ""
        times = (
            f"{name} {1e3 * statistics.median(run.per_iteration() for run in each):.3g}"
            for name, each in mine.items()
            if each
        )
        told.append(f"{size}: {share}milliseconds per iteration: {', '.join(times)}.")
    early = dict.fromkeys(
        f"{run.solver} at {run.size} ({run.iterations}, {run.status.lower().replace('_', ' ')})"
        for run in runs
        if run.iterations < ITERATIONS
    )
    end = (
        f"Ended before {ITERATIONS} iterations, totals scaled to {ITERATIONS}: {', '.join(early)}."
    )
    return [*told, end] if early else told


def _of(runs: Sequence[Run], size: str, solver: str) -> list[Run]:
    """The runs of a solver at a size that made an iteration, from all starts."""
    return [run for run in runs if (run.size, run.solver) == (size, solver) and run.iterations]


# ---------------------------------------------------------------------- drawn


def draw(runs: Sequence[Run]) -> Any:
    """Three panels: the shares of RGD, totals, and the time of an iteration.

    Medians over the starts; thin lines and bands are their ranges.
    """
    import matplotlib.figure

    figure = matplotlib.figure.Figure((11.0, 3.8), layout="constrained")
    sizes = list(dict.fromkeys(run.size for run in runs if run.iterations))
    panels = figure.subplots(1, 3, width_ratios=(3, 4, 4))
    for panel, axis in zip((_shares, _totals, _each_iteration), panels, strict=True):
        panel(axis, sizes, runs)
        axis.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right", rotation_mode="anchor")
    return figure


def _figures(
    sizes: Sequence[str], runs: Sequence[Run], solver: str, part: str = "seconds"
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Where a solver has runs; median, least and most seconds per iteration of a part of them."""
    found = {
        place: [run.per_iteration(part) for run in _of(runs, size, solver)]
        for place, size in enumerate(sizes)
    }
    rows = [(place, statistics.median(v), min(v), max(v)) for place, v in found.items() if v]
    places, median, low, high = np.array(rows, float).reshape(-1, 4).T
    return places, median, low, high


def _shares(axis: Any, sizes: Sequence[str], runs: Sequence[Run]) -> None:
    """Left: retraction and gradient in the time of RGD; narrow bars: in the fast geometry."""
    colors = {"retraction": VERMILLION, "gradient": GREEN}
    looks = {RGD: (-0.12, 0.44, 1.0), FAST_RGD: (0.26, 0.22, 0.55)}
    for solver, (shift, width, alpha) in looks.items():
        places, total, *_ = _figures(sizes, runs, solver)
        bottom = np.zeros(len(places))
        for part, color in colors.items():
            share = 100 * _figures(sizes, runs, solver, part)[1] / total
            axis.bar(places + shift, share, width, bottom, color=color, alpha=alpha)
            bottom += share
        rest = np.maximum(100 - bottom, 0)
        axis.bar(places + shift, rest, width, bottom, color=GREY, alpha=alpha / 2)
    for name, color in (colors | {"rest": GREY}).items():
        axis.bar(0, 0, color=color, label=name)
    axis.set(ylabel="share of the time of RGD (%)", ylim=(0, 100))
    axis.set_title("RGD (wide) and in the fast geometry (narrow)")
    axis.legend(ncols=3, **_LEGEND | {"bbox_to_anchor": (0.0, 1.07)})


def _totals(axis: Any, sizes: Sequence[str], runs: Sequence[Run]) -> None:
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
        places, seconds, low, high = _figures(sizes, runs, solver, part)
        spread = ITERATIONS * np.array([seconds - low, high - seconds])
        look = {"color": color, "label": name, "error_kw": {"elinewidth": 0.8}}
        shift = (i + 0.5) * width - 0.42
        axis.bar(places + shift, ITERATIONS * seconds, width, yerr=spread, **look)
    axis.set(yscale="log", ylabel=f"seconds of {ITERATIONS} iterations")
    axis.legend(ncols=2, **_LEGEND)


def _each_iteration(axis: Any, sizes: Sequence[str], runs: Sequence[Run]) -> None:
    """Right: time per iteration; solid: penalty methods, dashed: Riemannian, dotted: fast."""
    colors = (BLUE, ORANGE, VERMILLION, GREEN, VERMILLION, GREEN)
    looks = zip(METHODS.items(), colors, ("-", "-", "--", "--", ":", ":"), strict=True)
    for (solver, name), color, line in looks:
        places, seconds, low, high = _figures(sizes, runs, solver)
        axis.fill_between(places, 1e3 * low, 1e3 * high, color=color, alpha=0.2, linewidth=0)
        axis.plot(places, 1e3 * seconds, marker="o", color=color, linestyle=line, label=name)
    axis.set(yscale="log", ylabel="milliseconds per iteration")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(ncols=2, **_LEGEND)
