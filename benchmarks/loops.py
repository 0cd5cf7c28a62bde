"""The figures of the loops: what a solver costs beside the arithmetic that it cannot avoid.

Our solvers against the same algorithms without a library, on the Brockett cost: closed formulas of
the Stiefel manifold, a fixed number of iterations, no check, no trace, evaluations counted by hand.
And an evaluation of our solvers against the cost and the products of size n x p x p that it takes.

Run as `python benchmarks/loops.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import cProfile
import itertools
import math
import pstats
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go
from genorth.riemannian import rcg, rgd, rlbfgs, rtr

Array = np.ndarray[Any, Any]
Cost = Callable[[Array], tuple[float, Array]]
Hessian = Callable[[Array, Array], Array]


def brockett(manifold: go.GenOrthManifold) -> tuple[Cost, Hessian, go.Problem]:
    """f(X) = tr(X^T A X N), A dense and symmetric, N = diag(p..1): f with its gradient, Hessian."""
    n, p = manifold.shape
    A = np.random.default_rng(0).standard_normal((n, n))
    A, weights = A + A.T, np.arange(p, 0, -1.0)
    if not isinstance(manifold, go.Stiefel):
        A = A @ A / n  # bounded below

    def both(X: Array) -> tuple[float, Array]:
        G = A @ X
        G *= weights
        return float(np.vdot(X, G)), 2 * G

    def hessian(X: Array, Z: Array) -> Array:
        return (A @ Z) * (2 * weights)

    return both, hessian, go.Problem(manifold, None, None, hessian, both)


# ---------------------------------------------------------------------- the loops without a library


class Curve:
    """The Cayley retraction t -> c(t) along a tangent Z of the Stiefel manifold."""

    def __init__(self, X: Array, Z: Array) -> None:
        self.X, self.Z, self.A = X, Z, X.T.dot(Z)
        self.S = (self.A - self.A.T) / 2  # A without its rounding, which would lead off M
        self.HH = Z.T.dot(Z) - self.A.T.dot(self.A)
        self.eye = np.eye(X.shape[1])

    def point(self, t: float) -> Array:
        self.inverse = E = np.linalg.inv(self.eye - (t / 2) * self.S + (t * t / 4) * self.HH)
        return self.X.dot(2 * E - t * self.A.dot(E) - self.eye) + self.Z.dot(t * E)

    def _factors(self, t: float) -> tuple[Array, Array]:
        """What X and Z are multiplied by in c'(t), at the last t of `point`."""
        E = self.inverse
        turned = E.dot((self.S - t * self.HH) / 2).dot(E)
        along = E + t * turned
        return 2 * turned - self.A.dot(along), along

    def velocity(self, t: float) -> Array:
        factor, along = self._factors(t)
        return self.X.dot(factor) + self.Z.dot(along)

    def slope(self, t: float, G: Array) -> float:
        factor, along = self._factors(t)
        return float(np.vdot(self.X.T.dot(G), factor) + np.vdot(self.Z.T.dot(G), along))


def project(X: Array, D: Array) -> Array:
    """D - X (X^T D + D^T X)/2."""
    R = X.T.dot(D)
    return D - X.dot((R + R.T) / 2)


def norm(Z: Array) -> float:
    """|Z|."""
    return math.sqrt(np.vdot(Z, Z))


def bare_rgd(f: Cost, hessian: Hessian, X: Array, iterations: int) -> tuple[float, int]:
    """Barzilai-Borwein steps with the nonmonotone search of Zhang and Hager."""
    value, G = f(X)
    g, count = project(X, G), 1
    t, average, weight = 1e-3, value, 1.0
    for k in range(1, iterations + 1):
        curve, decrease = Curve(X, g), np.vdot(g, g)
        while True:
            Y = curve.point(-t)
            value, G = f(Y)
            count += 1
            if value <= average - 1e-4 * t * decrease:
                break
            t *= 0.1
        before, g = g, project(Y, G)
        S, D = Y - X, g - before
        sd = abs(np.vdot(S, D))
        t = np.vdot(S, S) / sd if k % 2 == 0 else sd / np.vdot(D, D)
        X = Y
        weight, previous = 0.85 * weight + 1, weight
        average = (0.85 * previous * average + value) / weight
    return value, count


def wolfe(trial: Callable[[float], tuple[float, float]], f0: float, s0: float, t: float) -> float:
    """A step with Wolfe's strong conditions, by secants of the slopes."""
    low, high, s_low, s_high = 0.0, math.inf, s0, math.nan
    while True:
        f, s = trial(t)
        enough = f - f0 <= 1e-4 * t * s0
        if enough and abs(s) <= -0.9 * s0:
            return t
        if enough and s < 0:
            low, s_low = t, s
        else:
            high, s_high = t, s
        if high == math.inf:
            t *= 4
        else:
            share = -s_low / (s_high - s_low) if s_high > 0 else 0.5
            t = low + min(max(share, 0.05), 0.95) * (high - low)


