"""SciPy alone: problems with further constraints whose minimum is known.

Nonnegative PCA is max x^T (B - Y) x subject to x >= 0 and |x| = 1.

B has the largest eigenvalue s with an eigenvector x >= 0, and Y >= 0 is zero where both entries of
x are positive: then x^T (B - Y) x <= x^T B x <= s, with equality at that x. Clusters are planted in
the same way, by nonnegative eigenvectors with disjoint supports. A support that is fixed by
X_ij = 0 leaves a smaller eigenvalue problem. Fair PCA [samadi2018price] has the dual

    max_X min_i tr(X^T A_i X) <= min_w s(A_w)

over weights w >= 0 with sum 1, a convex problem in two unknowns; s(A_w) is the sum of the p largest
eigenvalues of sum_i w_i A_i. Here both sides are equal.

A reduced model whose poles are left of -a has a known best one for one pole: its H2 error depends
on -q = x^T A x and s = (b^T x)^2 alone, and these pairs fill a convex set [hausdorff1919wertvorrat]
whose upper end at q is

    max s = min_mu lambda_max(b b^T + mu (A + q I))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import genorth as go
from genorth.gallery.base import (
    Entry,
    Instance,
    Source,
    complex_step,
    load,
    trace_problem,
    why_not,
)
from genorth.linalg.arrays import Array

#: The instances with further constraints, here and in the files of other packages.
NAMES = (
    *("nonnegative-pca", "nonnegative-clusters", "fixed-support", "sphere-cap", "fair-pca"),
    *("h2-one-pole",),
    *("cut-karate", "cut-miserables", "nonnegative-digits"),
)
_TOP = 10.0  # the largest eigenvalue that is planted; others are at most half of it


def problems() -> Iterator[tuple[str, go.Problem, Callable[[int], Any]]]:
    """Name, problem, and how a start is made from a seed, of those that can be made here."""
    for name in filter(lambda name: why_not(name) is None, NAMES):
        problem = load(name).problem
        near = name.startswith("nonnegative")
        start = partial(nonnegative_start, problem.manifold)
        yield name, problem, start if near else problem.manifold.random_point


def nonnegative_start(manifold: go.Stiefel, seed: Any) -> Array:
    """A point of M near nonnegative ones."""
    return np.asarray(manifold.restore(np.abs(manifold.random_point(seed))))


def _planted(V: Array, rng: np.random.Generator) -> Array:
    """A symmetric matrix with the orthonormal columns of V as eigenvectors of its largest value."""
    N = rng.standard_normal((len(V), len(V)))
    N = (N + N.T) / (2 * np.sqrt(2 * len(V))) * (_TOP / 2)
    outside = np.eye(len(V)) - V @ V.T
    return np.asarray(_TOP * V @ V.T + outside @ N @ outside)


def _principal(n: int) -> Instance:
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal((n, 1))) * (rng.random((n, 1)) < 0.6)
    x /= np.linalg.norm(x)
    Y = np.abs(rng.standard_normal((n, n))) * ((x @ x.T) == 0) / np.sqrt(n)
    M = go.Stiefel(n, 1)
    return Instance(
        problem=trace_problem(2 * (Y + Y.T - _planted(x, rng)), M, constraints=Bounds(0, np.inf)),
        start=nonnegative_start(M, 0),
        truth=-_TOP,
        truth_by="construction",
        several=True,
    )


def _clusters(n: int, p: int) -> Instance:
    rng = np.random.default_rng(0)
    V = np.eye(p)[rng.integers(p, size=n)] * rng.uniform(0.5, 1.5, (n, 1))
    V /= np.linalg.norm(V, axis=0)
    M = go.Stiefel(n, p)
    return Instance(
        problem=trace_problem(-2 * _planted(V, rng), M, constraints=Bounds(0, np.inf)),
        start=np.asarray(M.restore(V + 0.3 * nonnegative_start(M, 0))),
        truth=-p * _TOP,
        truth_by="construction",
        several=True,
    )


def _support(n: int, p: int) -> Instance:
    rng = np.random.default_rng(0)
    B, free = rng.standard_normal((n, n)), rng.random(n) < 0.7
    zero = np.where(free[:, None], np.nan, 0.0) * np.ones((n, p))
    M = go.Stiefel(n, p)
    return Instance(
        problem=trace_problem(-2 * (B + B.T), M, constraints=Bounds(zero, zero)),
        start=np.asarray(M.random_point(0)),
        truth=-float(np.linalg.eigvalsh((B + B.T)[free][:, free])[-p:].sum()),
        truth_by="numpy.linalg.eigvalsh of what is left",
    )


def _cap(n: int, height: float) -> Instance:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, n))
    a /= np.linalg.norm(a)
    b += (1 + np.linalg.norm(b)) * a  # so that the cap is active
    rest = float(np.linalg.norm(b - (a @ b) * a))
    problem = go.Problem(
        go.Stiefel(n, 1),
        lambda x: -float(b @ x[:, 0]),
        lambda x: -b[:, None],  # noqa: ARG005
        lambda x, z: 0 * z,  # noqa: ARG005
        constraints=LinearConstraint(a[None], -np.inf, height),
    )
    return Instance(
        problem=problem,
        start=np.asarray(problem.manifold.random_point(0)),
        truth=-float(height * (a @ b) + np.sqrt(1 - height**2) * rest),
        truth_by="the closed form",
    )


def fair_pca(groups: list[Array], p: int) -> go.Problem:
    """The p components whose variance in the worst group is largest [samadi2018price].

        max t over X^T X = I with tr(X^T A_i X) >= t

    Args:
        groups: The covariances A_i.
        p: The number of components.

    Returns:
        The problem, on the product of the Stiefel manifold and the line.
    """
    one = np.ones((len(groups), 1))
    fair = NonlinearConstraint(
        lambda X, t: np.array([np.vdot(X, A @ X) - t[0] for A in groups]),
        0,
        np.inf,
        jac=lambda X, t: (np.stack([2 * A @ X for A in groups]), -one),  # noqa: ARG005
    )
    return go.Problem(
        go.Product(X=go.Stiefel(len(groups[0]), p), t=go.Euclidean(1)),
        lambda X, t: -float(t[0]),  # noqa: ARG005
        lambda X, t: (0 * X, -np.ones_like(t)),
        lambda X, t, U, s: (0 * U, 0 * s),  # noqa: ARG005
        constraints=fair,
    )


def _fair(n: int, p: int) -> Instance:
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.5, 2, (3, n, 1))
    groups = [np.cov(rng.standard_normal((n, 200)) * scale) for scale in scales]

    def dual(w: Array) -> float:
        mixed = sum(a * A for a, A in zip((*w, 1 - sum(w)), groups, strict=True))
        return float(np.linalg.eigvalsh(mixed)[-p:].sum())

    how = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 2000}
    found = scipy.optimize.minimize(dual, [1 / 3, 1 / 3], method="Nelder-Mead", options=how)
    problem = fair_pca(groups, p)
    X = np.linalg.eigh(sum(groups))[1][:, -p:]
    return Instance(
        problem=problem,
        start=(X, np.zeros(1)),
        truth=-float(found.fun),
        truth_by="the dual, by scipy.optimize.minimize",
    )


def h2_reduction(poles: Array, b: Array, r: int, margin: float) -> go.Problem:
    """The r states of x' = A x + b u, y = b^T x that reduce it best, all poles left of -margin.

        |G - G_r|^2/|G|^2 - 1 = (b_r^T P b_r - 2 b^T Q b_r)/|G|^2,  A_r = X^T A X, b_r = X^T b

        A Q + Q A_r + b b_r^T = 0,  A_r P + P A_r + b_r b_r^T = 0

    in the norm of H2 [wilson1970optimum], A diagonal.

    Args:
        poles: The diagonal of A, negative.
        b: The vector b.
        r: The number of states.
        margin: The largest eigenvalue of A_r is at most -margin.

    Returns:
        The problem.
    """
    a, B, one = poles[:, None], b[:, None], np.eye(r)
    whole = -float(np.sum((B * b) ** 2 / (a + poles)))

    def gramians(X: Array) -> tuple[Array, Array, Array]:
        Ar, Br = X.T @ (a * X), X.T @ B
        Q = -np.linalg.solve(a[..., None] * one + Ar, (B @ Br.T)[..., None])[..., 0]
        both = np.kron(one, Ar) + np.kron(Ar, one)
        return Br, Q, -np.linalg.solve(both, (Br @ Br.T).ravel()).reshape(r, r)

    def cost(X: Array) -> float:
        Br, Q, P = gramians(X)
        return float(np.sum(Br * (P @ Br - 2 * Q.T @ B))) / whole

    def gradient(X: Array) -> Array:
        Br, Q, P = gramians(X)
        return 4 * (a * (X @ (P @ P - Q.T @ Q)) + B @ (P @ Br - Q.T @ B).T) / whole

    def slowest(X: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(X.T @ (a * X))
        return values[-1:], X @ vectors[:, -1:] @ vectors[:, -1:].T

    product = complex_step(lambda X: (gradient(X),))
    return go.Problem(
        go.Stiefel(len(b), r),
        cost,
        gradient,
        lambda X, Z: product(X, Z)[0],
        constraints=NonlinearConstraint(
            lambda X: slowest(X)[0], -np.inf, -margin, jac=lambda X: (2 * a * slowest(X)[1])[None]
        ),
    )


def rod(n: int) -> tuple[Array, Array]:
    """Heat in a rod that cools and is heated and measured at one end, in the basis of its modes."""
    angle = np.arange(1, n + 1) * np.pi / (n + 1)
    return -2.05 + 2 * np.cos(angle), np.sqrt(2 / (n + 1)) * np.sin(angle)


def _one_pole(n: int, margin: float) -> Instance:
    a, b = rod(n)
    whole = -float(np.sum(np.outer(b, b) ** 2 / (a[:, None] + a)))

    def largest(mu: float, q: float) -> float:
        matrix = np.outer(b, b) + np.diag(mu * (a + q))
        return float(scipy.linalg.eigvalsh(matrix, subset_by_index=[n - 1, n - 1])[0])

    def best(q: float) -> float:
        """The least of s^2/(2q) - 2 G(q) s over 0 <= s <= max s."""
        G = float(np.sum(b**2 / (q - a)))
        most = scipy.optimize.minimize_scalar(partial(largest, q=q), tol=1e-12).fun
        s = min(2 * q * G, most)
        return (s**2 / (2 * q) - 2 * G * s) / whole

    return Instance(
        problem=h2_reduction(a, b, 1, margin),
        start=np.eye(n)[:, :1],
        truth=min(map(best, np.linspace(margin, -a[-1], 4, endpoint=False))),
        truth_by="scipy.linalg.eigvalsh, by convexity",
    )


SOURCE = Source(
    package="scipy",
    module="scipy",
    oldest="1.13",
    instances={
        "nonnegative-pca": Entry(
            "The first nonnegative principal component of 200 variables, planted.",
            partial(_principal, 200),
        ),
        "nonnegative-clusters": Entry(
            "Four clusters of 60 items as orthonormal nonnegative columns, planted.",
            partial(_clusters, 60, 4),
        ),
        "fixed-support": Entry(
            "Three principal components with a third of the 70 rows fixed at zero.",
            partial(_support, 70, 3),
        ),
        "sphere-cap": Entry(
            "The farthest point of a sphere in 200 dimensions below a plane.",
            partial(_cap, 200, 0.3),
        ),
        "fair-pca": Entry(
            "Five components of 40 variables that serve the worst of three groups best.",
            partial(_fair, 40, 5),
        ),
        "h2-one-pole": Entry(
            "The best model of a heated rod (200 modes) with one pole at most -2.",
            partial(_one_pole, 200, 2.0),
        ),
    },
)
