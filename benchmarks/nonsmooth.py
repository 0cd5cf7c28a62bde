"""The figures of sparse solutions: manpg and prox-landing against the authors' algorithms.

ManPG-Ada [chen2020proximal] and SLPG [liu2024penalty] are written out below in NumPy, for sparse
PCA: no library, no check, no trace. All stop at |Z|/min(t, t_0) <= (1e-8 n p)^(1/2), the tolerance
of the first, t_0 that of our stopping measure. The data and the starts are not those on which the
constants of manpg and prox-landing, and the largest step of SLPG, were chosen (seeds 0 to 2).

Run as `python benchmarks/nonsmooth.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import Figure, main

import baselines  # noqa: F401  registers prox-landing
import genorth as go
from genorth.gallery import sparse
from genorth.gallery.base import trace_problem
from genorth.problem.proximal import natural_step
from genorth.riemannian.manpg import Proximal, Settings, proximal_gradients

Array = np.ndarray[Any, Any]
_SIZES = ((500, 10, 0.6), (1000, 20, 0.8))
_STARTS = 10
_SEED = 100
_LIMIT = 20_000  # iterations
_PERTURBED = 1e-3  # a start near a minimum, relative to |X|
_FAMILIES = ("manpg", "ralm", "odf-alm", "cdf-alm", "prox-landing")


def soft(Y: Array, bound: float) -> Array:
    """The prox of the l1 norm."""
    return Y - np.clip(Y, -bound, bound)


def natural(X: Array, G: Array, mu: float) -> float:
    """The t of our stopping measure."""
    return natural_step(X, G, mu * float(np.abs(X).sum()))


def semismooth_newton(
    X: Array, B: Array, mu: float, t: float, tol: float, L: Array
) -> tuple[Array, Array]:
    """V = prox(B + 2 t X L) with V^T X + X^T V = 2 I, and L, as in Section 4.2 of ManPG."""
    p, I2 = X.shape[1], 2 * np.eye(X.shape[1])

    def at(L: Array) -> tuple[Array, Array]:
        V = soft(B + 2 * t * (X @ L), mu * t)
        M = V.T @ X
        return V, M + M.T - I2

    V, R = at(L)
    size = float(np.linalg.norm(R))
    for _ in range(100):
        if size**2 <= tol:
            break
        shift, mask = 0.2 * max(min(size, 0.1), 1e-11), (V != 0).astype(float)
        d, residual = np.zeros((p, p)), -R
        q, rho = residual, float(np.vdot(R, R))
        goal = min(1e-4, 1e-3 * size) ** 2
        for _ in range(5 * p * p):
            if rho <= goal:
                break
            M = X.T @ (mask * (X @ q))
            image = 2 * t * (M + M.T) + shift * q
            a = rho / float(np.vdot(q, image))
            d, residual = d + a * q, residual - a * image
            before, rho = rho, float(np.vdot(residual, residual))
            q = residual + rho / before * q
        s = 1.0
        while True:
            V, trial = at(L + s * d)
            if np.linalg.norm(trial) ** 2 <= size**2 * (1 - 1e-3 * s) or s < 1e-3:
                break
            s /= 2
        L, R, size = L + s * d, trial, float(np.linalg.norm(trial))
    return V, L


def manpg_ada(A: Array, mu: float, X: Array, tol: float) -> tuple[float, bool]:
    """ManPG-Ada: t grows by 1.01 while whole steps are accepted; f + r, and whether it converged.

    The tolerance of the subproblem, on |E|^2, is that of the authors' published code.
    """
    t = t0 = 1 / (2 * float(np.linalg.norm(A, 2)) ** 2)
    AX, L, alpha, inexact, shortened = A @ X, np.zeros((X.shape[1],) * 2), 1.0, 0, False
    value = -float(np.vdot(AX, AX)) + mu * float(np.abs(X).sum())
    for k in range(_LIMIT):
        if k:
            t = max(t0, t / 1.01) if shortened else 1.01 * t
        shortened = False
        loose = max(1e-13, min(1e-11, 1e-3 * (tol * t) ** 2))
        tight = max(1e-15, min(1e-13, 1e-5 * (tol * t) ** 2))
        inner = tight if alpha < 1e-4 or inexact > 10 else loose
        V, L = semismooth_newton(X, X + 2 * t * (A.T @ AX), mu, t, inner, L)
        Z = V - X
        square, alpha = float(np.vdot(Z, Z)), 1.0
        if square <= (tol * min(t, natural(X, 2 * (A.T @ AX), mu))) ** 2:
            return value, True
        while True:
            Y = X + alpha * Z
            w, U = np.linalg.eigh(Y.T @ Y)
            Y = Y @ (U / np.sqrt(w) @ U.T)
            AY = A @ Y
            trial = -float(np.vdot(AY, AY)) + mu * float(np.abs(Y).sum())
            if trial < value - alpha * square / (2 * t) or alpha < 1e-4:
                inexact += alpha < 1e-4
                break
            alpha, shortened = alpha / 2, True
        X, AX, value = Y, AY, trial
    return value, False


def slpg(A: Array, mu: float, X: Array, tol: float) -> tuple[float, bool]:
    """SLPG: a proximal step with the multiplier of the last subgradient, then 3/2 V - V V^T V/2.

    Steps are Barzilai and Borwein's, alternating, at most five times 1/L: of
    1, 2, 5 and 10 the fastest that converges.
    """
    t = t0 = 1 / (2 * float(np.linalg.norm(A, 2)) ** 2)
    xi, last = np.zeros_like(X), None
    for k in range(_LIMIT):
        G = -2 * (A.T @ (A @ X))
        M = X.T @ (G + xi)
        D = G - X @ (M + M.T) / 2
        if last is not None:
            S, Y = X - last[0], D - last[1]
            sy = abs(float(np.vdot(S, Y)))
            over, under = (float(np.vdot(S, S)), sy) if k % 2 else (sy, float(np.vdot(Y, Y)))
            t = min(max(over / max(under, 1e-300), t0), 5 * t0)
        last = X, D
        Y = X - t * D
        V = soft(Y, mu * t)
        xi = (Y - V) / t
        done = float(np.linalg.norm(V - X)) <= tol * min(t, natural(X, G, mu))
        X = 1.5 * V - V @ (V.T @ V) / 2
        if done:
            break
    AX = A @ X
    return -float(np.vdot(AX, AX)) + mu * float(np.abs(X).sum()), k < _LIMIT - 1


def _ours(method: str) -> Callable[..., tuple[float, bool]]:
    def run(A: Array, mu: float, X: Array, tol: float) -> tuple[float, bool]:
        problem = sparse.sparse_pca(A, X.shape[1], mu)
        result = go.minimize(problem, X, method=method, tol=tol, check=False)
        return result.fun, result.success

    return run


SIDES = {
    "manpg": _ours("manpg"),
    "prox-landing": _ours("prox-landing"),
    "ManPG-Ada": manpg_ada,
    "SLPG": slpg,
}


def _differences(A: Array, p: int, mu: float) -> float:
    """The largest relative difference of f + r at the ends of all four from one start.

    The starts are near local minima: from elsewhere each ends at another one.
    """
    M, differences = go.Stiefel(A.shape[1], p), []
    for seed in range(_SEED, _SEED + _STARTS):
        X = go.minimize(sparse.sparse_pca(A, p, mu), M.random_point(seed), tol=1e-5).x
        Z = M.random_tangent(X, seed)
        X = M.retract(X, _PERTURBED * p**0.5 / np.linalg.norm(Z) * Z)
        values = [side(A, mu, X, 1e-4)[0] for side in SIDES.values()]
        differences.append((max(values) - min(values)) / abs(min(values)))
    return max(differences)


def sparse_pca() -> list[Figure]:
    """Times over the faster of the authors' two, medians of ten starts; objectives."""
    figures = []
    for n, p, mu in _SIZES:
        A, tol = sparse.random_data(n, rng=_SEED), (1e-8 * n * p) ** 0.5
        seconds: dict[str, list[float]] = {name: [] for name in SIDES}
        values: dict[str, list[float]] = {name: [] for name in SIDES}
        solved = dict.fromkeys(SIDES, 0)
        for start in range(_STARTS):
            X = go.Stiefel(n, p).random_point(_SEED + start)
            for name, side in SIDES.items():
                begin = time.perf_counter()
                value, good = side(A, mu, X, tol)
                seconds[name].append(time.perf_counter() - begin)
                values[name].append(value)
                solved[name] += good
        best = min(min(v) for v in values.values())
        what = f"sparse PCA ({n},{p}): all four near {_STARTS} minima, f + r differ by"
        figures.append(Figure(what, _differences(A, p, mu), 1e-6, unit=""))
        for name in ("manpg", "prox-landing"):
            for other in ("ManPG-Ada", "SLPG"):
                ratios = [a / b for a, b in zip(seconds[name], seconds[other], strict=True)]
                what = f"sparse PCA ({n},{p}): {name} over {other}, time"
                figures.append(Figure(what, statistics.median(ratios), 0.5))
                figures.append(Figure(f"... from {min(ratios):.2f} to", max(ratios)))
        for name in SIDES:
            what = f"... {name}: {solved[name]} of {_STARTS} converge, seconds"
            figures.append(Figure(what, statistics.median(seconds[name]), unit="s"))
            gaps = [(v - best) / abs(best) for v in values[name]]
            figures.append(
                Figure("... ... median of f + r above the best of all", statistics.median(gaps))
            )
            figures.append(Figure("... ... best start above the best of all", min(gaps)))
    return figures


