"""Directions in which a form is positive (or negative), from products with its matrix only.

Block Krylov subspaces with Rayleigh-Ritz and restarts. Only signs are needed, so the search ends
long before eigenvalues have converged: by Cauchy interlacing, k positive Ritz values prove k
positive eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genorth.linalg.arrays import ct

_Matrix = np.ndarray[Any, Any]
_COLUMNS = 60, 240  # of the Krylov basis: more of them where they are short,
_ENTRIES = 500_000  # up to this size
_ROUNDS = 40
_CONVERGED = 1e-3


def signed_directions(
    product: Callable[[_Matrix], _Matrix],
    size: int,
    dtype: np.dtype[Any],
    least: int,
    sign: int,
    rounds: int = _ROUNDS,
) -> _Matrix:
    """Orthonormal columns V with V^T M V diagonal and of the given sign.

    A block of 2 `least` vectors sees multiple eigenvalues.

    Args:
        product: X -> M X.
        size: The size of M.
        dtype: The type of its entries.
        least: The number of directions wanted.
        sign: +1 or -1.
        rounds: The number of restarts.

    Returns:
        Between `least` and 2 `least` columns; fewer if no more were found.
    """
    width = min(size, 2 * least)
    columns = min(size, max(_COLUMNS[0], min(_COLUMNS[1], _ENTRIES // size), 3 * width))
    V = np.random.default_rng(0).standard_normal((size, width)).astype(dtype)
    before = V[:, :0]
    for _ in range(rounds):
        basis, image = _krylov_basis(product, V, before, columns)
        values, W = np.linalg.eigh(ct(basis) @ image)
        noise = size * np.finfo(dtype).eps * np.abs(values).max()
        order = np.argsort(-sign * values)[:width]
        before, V = V, basis @ W[:, order]
        values, residual = values[order], image @ W[:, order]
        del basis, image  # before those of the next round are made
        found = sign * values > noise
        if found[:least].all() or columns == size:
            break
        residual = np.linalg.norm(residual - V * values, axis=0)
        if np.all(residual[:least] <= _CONVERGED * np.abs(values[:least])):
            break  # the eigenvalues are known, and they have the other sign
    return V[:, found]


def _krylov_basis(
    product: Callable[[_Matrix], _Matrix], V: _Matrix, before: _Matrix, columns: int
) -> tuple[_Matrix, _Matrix]:
    """Orthonormal K with the span of V, MV, M^2 V, ..., and M K.

    The V of the previous round comes last: as in conjugate gradients, it makes up for what a
    restart forgets.
    """
    K = np.empty((V.shape[0], columns), V.dtype)
    image, start = np.empty_like(K), 0
    while start < columns:
        if before.size and start >= columns - before.shape[1]:
            V = before
        V = _orthonormalized(V[:, : columns - start], K[:, :start])
        end = start + V.shape[1]
        K[:, start:end], image[:, start:end] = V, product(V)
        V, start = image[:, start:end], end
    return K, image


def _orthonormalized(V: _Matrix, K: _Matrix) -> _Matrix:
    """Make V orthonormal, and orthogonal to K.

    Where V adds nothing new, QR fills in columns that the next pass corrects.
    """
    for _ in range(3):
        V = np.linalg.qr(V - K @ (ct(K) @ V))[0]
    return V
