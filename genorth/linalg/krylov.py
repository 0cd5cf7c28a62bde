"""Directions in which a form is positive (or negative), from products with its matrix only.

Only signs are needed: by Cauchy interlacing, k positive Ritz values prove k positive eigenvalues.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from genorth.linalg.arrays import Array, ct, inner, number

_Matrix = np.ndarray[Any, Any]
_COLUMNS = 60  # of the Krylov basis; up to here the matrix is formed
_ROUNDS = 40
_LIMIT = 500  # conjugate gradient steps
_ACCURACY = 1e-3
# SciPy 1.17 draws from `rng` where a Krylov space ends early; before, ARPACK had its own generator
_SEED = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}


def signed_directions(
    product: Callable[[_Matrix], _Matrix],
    size: int,
    dtype: np.dtype[Any],
    least: int,
    sign: int,
    rounds: int = _ROUNDS,
) -> _Matrix:
    """Orthonormal columns V with V^T M V diagonal and of the given sign.

    Args:
        product: X -> M X.
        size: The size of M.
        dtype: The type of its entries.
        least: The number of directions wanted.
        sign: +1 or -1.
        rounds: The number of restarts.

    Returns:
        Between `least` and 2 `least` columns, the strongest first; fewer if no more were found.
    """
    width = min(size, 2 * least)
    columns = max(_COLUMNS, 3 * width)
    if size <= columns:
        M = product(np.eye(size, dtype=dtype))
        values, V = np.linalg.eigh((M + ct(M)) / 2)
    else:
        values, V = _extreme(product, size, dtype, width, sign, (columns, rounds))
    noise = size * np.finfo(dtype).eps * np.abs(values).max(initial=0.0)
    order = np.argsort(-sign * values)[:width]
    return np.asarray(V[:, order[sign * values[order] > noise]])


def _extreme(
    product: Callable[[_Matrix], _Matrix],
    size: int,
    dtype: np.dtype[Any],
    width: int,
    sign: int,
    limits: tuple[int, int],
) -> tuple[_Matrix, _Matrix]:
    """Eigenvalues at one end of the spectrum, and eigenvectors: those that ARPACK finds."""
    operator = LinearOperator((size, size), lambda v: product(v.reshape(-1, 1))[:, 0], dtype=dtype)
    start = np.random.default_rng(0).standard_normal(size).astype(dtype)
    end = {"which": "LA" if sign > 0 else "SA", "v0": start, "tol": _ACCURACY}
    try:
        values, V = eigsh(operator, width, ncv=limits[0], maxiter=limits[1], **end, **_SEED)
    except ArpackError as error:  # some have converged, or M is zero
        values = getattr(error, "eigenvalues", np.zeros(0))
        V = getattr(error, "eigenvectors", np.zeros((size, 0), dtype))
    return values, V


def conjugate_gradients(
    product: Callable[[Array], Array], B: Array, goal: float, limit: int = _LIMIT, flat: float = 0.0
) -> tuple[Array, int]:
    """U with |product(U) - B| <= goal, for a positive semidefinite map.

    Args:
        product: The map.
        B: The right-hand side.
        goal: The size of the residual that is small enough.
        limit: The largest number of steps.
        flat: Quotients <V, product(V)>/|V|^2 up to here are rounding.

    Returns:
        U, and the number of steps; the last U where the map is flat along the next direction.
    """
    U, residual, direction = 0 * B, B, B
    rho, steps = number(inner(B, B)), 0
    while math.sqrt(rho) > goal and steps < limit:
        image = product(direction)
        curvature = number(inner(direction, image))
        if not curvature > flat * number(inner(direction, direction)):
            break
        U = U + (rho / curvature) * direction
        residual = residual - (rho / curvature) * image
        before, rho = rho, number(inner(residual, residual))
        direction = residual + (rho / before) * direction
        steps += 1
    return U, steps
