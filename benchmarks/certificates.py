"""The figures of certificates, of inverse retractions and means, and of balanced starts.

Run as `python benchmarks/certificates.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go
from genorth import gallery
from genorth.testing.strategies import FAMILIES, Recipe
from paper_repro import ladder
from support.stationary import spectrum, stationary

_PLANTED = 200


def _problems() -> Iterator[tuple[go.Problem, Any]]:
    """The ladder at two sizes, and the instances of the gallery that are installed."""
    for n in (40, 300):
        for rung in ladder.rungs([(n, 6)]):
            problem = rung.problem()
            for seed in range(2):
                yield problem, problem.manifold.random_point(seed)
    for name in gallery.names():
        if gallery.why_not(name) is None:
            instance = gallery.load(name)
            yield instance.problem, instance.start


def cost_of_a_certificate() -> list[Figure]:
    shares, products, verdicts = [], [], []
    for problem, start in _problems():
        run = go.minimize(problem, start, certify=False, max_time=60.0)
        if run.success:
            found = go.certify(problem, run.x, tol=2e-6, rng=2)
            shares.append(found.products / run.evaluations)
            products.append(found.products)
            verdicts.append(found.verdict)
    return [
        Figure("products of a certificate over evaluations", statistics.median(shares), 0.15),
        Figure("products of a certificate, 95 %", float(np.quantile(products, 0.95)), 40.0),
        Figure("solutions that are undecided", verdicts.count("undecided") / len(verdicts)),
    ]


def planted() -> list[Figure]:
    wrong = {"saddle": 0, "minimum": 0}
    for kind in wrong:
        seed = made = 0
        while made < _PLANTED:
            seed += 1
            rng = np.random.default_rng(seed)
            n, p = int(rng.integers(4, 13)), int(rng.integers(1, 5))
            family = list(FAMILIES)[seed % len(FAMILIES)]
            M = Recipe(family, n, min(n, p), float(10 ** rng.uniform(0, 2)), seed).build()
            if M.dim < 2:
                continue
            negative = 0 if kind == "minimum" else int(rng.choice([1, 1, 2, max(1, M.dim // 3)]))
            values = spectrum(M.dim, negative, float(10 ** rng.uniform(0, 2)), rng)
            how = "auto" if seed % 2 else "differences"
            problem, x = stationary(M, values * 10 ** rng.uniform(-1, 2), seed, hessian=how)
            found = go.certify(problem, x, rng=seed).verdict
            wrong[kind] += found != "saddle" if kind == "saddle" else found == "saddle"
            made += 1
    return [
        Figure(f"of {_PLANTED} planted saddles, not named", float(wrong["saddle"]), 0.0, unit=""),
        Figure(
            f"of {_PLANTED} planted minima, called a saddle", float(wrong["minimum"]), 0.0, unit=""
        ),
    ]


def between() -> list[Figure]:
    inverse, means = 0.0, 0.0
    for family in FAMILIES:
        M = Recipe(family, 8, 4, 10.0, 1).build()
        X = M.random_point(0)
        points = []
        for seed in range(10):
            Z = M.random_tangent(X, seed + 1)
            Z = Z * (0.3 / M.norm(Z))
            points.append(M.retract(X, Z))
            inverse = max(inverse, float(M.norm(M.inverse_retract(X, points[-1]) - Z)) / 0.3)
        mean = M.mean(points)
        total = sum(M.inverse_retract(mean, Y) for Y in points)
        means = max(means, float(M.norm(total)) / 10)
    return [
        Figure("inverse_retract at |Z| = 0.3, relative error", inverse, 1e-13, unit=""),
        Figure("mean of ten points, |sum of inverse retractions|/10", means, 1e-10, unit=""),
    ]


def symplectic_basis(n: int, p: int) -> tuple[go.Problem, Any]:
    """|S - V V^+ S|^2/|S|^2 for snapshots of two coupled fields, and an orthonormal start."""
    k, x, t = n // 2, np.linspace(0, 1, n // 2)[:, None], np.linspace(0, 1, 60)
    modes = range(1, 25)
    fields = (
        sum(np.sin(np.pi * j * x) * np.cos(np.pi * j * t * (1 + 0.1 * j)) / j for j in modes),
        -sum(np.sin(np.pi * j * x) * np.sin(np.pi * j * t * (1 + 0.1 * j)) for j in modes) / 10,
    )
    S: Any = np.vstack(fields)
    S = S + 0.02 * np.random.default_rng(0).standard_normal(S.shape)
    M, scale = go.SymplecticStiefel(n, p), float(np.vdot(S, S))
    phi = M.phi

    def both(V: Any) -> tuple[float, Any]:
        P = phi(V)
        E = S - V @ (P.T @ S)
        return float(np.vdot(E, E)) / scale, -2 * (E @ (S.T @ P) + phi(S @ (E.T @ V))) / scale

    def hessian(V: Any, Z: Any) -> Any:
        P, R = phi(V), phi(Z)
        E, D = S - V @ (P.T @ S), Z @ (P.T @ S) + V @ (R.T @ S)
        return -2 * (E @ (S.T @ R) - D @ (S.T @ P) + phi(S @ (E.T @ Z - D.T @ V))) / scale

    U = np.linalg.svd(np.hstack([S[:k], S[k:]]))[0][:, : p // 2]
    return go.Problem(M, None, None, hessian, both), np.block([[U, 0 * U], [0 * U, U]])


def stretched() -> list[Figure]:
    problem, X = symplectic_basis(240, 10)
    runs = [
        go.minimize(problem, X * np.repeat([s, 1 / s], 5), method="rtr", certify=False)
        for s in (1.0, 30.0)
    ]
    ratio = runs[1].evaluations / runs[0].evaluations
    return [Figure("symplectic basis (240,10): evaluations of rtr, s = 30 over s = 1", ratio, 1.3)]


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "certificate": cost_of_a_certificate,
    "planted": planted,
    "between": between,
    "stretched": stretched,
}


if __name__ == "__main__":
    sys.exit(main("certificates", FIGURES))
