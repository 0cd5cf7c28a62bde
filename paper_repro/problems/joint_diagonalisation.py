"""Joint f-diagonalisation on the tensor Stiefel manifold: Tables 5, 6 and 7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth.errors import refuse
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import check_size
from paper_repro.problems.base import (
    Matrix,
    Numbers,
    PaperInstance,
    PaperProblem,
    PaperTable,
    Variant,
)


@attrs.frozen(eq=False, slots=False)
class JointDiagonalisation(PaperInstance):
    """Joint f-diagonalisation, min sum_i off(X^T * A_i * X) over X^T * X = I.

    * is the product of the orthonormal cosine transform, which keeps sums of squares: all is done
    in the transform domain, where A_i is l symmetric blocks. `stacked` holds them as (l, n N, n),
    row r of A_i as row r N + i: one product per block gives [A_1 X, ..., A_N X] side by side,
    n x N p, and the two products with it are also one each.
    """

    stacked: Matrix = attrs.field(repr=False)
    p: int
    #: A_i X and off(X^T A_i X) of the last X: Hessian products come in rows.
    _last: ContentCache = attrs.field(factory=ContentCache, init=False, repr=False)

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
        """A_i = U * S_i * U^T + noise E_i/|E_i|, i = 1, ..., N.

        U orthogonal, S_i f-diagonal, E_i symmetric, both Gaussian.

        Args:
            n: Rows of a point.
            p: Columns of a point.
            l: Blocks of a point.
            N: How many tensors are to be diagonalised.
            rng: A seed or a Generator.
            noise: The paper has 0.5 (Table 5) and 0.8 (Tables 6 and 7). The values near zero that
                it prints can be reached with noise only where there are no more equations than
                unknowns (`zero_is_reachable`); without, they are reached for every N.

        Returns:
            The instance.

        Raises:
            ValueError: If there is no manifold of that size, or the noise is negative.
        """
        manifold, rng = cls.manifold_for(n, p, l, N), np.random.default_rng(rng)
        if not (isinstance(noise, int | float) and 0 <= noise < math.inf):
            refuse("noise", "noise >= 0, finite", repr(noise))
        U = manifold.random_point(rng)
        stacked = np.empty((l, n, N, n))
        for i in range(N):
            S = manifold.from_tensor(rng.standard_normal((1, p, l)))  # (l, 1, p): the diagonals
            E = manifold.from_tensor(rng.standard_normal((n, n, l)))
            E = E + E.mT
            A = (U * S) @ U.mT + noise / np.linalg.norm(E) * E
            stacked[:, :, i] = (A + A.mT) / 2
        return cls(stacked.reshape(l, n * N, n), p)

    @staticmethod
    def manifold_for(n: int, p: int, l: int, N: int, **_: Any) -> go.TensorStiefel:  # noqa: E741
        """The tensor Stiefel manifold of this size."""
        check_size(N, N, "N")
        return go.TensorStiefel(n, p, l)

    @staticmethod
    def zero_is_reachable(n: int, p: int, l: int, N: int) -> bool:  # noqa: E741
        """Whether f = 0 has no more equations than unknowns.

        N l p(p-1)/2 <= dim M = l(np - p(p+1)/2).
        """
        return N * l * p * (p - 1) // 2 <= l * (n * p - p * (p + 1) // 2)

    @cached_property
    def manifold(self) -> go.TensorStiefel:
        """The tensor Stiefel manifold; its points are blocks (l, n, p)."""
        blocks, _, n = self.stacked.shape
        return go.TensorStiefel(n, self.p, blocks)

    def sample(self, i: int) -> Matrix:
        """The blocks (l, n, n) of A_i."""
        blocks, rows, n = self.stacked.shape
        return self.stacked.reshape(blocks, n, rows // n, n)[:, :, i]

    def _products(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """A_i X and off(X^T A_i X) of all i."""
        AX = self._times(X)
        return AX, self._off(X.mT @ AX)

    def _times(self, X: Matrix) -> Matrix:
        """[A_1 X, ..., A_N X] as (l, n, N p)."""
        blocks, _, n = self.stacked.shape
        return (self.stacked @ X).reshape(blocks, n, -1)

    def _off(self, T: Matrix) -> Matrix:
        """[T_1, ..., T_N] of (l, p, N p) without the diagonals of the T_i; T is changed."""
        i = np.arange(self.p)
        T.reshape(len(T), self.p, -1, self.p)[:, i, :, i] = 0
        return T

    def cost_and_gradient(self, X: Matrix) -> tuple[float, Matrix]:
        """Sum |O_i|^2 and 4 sum A_i X O_i, O_i = off(X^T A_i X).

        As O_i is symmetric, the sum is one product.
        """
        AX, O = self._last.get(X, self._products)  # noqa: E741
        G = AX @ O.mT
        G *= 4
        return float(np.vdot(O, O)), G

    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        """4 sum (A_i Z O_i + A_i X dO_i), dO_i = off(Z^T A_i X + X^T A_i Z)."""
        AX, O = self._last.get(X, self._products)  # noqa: E741
        AZ = self._times(Z)
        T = (X.mT @ AZ).reshape(len(X), self.p, -1, self.p)
        dO = self._off((T + T.swapaxes(1, 3)).reshape(O.shape))
        return np.asarray(4 * (AZ @ O.mT + AX @ dO.mT))


def _table(number: int, noise: float, sizes: Mapping[str, Numbers]) -> PaperTable:
    """A table whose instances have this noise in the paper, and none here."""
    beyond = [
        name for name, size in sizes.items() if not JointDiagonalisation.zero_is_reachable(*size)
    ]
    reach = (
        f"With it the paper's values near zero are out of reach at {', '.join(beyond)} "
        "(more equations than unknowns, erratum R8)."
        if beyond
        else "With it values near zero are in reach (no more equations than unknowns)."
    )
    return PaperTable(
        number=number,
        sizes=sizes,
        corrected=Variant(f"Corrected (erratum R8): no noise; the paper has {noise}. {reach}"),
        printed=Variant(f"As printed: noise {noise}. {reach}", {"noise": noise}),
    )


PROBLEM = PaperProblem(
    name="joint diagonalisation",
    title="Joint f-diagonalisation on the tensor Stiefel manifold",
    instance=JointDiagonalisation,
    numbers=("n", "p", "l", "N"),
    beta=0.8,
    tables=(
        _table(5, 0.5, {f"N={N}": (100, 5, 10, N) for N in (10, 50, 100)}),
        _table(6, 0.8, {f"({n},5,5)": (n, 5, 5, 30) for n in (100, 300, 500)}),
        _table(7, 0.8, {f"(100,{p},5)": (100, p, 5, 30) for p in (5, 10, 30)}),
    ),
    like=5,
    toy=(6, 2, 2, 3),
    differs="with the paper's noise f = 0 cannot be reached where there are more equations than "
    "unknowns, so ours are without it (erratum R8), which makes them easier.",
)
