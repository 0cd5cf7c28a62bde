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
from genorth import Solver
from genorth.compare import Case, Records
from genorth.gallery.base import trace_problem
from genorth.gallery.comparison import in_metric, run_each, variant
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


def _form(n: int, condition: float, seed: int) -> np.ndarray[Any, Any]:
    """A symmetric matrix with as many positive as negative eigenvalues."""
    return conditioned_symmetric(n, condition, seed, negative=n // 2)


_Make = Callable[[int, int, float], go.GenOrthManifold]
#: The manifolds, each with the name of its metric; the symplectic one has no condition number.
MANIFOLDS: dict[str, tuple[_Make, str | None]] = {
    "hyperbolic": (lambda n, p, c: go.HyperbolicStiefel(_form(n, c, 1), p), "|A|"),
    "indefinite": (
        lambda n, p, c: go.IndefiniteStiefel(
            _form(n, c, 2), np.where(np.arange(p) < p // 2, -1.0, 1.0)
        ),
        "|A|",
    ),
    "bilinear": (
        lambda n, p, c: go.BilinearStiefel(_form(n, c, 3), _form(p, c**0.25, 4)),
        "|A|",
    ),
    "generalized": (
        lambda n, p, c: go.GeneralizedStiefel(conditioned_symmetric(n, c, 5), p),
        "B",
    ),
    "symplectic": (lambda n, p, _: go.SymplecticStiefel(n, p), None),
}


def nearest(manifold: go.GenOrthManifold) -> go.Problem:
    """|X - B|^2/2, B Gaussian."""
    B = manifold.random_ambient(6)

    def cost_and_gradient(X: Any) -> tuple[float, Any]:
        return float(np.vdot(X - B, X - B)) / 2, X - B

    return go.Problem(
        manifold, cost_and_gradient=cost_and_gradient, euclidean_hessian=lambda _, Z: Z
    )


def trace(manifold: go.GenOrthManifold) -> go.Problem:
    """tr(X^T S X N)/2, S a Wishart matrix, N = diag(1, ..., p)."""
    n, p = manifold.shape
    G = np.random.default_rng(7).standard_normal((n, 2 * n))
    return trace_problem(G @ G.T / (2 * n), manifold, np.arange(1.0, p + 1))


_PROBLEMS = {"nearest": nearest, "trace": trace}


@attrs.frozen
class Rung:
    """One problem on one manifold."""

    kind: str
    #: None where the form has none.
    condition: float | None
    task: str
    n: int
    p: int

    @property
    def form(self) -> str:
        """Manifold and condition number: "hyperbolic 30"."""
        return self.kind if self.condition is None else f"{self.kind} {self.condition:g}"

    @property
    def name(self) -> str:
        """Manifold, condition number, problem: "hyperbolic 30 nearest"."""
        return f"{self.form} {self.task}"

    def problem(self, seed: int = 0) -> go.Problem:  # noqa: ARG002  the seed is that of the start
        """The problem, the same for every start."""
        return _made(self)

    def entry(self) -> tuple[Case, dict[str, Solver]]:
        """What `run_each` takes: the instance and its solvers."""
        twice, options = in_metric(self.problem(), MANIFOLDS[self.kind][1], IN_METRIC)
        size = f"{self.form} {named((self.n, self.p))}"
        return Case(NAMES[self.task], size, self.problem, None, options), SOLVERS | twice


@lru_cache(maxsize=2)
def _made(rung: Rung) -> go.Problem:
    make, _ = MANIFOLDS[rung.kind]
    return _PROBLEMS[rung.task](make(rung.n, rung.p, rung.condition or 1.0))


def rungs(sizes: Iterable[tuple[int, int]] = SIZES) -> Iterator[Rung]:
    """All of them, size by size."""
    for n, p in sizes:
        for kind, (_, metric) in MANIFOLDS.items():
            for condition in (None,) if metric is None else CONDITIONS:
                for task in NAMES:
                    yield Rung(kind, condition, task, n, p)


# ---------------------------------------------------------------------- solvers

#: The Riemannian solvers that run with each retraction; "auto" is what they do by themselves.
RETRACTED, RETRACTIONS = ("rlbfgs", "rtr"), ("cayley", "normal")
#: Those that run in the metric of the manifold too.
IN_METRIC = (ORTHOGONAL, "rlbfgs")
#: The solvers of the ladder, by the names that the records have.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        *(REGISTRY[name] for name in (AUTO, ORTHOGONAL, "odf-cg", "odf-tr")),
        *(REGISTRY[name] for name in ("rgd", "rcg", "rlbfgs", "rtr", "landing", "landing-newton")),
        REGISTRY["pymanopt-tr"],
        *(
            variant(name, kind, partial(REGISTRY[name].run, retraction=kind))
            for name in RETRACTED
            for kind in RETRACTIONS
        ),
    )
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
    common = {"tolerances": TOLERANCE, "out": folder / "records"} | settings
    return run_each([rung.entry() for rung in rungs(sizes)], **common)
