"""Gaussian matrices, and random ones with a given condition number."""

from __future__ import annotations

from typing import Any

import numpy as np

_Matrix = np.ndarray[Any, Any]


def gaussian(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> _Matrix:
    """A Gaussian array; complex entries have real and imaginary parts of variance one."""
    G = rng.standard_normal(shape)
    return (G + 1j * rng.standard_normal(shape) if dtype.kind == "c" else G).astype(dtype)


def conditioned_symmetric(
    n: int, condition: float, rng: Any = None, negative: int = 0, dtype: Any = float
) -> _Matrix:
    """A symmetric (Hermitian) matrix with a given condition number.

    The absolute eigenvalues lie in [1/condition, 1], with both ends attained; the eigenvectors are
    Haar distributed.

    Args:
        n: The size.
        condition: The condition number.
        rng: A seed or a NumPy Generator.
        negative: How many eigenvalues are negative.
        dtype: The type of the entries.

    Returns:
        The matrix.
    """
    rng = np.random.default_rng(rng)
    U = orthogonal(n, rng, np.dtype(dtype))
    A = (U * signed_sizes(n, condition, rng, negative)) @ U.conj().T
    return (A + A.conj().T) / 2


def conditioned_skew(n: int, condition: float, rng: Any = None) -> _Matrix:
    """A nonsingular skew matrix with singular values in [1/condition, 1].

    Args:
        n: The size, even.
        condition: The condition number.
        rng: A seed or a NumPy Generator.

    Returns:
        The matrix.
    """
    rng = np.random.default_rng(rng)
    U, s = orthogonal(n, rng, np.dtype(float)), np.abs(signed_sizes(n // 2, condition, rng, 0))
    K = U @ np.kron([[0.0, 1.0], [-1.0, 0.0]], np.diag(s)) @ U.T
    return np.asarray((K - K.T) / 2)


def orthogonal(n: int, rng: np.random.Generator, dtype: np.dtype[Any]) -> _Matrix:
    """A random orthogonal (unitary) matrix."""
    return np.asarray(np.linalg.qr(gaussian((n, n), dtype, rng))[0])


def signed_sizes(n: int, condition: float, rng: np.random.Generator, negative: int) -> _Matrix:
    """Numbers of absolute value in [1/condition, 1], so many of them negative."""
    sizes = condition ** -rng.uniform(0, 1, n)
    if n > 1:
        sizes[0], sizes[-1] = 1.0, 1.0 / condition
    signs = np.where(np.arange(n) < negative, -1.0, 1.0)
    return np.asarray(sizes * rng.permutation(signs))
