"""scikit-learn: several blocks of measurements, with a variable for each block.

Canonical correlation of two blocks, and of more by the sum of all correlations, is

    max sum over i < j of tr(N X_i^T S_ij X_j)  over  X_i^T S_ii X_i = I,

with the covariances S_ij between blocks and those within a block, which are shrunk
[ledoit2004well]. The weights N = diag(p, ..., 1) give the columns an order. With S_ii = I it is
partial least squares. For two blocks the answer is a singular value decomposition. For three it is
a bound, what Horst's method reaches [horst1961generalized]: each block in turn takes its best value
given the others, a polar factor. That method is a row too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, domain_solver, last_visit, orthonormal
from genorth.gallery.scikit_learn import scaled
from genorth.linalg.arrays import Array

_SWEEPS = 20_000
_UNCHANGED = 1e-12


class Blocks:
    """The covariances of some blocks of a data set.

    Args:
        samples: The blocks, of mean zero, with a row for each sample.
        labels: Those of the samples.
        weights: The diagonal of N.
        within: Whether X_i^T S_ii X_i = I; else X_i^T X_i = I.
    """

    def __init__(
        self, samples: Sequence[Array], labels: Array, weights: Array, within: bool = True
    ) -> None:
        from sklearn.covariance import ledoit_wolf

        self.samples, self.labels, self.weights, p = samples, labels, weights, len(weights)
        self.between = [[one.T @ two / len(one) for two in self.samples] for one in self.samples]
        self.within = [
            ledoit_wolf(one)[0] if within else np.eye(one.shape[1]) for one in self.samples
        ]
        self.manifold = go.Product(
            *(go.GeneralizedStiefel(B, p) if within else go.Stiefel(len(B), p) for B in self.within)
        )

    def others(self, parts: Sequence[Array], i: int) -> Array:
        """The sum of S_ij X_j N over j != i."""
        terms = (self.between[i][j] @ X for j, X in enumerate(parts) if j != i)
        return np.asarray(sum(terms) * self.weights)

    def cost_and_gradient(self, *parts: Array) -> tuple[float, tuple[Array, ...]]:
        """Minus the sum of the weighted correlations."""
        G = tuple(-self.others(parts, i) for i in range(len(parts)))
        return sum(float(np.vdot(X, g)) for X, g in zip(parts, G, strict=True)) / 2, G

    def hessian(self, *both: Array) -> tuple[Array, ...]:
        """The gradient at Z, as the cost is quadratic."""
        return self.cost_and_gradient(*both[len(self.within) :])[1]

    def best(self, parts: Sequence[Array], i: int) -> Array:
        """S_ii^-1 M (M^T S_ii^-1 M)^(-1/2), the best X_i given the others, M = others."""
        L = np.linalg.cholesky(self.within[i])
        M = scipy.linalg.solve_triangular(L, self.others(parts, i), lower=True)
        return np.asarray(scipy.linalg.solve_triangular(L.T, scipy.linalg.polar(M)[0]))

    @property
    def start(self) -> tuple[Array, ...]:
        """The principal components of each block, made orthonormal."""
        p = len(self.weights)
        return tuple(
            orthonormal(factor, np.linalg.svd(one, full_matrices=False)[2][:p].T)
            for factor, one in zip(self.manifold.factors, self.samples, strict=True)
        )

    def least(self) -> float:
        """The minimum for two blocks, by the singular values of L_1^-1 S_12 L_2^-T."""
        one, two = (np.linalg.cholesky(B) for B in self.within)
        M = scipy.linalg.solve_triangular(one, self.between[0][1], lower=True)
        values = scipy.linalg.svdvals(scipy.linalg.solve_triangular(two, M.T, lower=True))
        return -float(values[: len(self.weights)] @ self.weights)

    @property
    def problem(self) -> go.Problem:
        """The problem on the product."""
        return go.Problem(
            self.manifold,
            cost_and_gradient=self.cost_and_gradient,
            euclidean_hessian=self.hessian,
        )


@cache  # one for each data set and process: problem and rows share it
def blocks(data: str, columns: tuple[tuple[int, int], ...], p: int, within: bool) -> Blocks:
    """Columns of a data set of scikit-learn, with the weights p, ..., 1."""
    samples, labels = scaled(data)
    parts = [samples[:, a:b] for a, b in columns]
    return Blocks(parts, labels, np.arange(p, 0.0, -1.0), within)


def _horst(key: tuple[Any, ...], _: Any, x0: Sequence[Array], visit: Callable[[Any], Any]) -> None:
    here, parts = blocks(*key), list(x0)
    for _sweep in range(_SWEEPS):
        visit(tuple(parts))
        before = list(parts)
        for i in range(len(parts)):
            parts[i] = here.best(parts, i)
        if sum(map(np.linalg.norm, map(np.subtract, parts, before))) <= _UNCHANGED:
            break


def _instance(*key: Any) -> Instance:
    here = blocks(*key)
    two = len(here.within) == 2
    horst = partial(_horst, key)
    return Instance(
        problem=here.problem,
        start=here.start,
        truth=here.least() if two else here.cost_and_gradient(*last_visit(horst, here.start))[0],
        truth_by="scipy.linalg.svdvals" if two else "Horst's method",
        bound=not two,
        metric=("B",) * len(here.within) if key[-1] else None,
        solvers=(
            domain_solver("horst", horst, cites="horst1961generalized", product=here.manifold),
        ),
        draw=partial(_draw, key),
    )


def _draw(key: tuple[Any, ...], ax: Any, x: Sequence[Array]) -> None:
    """The samples in the first coordinate of the first two blocks."""
    here = blocks(*key)
    one, two = (samples @ X[:, 0] for samples, X in zip(here.samples[:2], x[:2], strict=True))
    ax.scatter(one, two, c=here.labels, s=6, cmap="turbo")
    ax.set(xlabel="first variate, block 1", ylabel="first variate, block 2")


def _halves(p: int) -> Instance:
    """Canonical correlations of the left and the right half of digits [vary2024optimization].

    The weights are equal. The paper has MNIST, p = 5 and stochastic gradients; here all gradients
    are full.
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits().images / 16, load_digits().target
    halves = [half.reshape(len(images), -1) for half in (images[:, :, :4], images[:, :, 4:])]
    seen = [half[:, half.std(axis=0) > 0] for half in halves]
    here = Blocks([half - half.mean(axis=0) for half in seen], labels, np.ones(p))
    U, _, V = np.linalg.svd(here.between[0][1])
    return Instance(
        problem=here.problem,
        start=tuple(map(orthonormal, here.manifold.factors, (U[:, :p], V[:p].T))),
        truth=here.least(),
        truth_by="scipy.linalg.svdvals",
    )


_MEAN, _ERROR, _WORST = (0, 10), (10, 20), (20, 30)

SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    instances={
        "cca-two-blocks": Entry(
            "Canonical correlation of age, sex, weight and pressure with six blood values.",
            partial(_instance, "diabetes", ((0, 4), (4, 10)), 3, True),
        ),
        "cca-three-blocks": Entry(
            "What the mean, the spread and the worst of the cells of a sample have in common.",
            partial(_instance, "breast_cancer", (_MEAN, _ERROR, _WORST), 3, True),
        ),
        "pls-breast-cancer": Entry(
            "Partial least squares between the mean and the worst cell of a sample.",
            partial(_instance, "breast_cancer", (_MEAN, _WORST), 3, False),
        ),
        "classics/cca-digits": Entry(
            "What the left half of a handwritten digit shares with the right half.", _halves, (5,)
        ),
    },
)
