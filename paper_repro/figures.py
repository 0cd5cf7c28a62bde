"""The data of the paper's figures.

Where the time of 100 iterations goes (1 and 3), and errors of a mean (2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

import genorth as go
from baselines import SOLVERS
from genorth.compare.limits import pinned
from genorth.errors import refuse
from genorth.linalg.arrays import Array
from genorth.solve.result import Result
from paper_repro.experiments import Size, generated, table

ITERATIONS = 100
#: The four methods of the paper, and two of them as fast as they can be.
METHODS = ("cdf-gd", "cdf-cg", "rgd-faithful", "rcg-faithful", "rgd-fast", "rcg-fast")
FIGURES = (1, 2, 3)

_Save = Callable[[dict[str, Any]], None]


@attrs.frozen
class Plan:
    """A figure: what it shows, the problem, and its sizes.

    The paper does not give the sizes of Figures 1 and 3.
    """

    number: int
    caption: str
    problem: str
    sizes: tuple[Size, ...]

    def at(self, mode: str) -> Plan:
        """At the paper's sizes ("full"), at the smallest two ("quick"), or at sizes of a few rows ("toy")."""
        if mode == "full":
            return self
        like = table(1 if self.problem == "matching" else 4)
        if mode == "toy":
            return attrs.evolve(self, sizes=like.toy().sizes)
        return attrs.evolve(self, sizes=self.sizes[:2])


def _sizes(number: int, *numbers: tuple[int, int]) -> tuple[Size, ...]:
    return table(number).at(numbers).sizes


def plan(number: int) -> Plan:
    """Figure 1, 2 or 3."""
    times = "{}: where the time of 100 iterations goes, by size; gradient: Euclidean and Riemannian, or that of h."
    if number == 1:
        sizes = _sizes(1, (100, 10), (500, 10), (1000, 10), (1000, 50), (1000, 100))
        return Plan(1, times.format("Least-squares matching"), "matching", sizes)
    if number == 2:
        caption = (
            "Extrinsic mean at (1000,10), as the caption of the paper has it (its text says 1000 x 100), solved by "
            "CDFCG (cdf-cg): distance of the start and of the solution from 100 of the 1000 samples."
        )
        return Plan(2, caption, "extrinsic mean", _sizes(4, (1000, 10)))
    if number == 3:
        sizes = _sizes(4, (1000, 10), (1000, 20), (1000, 100), (1000, 500), (1000, 1000))
        return Plan(3, times.format("Extrinsic mean"), "extrinsic mean", sizes)
    refuse("figure", f"one of {', '.join(map(str, FIGURES))}", number)


