"""Manifolds under the names that people know: spheres, unit columns, rotations, unitary matrices.

Each is a Stiefel manifold, or several; those of vectors have points of their natural shape.
"""

from __future__ import annotations

from typing import Any

from genorth.geometry.shaped import Shaped
from genorth.linalg.arrays import Array, namespace
from genorth.linalg.inputs import check_size
from genorth.manifolds.power import Power
from genorth.manifolds.stiefel import Stiefel


def Sphere(n: int, dtype: Any = float) -> Shaped:
    """The unit sphere.

        M = {x : x^T x = 1}

    Args:
        n: The length of a vector; points have the shape (n,).
        dtype: The type of the entries.

    Returns:
        The manifold.
    """
    blocks = Stiefel(n, 1, dtype)
    return Shaped(blocks, (blocks.shape[0],), "Sphere")


def Oblique(n: int, k: int, dtype: Any = float) -> Shaped:
    """The oblique manifold: matrices with unit columns, the product of k spheres.

        M = {X : diag(X^T X) = (1, ..., 1)}

    Args:
        n: The number of rows.
        k: The number of columns, which may be larger than n; points have the shape (n, k).
        dtype: The type of the entries.

    Returns:
        The manifold.
    """
    blocks = Power(Stiefel(n, 1, dtype), check_size(k, k, "k"))
    return Shaped(blocks, (blocks.shape[1], blocks.shape[0]), "Oblique", (1, 0))


def ComplexCircle(n: int = 1) -> Shaped:
    """The vectors of n complex numbers of modulus one.

        M = {x in C^n : |x_i| = 1}

    Args:
        n: The length of a vector; points have the shape (n,).

    Returns:
        The manifold.
    """
    blocks = Power(Stiefel(1, 1, complex), check_size(n, n, "n"))
    return Shaped(blocks, blocks.batch, "ComplexCircle")


def Orthogonal(n: int) -> Stiefel:
    """The orthogonal group, X^T X = I, of both determinants: Stiefel(n, n).

    Args:
        n: The size of a matrix.

    Returns:
        The manifold.
    """
    return Stiefel(n, n)


def Unitary(n: int) -> Stiefel:
    """The unitary group, X^T X = I with the conjugate transpose: Stiefel(n, n, complex).

    Args:
        n: The size of a matrix.

    Returns:
        The manifold.
    """
    return Stiefel(n, n, complex)


class Rotations(Stiefel):
    """The rotations, the component det X = 1 of the orthogonal group.

        M = {X : X^T X = I, det X = 1}

    Random points are rotations, and a start must have det X > 0. Every retraction is continuous, so
    that Riemannian solvers stay in the component; penalty methods do while they stay near M.
    `Power(Rotations(3), 10)` is ten of them.

    Args:
        n: The size of a matrix.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n, n)

    @property
    def components(self) -> int:
        """One: the other component of the orthogonal group is not meant."""
        return 1

    def to_component(self, X: Array) -> Array:
        """X, with its first column turned around where det X < 0."""
        xp = namespace(X)
        turned = xp.linalg.det(X)[..., None, None] < 0
        if not bool(xp.any(turned)):
            return X
        first, others = X[..., :1], X[..., 1:]
        return xp.concat([xp.where(turned, -first, first), others], axis=-1)
