"""The connected components of M, by the signs of determinants.

M = {X : X^T A X = Q} is a homogeneous space of the group of A (Witt's theorem). It is connected
where that group is: for skew A and Q the real symplectic group, for Hermitian ones U(a, b). For
real symmetric A and Q, O(a, b) has a component for each pair of signs, and M has two for each sign
s in which Q has all eigenvalues that A has: the columns of X U span a maximal subspace on which A
has the sign s, so that det((A V)^T X U) is not zero on M, V and U bases of such subspaces of A and
of Q. Where Q has fewer, a reflection of the complement of X joins the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from genorth.geometry.form import forms
from genorth.linalg import inertia
from genorth.linalg.operators import Operator

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_Matrix = np.ndarray[Any, Any]
#: A V and U: the sign of det((A V)^T X U) tells the two components of a block apart.
Test: TypeAlias = tuple[_Matrix, _Matrix]
_LARGEST = 200  # n up to which a form that is known by its products is made dense


def sign_tests(manifold: GenOrthManifold) -> list[list[Test]] | None:
    """What tells the components apart, for each block; None where the structure is not known."""
    companion = manifold.companion
    if companion is None or manifold.ambient_projector is not None:
        return None
    if companion.sign < 0 or manifold.dtype.kind == "c":
        return []
    found = [_of_block(A, Q, manifold.definite) for A, Q in forms(manifold)]
    return None if None in found else found  # type: ignore[return-value]


def _of_block(A: Operator, Q: _Matrix, definite: bool) -> list[Test] | None:
    values, U = np.linalg.eigh((Q + Q.T) / 2)
    if definite:  # A and Q have one sign, det((A V)^T X U) is that of X up to a factor
        return [(np.eye(A.size), np.eye(A.size))] if A.size == len(Q) else []
    known = A.inertia()
    if known.positive is None or known.negative is None:
        if A.size > _LARGEST:
            return None
        known = inertia.of_dense(np.asarray(A.left(np.eye(A.size))))
    found = []
    for sign, size in ((1, known.positive), (-1, known.negative)):
        chosen = sign * values > 0
        if size and size == chosen.sum():
            found.append((np.asarray(A.left(A.directions(size, sign))), U[:, chosen]))
    return found
