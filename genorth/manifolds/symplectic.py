"""The symplectic Stiefel manifold {X : X^T J_n X = J_p}, n and p even."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from genorth.errors import require, require_known
from genorth.geometry.companion import Companion
from genorth.linalg.arrays import Array, as_like, is_jax, is_lazy, namespace
from genorth.linalg.inputs import check_size
from genorth.linalg.operators import (
    FEW_COLUMNS,
    Operator,
    SymplecticPairs,
    SymplecticUnit,
    symplectic_units,
)
from genorth.manifolds.bilinear import FormManifold

_SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]]).reshape(2, 1, 2, 1)
_ROWS: dict[str, Any] = {"halves": SymplecticUnit, "pairs": SymplecticPairs}
_SMALL = 400  # entries up to which one call, however slow per entry, is faster than two


def _turned(X: Array) -> Array:
    """-J X J in one pass: blocks exchanged crosswise, the off-diagonal ones with the other sign."""
    *batch, n, p = X.shape
    if type(X) is not np.ndarray:
        compiled = is_jax(X) or is_lazy(X)  # by which the passes become one
        small = math.prod(X.shape) <= _SMALL and not compiled
        return _turned_at_once(X) if small else _turned_by_blocks(X)
    if X.size <= _SMALL:
        blocks = (*batch, 2, n // 2, 2, p // 2)
        return (X.reshape(blocks)[..., ::-1, :, ::-1, :] * as_like(_SIGNS, X)).reshape(X.shape)
    Y, h, k = np.empty_like(X), n // 2, p // 2
    upper, lower = X[..., :h, :], X[..., h:, :]
    if p <= FEW_COLUMNS:
        J, minus_J = symplectic_units(p, X.dtype)
        np.matmul(lower, minus_J, out=Y[..., :h, :])
        np.matmul(upper, J, out=Y[..., h:, :])
    else:
        Y[..., :h, :k] = lower[..., k:]
        Y[..., h:, k:] = upper[..., :k]
        np.negative(lower[..., :k], out=Y[..., :h, k:])
        np.negative(upper[..., k:], out=Y[..., h:, :k])
    return Y


def _turned_at_once(X: Array) -> Array:
    """-J X J for a small X: all blocks by one flip, where one by one they take five passes."""
    xp, (*batch, n, p) = namespace(X), X.shape
    blocks = xp.reshape(X, (*batch, 2, n // 2, 2, p // 2))
    return xp.reshape(xp.flip(blocks, axis=(-4, -2)) * as_like(_SIGNS, X), X.shape)


def _turned_by_blocks(X: Array) -> Array:
    """-J X J from its four blocks, which every library is fast at."""
    xp, h, k = namespace(X), X.shape[-2] // 2, X.shape[-1] // 2
    upper, lower = X[..., :h, :], X[..., h:, :]
    above = xp.concat([lower[..., k:], -lower[..., :k]], axis=-1)
    below = xp.concat([-upper[..., k:], upper[..., :k]], axis=-1)
    return xp.concat([above, below], axis=-2)


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class SymplecticStiefel(FormManifold):
    """The symplectic Stiefel manifold [gao2021riemannian], J = [[0, I], [-I, 0]].

        M = {X : X^T J_n X = J_p}

        phi(X) = -J_n X J_p, psi(T) = -J_p T J_p

        T_X M = {Z : X^T J_n Z + Z^T J_n X = 0}

    n and p are the shape of a point: SymplecticStiefel(100, 10) is the paper's (2n, 2p) = (100,
    10).

    Args:
        n: The number of rows, even.
        p: The number of columns, even.
        rows: "halves": row i belongs with row i + n/2, as above. "pairs": row 2i with row 2i + 1,
            J_n = diag([[0, 1], [-1, 0]], ...), so that rows may be spread over devices without
            J_n moving any between them. Columns are as above.

    Raises:
        ValueError: If n or p is odd, or `rows` is none of the two.
    """

    left: Operator
    right: Companion

    def __init__(self, n: int, p: int, rows: str = "halves") -> None:
        n = check_size(n, n, "n")
        p = check_size(p, n)
        for name, size in (("n", n), ("p", p)):
            even = f"{name} even, as J_{name} = [[0, I], [-I, 0]] has two halves"
            require(size % 2 == 0, name, even, size, tolerance=0)
        require_known("rows", rows, _ROWS)
        self.__attrs_init__(_ROWS[rows](n), Companion(SymplecticUnit(p), -1))

    def phi(self, X: Array) -> Array:
        """The map phi(X) = -J_n X J_p."""
        return _turned(X) if isinstance(self.left, SymplecticUnit) else super().phi(X)

    def psi(self, T: Array) -> Array:
        """The companion psi(T) = -J_p T J_p."""
        return _turned(T)
