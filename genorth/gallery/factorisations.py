"""scikit-learn: factors of a matrix with free variables beside them, from its handwritten digits.

Robust principal components have a free centre c, and the distances, not their squares, are summed:

    min sum over i of sqrt(|R_i|^2 + d^2),  R_i = (I - U U^T)(x_i - c),  U^T U = I.

Iteratively reweighted least squares [lerman2018fast] are a row. Completion of a matrix A of which
some entries are known, by a matrix of rank k, is

    min |P(U S V^T - A)|^2/2  over  U^T U = I, V^T V = I and any k x k matrix S.

Alternating least squares [jain2013low] are a row. What either row reaches is a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, on_product
from genorth.linalg.arrays import Array

_STEPS = 20_000
_STILL = 1e-16  # relative decrease of f at which the rows end: rounding


def _digits() -> tuple[Array, Array]:
    import sklearn.datasets

    samples, labels = sklearn.datasets.load_digits(return_X_y=True)
    return samples / 16, labels


# ---------------------------------------------------------------------- robust components


class Robust:
    """The digits of one kind among a few others."""

    size = 0.5

    def __init__(self, digit: int, others: int, p: int) -> None:
        samples, labels = _digits()
        self.x = np.vstack([samples[labels == digit], samples[labels != digit][:others]])
        self.others = others
        self.manifold = go.Product(U=go.Stiefel(self.x.shape[1], p), c=go.Euclidean(64))

    def distances(self, U: Array, c: Array) -> tuple[Array, Array, Array]:
        """Y = x - c, R and sqrt(|R_i|^2 + d^2)."""
        Y = self.x - c
        R = Y - (Y @ U) @ U.T
        return Y, R, np.sqrt(np.sum(R * R, axis=1) + self.size**2)

    def cost(self, U: Array, c: Array) -> float:
        """The sum of the distances."""
        return float(np.sum(self.distances(U, c)[2]))

    def gradient(self, U: Array, c: Array) -> tuple[Array, Array]:
        """-(Y^T Q + Q^T Y) U and -(I - U U^T) Q^T 1, Q_i = R_i/sqrt(|R_i|^2 + d^2)."""
        Y, R, s = self.distances(U, c)
        Q = R / s[:, None]
        total = Q.sum(axis=0)
        return -(Y.T @ (Q @ U) + Q.T @ (Y @ U)), U @ (U.T @ total) - total

    def best(self, weights: Array) -> Any:
        """Centre and principal components with weights, the best ones for squared distances."""
        c = weights @ self.x / weights.sum()
        vectors = np.linalg.svd((self.x - c) * np.sqrt(weights)[:, None], full_matrices=False)[2]
        return vectors[: self.manifold.shape[0][1]].T, c


robust = cache(Robust)


def _reweighted(key: Any, _: Any, x0: Any, visit: Callable[[Any], Any]) -> None:
    here, (U, c), before = robust(*key), x0, np.inf
    for _step in range(_STEPS):
        visit((U, c))
        s = here.distances(U, c)[2]
        if before - s.sum() <= _STILL * s.sum():
            return
        before, (U, c) = s.sum(), here.best(1 / s)


def _components(*key: int) -> Instance:
    here, rows = robust(*key), partial(_reweighted, key)
    start, words = here.best(np.ones(len(here.x))), "iteratively reweighted least squares"
    draw = partial(_draw_distances, key)
    return on_product(here, start, rows, "irls", "lerman2018fast", words, draw)


def _draw_distances(key: Any, ax: Any, x: Any) -> None:
    here = robust(*key)
    s = here.distances(*x)[2]
    ax.hist([s[: -here.others], s[-here.others :]], bins=30, label=["the digit", "others"])
    ax.set(xlabel="distance from the plane")
    ax.legend()


# ---------------------------------------------------------------------- completion


class Completion:
    """The first digits, one for each row, of which some pixels are known."""

    def __init__(self, count: int, rank: int, share: float) -> None:
        samples = _digits()[0][:count]
        self.A = samples[:, samples.std(axis=0) > 0]
        self.known = np.random.default_rng(0).uniform(size=self.A.shape) < share
        m, n = self.A.shape
        self.manifold = go.Product(
            U=go.Stiefel(m, rank), S=go.Euclidean((rank, rank)), V=go.Stiefel(n, rank)
        )

    def residual(self, U: Array, S: Array, V: Array) -> Array:
        """P(U S V^T - A)."""
        return np.asarray(self.known * (U @ S @ V.T - self.A))

    def cost(self, U: Array, S: Array, V: Array) -> float:
        """|P(U S V^T - A)|^2/2."""
        return float(np.sum(self.residual(U, S, V) ** 2)) / 2

    def gradient(self, U: Array, S: Array, V: Array) -> tuple[Array, Array, Array]:
        """R V S^T, U^T R V and R^T U S."""
        R = self.residual(U, S, V)
        return R @ V @ S.T, U.T @ R @ V, R.T @ U @ S

    def factors(self, M: Array) -> tuple[Array, Array, Array]:
        """The leading singular triples of a matrix."""
        k = self.manifold.shape[1][0]
        U, values, V = np.linalg.svd(M, full_matrices=False)
        return U[:, :k], np.diag(values[:k]), V[:k].T

    def fitted(self, V: Array) -> Array:
        """L V^T with the best L."""
        rows = zip(self.A, self.known, strict=True)
        L = [np.linalg.lstsq(V[known], a[known], rcond=None)[0] for a, known in rows]
        return np.asarray(L) @ V.T


completion = cache(Completion)


def _alternating(key: Any, _: Any, x0: Any, visit: Callable[[Any], Any]) -> None:
    here, x, before = completion(*key), x0, np.inf
    turned = object.__new__(Completion)
    turned.A, turned.known = here.A.T, here.known.T
    for _step in range(_STEPS):
        visit(x)
        cost = here.cost(*x)
        if before - cost <= _STILL * cost:
            return
        before, x = cost, here.factors(here.fitted(here.factors(turned.fitted(x[0]).T)[2]))


def _completed(*key: Any) -> Instance:
    here, rows = completion(*key), partial(_alternating, key)
    start = here.factors(here.known * here.A / here.known.mean())
    return on_product(here, start, rows, "als", "jain2013low", "alternating least squares")


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    instances={
        "robust-pca-digits": Entry(
            "A plane through the handwritten digits 3, with 20 other digits among them.",
            partial(_components, 3, 20, 4),
        ),
        "completion-digits": Entry(
            "Sixty handwritten digits of which a third of the pixels is lost, by rank three.",
            partial(_completed, 60, 3, 0.67),
        ),
    },
)