def bare_rcg(f: Cost, hessian: Hessian, X: Array, iterations: int) -> tuple[float, int]:
    """Conjugate gradients with Sato's beta."""
    value, G = f(X)
    g, count = project(X, G), 1
    squared = np.vdot(g, g)
    Z, slope = -g, -squared
    t = 0.01 * norm(X) / math.sqrt(squared)

    def trial(t: float) -> tuple[float, float]:
        nonlocal Y, new, G, V, end, count
        Y = curve.point(t)
        new, G = f(Y)
        V = curve.velocity(t)
        end = np.vdot(G, V)
        count += 1
        return new, end

    for _ in range(iterations):
        Y, new, V, end, curve = X, value, Z, slope, Curve(X, Z)
        t = wolfe(trial, value, slope, t)
        X, value = Y, new
        scale = min(1.0, norm(Z) / norm(V))
        g, before = project(X, G), squared
        squared = np.vdot(g, g)
        beta = squared / max(before, scale * end - slope)
        last, Z = slope, (beta * scale) * V - g
        slope = np.vdot(g, Z)
        if not slope < 0:
            Z, slope = -g, -squared
        t = min(t * last / slope, norm(X) / norm(Z))
    return value, count


def bare_rlbfgs(f: Cost, hessian: Hessian, X: Array, iterations: int) -> tuple[float, int]:
    """L-BFGS with ten pairs, which are not transported, by the two-loop recursion."""
    value, G = f(X)
    g, count, pairs = project(X, G), 1, []
    Z, t = -g, 0.01 * norm(X) / norm(g)
    slope = -float(np.vdot(g, g))

    def trial(t: float) -> tuple[float, float]:
        nonlocal Y, new, G, count
        Y = curve.point(t)
        new, G = f(Y)
        count += 1
        guess = 2 * (new - value) / t - slope  # of the parabola, where it leaves no doubt
        return new, guess if abs(guess) <= -0.45 * slope else curve.slope(t, G)

    for _ in range(iterations):
        Y, new, curve = X, value, Curve(X, Z)
        wolfe(trial, value, slope, t)
        before, g = g, project(Y, G)
        S, D = Y - X, g - before
        sd = np.vdot(S, D)
        if sd > 0:
            pairs = [*pairs[-9:], (S.ravel(), D.ravel(), sd)]
        X, value, t = Y, new, 1.0
        q, shares = -g.ravel(), []
        for S, D, sd in reversed(pairs):
            a = S.dot(q) / sd
            q -= a * D
            shares.append(a)
        S, D, sd = pairs[-1]
        q *= sd / D.dot(D)
        for (S, D, sd), a in zip(pairs, reversed(shares), strict=True):
            q += (a - D.dot(q) / sd) * S
        Z = project(X, q.reshape(X.shape))
        slope = np.vdot(g, Z)
    return value, count


def bare_rtr(f: Cost, hessian: Hessian, X: Array, iterations: int) -> tuple[float, int]:
    """Trust regions, the model minimised by truncated conjugate gradients."""
    value, G = f(X)
    count, largest = 1, norm(X)
    radius, accuracy = largest / 2, 0.5
    R = X.T.dot(G)
    T = (R + R.T) / 2
    g = G - X.dot(T)
    squared = np.vdot(g, g)
    for _ in range(iterations):
        Z, HZ, residual, D = 0 * g, 0 * g, g.copy(), -g
        rr = dd = squared
        zz, zd, boundary = 0.0, 0.0, False
        while True:
            HD = project(X, hessian(X, D) - D.dot(T))
            count += 1
            curvature = np.vdot(D, HD)
            t = rr / curvature if curvature > 0 else math.inf
            if not zz + 2 * t * zd + t * t * dd < radius**2:
                t = (math.sqrt(zd * zd + dd * (radius**2 - zz)) - zd) / dd
                boundary = True
            Z += t * D
            HD *= t
            HZ += HD
            if boundary:
                break
            residual += HD
            zz += 2 * t * zd + t * t * dd
            before, rr = rr, np.vdot(residual, residual)
            if math.sqrt(rr) <= accuracy * math.sqrt(squared):
                break
            D *= rr / before
            D -= residual
            zd, dd = (rr / before) * (zd + t * dd), rr + (rr / before) ** 2 * dd
        Y = Curve(X, Z).point(1.0)
        new, G = f(Y)
        count += 1
        ratio = (new - value) / (np.vdot(g, Z) + np.vdot(Z, HZ) / 2)
        if ratio < 0.25:
            radius = 0.25 * (radius if boundary else math.sqrt(zz))
        elif ratio > 0.75 and boundary:
            radius = min(2 * radius, largest)
        if ratio > 0.1:
            X, value, before = Y, new, squared
            R = X.T.dot(G)
            T = (R + R.T) / 2
            g = G - X.dot(T)
            squared = np.vdot(g, g)
            exact = not boundary and abs(ratio - 1) < 1e-5
            accuracy = min(0.5, 0.9 * (squared / before) ** 0.809) if exact else 0.5
    return value, count


