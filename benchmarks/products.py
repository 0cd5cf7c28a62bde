"""The figures of products: what several variables cost beside the same variables alone.

Run as `python benchmarks/products.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go

_RUNS = 9
_ITERATIONS = 40


def brockett(manifold: Any, seed: int) -> go.Problem:
    """tr(X^T A X N) with a dense, positive definite A."""
    n, p = manifold.shape[-2:]
    A = np.random.default_rng(seed).standard_normal((n, n))
    A, weights = A @ A.T / n, np.arange(p, 0, -1.0)

    def both(X: Any) -> tuple[float, Any]:
        G = A @ X
        G *= weights
        return float(np.vdot(X, G)), 2 * G

    return go.Problem(manifold, None, None, lambda X, Z: (A @ Z) * (2 * weights), both)


def together(first: go.Problem, second: go.Problem, free: int) -> go.Problem:
    """Two problems and a free vector, independent of each other."""
    product = go.Product(X=first.manifold, Y=second.manifold, w=go.Euclidean(free))
    centre = np.linspace(0, 1, free)

    def both(X: Any, Y: Any, w: Any) -> tuple[float, Any]:
        (f, F), (g, G) = first._fused(X), second._fused(Y)
        return f + g + float((w - centre) @ (w - centre)) / 2, (F, G, w - centre)

    def hessian(X: Any, Y: Any, w: Any, dX: Any, dY: Any, dw: Any) -> Any:
        return first._hessian(X, dX), second._hessian(Y, dY), dw

    return go.Problem(product, None, None, hessian, both)


def _per_evaluation(problem: go.Problem, method: str) -> float:
    """Seconds of an evaluation in a run of a fixed number of iterations."""
    start = problem.manifold.random_point(0)
    begin = time.perf_counter()
    result = go.minimize(
        problem, start, method=method, tol=0.0, max_iterations=_ITERATIONS, check=False
    )
    return (time.perf_counter() - begin) / result.evaluations


def cost_of_a_product() -> list[Figure]:
    first, second = brockett(go.Stiefel(500, 20), 0), brockett(go.SymplecticStiefel(300, 10), 1)
    joined, figures = together(first, second, 50), []
    for method in ("rlbfgs", "rtr"):
        ratios = []
        for _ in range(_RUNS):
            alone = [_per_evaluation(p, method) for p in (first, second)]
            ratios.append(_per_evaluation(joined, method) / sum(alone))
        what = f"product of (500,20), (300,10) and 50: an evaluation of {method} over the sum"
        figures.append(Figure(what, statistics.median(ratios), 1.15))
    return figures


def cost_of_a_power() -> list[Figure]:
    """60 blocks as one `Power`, and as 60 factors that are the same manifold."""
    block = go.Stiefel(20, 5)
    power = brockett(go.Power(block, 60), 0)
    product = go.Product(*[block] * 60)

    def both(*parts: Any) -> tuple[float, Any]:
        f, G = power._fused(np.stack(parts))
        return f, tuple(G)

    def hessian(*parts: Any) -> Any:
        return tuple(power._hessian(None, np.stack(parts[60:])))

    factors = go.Problem(product, None, None, hessian, both)
    ratios = [_per_evaluation(factors, "rtr") / _per_evaluation(power, "rtr") for _ in range(_RUNS)]
    what = "60 equal factors (20,5) over Power(M, 60): an evaluation of rtr"
    return [Figure(what, statistics.median(ratios))]


def evaluations_of_a_product() -> list[Figure]:
    """rtr on two independent problems, beside the larger number of the two alone."""
    ratios = []
    for seed in range(10):
        first, second = (
            brockett(go.Stiefel(60, 4), seed),
            brockett(go.SymplecticStiefel(40, 4), seed),
        )
        joined = together(first, second, 5)
        x = joined.manifold.random_point(seed)
        options: dict[str, Any] = {"method": "rtr", "tol": 1e-6, "check": False, "certify": False}
        alone = max(
            go.minimize(p, own, **options).evaluations for p, own in ((first, x.X), (second, x.Y))
        )
        ratios.append(go.minimize(joined, x, **options).evaluations / alone)
    return [
        Figure(
            "evaluations of rtr on a product over the larger of the two",
            statistics.median(ratios),
            1.5,
        ),
        Figure("... the largest of ten", max(ratios)),
    ]


def scaled(scale: float) -> go.Problem:
    """A weighted trace and a free vector of another curvature, weakly coupled."""
    product = go.Product(X=go.Stiefel(40, 3), w=go.Euclidean(6))
    rng = np.random.default_rng(0)
    A, K = rng.standard_normal((40, 40)), min(scale, 1.0) / 10 * rng.standard_normal((6, 3))
    A, N, d = A @ A.T / 40, np.arange(3, 0, -1.0), scale * np.arange(1.0, 7)

    def both(X: Any, w: Any) -> tuple[float, Any]:
        G, together = A @ X * N, K @ X.sum(axis=0)
        f = (np.vdot(X, G) + d @ (w - 1) ** 2) / 2 + w @ together
        return float(f), (G + w @ K, d * (w - 1) + together)

    def hessian(X: Any, w: Any, dX: Any, dw: Any) -> Any:
        return A @ dX * N + dw @ K, d * dw + K @ dX.sum(axis=0)

    return go.Problem(product, None, None, hessian, both)


def weights_of_factors() -> list[Figure]:
    """Evaluations with metric="auto" over those without, until f is within 1e-9 of its decrease."""
    figures = []
    for scale in (1e-4, 1e-2, 1.0, 1e2):
        problem = scaled(scale)
        start = problem.manifold.random_point(0)
        least = go.minimize(problem, start, method="rtr", tol=1e-9 * min(scale, 1.0)).fun
        target = least + 1e-9 * (problem.cost(start) - least)
        for method in ("rgd", "rcg", "rlbfgs"):
            counts = [_until(problem.fresh(), start, method, target, m) for m in (None, "auto")]
            what = f"metric='auto', curvatures 1 : {scale:g}: evaluations of {method}"
            figures.append(Figure(what, counts[1] / counts[0], 1.1))
    return figures


def _until(problem: go.Problem, start: Any, method: str, target: float, metric: Any) -> int:
    def reached(progress: Any) -> None:
        if progress.fun <= target:
            raise StopIteration

    options: dict[str, Any] = {"tol": 0.0, "max_evaluations": 20_000, "check": False}
    go.minimize(problem, start, method=method, metric=metric, callback=reached, **options)
    return problem.counts.evaluations


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "product": cost_of_a_product,
    "power": cost_of_a_power,
    "evaluations": evaluations_of_a_product,
    "weights": weights_of_factors,
}


if __name__ == "__main__":
    sys.exit(main("products", FIGURES))
