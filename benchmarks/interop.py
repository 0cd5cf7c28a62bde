"""The figures of the interface to pymanopt, against pymanopt's own Stiefel manifold.

Both have the same problem and start. Run as `python benchmarks/interop.py`; `pytest benchmarks`
asserts the same figures.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymanopt
from _timing import Figure, Prepare, main, medians
from pymanopt.optimizers import ConjugateGradient, TrustRegions

import genorth as go
from genorth.interop.pymanopt import PymanoptManifold, to_pymanopt

Array = np.ndarray[Any, Any]
_ITERATIONS = 40


class Weighted:
    """f(X) = tr(X^T A X N)/2 with a diagonal N.

    A dense, or a diagonal whose products cost next to nothing.
    """

    def __init__(self, n: int, p: int, dense: bool) -> None:
        rng = np.random.default_rng(0)
        S = rng.standard_normal((n, n))
        self.A = (S + S.T) / 2 if dense else rng.uniform(1, 100, (n, 1))
        self.dense, self.N = dense, np.linspace(1, 2, p)
        self.points: list[bytes] | None = (
            None  # those at which the gradient was asked for, where they are of interest
        )

    def product(self, X: Array) -> Array:
        return ((self.A @ X) if self.dense else self.A * X) * self.N

    def cost(self, X: Array) -> float:
        return float(np.vdot(X, self.product(X))) / 2

    def gradient(self, X: Array) -> Array:
        if self.points is not None:
            self.points.append(X.tobytes())
        return self.product(X)

    def hessian(self, X: Array, Z: Array) -> Array:
        return self.product(Z)

    def ours(self, manifold: go.GenOrthManifold, retraction: str) -> Any:
        return to_pymanopt(
            go.Problem(manifold, self.cost, self.gradient, self.hessian), retraction, rng=0
        )

    def theirs(self, manifold: Any) -> Any:
        function = pymanopt.function.numpy(manifold)
        return pymanopt.Problem(
            manifold,
            function(self.cost),
            euclidean_gradient=function(self.gradient),
            euclidean_hessian=function(self.hessian),
        )


def _runs(problem: Any, start: Array) -> Prepare:
    """ConjugateGradient for a fixed number of iterations; every stop of its own is switched off."""
    settings = {
        "max_iterations": _ITERATIONS,
        "min_gradient_norm": 0,
        "min_step_size": 0,
        "verbosity": 0,
    }

    def prepare() -> Callable[[], object]:
        return partial(ConjugateGradient(**settings).run, problem, initial_point=start)

    return prepare


def conjugate_gradients(
    n: int, p: int, retractions: dict[tuple[str, str], float | None]
) -> list[Figure]:
    """Time per iteration over that on pymanopt's Stiefel manifold.

    The keys are pairs of (our, their) retraction.
    """
    manifold = go.Stiefel(n, p)
    start, figures = manifold.random_point(np.random.default_rng(1)), []
    for dense, (kinds, bound) in itertools.product((True, False), retractions.items()):
        problem = Weighted(n, p, dense)
        ours = problem.ours(manifold, kinds[0])
        theirs = problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction=kinds[1]))
        above, below = medians(_runs(ours, start), _runs(theirs, start), budget=4.0)
        case = f"CG, Stiefel ({n},{p}), {'dense' if dense else 'cheap'} f"
        what = f"{case}, {kinds[0]} / {kinds[1]}: per iteration"
        figures.append(Figure(what, above / below, bound))
    return figures


def gradients_of_trust_regions(n: int = 60, p: int = 4) -> list[Figure]:
    """How often TrustRegions has the Euclidean gradient evaluated where it was before.

    Some of its steps are rejected.
    """
    problem = Weighted(n, p, dense=True)
    counts: dict[str, tuple[int, int]] = {}
    for name, side in {
        "ours": problem.ours(go.Stiefel(n, p), "polar"),
        "pymanopt's": problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction="polar")),
    }.items():
        start = go.Stiefel(n, p).random_point(0)
        problem.points = []
        TrustRegions(verbosity=0).run(side, initial_point=start, Delta0=30.0, Delta_bar=500.0)
        counts[name] = (len(problem.points), len(set(problem.points)))
    (ours, distinct), (theirs, others) = counts["ours"], counts["pymanopt's"]
    return [
        Figure(f"TR, {distinct} points: gradients evaluated again", ours - distinct, 0, unit=""),
        Figure(
            f"TR, {others} points: gradients evaluated again, pymanopt's Stiefel",
            theirs - others,
            unit="",
        ),
    ]


def hessian_product(n: int = 1000, p: int = 20, bound: float = 0.6) -> list[Figure]:
    """One Riemannian Hessian product over that on pymanopt's Stiefel manifold.

    The Euclidean one is included.
    """
    figures, manifold = [], go.Stiefel(n, p)
    X = manifold.random_point(0)
    draw = np.random.default_rng(1)
    directions = itertools.cycle([manifold.random_tangent(X, draw) for _ in range(4)])
    for dense in (True, False):
        problem = Weighted(n, p, dense)
        sides = (
            problem.ours(manifold, "polar"),
            problem.theirs(pymanopt.manifolds.Stiefel(n, p, retraction="polar")),
        )
        first = [side.riemannian_hessian(X, manifold.random_tangent(X, 5)) for side in sides]
        assert np.linalg.norm(first[0] - first[1]) <= 1e-12 * n * np.linalg.norm(first[0])

        def products(side: Any) -> Prepare:
            return lambda: partial(side.riemannian_hessian, X, next(directions))

        above, below = medians(*map(products, sides), budget=3.0)
        figures.append(
            Figure(
                f"Hessian product, Stiefel ({n},{p}), {'dense' if dense else 'cheap'} f",
                above / below,
                bound,
            )
        )
    return figures


def _microseconds(
    calls: list[Callable[[], object]], rounds: int = 200, loops: int = 50
) -> list[float]:
    """The median time of each call, all of them in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, mine in zip(calls, times, strict=True):
            begin = time.perf_counter()
            for _ in range(loops):
                call()
            mine.append((time.perf_counter() - begin) / loops)
    return [1e6 * statistics.median(mine) for mine in times]


