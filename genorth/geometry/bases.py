"""Orthonormal bases of the algebra G and of S1, by random products: for small p.

They serve where the structure of G is not known, and the tests.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from genorth.linalg.arrays import Array, ct

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


def realvec(X: Array) -> np.ndarray[Any, Any]:
    """The entries of X as a real vector with the same inner product.

    Args:
        X: An array.

    Returns:
        A real vector.
    """
    X = np.ascontiguousarray(X).ravel()
    return X.view(X.real.dtype) if X.dtype.kind == "c" else X


def _range_basis(samples: list[Array]) -> np.ndarray[Any, Any]:
    """An orthonormal basis (over the reals) of the span of the samples, stacked on axis 0."""
    shape, dtype = samples[0].shape, samples[0].dtype
    _, s, Vt = np.linalg.svd(np.stack([realvec(S) for S in samples]), full_matrices=False)
    rank = int((s > 1e-10 * s[0]).sum()) if s[0] > 0 else 0
    rows = np.ascontiguousarray(Vt[:rank])
    return (rows.view(dtype) if np.dtype(dtype).kind == "c" else rows).reshape(rank, *shape)


def algebra_basis(manifold: GenOrthManifold) -> np.ndarray[Any, Any]:
    """An orthonormal basis of G = span of X1^T X2, found from random products; for small p.

    Args:
        manifold: The manifold.

    Returns:
        The basis, stacked on axis 0.
    """
    rng = np.random.default_rng(0)
    shape = (*manifold.shape[:-2], manifold.shape[-1], manifold.shape[-1])
    most = math.prod(shape) * (2 if manifold.dtype.kind == "c" else 1)
    draw = manifold.random_ambient
    return _range_basis([ct(draw(rng)) @ draw(rng) for _ in range(most + 5)])


def symmetric_basis(manifold: GenOrthManifold) -> np.ndarray[Any, Any]:
    """An orthonormal basis of S1, the range of Phi on G; for small p.

    Args:
        manifold: The manifold.

    Returns:
        The basis, stacked on axis 0.
    """
    return _range_basis([np.asarray(manifold.symmetrize(T)) for T in algebra_basis(manifold)])


def dense_theta(manifold: GenOrthManifold, P: Array, D: Array) -> np.ndarray[Any, Any]:
    """Theta_X(D) by its definition, over an orthonormal basis of S1: O(n p^5), the oracle of tests.

        argmin over S in S1 of |phi(X) S - D|

    Args:
        manifold: The manifold.
        P: phi(X).
        D: An element of F.

    Returns:
        Theta_X(D).
    """
    basis = symmetric_basis(manifold)
    images = np.stack([realvec(P @ S) for S in basis], axis=1)
    weights = np.linalg.lstsq(images, realvec(D), rcond=None)[0]
    return np.tensordot(weights, basis, axes=1)
