"""{X : X^T A X = R}, A and R both symmetric or both skew: by F13 all real manifolds of the theory.

`phi(X) = A X R^-1`, `psi(T) = R T R^-1`. The manifolds of the paper's Table 1 are the special cases
(A, R) = (I, I), (B, I), (H, I), (J_2n, J_2p), (A, J); they share `phi` and `psi` from here. With
complex entries the transpose conjugates, and A and R are both Hermitian.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth._array import Array
from genorth.companion import Companion
from genorth.errors import refuse
from genorth.manifold import GenOrthManifold
from genorth.operators import (
    Identity,
    Operator,
    as_operator,
    require_regular,
    require_signature,
    require_symmetric_products,
)


class FormManifold(GenOrthManifold):
    """{X : X^T A X = Q} from two operators; abstract: `left` is A, `right` is Q with its sign."""

    left: Operator
    right: Companion

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(n, p)."""
        return (self.left.size, self.right.Q.size)

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of the entries: that of A and Q."""
        return np.result_type(self.left.dtype, self.right.Q.dtype)

    @property
    def companion(self) -> Companion:  # type: ignore[override]
        """psi(T) = Q T Q^-1."""
        return self.right

    def phi(self, X: Array) -> Array:
        """A X Q^-1."""
        return self.right.Qinv.right(self.left.left(X))

    def psi(self, T: Array) -> Array:
        """Q T Q^-1."""
        return self.right.psi(T)


def check_size(p: Any, n: int, name: str = "p") -> int:
    """p as an integer with 1 <= p <= n."""
    if isinstance(p, bool) or not isinstance(p, int | np.integer) or p < 1:
        refuse(name, "a positive integer", repr(p))
    if p > n:
        refuse(name, f"{name} <= n = {n}", int(p), 0, "A point is an n x p matrix.")
    return int(p)


def check_width(n: int, p: int, name: str, other: str) -> None:
    """A right-hand side no larger than the left one."""
    if p > n:
        refuse(name, f"size p <= n = {n}, the size of {other}", f"p = {p}", 0)


@attrs.frozen(eq=False, slots=False, init=False)
class BilinearStiefel(FormManifold):
    """{X : X^T A X = R}, A and R nonsingular, both symmetric or both skew.

    phi(X) = A X R^-1, psi(T) = R T R^-1; tangent space {Z : X^T A Z + Z^T A X = 0}. Here psi o psi need not
    be the identity, which goes beyond the paper. A: dense, diagonal, sparse or a
    LinearOperator; R: dense or diagonal.
    """

    left: Operator
    right: Companion

    def __init__(self, A: Any, R: Any) -> None:
        R_dense = np.asarray(R)
        sign = 1 if R_dense.ndim == 1 or np.vdot(R_dense, R_dense.conj().T).real >= 0 else -1
        Q = as_operator(R, "R", sign)
        left = as_operator(A, "A", sign)
        require_symmetric_products(left, "A", sign)
        check_width(left.size, Q.size, "R", "A")
        inertia = Q.inertia()
        require_regular(Q, "R", inertia)
        if sign > 0:
            assert inertia.positive is not None and inertia.negative is not None
            require_signature(left, "A", "R", inertia.positive, inertia.negative)
        else:
            require_regular(left, "A", left.inertia())
            if np.result_type(left.dtype, Q.dtype).kind == "c":
                refuse("R", "R Hermitian where entries are complex", "a skew-Hermitian R", None, "Pass 1j*A and 1j*R.")
        self.__attrs_init__(left, Companion(Q, sign))  # type: ignore[attr-defined]


@attrs.frozen(eq=False, slots=False)
class IdentityForm(FormManifold):
    """{X : X^T A X = I}: Q = I, psi = id. Abstract: gives `right` from p."""

    left: Operator
    p: int

    @cached_property
    def right(self) -> Companion:  # type: ignore[override]
        """Q = I."""
        return Companion(Identity(self.p, self.left.dtype), 1)
