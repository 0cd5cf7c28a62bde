"""The figures of further constraints: who solves what, in how many evaluations.

Run as `python benchmarks/constrained.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _timing import Figure, main
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import genorth as go

_STARTS = 5
_OURS = ("ralm", "odf-alm")


def _quadratic(manifold: Any, A: Any, constraints: Any) -> go.Problem:
    return go.Problem(
        manifold,
        lambda X: -float(np.vdot(X, A @ X)),
        lambda X: -2 * (A @ X),
        lambda X, Z: -2 * (A @ Z),
        constraints=constraints,
    )


def problems() -> Iterator[tuple[str, go.Problem, Any]]:
    """Name, problem, and how a start is made from a seed."""
    rng = np.random.default_rng(0)

    def positive(n: int, p: int) -> Callable[[int], Any]:
        M = go.Stiefel(n, p)
        return lambda seed: M.restore(np.abs(M.random_point(seed)))

    u = np.abs(rng.standard_normal(200))
    A = 8 * np.outer(u, u) / (u @ u) + rng.standard_normal((200, 200)) / 10
    yield (
        "nonnegative PCA (200,1)",
        _quadratic(go.Stiefel(200, 1), A + A.T, Bounds(0, np.inf)),
        positive(200, 1),
    )
    labels = np.repeat(np.arange(4), 15)
    S = (labels[:, None] == labels) + 0.2 * rng.standard_normal((60, 60))
    yield (
        "orthogonal clusters (60,4)",
        _quadratic(go.Stiefel(60, 4), S + S.T, Bounds(0, np.inf)),
        positive(60, 4),
    )
    zero = np.where(rng.random((70, 1)) < 0.3, 0.0, np.nan) * np.ones((70, 3))
    B = rng.standard_normal((70, 70))
    M = go.Stiefel(70, 3)
    yield "fixed support (70,3)", _quadratic(M, B + B.T, Bounds(zero, zero)), M.random_point
    cap = LinearConstraint(np.eye(1, 210), -np.inf, 0.1)
    yield "a cap (70,3)", _quadratic(M, B + B.T, cap), M.random_point
    yield fair(rng)


def fair(rng: np.random.Generator) -> tuple[str, go.Problem, Any]:
    """Fair PCA: the largest t with tr(X^T A_i X) >= t for three groups."""
    groups = [
        np.cov(rng.standard_normal((40, 200)) * rng.uniform(0.5, 2, (40, 1))) for _ in range(3)
    ]
    product = go.Product(X=go.Stiefel(40, 5), t=go.Euclidean(1))
    flat = product.blocks.shape[0]

    def split(v: Any) -> Any:
        return product.outward(v)

    def values(v: Any) -> Any:
        X, t = split(v)
        return np.array([np.vdot(X, A @ X) - t[0] for A in groups])

    def jacobian(v: Any) -> Any:
        X, _ = split(v)
        return np.stack([product.inward((2 * A @ X, -np.ones(1))) for A in groups])

    problem = go.Problem(
        product,
        lambda X, t: -float(t[0]),
        lambda X, t: (0 * X, -np.ones(1)),
        lambda X, t, dX, dt: (0 * dX, 0 * dt),
    )
    inside = NonlinearConstraint(values, 0, np.inf, jac=jacobian)
    made = go.Problem(
        problem.in_blocks.manifold,
        problem.in_blocks.evaluate_cost,
        problem.in_blocks.evaluate_gradient,
        problem.in_blocks.euclidean_hessian,
        constraints=inside,
    )
    assert made.manifold.shape == (flat,)
    return "fair PCA (40,5) and t", made, made.manifold.random_point


def solved() -> list[Figure]:
    """Every problem by one method of each family, from all starts; evaluations beside SLSQP's."""
    figures, rounds = [], []
    for name, problem, start in problems():
        counts: dict[str, list[int]] = {}
        for method in (*_OURS, "slsqp"):
            limit = 30.0 if method == "slsqp" else 60.0
            results = [
                go.minimize(
                    problem, start(seed), method=method, tol=1e-6, max_time=limit, check=False
                )
                for seed in range(_STARTS)
            ]
            good = [r for r in results if r.success]
            counts[method] = [r.evaluations for r in good]
            if method in _OURS:
                rounds += [r.kkt.rounds for r in good]
            bound = float(_STARTS) if method in _OURS else None
            what = f"{name}: {method}, starts of {_STARTS} that are solved"
            figures.append(Figure(what, float(len(good)), bound, True, unit=""))
        ours = min(statistics.median(counts[m]) for m in _OURS if counts[m])
        if counts["slsqp"]:
            share = ours / statistics.median(counts["slsqp"])
            figures.append(Figure("... evaluations of the better one over SLSQP's", share, 1 / 3))
    figures.append(Figure("rounds, median", statistics.median(rounds), 20.0, unit=""))
    return figures


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {"solved": solved}


if __name__ == "__main__":
    sys.exit(main("constrained", FIGURES))