#: Our solver, the same without a library, and how many iterations lead near a solution.
LOOPS: dict[str, tuple[Callable[..., go.Result], Callable[..., tuple[float, int]], int]] = {
    "rgd": (rgd, bare_rgd, 80),
    "rcg": (rcg, bare_rcg, 60),
    "rlbfgs": (rlbfgs, bare_rlbfgs, 50),
    "rtr": (rtr, bare_rtr, 15),
}
_STARTS = 5


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """The time of this thread alone, so that others on the machine matter less, and the result."""
    begin = time.thread_time()
    result = call()
    return time.thread_time() - begin, result


class Solver:
    """A solver of ours on one problem, and its time without that for the start and the end."""

    def __init__(self, name: str, problem: go.Problem) -> None:
        self.solver, self.bare, self.iterations = LOOPS[name]
        self.problem = problem

    def run(self, X: Array, tol: float = 0.0) -> go.Result:
        return self.solver(self.problem, X, tol=tol, max_iterations=self.iterations)

    def timed(self, X: Array) -> tuple[float, float, go.Result]:
        """Seconds for each evaluation; those of a run without iterations; the result."""
        around, _ = _seconds(partial(self.run, X, 1e9))
        total, result = _seconds(partial(self.run, X))
        assert result.nit == self.iterations, result.message
        return (total - around) / (result.nfev + result.nhev - 1), around, result

    def calls(self, X: Array) -> float:
        """Python calls for each evaluation, those of functions in C included."""
        with cProfile.Profile() as profile:
            result = self.run(X)
        return float(pstats.Stats(profile).total_calls) / (result.nfev + result.nhev)  # type: ignore[attr-defined]


def thin(n: int, p: int, bound: float, rounds: int = 60) -> list[Figure]:
    """Seconds for each evaluation of f or of its Hessian, over those of the bare loop.

    The median over the rounds, each of which runs both from the same start.
    """
    manifold = go.Stiefel(n, p)
    f, hessian, problem = brockett(manifold)
    starts = [manifold.random_point(seed) for seed in range(5)]
    figures = []
    for name in LOOPS:
        solver = Solver(name, problem)
        ratios, ours, around = [], [], []
        for X in itertools.islice(itertools.cycle(starts), rounds):
            total, (value, count) = _seconds(partial(solver.bare, f, hessian, X, solver.iterations))
            seconds, rest, result = solver.timed(X)
            error = abs(value - result.fun)
            assert error <= 0.01 * abs(value), f"{name} is not the algorithm of the bare loop"
            ratios.append(seconds * count / total)
            ours.append(seconds)
            around.append(rest)
        what = f"{name}, Stiefel ({n},{p})"
        figures += [
            Figure(f"{what}: an evaluation, over a bare loop's", statistics.median(ratios), bound),
            Figure(f"{what}: an evaluation", 1e6 * statistics.median(ours), unit="us"),
            Figure(f"{what}: Python calls, an evaluation", solver.calls(starts[0]), unit=""),
            Figure(f"{what}: start and end of a run", 1e6 * statistics.median(around), unit="us"),
        ]
    return figures


# ---------------------------------------------------------------------- over the bare products


def over_products(n: int, p: int, bounds: dict[str, float], rounds: int = 30) -> list[Figure]:
    """Seconds for each evaluation on the symplectic manifold, over f and the n x p x p products.

    With N = phi(X), the cost and its gradient come with N^T G, N T and N^T N for the projection and
    phi(Z)^T Z, X F and Z F for the retraction; a Hessian product with phi(Z) T, N^T V and N T.
    """
    manifold = go.SymplecticStiefel(n, p)
    f, hessian, problem = brockett(manifold)
    X, phi = manifold.random_point(0), manifold.phi
    N, Z, T = phi(X), manifold.random_tangent(X, 1), np.ones((p, p))

    def steps(count: int) -> None:
        for _ in range(count):
            N = phi(X)
            _, G = f(X)
            _ = N.T @ G, N @ T, N.T @ N, phi(Z).T @ Z, X @ T, Z @ T

    def products(count: int) -> None:
        for _ in range(count):
            V = hessian(X, Z)
            _ = phi(Z) @ T, N.T @ V, N @ T

    figures = []
    for name, bound in bounds.items():
        solver, ratios = Solver(name, problem), []
        solver.iterations += 10  # trust regions take few Hessian products at first
        for _ in range(rounds):
            seconds, _, result = solver.timed(X)
            nfev, nhev = result.nfev, result.nhev
            bare = _seconds(partial(steps, nfev))[0] + _seconds(partial(products, nhev))[0]
            ratios.append(seconds * (nfev + nhev) / bare)
        what = f"{name}, symplectic ({n},{p}): an evaluation, over f and the bare products"
        figures.append(Figure(what, statistics.median(ratios), bound))
    return figures


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "bare loops (20,3)": partial(thin, 20, 3, 1.6),
    "bare loops (100,10)": partial(thin, 100, 10, 1.35),
    "bare products (100,10)": partial(
        over_products, 100, 10, {"rgd": 4.0, "rlbfgs": 6.0, "rtr": 1.5}
    ),
}


if __name__ == "__main__":
    sys.exit(main("loops", FIGURES))
