"""`BilinearStiefel`, {X : X^T A X = R}: every real manifold of the theory is one.

A and R are both symmetric or both skew; `phi(X) = A X R^-1` and `psi(T) = R T R^-1`. The manifolds
of the paper's Table 1 are the special cases (A, R) = (I, I), (B, I), (H, I), (J_2n, J_2p), (A, J)
and share `phi` and `psi` from here. With complex entries the transpose conjugates, and A and R are
both Hermitian.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.errors import require
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array
from genorth.linalg.inputs import (
    as_operator,
    as_small_operator,
    check_width,
    regular_inertia,
    require_signature,
)
from genorth.linalg.operators import Identity, Operator


class FormManifold(GenOrthManifold):
    """The manifold {X : X^T A X = Q} of two operators. Abstract.

        phi(X) = A X Q^-1, psi(T) = Q T Q^-1

    `left` is A, `right` is Q with its sign.
    """

    left: Operator
    right: Companion

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape (n, p) of a point."""
        return (self.left.size, self.right.Q.size)

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of the entries, from A and Q."""
        return np.result_type(self.left.dtype, self.right.Q.dtype)

    @property
    def companion(self) -> Companion:
        """The matrix Q and its sign."""
        return self.right

    @property
    def form(self) -> Operator:  # type: ignore[override]
        """The matrix A."""
        return self.left

    def phi(self, X: Array) -> Array:
        """The map phi(X) = A X Q^-1."""
        return self.right.Qinv.right(self.left.left(X))

    def psi(self, T: Array) -> Array:
        """The companion psi(T) = Q T Q^-1."""
        return self.right.psi(T)


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class BilinearStiefel(FormManifold):
    """The bilinear Stiefel manifold: A and R nonsingular, both symmetric or both skew.

        M = {X : X^T A X = R}

        phi(X) = A X R^-1, psi(T) = R T R^-1

        T_X M = {Z : X^T A Z + Z^T A X = 0}

    Here psi(psi(T)) = T need not hold, which goes beyond the paper.

    Args:
        A: An n x n matrix: dense, a diagonal (1-D), sparse, or a LinearOperator.
        R: A p x p matrix, or a diagonal (1-D).

    Raises:
        ValueError: If A or R is singular, or their symmetries differ.
        EmptyManifoldError: If A has fewer positive or negative eigenvalues than R.
    """

    left: Operator
    right: Companion

    def __init__(self, A: Any, R: Any) -> None:
        Q, sign = as_small_operator(R, "R")
        left = as_operator(A, "A", sign, f", as R is {'symmetric' if sign > 0 else 'skew'}")
        check_width(left, Q)
        if sign > 0:
            inertia = Q.inertia()
            assert inertia.positive is not None and inertia.negative is not None
            require_signature(left, "R", inertia.positive, inertia.negative)
        else:
            require(
                left.size % 2 == 0,
                "A",
                "n even, as a skew matrix of odd size is singular",
                f"n = {left.size}",
                tolerance=0,
            )
            regular_inertia(left)
            require(
                left.dtype.kind == "f",
                "A",
                "real entries, as R is skew",
                f"dtype {left.dtype}",
                "Multiply A and R by 1j.",
            )
        self.__attrs_init__(left, Companion(Q, sign))


@attrs.frozen(eq=False, slots=False, repr=False)
class IdentityForm(FormManifold):
    """The manifold {X : X^T A X = I}: Q = I and psi = id. Abstract: gives `right` from p."""

    left: Operator
    p: int

    def phi(self, X: Array) -> Array:
        """The map phi(X) = A X."""
        return self.left.left(X)

    def psi(self, T: Array) -> Array:
        """The companion psi(T) = T."""
        return T

    @cached_property
    def right(self) -> Companion:  # type: ignore[override]
        """The companion of Q = I."""
        return Companion(Identity(self.p, self.left.dtype, name=f"I_{self.p}"), 1)
