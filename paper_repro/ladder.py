"""The ladder: two simple problems on manifolds of rising condition number, for all families.

The nearest point to a Gaussian matrix, and a weighted trace with a Wishart matrix,

    f(X) = |X - B|^2 / 2        f(X) = tr(X^T S X N) / 2,  N = diag(1, ..., p)

on forms of condition 1, 30 and 1000. It shows what each ingredient is worth: the solvers of each
family run, the Riemannian ones with each retraction, and the best of both families in a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

import genorth as go
from baselines import SOLVERS as REGISTRY
from baselines import rlbfgs, rtr
from genorth import Solver, compare
from genorth.compare import Case, Records
from genorth.gallery.comparison import gradient_factor, in_metric, metric_name
from genorth.linalg.arrays import inner
from genorth.linalg.matrices import conditioned_symmetric
from paper_repro.experiments import AUTO, ORTHOGONAL
from paper_repro.problems.base import named

SIZES = ((40, 6), (400, 10))
#: A size that takes no time.
TOY = ((8, 2),)
CONDITIONS = (1.0, 30.0, 1000.0)
TOLERANCE = 1e-6
#: What the records call the problems.
NAMES = MappingProxyType({"nearest": "Ladder: nearest point", "trace": "Ladder: weighted trace"})


# ---------------------------------------------------------------------- problems


def _signs(p: int) -> np.ndarray[Any, Any]:
    return np.where(np.arange(p) < p // 2, -1.0, 1.0)


_Make = Callable[[int, int, float], go.GenOrthManifold]
#: The manifolds whose form has a condition number, each with the name of its metric.
MANIFOLDS: dict[str, tuple[_Make, str]] = {
    "hyperbolic": (
        lambda n, p, c: go.HyperbolicStiefel(conditioned_symmetric(n, c, 1, negative=n // 2), p),
        "|A|",
    ),
    "indefinite": (
        lambda n, p, c: go.IndefiniteStiefel(
            conditioned_symmetric(n, c, 2, negative=n // 2), _signs(p)
        ),
        "|A|",
    ),
    "bilinear": (
        lambda n, p, c: go.BilinearStiefel(
            conditioned_symmetric(n, c, 3, negative=n // 2),
            conditioned_symmetric(p, c**0.25, 4, negative=p // 2),
        ),
        "|A|",
    ),
    "generalized": (
        lambda n, p, c: go.GeneralizedStiefel(conditioned_symmetric(n, c, 5), p),
        "B",
    ),
}


def nearest(manifold: go.GenOrthManifold) -> go.Problem:
    """|X - B|^2/2, B Gaussian."""
    B = manifold.random_ambient(6)

    def both(X: Any) -> tuple[float, Any]:
        E = X - B
        return float(inner(E, E)) / 2, E

    return go.Problem(manifold, None, None, lambda _, Z: Z, both, name="nearest")


def trace(manifold: go.GenOrthManifold) -> go.Problem:
    """tr(X^T S X N)/2, S a Wishart matrix, N = diag(1, ..., p)."""
    n, p = manifold.shape
    G = np.random.default_rng(7).standard_normal((n, 2 * n))
    S, N = G @ G.T / (2 * n), np.arange(1.0, p + 1)

    def both(X: Any) -> tuple[float, Any]:
        V = (S @ X) * N
        return float(inner(X, V)) / 2, V

    return go.Problem(manifold, None, None, lambda _, Z: (S @ Z) * N, both, name="trace")


_PROBLEMS = {"nearest": nearest, "trace": trace}


@attrs.frozen
class Rung:
    """One problem on one manifold; the symplectic one has no condition number."""

    kind: str
    #: None where the form has none.
    condition: float | None
    task: str
    n: int
    p: int

    @property
    def name(self) -> str:
        """Manifold, condition number, problem: "hyperbolic 30 nearest"."""
        return f"{self.manifold_name} {self.task}"

    @property
    def manifold_name(self) -> str:
        """Manifold and condition number."""
        return self.kind if self.condition is None else f"{self.kind} {self.condition:g}"

    @property
    def metric(self) -> str | None:
        """The metric that the manifold offers by name, where it is not the Euclidean one."""
        return None if self.condition is None else MANIFOLDS[self.kind][1]

    def problem(self, seed: int = 0) -> go.Problem:  # noqa: ARG002  the seed is that of the start
        """The problem, the same for every start."""
        return _made(self)

    def instance(self) -> Case:
        """What `genorth.compare.run` takes."""
        options = {}
        if self.metric is not None:
            factor = gradient_factor(self.problem(), self.metric)
            given = {"metric": self.metric, "factor": factor}
            options = {metric_name(name): given for name in IN_METRIC}
        size = f"{self.manifold_name} {named((self.n, self.p))}"
        return Case(NAMES[self.task], size, self.problem, None, options)


@lru_cache(maxsize=2)
def _made(rung: Rung) -> go.Problem:
    if rung.condition is None:
        return _PROBLEMS[rung.task](go.SymplecticStiefel(rung.n, rung.p))
    return _PROBLEMS[rung.task](MANIFOLDS[rung.kind][0](rung.n, rung.p, rung.condition))


def rungs(sizes: Iterable[tuple[int, int]] = SIZES) -> Iterator[Rung]:
    """All of them, size by size."""
    for n, p in sizes:
        for kind in MANIFOLDS:
            for condition in CONDITIONS:
                for task in NAMES:
                    yield Rung(kind, condition, task, n, p)
        for task in NAMES:
            yield Rung("symplectic", None, task, n, p)


# ---------------------------------------------------------------------- solvers

#: The Riemannian solvers that run with each retraction; "auto" is what they do by themselves.
_RETRACTED = {"rlbfgs-fast": rlbfgs, "rtr-fast": rtr}
RETRACTIONS = ("cayley", "normal")
#: Those that run in the metric of the manifold too.
IN_METRIC = (ORTHOGONAL, "rlbfgs-fast")


def retracted(name: str, retraction: str) -> str:
    """What the records call a solver with this retraction alone."""
    return f"{name}, {retraction}"


def _with_retraction(name: str, retraction: str) -> Solver:
    run = partial(_RETRACTED[name], geometry="fast", retraction=retraction)
    return attrs.evolve(
        REGISTRY[name], name=retracted(name, retraction), run=run, variant=retraction, reason=None
    )


#: The solvers of the ladder, by the names that the records have.
SOLVERS: dict[str, Solver] = {
    AUTO: REGISTRY["cdf-lbfgs"],
    **{name: REGISTRY[name] for name in (ORTHOGONAL, "odf-cg-lean", "odf-tr")},
    **{name: REGISTRY[name] for name in ("rgd-fast", "rcg-fast", "rlbfgs-fast", "rtr-fast")},
    **{name: REGISTRY[name] for name in ("landing", "landing-newton")},
    **{
        retracted(name, kind): _with_retraction(name, kind)
        for name in _RETRACTED
        for kind in RETRACTIONS
    },
}


def run(folder: Path, sizes: Iterable[tuple[int, int]] = SIZES, **settings: Any) -> Records:
    """Make the runs that are missing in a folder.

    Args:
        folder: Where the records are kept, in `records/`.
        sizes: The sizes (n, p).
        **settings: Further arguments of `genorth.compare.run`.

    Returns:
        The records.
    """
    found = list(rungs(sizes))
    with_metric = SOLVERS | {metric_name(name): in_metric(name) for name in IN_METRIC}
    groups = [
        ([rung for rung in found if rung.metric is not None], with_metric),
        ([rung for rung in found if rung.metric is None], SOLVERS),
    ]
    common = {"tolerances": TOLERANCE, "out": folder / "records"} | settings
    return compare.join(
        compare.run([rung.instance() for rung in mine], solvers, **common)
        for mine, solvers in groups
    )
