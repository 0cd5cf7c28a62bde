"""Figure 2: how far the start and the solution of a mean are from the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from attrs.validators import deep_iterable, ge, instance_of, min_len

from baselines import SOLVERS
from genorth.compare.render import BLUE, ORANGE, Table, ranged
from paper_repro.findings import table
from paper_repro.problems.base import PaperProblem, Size

METHODS = ("cdf-cg-scipy",)
_SAMPLES = 100
_distances = [instance_of(list), min_len(1), deep_iterable(ge(0))]


@attrs.frozen
class Run:
    """|X - X_i| of the start and of the solution."""

    size: str = attrs.field(validator=instance_of(str))
    solver: str = attrs.field(validator=instance_of(str))
    status: str = attrs.field(validator=instance_of(str))
    initial: list[float] = attrs.field(validator=_distances)
    final: list[float] = attrs.field(validator=_distances)
    start: int = attrs.field(default=0, validator=[instance_of(int), ge(0)])

    @property
    def summary(self) -> str:
        """The run in a few words."""
        return self.status.lower().replace("_", " ")


def measure(problem: PaperProblem, size: Size, solver: str, start: int, limit: float) -> Run:
    """Solve the mean of this seed to 1e-9, starting at one more sample."""
    instance: Any = size.evolve(keep=_SAMPLES).generated(start)
    first = instance.table_start(None)
    result = SOLVERS[solver](
        instance.problem(),
        first,
        beta=problem.beta,
        tol=1e-9,
        max_time=limit,
        max_iterations=None,
    )
    initial, final = (
        np.linalg.norm(instance.samples - X, axis=(1, 2)).tolist() for X in (first, result.x)
    )
    return Run(size.name, solver, result.status.name, initial, final, start)


def told(runs: Sequence[Run]) -> Table:
    """How far the mean is from the samples, before and after."""
    errors = (
        ranged([float(np.mean(getattr(run, name))) for run in runs])
        for name in ("initial", "final")
    )
    smaller = min(int(np.sum(np.array(run.final) < run.initial)) for run in runs)
    heads = ("samples", "mean error at the start", "at the end", "smaller at the end for at least")
    return table(heads, [[f"{len(runs)} sets of {len(runs[0].initial)}", *errors, smaller]])


def draw(runs: Sequence[Run]) -> Any:
    """Blue: the error of the start against each sample; orange: that of the solution.

    Of the first set of samples.
    """
    import matplotlib.figure

    figure = matplotlib.figure.Figure((9.0, 3.0), layout="constrained")
    axis, places = figure.subplots(), np.arange(len(runs[0].initial))
    axis.bar(places - 0.2, runs[0].initial, 0.4, color=BLUE, label="start")
    axis.bar(places + 0.2, runs[0].final, 0.4, color=ORANGE, label="solution of CDFCG")
    axis.set(xlabel="sample", ylabel="|X - X_i|", xlim=(-1, len(places)))
    axis.legend(ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0)
    return figure
