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
from genorth.linalg.inputs import check_size

_Matrix = np.ndarray[Any, Any]


@attrs.frozen(eq=False, slots=False)
class Matching:
    """Least-squares matching, min tr(X^T A X N) over X^T J X = J (Tables 1 and 2).

    A symmetric, N = diag(mu).
    """

    A: _Matrix = attrs.field(repr=False)
    mu: _Matrix = attrs.field(repr=False)

    #: The penalty parameter of the paper.
    beta = 0.012

    @classmethod
    def generate(cls, n: int, p: int, rng: Any = None, *, printed: bool = False) -> Matching:
        """A = U diag(lambda) U^T / n, U Haar, lambda_i = a^(1-i) + b; mu_j = 0.1 exp(-2j/p).

        n and p are the shape of a point, the paper's 2n and 2p. The paper does not say from where a
        > 1 and b in (0, 2) are drawn: here uniformly from (1, 2) and (0, 2). It prints A without
        the division by n, with which f is of the size in its tables and without which it cannot be.
        """
        cls.check(n, p)
        rng = np.random.default_rng(rng)
        a, b = rng.uniform(1, 2), rng.uniform(0, 2)
        values = a ** -np.arange(float(n)) + b
        U = _haar(n, rng)
        A = (U * values) @ U.T
        A = (A + A.T) / (2 if printed else 2 * n)
        return cls(A, 0.1 * np.exp(-2 * np.arange(1, p + 1) / p))

    @staticmethod
    def check(n: int, p: int) -> go.SymplecticStiefel:
        """The manifold of that size; refused where there is none."""
        return go.SymplecticStiefel(n, p)

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
            self.manifold,
            euclidean_hessian=self.hessian,
            cost_and_gradient=self.cost_and_gradient,
            name=f"matching ({n},{p})",
        )

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


@attrs.frozen(eq=False, slots=False)
class ExtrinsicMean:
    """The mean of N samples, min |X - Y|^2 over X^T B X = J, Y = (X_1 + ...

    + X_N)/N (Tables 3 and 4).

    It differs from the average of |X - X_i|^2 by a constant. B is a diagonal and stays one.
    """

    B: _Matrix = attrs.field(repr=False)
    signs: _Matrix = attrs.field(repr=False)
    mean: _Matrix = attrs.field(repr=False)
    center: _Matrix = attrs.field(repr=False)
    #: The first samples, as many as were to be kept, (keep, n, p).
    samples: _Matrix = attrs.field(repr=False)
    #: One more sample, which is not in the mean: a start that is as far from the others as they
    #: are.
    another: _Matrix = attrs.field(repr=False)

    beta = 0.5

    @classmethod
    def generate(
        cls,
        n: int,
        p: int,
        rng: Any = None,
        *,
        positive: int | None = None,
        columns: int | None = None,
        samples: int = 1000,
        spread: float = 0.3,
        center: str = "random",
        keep: int = 0,
        printed: bool = False,
    ) -> ExtrinsicMean:
        """B = diag(1, ..., k, -m, ..., -1), k = `positive` (0.6 n), p_k = `columns` (0.75 p).

        X_i = Y0 diag(W1, W2).

        W1 and W2 are orthogonal of sizes p_k and p - p_k. Samples lie around Y0 only if they are
        near I: here Cayley transforms of skew matrices with entries of deviation spread/p_k^(1/2)
        and spread/(p - p_k)^(1/2). J = diag(I, -I). As printed: W1 and W2 from all orthogonal
        matrices, whose average is zero, and J = I. Of the samples the first `keep` are kept, the
        others only go into the mean.

        center: the paper does not say what Y0 is. "random": a random point; |Y0| decreases with n.
        "axes": unit vectors divided by |b_i|^(1/2), those with the smallest |b_i| of each sign;
        |Y0| does not depend on n, as little as the values of f in the paper's tables, which this Y0
        gives with spread = 0.88.
        """
        manifold = cls.check(n, p, positive=positive, columns=columns, printed=printed)
        check_size(samples, samples, "samples")
        if center not in ("random", "axes"):
            refuse("center", "one of 'random', 'axes'", repr(center))
        B, signs, pk = _forms(n, p, positive, columns, printed)
        rng = np.random.default_rng(rng)
        Y0 = manifold.random_point(rng) if center == "random" else _axes(B, signs)
        parts, spread = (slice(0, pk), slice(pk, p)), math.inf if printed else spread
        mean, kept = np.empty((n, p)), np.empty((min(keep, samples), n, p))
        for part in parts:
            total = np.zeros((part.stop - part.start,) * 2)
            for i in range(samples):
                W = _rotation(len(total), spread, rng)
                total += W
                if i < keep:
                    kept[i, :, part] = Y0[:, part] @ W
            mean[:, part] = Y0[:, part] @ total / samples
        another = np.hstack(
            [Y0[:, part] @ _rotation(part.stop - part.start, spread, rng) for part in parts]
        )
        return cls(B, signs, mean, Y0, kept, another)

    @staticmethod
    def check(
        n: int,
        p: int,
        *,
        positive: int | None = None,
        columns: int | None = None,
        printed: bool = False,
    ) -> go.IndefiniteStiefel:
        """The manifold of that size; refused where there is none."""
        B, signs, _ = _forms(n, p, positive, columns, printed)
        return go.IndefiniteStiefel(B, signs)

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
            self.manifold,
            euclidean_hessian=self.hessian,
            cost_and_gradient=self.cost_and_gradient,
            name=f"extrinsic mean ({n},{p})",
        )

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


