"""The gallery through `genorth.compare`: the solvers, tables against the truth, the report."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth import compare
from genorth.compare import Record, Records, size_of
from genorth.compare.render import (
    Block,
    Entry,
    Head,
    Line,
    Table,
    count,
    scientific,
    seconds,
    text,
    words,
)
from genorth.gallery.base import Instance, load, names, why_not
from genorth.linalg.arrays import Array
from genorth.problem.problem import Problem
from genorth.solve.result import Result
from genorth.solve.solver import SOLVERS

#: Solvers, starts, seconds of each run and processes: the best of each family, or fewer.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "full": {
        "solvers": (
            *("odf-lbfgs", "odf-cg", "cdf-lbfgs", "odf-tr"),
            *("rlbfgs", "rcg", "rtr"),
            *("landing", "landing-newton"),
        ),
        "starts": 2,
        "max_time": 60.0,
        "jobs": 1,
    },
    "quick": {
        "solvers": ("odf-lbfgs", "rlbfgs", "rtr", "landing-newton"),
        "starts": 1,
        "max_time": 5.0,
        "jobs": min(2, os.cpu_count() or 1),
    },
}
#: One iteration takes a second or more: left out of a quick run, unless they are asked for.
SLOW = ("hartree-fock-chromium", "kohn-sham-chromium", "kohn-sham-nickel-oxide")
#: Those that run too where the instance has further constraints, which others refuse.
CONSTRAINED = ("ralm", "odf-alm", "cdf-alm", "slsqp")
#: Those that run a second time, with the metric of the instance, where it has one.
IN_METRIC = ("odf-lbfgs", "rlbfgs", "rtr")
TOLERANCE = 1e-6
#: An instance is solved where f exceeds the truth by at most this, relative to it.
EXACT = 1e-8
TITLE = "Real problems with independently known answers"
#: The seed of the practitioner's start; others are random points.
PRACTICE = 0


# ---------------------------------------------------------------------- what runs


def reasons(wanted: Iterable[str] | None = None) -> dict[str, str | None]:
    """Why each of these instances, by default all, cannot be made; None for one that can."""
    return {name: why_not(name) for name in wanted or names()}


def here() -> list[str]:
    """The instances that can be made."""
    return [name for name, reason in reasons().items() if reason is None]


def run(folder: Path | None, wanted: Iterable[str], solvers: Iterable[str], **how: Any) -> Records:
    """Make the runs that are missing in a folder: all solvers, and the domain's own.

    Args:
        folder: Where the records are kept, in `records/`; None to keep none.
        wanted: The names of the instances.
        solvers: The names of solvers; those that are not registered are left out.
        **how: Further arguments of `genorth.compare.run`.

    Returns:
        The records of these instances.
    """
    registered = {name: SOLVERS[name] for name in solvers if name in SOLVERS}
    entries = []
    for each in map(_loaded, wanted):
        twice, options = in_metric(each.problem, each.metric, registered)
        make, start = partial(_problem, each.name), partial(_start, each.name)
        case = compare.Case(each.name, size_of(each.problem), make, start, options)
        own = {solver.name: solver for solver in each.solvers}
        if each.problem.constraints is not None:
            own |= {name: SOLVERS[name] for name in CONSTRAINED if name in SOLVERS}
        entries.append((case, registered | twice | own))
    out = None if folder is None else folder / "records"
    return run_each(entries, tolerances=TOLERANCE, out=out, **how)


def run_each(entries: Iterable[tuple[compare.Case, dict[str, go.Solver]]], **how: Any) -> Records:
    """Compare on each instance the solvers that it comes with.

    Instances that share all solvers run in one comparison, which fills all processes.

    Args:
        entries: The instances, each with its solvers by name.
        **how: Further arguments of `genorth.compare.run`.

    Returns:
        The records.
    """
    groups: dict[Any, tuple[list[compare.Case], dict[str, go.Solver]]] = {}
    for instance, rows in entries:
        groups.setdefault(tuple(rows.items()), ([], rows))[0].append(instance)
    return compare.join(compare.run(group, rows, **how) for group, rows in groups.values())


_loaded = cache(load)


def _problem(name: str, seed: int) -> Problem:  # noqa: ARG001  the seed is that of the start
    return _loaded(name).problem


def _start(name: str, problem: Problem, seed: int) -> Array:
    return _loaded(name).start if seed == PRACTICE else problem.manifold.random_point(seed)


# ---------------------------------------------------------------------- variants of solvers


def variant_name(solver: str, variant: str) -> str:
    """What the records call a registered solver with something changed: "rlbfgs, metric"."""
    return f"{solver}, {variant}"


def variant(solver: str, variant: str, run: Callable[..., Result]) -> go.Solver:
    """A registered solver with another `run`, under the name of the variant."""
    name = variant_name(solver, variant)
    return attrs.evolve(
        SOLVERS[solver],
        name=name,
        label=name,
        run=run,
        variant=variant,
        reason=None,
        on_device=False,
    )


def _with_metric(
    problem: Problem, x0: Any = None, *, solver: str, metric: Any, factor: float, **common: Any
) -> Result:
    tol = common.pop("tol", TOLERANCE) / max(1.0, factor)
    return SOLVERS[solver](problem, x0, metric=metric, tol=tol, **common)


_METRIC = {name: variant(name, "metric", partial(_with_metric, solver=name)) for name in IN_METRIC}


def in_metric(
    problem: Problem, metric: Any, names: Iterable[str]
) -> tuple[dict[str, go.Solver], dict[str, Any]]:
    """Those of the solvers that run in a metric, by name, and their options.

    They run to the tolerance that bounds the Euclidean gradient by `tol`. Both are empty where
    there is no metric.
    """
    if metric is None:
        return {}, {}
    rows = {_METRIC[name].name: _METRIC[name] for name in names if name in _METRIC}
    given = {"metric": metric, "factor": gradient_factor(problem, metric)}
    return rows, dict.fromkeys(rows, given)


def gradient_factor(problem: Problem, metric: Any) -> float:
    """An estimate of |T^-1|, by which a gradient in W = (T T^T)^-1 can be smaller than without.

    The gradient in Y, X = T Y, is T^T (G - N) with a normal N of M at X: the Euclidean gradient is
    at most |T^-T| times as long (F20). Power iteration, within the slack of a comparison's check.
    """
    manifold = problem.manifold
    if isinstance(manifold, go.Product):
        manifold, metric = manifold.blocks, manifold.metrics(metric)
    T = manifold.metric(metric)
    V = np.asarray(manifold.random_ambient(0))
    for _ in range(50):
        V = np.asarray(T.solve_adjoint(T.solve(V / np.linalg.norm(V))))
    return math.sqrt(float(np.linalg.norm(V)))


# ---------------------------------------------------------------------- what is shown


def verdict(instance: Instance, record: Record) -> str:
    """What became of a run, in words.

    "solved", or "beaten" for a bound; "not the minimum"; "below the truth", which is then wrong; or
    how the run failed.
    """
    if not record.success:
        return record.status.lower().replace("_", " ")
    error = instance.error(record.fun)
    if not error <= EXACT:
        return "not the minimum"
    reached = "solved" if error >= -EXACT else "below the truth"
    return "beaten" if instance.bound else reached


def table(instance: Instance, records: Records) -> Table:
    """The runs of an instance against the truth."""
    figures = ("f", "error", "gradient", "evaluations", "seconds")
    heads = ("solver", "start", *figures, "")
    lines = [
        Line(
            [
                words(record.solver),
                words("practice" if record.seed == PRACTICE else f"random {record.seed}"),
                Entry() if math.isnan(record.fun) else Entry(f"{record.fun:.9g}", record.fun),
                scientific(instance.error(record.fun)),
                scientific(record.gradient_norm),
                count(record.evaluations),
                seconds(record.time),
                attrs.evolve(words(verdict(instance, record)), hint=record.message),
            ]
        )
        for record in records.where(problem=instance.name)
    ]
    return Table(
        f"{instance.name}: runs against the truth",
        [Head(name, numeric=name in figures) for name in heads],
        [Block("", lines)],
    )


def sentence(instance: Instance) -> str:
    """What the instance is, on which manifold, and who says the truth."""
    kind = "Bound to beat" if instance.bound else "Minimum"
    manifold = str(instance.problem.manifold).strip("<>")
    return (
        f"{instance.about} {manifold}; source: {instance.source}. "
        f"{kind}: {instance.truth:.9g}, by {instance.truth_by}."
    )


def told(records: Records) -> str:
    """The tables and how many runs reach the truth, as text for a terminal."""
    instances = map(_loaded, records.distinct("problem"))
    parts = [f"{sentence(each)}\n{text(table(each, records))}" for each in instances]
    verdicts = [verdict(_loaded(record.problem), record) for record in records]
    solved = sum(word in ("solved", "beaten") for word in verdicts)
    return "\n".join([*parts, f"{solved} of {len(verdicts)} runs reach the truth."])


def picture(instance: Instance, x: Any = None) -> Any:
    """The solution x, by default a new one, in a matplotlib Figure; None if nothing is drawn."""
    if instance.draw is None:
        return None
    from matplotlib.figure import Figure

    if x is None:
        x = go.minimize(instance.problem, instance.start, metric=instance.metric, max_time=30.0).x
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    instance.draw(figure.add_subplot(), x)
    return figure


def report(folder: Path) -> Path:
    """Write the HTML report of everything in the folder; a picture for each instance.

    An instance whose package is no longer installed has its records, but no truth and no picture.

    Raises:
        ValueError: If there are no records.
    """
    records = compare.load(folder / "records")
    known = here()
    sections = [
        (each.name, [sentence(each), table(each, records), *filter(None, [picture(each)])])
        for each in map(_loaded, filter(known.__contains__, records.distinct("problem")))
    ]
    return compare.report(records, folder / "report.html", TITLE, sections, own=())