def families() -> list[Figure]:
    """Conjugate gradient steps for each Newton step; all solved to 1e-6."""
    H = sparse.sparse_indefinite(200, 4, 0.3, rng=0)
    gram = np.random.default_rng(0).standard_normal((200, 200))
    B = gram @ gram.T / 200 + np.eye(200)

    def energy(manifold: Any) -> go.Problem:
        n = manifold.shape[-2]
        return trace_problem(2 * B[:n, :n], manifold, nonsmooth=go.L1(0.3))

    problems = {
        "Stiefel, sparse PCA (200,5)": sparse.sparse_pca(sparse.random_data(200, 0), 5, 0.8),
        "Stiefel, compressed modes (128,5)": sparse.compressed_modes(128, 5, 0.1),
        "generalized (200,5)": energy(go.GeneralizedStiefel(B, 5)),
        "symplectic (200,6)": energy(go.SymplecticStiefel(200, 6)),
        "symplectic, wave (100,4)": sparse.sparse_symplectic_basis(100, 4, 1e-3),
        "indefinite (200,4)": H,
        "tensor (60,3) x 3": energy(go.TensorStiefel(60, 3, 3)),
        "bilinear skew (100,4)": energy(
            go.BilinearStiefel(gram[:100, :100] - gram[:100, :100].T, gram[:4, :4] - gram[:4, :4].T)
        ),
    }
    figures, steps = [], []
    for name, problem in problems.items():
        run = Proximal(problem, problem.manifold.random_point(0), "manpg", max_time=60.0)
        result = run.solve(proximal_gradients, Settings())
        steps.append(run.products / max(run.newton, 1))
        what = f"{name}: |Z|/t at x, {result.nit} iterations, {result.sparsity:.0%} zeros"
        figures.append(Figure(what, result.gradient_norm, 2e-6, unit=""))
        figures.append(Figure("... conjugate gradient steps a Newton step", steps[-1], unit=""))
    return [
        Figure(
            "conjugate gradient steps a Newton step, median", statistics.median(steps), 12, unit=""
        ),
        *figures,
    ]


