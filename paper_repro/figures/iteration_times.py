"""Figures 1 and 3: where the time of 100 iterations goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of

import genorth as go
from baselines import SOLVERS
from genorth.compare.render import BLUE, GREEN, GREY, ORANGE, VERMILLION, ranged
from genorth.solve.solver import PENALTY
from paper_repro.problems.base import Matrix, PaperProblem, Size

ITERATIONS = 100
#: The four methods of the paper, and two of them in the fast geometry, with their names in plots.
METHODS = MappingProxyType(
    {
        "cdf-gd": "CDFGD",
        "cdf-cg": "CDFCG",
        "rgd-faithful": "RGD",
        "rcg-faithful": "RCG",
        "rgd-fast": "RGD, fast geometry",
        "rcg-fast": "RCG, fast geometry",
    }
)


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


@attrs.frozen
class Cell:
    """The runs of one method at one size from all starts: medians and ranges."""

    runs: tuple[Run, ...]

    def per_iteration(self, part: str = "seconds") -> float:
        """Seconds per iteration, in all or in one part, the median."""
        return statistics.median(run.per_iteration(part) for run in self.runs)

    def range(self, part: str = "seconds") -> tuple[float, float]:
        """The least and the most seconds per iteration."""
        found = [run.per_iteration(part) for run in self.runs]
        return min(found), max(found)

    def shares(self) -> list[float]:
        """Retraction and gradient in the time of each run, in percent."""
        return [100 * (run.retraction + run.gradient) / run.seconds for run in self.runs]


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
    """The share of retraction and gradient in RGD, and how RGD compares."""
    found, told = _by_size(runs), []
    for (size, solver), cell in found.items():
        if solver == "rgd-faithful":
            share = ranged(cell.shares(), ".0f")
            others = {"cdf-gd": "CDFGD", "rgd-fast": "RGD in the fast geometry"}
            ratios = " and ".join(
                f"{cell.per_iteration() / found[size, other].per_iteration():.3g} times that of "
                f"{name}"
                for other, name in others.items()
                if (size, other) in found
            )
            text = f"At {size} retraction and gradient are {share} % of the time of RGD"
            told.append(f"{text}{f'; its iteration takes {ratios}' if ratios else ''}.")
    short = ", ".join(
        f"{solver} at {size} ({_ended(early)})"
        for (size, solver), early in _grouped(
            [run for run in runs if run.iterations < ITERATIONS]
        ).items()
    )
    if short:
        told.append(
            f"Ended before {ITERATIONS} iterations, totals scaled to {ITERATIONS}: {short}."
        )
    return told


def _ended(runs: Sequence[Run]) -> str:
    """How many iterations these runs made, and how they ended."""
    counts = sorted({run.iterations for run in runs})
    made = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    ends = dict.fromkeys(run.status.lower().replace("_", " ") for run in runs)
    return f"{made}, {', '.join(ends)}"


_Found = Mapping[tuple[str, str], Cell]


def _grouped(runs: Sequence[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs by size and solver."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.size, run.solver), []).append(run)
    return found


def _by_size(runs: Sequence[Run]) -> _Found:
    """The runs that made an iteration, by size and solver."""
    return {
        key: Cell(tuple(each))
        for key, each in _grouped([run for run in runs if run.iterations]).items()
    }


# ---------------------------------------------------------------------- drawn


def draw(runs: Sequence[Run]) -> Any:
    """Three panels: the shares of RGD, totals, and the time of an iteration.

    Medians over the starts; thin lines and bands are their ranges.
    """
    import matplotlib.figure

    figure = matplotlib.figure.Figure((11.0, 3.8), layout="constrained")
    found = _by_size(runs)
    sizes = list(dict.fromkeys(size for size, _ in found))
    panels = figure.subplots(1, 3, width_ratios=(3, 4, 4))
    for panel, axis in zip((_shares, _totals, _each_iteration), panels, strict=True):
        panel(axis, sizes, found)
        axis.set_xticks(range(len(sizes)), sizes, rotation=30, ha="right", rotation_mode="anchor")
    return figure


def _legend(axis: Any, columns: int, above: float = 1.02) -> None:
    axis.legend(
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0.0, above),
        borderaxespad=0.0,
        columnspacing=1.0,
    )


def _bars(sizes: Sequence[str], runs: _Found, solver: str, part: str) -> tuple[Matrix, Matrix]:
    """Where a solver has runs, and the seconds per iteration of a part of them."""
    places = [k for k, size in enumerate(sizes) if (size, solver) in runs]
    values = [runs[sizes[k], solver].per_iteration(part) for k in places]
    return np.array(places), np.array(values)


def _ranges(sizes: Sequence[str], runs: _Found, solver: str, part: str) -> tuple[Matrix, Matrix]:
    """The least and the most seconds per iteration, where `_bars` has the median."""
    found = [runs[size, solver].range(part) for size in sizes if (size, solver) in runs]
    low, high = np.array(found).reshape(-1, 2).T
    return low, high


def _shares(axis: Any, sizes: Sequence[str], runs: _Found) -> None:
    """Left: retraction and gradient in the time of RGD; narrow bars: in the fast geometry."""
    colors = {"retraction": VERMILLION, "gradient": GREEN}
    looks = {"rgd-faithful": (-0.12, 0.44, 1.0), "rgd-fast": (0.26, 0.22, 0.55)}
    for solver, (shift, width, alpha) in looks.items():
        places, total = _bars(sizes, runs, solver, "seconds")
        bottom = np.zeros(len(places))
        for part, color in colors.items():
            share = 100 * _bars(sizes, runs, solver, part)[1] / total
            axis.bar(places + shift, share, width, bottom, color=color, alpha=alpha)
            bottom += share
        rest = np.maximum(100 - bottom, 0)
        axis.bar(places + shift, rest, width, bottom, color=GREY, alpha=alpha / 2)
    for name, color in (colors | {"rest": GREY}).items():
        axis.bar(0, 0, color=color, label=name)
    axis.set(ylabel="share of the time of RGD (%)", ylim=(0, 100))
    axis.set_title("RGD (wide) and in the fast geometry (narrow)")
    _legend(axis, 3, 1.07)


def _totals(axis: Any, sizes: Sequence[str], runs: _Found) -> None:
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
        places, seconds = _bars(sizes, runs, solver, part)
        shift = (i + 0.5) * width - 0.42
        low, high = _ranges(sizes, runs, solver, part)
        spread = ITERATIONS * np.array([seconds - low, high - seconds])
        look = {"color": color, "label": name, "error_kw": {"elinewidth": 0.8}}
        axis.bar(places + shift, ITERATIONS * seconds, width, yerr=spread, **look)
    axis.set(yscale="log", ylabel=f"seconds of {ITERATIONS} iterations")
    _legend(axis, 2)


def _each_iteration(axis: Any, sizes: Sequence[str], runs: _Found) -> None:
    """Right: time per iteration; solid: penalty methods, dashed: Riemannian, dotted: fast."""
    looks = [f"{BLUE} -", f"{ORANGE} -", f"{VERMILLION} --", f"{GREEN} --", f"{VERMILLION} :"]
    for (solver, name), look in zip(METHODS.items(), [*looks, f"{GREEN} :"], strict=True):
        places, seconds = _bars(sizes, runs, solver, "seconds")
        color, line = look.split()
        low, high = _ranges(sizes, runs, solver, "seconds")
        axis.fill_between(places, 1e3 * low, 1e3 * high, color=color, alpha=0.2, linewidth=0)
        axis.plot(places, 1e3 * seconds, marker="o", color=color, linestyle=line, label=name)
    axis.set(yscale="log", ylabel="milliseconds per iteration")
    axis.grid(axis="y", alpha=0.3)
    _legend(axis, 2)
