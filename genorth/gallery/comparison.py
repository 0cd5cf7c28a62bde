"""The gallery through `genorth.compare`: the solvers, tables against the truth, the report."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from functools import partial
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
from genorth.errors import refuse
from genorth.gallery.base import Instance, load, names, why_not
from genorth.linalg.arrays import Array
from genorth.problem.problem import Problem
from genorth.solve.result import Result
from genorth.solve.solver import SOLVERS

#: The solvers of a comparison, the best of each family; fewer in a quick one.
ALL = (
    *("odf-lbfgs", "odf-cg-lean", "cdf-lbfgs", "odf-tr"),
    *("rlbfgs-fast", "rcg-fast", "rtr-fast"),
    *("landing", "landing-newton"),
)
QUICK = ("odf-lbfgs", "rlbfgs-fast", "rtr-fast", "landing-newton")
#: Those that run a second time, with the metric of the instance, where it has one.
IN_METRIC = ("odf-lbfgs", "rlbfgs-fast", "rtr-fast")
TOLERANCE = 1e-6
#: An instance is solved where f exceeds the truth by at most this, relative to it.
EXACT = 1e-8
#: The seed of the practitioner's start; others are random points.
PRACTICE = 0


# ---------------------------------------------------------------------- what runs


def chosen(solvers: Iterable[str] | None, default: Sequence[str] = ALL) -> list[str]:
    """The solvers of these names.

    Raises:
        ValueError: If one is not registered.
    """
    given = [name for name in default if name in SOLVERS] if solvers is None else list(solvers)
    for name in given:
        if name not in SOLVERS:
            refuse("solvers", f"some of {', '.join(map(repr, SOLVERS))}", repr(name))
    return given


def run(
    folder: Path | None, instances: Iterable[Instance], solvers: Iterable[str], **how: Any
) -> Records:
    """Make the runs that are missing in a folder: all solvers, and the domain's own.

    Args:
        folder: Where the records are kept, in `records/`; None to keep none.
        instances: What to solve.
        solvers: The names of registered solvers.
        **how: Further arguments of `genorth.compare.run`.

    Returns:
        The records of these instances.
    """
    solvers = list(solvers)
    groups: dict[Any, list[Instance]] = {}
    for instance in instances:
        # Those that share all solvers run in one comparison, which fills all processes.
        key = instance.name if instance.solvers else instance.metric is not None
        groups.setdefault(key, []).append(instance)
    made = [
        compare.run(
            [_entry(instance, solvers) for instance in group],
            _rows(group[0], solvers),
            tolerances=TOLERANCE,
            out=None if folder is None else folder / "records",
            **how,
        )
        for group in groups.values()
    ]
    return compare.join(made)


def _rows(instance: Instance, solvers: Sequence[str]) -> dict[str, Any]:
    rows: dict[str, Any] = {name: SOLVERS[name] for name in solvers}
    if instance.metric is not None:
        rows |= {metric_name(name): in_metric(name) for name in _twice(solvers)}
    return rows | {solver.name: solver for solver in instance.solvers}


def _twice(solvers: Sequence[str]) -> list[str]:
    """The solvers that run a second time, in the metric."""
    return [name for name in solvers if name in IN_METRIC]


def metric_name(solver: str) -> str:
    """What the records call a registered solver in the metric of the instance."""
    return f"{solver}, metric"


def in_metric(name: str) -> go.Solver:
    """A registered solver that takes `metric` and `factor` as options of the instance.

    It runs in the metric, to the tolerance that bounds the Euclidean gradient by `tol`; `factor` is
    that of `gradient_factor`.
    """
    solver = SOLVERS[name]
    return go.Solver(
        name=metric_name(name),
        family=solver.family,
        run=partial(_with_metric, solver=name),
        algorithm=solver.algorithm,
        variant="metric",
        needs=solver.needs,
        cites=solver.cites,
        modules=solver.modules,
    )


def _with_metric(
    problem: Problem, x0: Any = None, *, solver: str, metric: Any, factor: float, **common: Any
) -> Result:
    tol = common.pop("tol", TOLERANCE) / max(1.0, factor)
    return SOLVERS[solver](problem, x0, metric=metric, tol=tol, **common)


def gradient_factor(problem: Problem, metric: Any) -> float:
    """An estimate of |T^-1|, by which a gradient in W = (T T^T)^-1 can be smaller than without.

    The gradient in Y, X = T Y, is T^T (G - N) with a normal N of M at X: the Euclidean gradient is
    at most |T^-T| times as long (F20). Power iteration, within the slack of a comparison's check.
    """
    T = problem.manifold.metric(metric)
    V = np.asarray(problem.manifold.random_ambient(0))
    size = 1.0
    for _ in range(50):
        V = V / np.linalg.norm(V)
        V = np.asarray(T.solve_adjoint(T.solve(V)))
        size = float(np.linalg.norm(V))
    return math.sqrt(size)


def _entry(instance: Instance, solvers: Sequence[str]) -> compare.Case:
    options = {}
    if instance.metric is not None:
        factor = gradient_factor(instance.problem, instance.metric)
        given = {"metric": instance.metric, "factor": factor}
        options = dict.fromkeys(map(metric_name, _twice(solvers)), given)
    return compare.Case(
        instance.name,
        size_of(instance.problem),
        partial(_problem, instance.name),
        partial(_start, instance.name),
        options,
    )


@functools.lru_cache(maxsize=1)
def _loaded(name: str) -> Instance:
    return load(name)


def _problem(name: str, seed: int) -> Problem:  # noqa: ARG001  the seed is that of the start
    return _loaded(name).problem


def _start(name: str, problem: Problem, seed: int) -> Array:
    return _loaded(name).start if seed == PRACTICE else problem.manifold.random_point(seed)


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
    if instance.bound:
        return "beaten"
    return "solved" if error >= -EXACT else "below the truth"


def table(instance: Instance, records: Records) -> Table:
    """The runs of an instance against the truth."""
    heads = ["solver", "start", "f", "error", "gradient", "evaluations", "seconds", ""]
    numeric = [False, False, True, True, True, True, True, False]
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
        [Head(name, numeric=number) for name, number in zip(heads, numeric, strict=True)],
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


def told(instances: Iterable[Instance], records: Records) -> str:
    """The tables and how many runs reach the truth, as text for a terminal."""
    instances = list(instances)
    parts = [f"{sentence(each)}\n{text(table(each, records))}" for each in instances]
    mine = {each.name: each for each in instances}
    verdicts = [verdict(mine[record.problem], record) for record in records]
    solved = sum(word in ("solved", "beaten") for word in verdicts)
    return "\n".join([*parts, f"{solved} of {len(verdicts)} runs reach the truth."])


def picture(instance: Instance) -> Any:
    """The solution drawn into a matplotlib Figure; None where there is nothing to draw."""
    if instance.draw is None:
        return None
    from matplotlib.figure import Figure

    solution = go.minimize(instance.problem, instance.start, metric=instance.metric, max_time=30.0)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    instance.draw(figure.add_subplot(), solution.x)
    return figure


def report(folder: Path) -> Path:
    """Write the HTML report of everything in the folder; a picture for each instance.

    An instance whose package is no longer installed has its records, but no truth and no picture.
    """
    records = records_of(folder)
    known, sections = set(names()), []
    for name in records.distinct("problem"):
        if name in known and why_not(name) is None:
            instance = load(name)
            drawn = picture(instance)
            content = [sentence(instance), table(instance, records)]
            sections.append((name, [*content, *([] if drawn is None else [drawn])]))
    return compare.report(
        records, folder / "report.html", "Real problems with answers from outside", sections
    )


def records_of(folder: Path) -> Records:
    """All records of a folder.

    Raises:
        ValueError: If there are none.
    """
    if not (folder / "records").is_dir():
        need = "a folder in which `python -m genorth.gallery run` has put records"
        refuse("--out", need, f"none in {folder}")
    return compare.load(folder / "records")