def overhead(manifold: go.GenOrthManifold, bound: float = 3.0) -> list[Figure]:
    """Microseconds that each method of the wrapper adds to the method that it calls."""
    W = PymanoptManifold(manifold, "cayley", rng=0)
    X, Y = W.random_point(), W.random_point()
    Z, G = 0.1 * W.random_tangent_vector(X), manifold.random_ambient(1)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "inner_product": (lambda: W.inner_product(X, Z, G), lambda: manifold.inner(Z, G)),
        "norm": (lambda: W.norm(X, Z), lambda: manifold.norm(Z)),
        "projection": (lambda: W.projection(X, G), lambda: manifold.project(X, G)),
        "gradient": (
            lambda: W.euclidean_to_riemannian_gradient(X, G),
            lambda: manifold.gradient(X, G),
        ),
        "hessian": (
            lambda: W.euclidean_to_riemannian_hessian(X, G, G, Z),
            lambda: manifold.hessian(X, G, G, Z),
        ),
        "retraction": (lambda: W.retraction(X, Z), lambda: manifold.retract(X, Z, "cayley")),
        "transport": (lambda: W.transport(X, Y, Z), lambda: manifold.project(Y, Z)),
    }
    figures = []
    for name, calls in pairs.items():
        ours, bare = _microseconds(list(calls))
        what = f"wrapper of {W}, {name}: over the bare method"
        figures.append(Figure(what, ours - bare, bound, unit="us"))
    return figures


#: Each gives its figures. (cayley / qr: both sides' defaults; polar / polar: the same iterates, to
#: rounding.)
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "CG (200,8)": partial(
        conjugate_gradients, 200, 8, {("cayley", "qr"): 0.8, ("polar", "polar"): None}
    ),
    "CG (1000,20)": partial(
        conjugate_gradients, 1000, 20, {("cayley", "qr"): 0.8, ("polar", "polar"): 0.8}
    ),
    "TR gradients": gradients_of_trust_regions,
    "Hessian product (1000,20)": hessian_product,
    "overhead, Stiefel": lambda: overhead(go.Stiefel(30, 3)),
    "overhead, hyperbolic": lambda: overhead(
        go.HyperbolicStiefel(np.where(np.arange(30) < 15, 1.0, -1.0), 3)
    ),
}


if __name__ == "__main__":
    sys.exit(main("interop", FIGURES))
