"""The three problems of the paper, each with its generator, its cost and gradient in one call, and its Hessian product.

Each generator makes the corrected instance; printed=True makes the one that the paper prints. An instance is data;
`problem()` gives a `genorth.Problem` on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth.errors import refuse

_Matrix = np.ndarray[Any, Any]


@attrs.frozen(eq=False, slots=False)
class Matching:
    """Least-squares matching, min tr(X^T A X N) over X^T J X = J (Tables 1 and 2): A symmetric, N = diag(mu)."""

    A: _Matrix = attrs.field(repr=False)
    mu: _Matrix = attrs.field(repr=False)

    #: The penalty parameter of the paper.
    beta = 0.012

    @classmethod
    def generate(cls, n: int, p: int, rng: Any = None, *, printed: bool = False) -> Matching:
        """A = U diag(lambda) U^T / n, U Haar, lambda_i = a^(1-i) + b; mu_j = 0.1 exp(-2j/p).

        n and p are the shape of a point, the paper's 2n and 2p. The paper does not say from where a > 1 and b in (0,
        2) are drawn: here uniformly from (1, 2) and (0, 2). It prints A without the division by n, with which f is of
        the size in its tables and without which it cannot be.
        """
        rng = np.random.default_rng(rng)
        a, b = rng.uniform(1, 2), rng.uniform(0, 2)
        values = a ** -np.arange(float(n)) + b
        U = _haar(n, rng)
        A = (U * values) @ U.T
        A = (A + A.T) / (2 if printed else 2 * n)
        return cls(A, 0.1 * np.exp(-2 * np.arange(1, p + 1) / p))

    @cached_property
    def manifold(self) -> go.SymplecticStiefel:
        """The symplectic Stiefel manifold."""
        return go.SymplecticStiefel(self.A.shape[0], self.mu.size)

    def cost_and_gradient(self, X: _Matrix) -> tuple[float, _Matrix]:
        """tr(X^T A X N) and 2 A X N."""
        G = self._times(X)
        return float(np.vdot(X, G)) / 2, G

    def hessian(self, X: _Matrix, Z: _Matrix) -> _Matrix:  # noqa: ARG002  the cost is quadratic
        """2 A Z N."""
        return self._times(Z)

    def _times(self, X: _Matrix) -> _Matrix:
        """2 A X N; for long and thin row-major X the product X^T A, the same for a symmetric A, is faster than A X."""
        G = np.empty_like(X)
        np.multiply((X.T @ self.A).T, 2 * self.mu, out=G)
        return G

    def problem(self) -> go.Problem:
        """The problem."""
        n, p = self.manifold.shape
        return go.Problem(
            self.manifold, euclidean_hessian=self.hessian, cost_and_gradient=self.cost_and_gradient,
            name=f"matching ({n},{p})",
        )  # fmt: skip

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


@attrs.frozen(eq=False, slots=False)
class ExtrinsicMean:
    """The mean of N samples, min |X - Y|^2 over X^T B X = J, Y = (X_1 + ... + X_N)/N (Tables 3 and 4).

    It differs from the average of |X - X_i|^2 by a constant. B is a diagonal and stays one.
    """

    B: _Matrix = attrs.field(repr=False)
    signs: _Matrix = attrs.field(repr=False)
    mean: _Matrix = attrs.field(repr=False)
    center: _Matrix = attrs.field(repr=False)

    beta = 0.5

    @classmethod
    def generate(
        cls, n: int, p: int, rng: Any = None, *, positive: int | None = None, columns: int | None = None,
        samples: int = 1000, spread: float = 0.3, printed: bool = False,
    ) -> ExtrinsicMean:  # fmt: skip
        """B = diag(1, ..., k, -m, ..., -1), k = `positive` (0.6 n), p_k = `columns` (0.75 p); X_i = Y0 diag(W1, W2).

        W1 and W2 are orthogonal of sizes p_k and p - p_k. Samples lie around Y0 only if they are near I: here Cayley
        transforms of skew matrices with entries of deviation spread/p_k^(1/2) and spread/(p - p_k)^(1/2). J = diag(I,
        -I). As printed: W1 and W2 from all orthogonal matrices, whose average is zero, and J = I.
        """
        rng = np.random.default_rng(rng)
        k, pk = round(0.6 * n) if positive is None else positive, round(0.75 * p) if columns is None else columns
        if not (0 <= pk <= k and 0 <= p - pk <= n - k):
            refuse("columns", f"p_k <= k = {k} and p - p_k <= m = {n - k}", f"p_k = {pk}, p - p_k = {p - pk}")
        B = np.concatenate([np.arange(1.0, k + 1), -np.arange(float(n - k), 0, -1)])
        signs = np.where(np.arange(p) < pk, 1.0, 1.0 if printed else -1.0)
        center = go.IndefiniteStiefel(B, signs).random_point(rng)
        mean = np.empty((n, p))
        for part in (slice(0, pk), slice(pk, p)):
            W = _mean_rotation(part.stop - part.start, samples, math.inf if printed else spread, rng)
            mean[:, part] = center[:, part] @ W
        return cls(B, signs, mean, center)

    @cached_property
    def manifold(self) -> go.IndefiniteStiefel:
        """The indefinite Stiefel manifold."""
        return go.IndefiniteStiefel(self.B, self.signs)

    def cost_and_gradient(self, X: _Matrix) -> tuple[float, _Matrix]:
        """|X - Y|^2 and 2 (X - Y)."""
        D = X - self.mean
        f = float(np.vdot(D, D))
        D *= 2
        return f, D

    def hessian(self, X: _Matrix, Z: _Matrix) -> _Matrix:  # noqa: ARG002
        """2 Z."""
        return 2 * Z

    def problem(self) -> go.Problem:
        """The problem."""
        n, p = self.manifold.shape
        return go.Problem(
            self.manifold, euclidean_hessian=self.hessian, cost_and_gradient=self.cost_and_gradient,
            name=f"extrinsic mean ({n},{p})",
        )  # fmt: skip

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


@attrs.frozen(eq=False, slots=False)
class JointDiagonalisation:
    """Joint f-diagonalisation, min sum_i off(X^T * A_i * X) over X^T * X = I (Tables 5 to 7).

    * is the product of the orthonormal cosine transform, which keeps sums of squares: all is done in the transform
    domain, where A_i is l symmetric blocks. `stacked` holds them as (l, N n, n): the products A_i X of all i are one
    product per block.
    """

    stacked: _Matrix = attrs.field(repr=False)
    p: int

    beta = 0.8

    @classmethod
    def generate(
        cls,
        n: int,
        p: int,
        l: int,  # noqa: E741  the paper's name
        N: int,
        rng: Any = None,
        *,
        noise: float = 0.0,
    ) -> JointDiagonalisation:
        """A_i = U * S_i * U^T + noise E_i/|E_i|: U orthogonal, S_i f-diagonal, E_i symmetric, both Gaussian.

        The paper's instances have noise = 0.5 (Table 5) and 0.8 (Tables 6 and 7). The values near zero that it prints
        can be reached with noise only where there are fewer equations than unknowns (N = 10); with noise = 0 they are
        reached for every N.
        """
        rng = np.random.default_rng(rng)
        manifold = go.TensorStiefel(n, p, l)
        U = manifold.random_point(rng)
        stacked = np.empty((l, N, n, n))
        for i in range(N):
            S = manifold.from_tensor(rng.standard_normal((1, p, l)))  # blocks (l, 1, p): the diagonals
            E = manifold.from_tensor(rng.standard_normal((n, n, l)))
            E = E + E.mT
            A = (U * S) @ U.mT + noise / np.linalg.norm(E) * E
            stacked[:, i] = (A + A.mT) / 2
        return cls(stacked.reshape(l, N * n, n), p)

    @cached_property
    def manifold(self) -> go.TensorStiefel:
        """The tensor Stiefel manifold; its points are blocks (l, n, p)."""
        blocks, _, n = self.stacked.shape
        return go.TensorStiefel(n, self.p, blocks)

    @cached_property
    def _at(self) -> Callable[[_Matrix], tuple[_Matrix, _Matrix]]:
        """A_i X and off(X^T A_i X) of all i, kept for the next call with the same X: Hessian products come in rows."""
        return _remembered(self._products)

    def _products(self, X: _Matrix) -> tuple[_Matrix, _Matrix]:
        AX = self._times(X)
        return AX, _off(X[:, None].mT @ AX)

    def _times(self, X: _Matrix) -> _Matrix:
        """A_i X as (l, N, n, p)."""
        blocks, rows, n = self.stacked.shape
        return (self.stacked @ X).reshape(blocks, rows // n, n, self.p)

    def cost_and_gradient(self, X: _Matrix) -> tuple[float, _Matrix]:
        """sum |O_i|^2 and 4 sum A_i X O_i, O_i = off(X^T A_i X)."""
        AX, O = self._at(X)  # noqa: E741
        return float(np.vdot(O, O)), 4 * (AX @ O).sum(axis=1)

    def hessian(self, X: _Matrix, Z: _Matrix) -> _Matrix:
        """4 sum (A_i Z O_i + A_i X dO_i), dO_i = off(Z^T A_i X + X^T A_i Z)."""
        AX, O = self._at(X)  # noqa: E741
        AZ = self._times(Z)
        T = X[:, None].mT @ AZ
        return np.asarray(4 * (AZ @ O + AX @ _off(T + T.mT)).sum(axis=1))

    def problem(self) -> go.Problem:
        """The problem."""
        blocks, rows, n = self.stacked.shape
        return go.Problem(
            self.manifold, euclidean_hessian=self.hessian, cost_and_gradient=self.cost_and_gradient,
            name=f"joint diagonalisation ({n},{self.p},{blocks}), N={rows // n}",
        )  # fmt: skip

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


def _off(T: _Matrix) -> _Matrix:
    """T without its diagonal; T is changed."""
    i = np.arange(T.shape[-1])
    T[..., i, i] = 0
    return T


def _remembered(function: Callable[[_Matrix], Any]) -> Callable[[_Matrix], Any]:
    """The function with its last value kept; entries are compared with a copy, as the caller may change X in place."""
    last: list[Any] = [None, None]

    def call(X: _Matrix) -> Any:
        if last[0] is None or not np.array_equal(last[0], X):
            last[:] = X.copy(), function(X)
        return last[1]

    return call


def _haar(n: int, rng: np.random.Generator) -> _Matrix:
    """A random orthogonal matrix, Haar distributed."""
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(Q * np.sign(np.diag(R)))


def _mean_rotation(p: int, samples: int, spread: float, rng: np.random.Generator) -> _Matrix:
    """The mean of random orthogonal matrices: of all of them (spread = inf), or of (I - S/2)^-1 (I + S/2), S skew."""
    total, eye = np.zeros((p, p)), np.eye(p)
    for _ in range(samples):
        if math.isinf(spread):
            total += _haar(p, rng)
            continue
        T = rng.standard_normal((p, p)) * (spread / math.sqrt(2 * p))
        total += 2 * np.linalg.inv(eye - (T - T.T) / 2) - eye
    return total / samples