def measure(
    chosen: Plan,
    known: Mapping[str, Any] | None,
    save: _Save,
    *,
    time_limit: float,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The data of a figure: those that are known, and what is missing.

    Saved after every measurement.
    """
    settings = {
        "figure": chosen.number,
        "version": go.__version__,
        "time_limit": time_limit,
        "iterations": ITERATIONS,
    }
    if known is not None and known["settings"] != settings:
        refuse(
            "out",
            f"data of figure {chosen.number} with {settings}",
            str(known["settings"]),
            None,
            "Choose another folder, or remove its file.",
        )
    data = {"settings": settings, "runs": []} if known is None else {**known}
    with pinned(1):
        measured = _errors if chosen.number == 2 else _times
        measured(chosen, data, save, time_limit, say)
    return data


# ---------------------------------------------------------------------- Figures 1 and 3


def _times(
    chosen: Plan, data: dict[str, Any], save: _Save, limit: float, say: Callable[[str], None]
) -> None:
    done = {(run["size"], run["solver"]) for run in data["runs"]}
    for size in chosen.sizes:
        for solver in METHODS:
            if (size.name, solver) in done:
                continue
            instance = generated(chosen.problem, _few_samples(size), 0)
            run = _timed(instance, solver, limit)
            data["runs"].append({"size": size.name, "solver": solver, **run})
            save(data)
            say(
                f"figure {chosen.number}, {size.name}, {solver}: {run['iterations']} iterations, {run['seconds']:.3g} s"
            )


def _few_samples(size: Size) -> Size:
    """The time of an iteration does not depend on what the mean is one of."""
    arguments = dict(size.arguments)
    if "columns" in arguments:
        arguments["samples"] = 20
    return attrs.evolve(size, arguments=tuple(arguments.items()))


def _timed(instance: Any, solver: str, limit: float) -> dict[str, Any]:
    """100 iterations from a random point, where no method is near its end.

    Fewer where the time limit ends it.
    """
    penalty = solver.startswith("cdf")
    problem, start = instance.problem(), instance.start(1)
    options: dict[str, Any] = {"beta": instance.beta} if penalty else {}
    result = SOLVERS[solver](
        problem,
        start,
        tol=0,
        max_iterations=ITERATIONS,
        max_time=limit,
        keep_points=penalty,
        **options,
    )
    seconds = result.seconds
    gradient = (
        _penalty_gradient(problem, instance.beta, result)
        if penalty
        else seconds["cost"] + seconds["gradient"]
    )
    return {
        "iterations": result.nit,
        "status": result.status.name,
        "seconds": result.time,
        "gradient": min(gradient, result.time),
        "retraction": seconds.get("retraction", 0.0),
        "transport": seconds.get("transport", 0.0),
    }


def _penalty_gradient(problem: go.Problem, beta: float, result: Result) -> float:
    """The time of h and its gradient.

    Evaluated again at the iterates, times evaluations per iterate.
    """
    h = go.ConstraintDissolving(problem, beta)
    points: list[Array] = result.trace.points or []
    begin = time.perf_counter()
    for X in points:
        h.value_and_gradient(X)
    return (time.perf_counter() - begin) * result.nfev / max(len(points), 1)


# ---------------------------------------------------------------------- Figure 2


def _errors(
    chosen: Plan, data: dict[str, Any], save: _Save, limit: float, say: Callable[[str], None]
) -> None:
    if data["runs"]:
        return
    (size,) = chosen.sizes
    instance = generated(
        chosen.problem, attrs.evolve(size, arguments=(*size.arguments, ("keep", 100))), 0
    )
    result = SOLVERS["cdf-cg"](
        instance.problem(),
        instance.another,
        beta=instance.beta,
        tol=1e-9,
        max_time=limit,
        max_iterations=None,
    )
    ends = {"initial": instance.another, "final": result.x}
    errors = {
        name: np.linalg.norm(instance.samples - X, axis=(1, 2)).tolist() for name, X in ends.items()
    }
    data["runs"].append(
        {"size": size.name, "solver": "cdf-cg", "status": result.status.name, **errors}
    )
    save(data)
    say(
        f"figure 2, {size.name}, cdf-cg: {result.status.name}, {result.nit} iterations, {result.time:.3g} s"
    )


def sentences(number: int, data: Mapping[str, Any]) -> list[str]:
    """What a figure says, in words; beside what the paper says of its own."""
    return _told_errors(data) if number == 2 else _told_times(data)


def _told_errors(data: Mapping[str, Any]) -> list[str]:
    run = data["runs"][0]
    before, after = (np.array(run[name]) for name in ("initial", "final"))
    means = f"The mean error of {before.size} samples is {before.mean():.3g} at the start and {after.mean():.3g} at the end"
    return [f"{means}; it is smaller for {int((after < before).sum())} of them."]


def _told_times(data: Mapping[str, Any]) -> list[str]:
    runs = {(run["size"], run["solver"]): run for run in data["runs"] if run["iterations"]}
    told = []
    for (size, solver), run in runs.items():
        if solver == "rgd-faithful":
            share = (run["retraction"] + run["gradient"]) / run["seconds"]
            pairs = {"cdf-gd": "CDFGD", "rgd-fast": "RGD in the fast geometry"}
            ratios = [
                f"{per_iteration(run) / per_iteration(runs[size, other]):.3g} times that of {name}"
                for other, name in pairs.items()
                if (size, other) in runs
            ]
            text = f"At {size} retraction and gradient are {100 * share:.0f} % of the time of RGD"
            told.append(
                f"{text}{'; its iteration takes ' + ' and '.join(ratios) if ratios else ''}."
            )
    short = [run for run in runs.values() if run["iterations"] < ITERATIONS]
    if short:
        names = ", ".join(
            f"{run['solver']} at {run['size']} ({run['iterations']})" for run in short
        )
        told.append(
            f"Ended before {ITERATIONS} iterations, the totals scaled to {ITERATIONS}: {names}."
        )
    return told


def per_iteration(run: Mapping[str, Any], what: str = "seconds") -> float:
    """Seconds per iteration, in all or in one part."""
    return float(run[what]) / int(run["iterations"])