@attrs.frozen(eq=False, slots=False)
class JointDiagonalisation:
    """Joint f-diagonalisation, min sum_i off(X^T * A_i * X) over X^T * X = I (Tables 5 to 7).

    * is the product of the orthonormal cosine transform, which keeps sums of squares: all is done in the transform
    domain, where A_i is l symmetric blocks. `stacked` holds them as (l, n N, n), row r of A_i as row r N + i: one
    product per block gives [A_1 X, ..., A_N X] side by side, n x N p, and the two products with it are also one each.
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
        """A_i = U * S_i * U^T + noise E_i/|E_i|.

        U orthogonal, S_i f-diagonal, E_i symmetric, both Gaussian.

        The paper's instances have noise = 0.5 (Table 5) and 0.8 (Tables 6 and 7). The values near
        zero that it prints can be reached with noise only where there are no more equations than
        unknowns (`zero_is_reachable`); with noise = 0 they are reached for every N.
        """
        manifold, rng = cls.check(n, p, l, N), np.random.default_rng(rng)
        if not (isinstance(noise, int | float) and 0 <= noise < math.inf):
            refuse("noise", "noise >= 0, finite", repr(noise))
        U = manifold.random_point(rng)
        stacked = np.empty((l, n, N, n))
        for i in range(N):
            S = manifold.from_tensor(
                rng.standard_normal((1, p, l))
            )  # blocks (l, 1, p): the diagonals
            E = manifold.from_tensor(rng.standard_normal((n, n, l)))
            E = E + E.mT
            A = (U * S) @ U.mT + noise / np.linalg.norm(E) * E
            stacked[:, :, i] = (A + A.mT) / 2
        return cls(stacked.reshape(l, n * N, n), p)

    @staticmethod
    def check(n: int, p: int, l: int, N: int) -> go.TensorStiefel:  # noqa: E741
        """The manifold of that size; refused where there is none."""
        check_size(N, N, "N")
        return go.TensorStiefel(n, p, l)

    @staticmethod
    def zero_is_reachable(n: int, p: int, l: int, N: int) -> bool:  # noqa: E741
        """Whether f = 0 is no more equations, N l p(p-1)/2, than M has dimensions, l(np - p(p+1)/2)."""
        return N * l * p * (p - 1) // 2 <= l * (n * p - p * (p + 1) // 2)

    @cached_property
    def manifold(self) -> go.TensorStiefel:
        """The tensor Stiefel manifold; its points are blocks (l, n, p)."""
        blocks, _, n = self.stacked.shape
        return go.TensorStiefel(n, self.p, blocks)

    def sample(self, i: int) -> _Matrix:
        """The blocks (l, n, n) of A_i."""
        blocks, rows, n = self.stacked.shape
        return self.stacked.reshape(blocks, n, rows // n, n)[:, :, i]

    @cached_property
    def _at(self) -> Callable[[_Matrix], tuple[_Matrix, _Matrix]]:
        """A_i X and off(X^T A_i X) of all i, kept for the next call with the same X.

        Hessian products come in rows.
        """
        return _remembered(self._products)

    def _products(self, X: _Matrix) -> tuple[_Matrix, _Matrix]:
        AX = self._times(X)
        return AX, self._off(X.mT @ AX)

    def _times(self, X: _Matrix) -> _Matrix:
        """[A_1 X, ..., A_N X] as (l, n, N p)."""
        blocks, _, n = self.stacked.shape
        return (self.stacked @ X).reshape(blocks, n, -1)

    def _off(self, T: _Matrix) -> _Matrix:
        """[T_1, ..., T_N] of (l, p, N p) without the diagonals of the T_i; T is changed."""
        i = np.arange(self.p)
        T.reshape(len(T), self.p, -1, self.p)[:, i, :, i] = 0
        return T

    def cost_and_gradient(self, X: _Matrix) -> tuple[float, _Matrix]:
        """Sum |O_i|^2 and 4 sum A_i X O_i, O_i = off(X^T A_i X).

        As O_i is symmetric, the sum is one product.
        """
        AX, O = self._at(X)  # noqa: E741
        G = AX @ O.mT
        G *= 4
        return float(np.vdot(O, O)), G

    def hessian(self, X: _Matrix, Z: _Matrix) -> _Matrix:
        """4 sum (A_i Z O_i + A_i X dO_i), dO_i = off(Z^T A_i X + X^T A_i Z)."""
        AX, O = self._at(X)  # noqa: E741
        AZ = self._times(Z)
        T = (X.mT @ AZ).reshape(len(X), self.p, -1, self.p)
        dO = self._off((T + T.swapaxes(1, 3)).reshape(O.shape))
        return np.asarray(4 * (AZ @ O.mT + AX @ dO.mT))

    def problem(self) -> go.Problem:
        """The problem."""
        blocks, rows, n = self.stacked.shape
        return go.Problem(
            self.manifold,
            euclidean_hessian=self.hessian,
            cost_and_gradient=self.cost_and_gradient,
            name=f"joint diagonalisation ({n},{self.p},{blocks}), N={rows // n}",
        )

    def start(self, rng: Any = None) -> _Matrix:
        """A random point."""
        return self.manifold.random_point(rng)


def _remembered(function: Callable[[_Matrix], Any]) -> Callable[[_Matrix], Any]:
    """The function with its last value kept.

    Entries are compared with a copy, as the caller may change X in place.
    """
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


def _forms(
    n: int, p: int, positive: int | None, columns: int | None, printed: bool
) -> tuple[_Matrix, _Matrix, int]:
    """B and J of the extrinsic mean as diagonals, and p_k."""
    check_size(n, n, "n")
    check_size(p, n)
    k, pk = (
        round(0.6 * n) if positive is None else positive,
        round(0.75 * p) if columns is None else columns,
    )
    if not (0 <= pk <= k <= n and 0 <= p - pk <= n - k):
        refuse(
            "columns",
            f"p_k <= k = {k} and p - p_k <= m = {n - k}",
            f"p_k = {pk}, p - p_k = {p - pk}",
        )
    B = np.concatenate([np.arange(1.0, k + 1), -np.arange(float(n - k), 0, -1)])
    return B, np.where(np.arange(p) < pk, 1.0, 1.0 if printed else -1.0), pk


def _axes(B: _Matrix, signs: _Matrix) -> _Matrix:
    """Y0 with Y0^T B Y0 = J for diagonals.

    Column j is e_i/|b_i|^(1/2), b_i of the sign of j, smallest first.
    """
    Y0 = np.zeros((B.size, signs.size))
    for sign in (1.0, -1.0):
        columns = np.flatnonzero(signs == sign)
        rows = np.flatnonzero(np.sign(B) == sign)
        rows = rows[np.argsort(np.abs(B[rows]), kind="stable")][: columns.size]
        Y0[rows, columns] = 1 / np.sqrt(np.abs(B[rows]))
    return Y0


def _rotation(p: int, spread: float, rng: np.random.Generator) -> _Matrix:
    """A random orthogonal matrix.

    Of all of them (spread = inf), or (I - S/2)^-1 (I + S/2), S skew.
    """
    if math.isinf(spread):
        return _haar(p, rng)
    T = rng.standard_normal((p, p)) * (spread / math.sqrt(2 * p))
    eye = np.eye(p)
    return 2 * np.linalg.inv(eye - (T - T.T) / 2) - eye