def side_by_side() -> list[Figure]:
    """Times of the solvers of three families over manpg's, from three starts; how far they come."""
    figures = []
    for problem in sparse.problems(2):
        runs: dict[str, list[Any]] = {name: [] for name in _FAMILIES}
        for seed in range(3):
            X = problem.manifold.random_point(seed)
            for name, found in runs.items():
                result = go.minimize(
                    problem, X, method=name, tol=1e-6, max_evaluations=5000, check=False
                )
                found.append(result)
        best = min(r.fun for found in runs.values() for r in found)
        for name, found in runs.items():
            ratios = [
                r.time / m.time for r, m in zip(found, runs["manpg"], strict=True) if r.success
            ]
            gaps = [(r.fun - best) / abs(best) for r in found if r.success]
            what = f"{problem.name}: {name}, {len(ratios)} of 3 solved, time over manpg"
            if not ratios:
                figures.append(Figure(f"{what}: none", math.nan))
                continue
            figures.append(Figure(what, statistics.median(ratios)))
            figures.append(Figure(f"... from {min(ratios):.2f} to", max(ratios)))
            zeros = statistics.median(r.sparsity for r in found if r.success)
            what = f"... {zeros:.0%} zeros, best start above the lowest of all, relative"
            figures.append(Figure(what, min(gaps), unit=""))
    return figures


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "families": families,
    "sparse_pca": sparse_pca,
    "side_by_side": side_by_side,
}


if __name__ == "__main__":
    sys.exit(main("nonsmooth", FIGURES))
