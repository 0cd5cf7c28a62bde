"""The generalized Stiefel manifold {X : X^T B X = I}, B symmetric positive definite."""

from __future__ import annotations

from typing import Any

import attrs

from genorth.linalg.inputs import as_operator, check_size, require_positive
from genorth.manifolds.bilinear import IdentityForm


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class GeneralizedStiefel(IdentityForm):
    """The generalized Stiefel manifold, B symmetric (or Hermitian) positive definite.

        M = {X : X^T B X = I}

        phi(X) = B X, psi(T) = T

        T_X M = {Z : X^T B Z + Z^T B X = 0}

    Args:
        B: An n x n matrix: dense, a diagonal (1-D), sparse, or a LinearOperator, whose definiteness
            is checked when the first point is drawn.
        p: The number of columns.

    Raises:
        ValueError: If B is not symmetric or not positive definite.
    """

    definite = True

    def __init__(self, B: Any, p: int) -> None:
        left = as_operator(B, "B", 1)
        p = check_size(p, left.size)
        require_positive(left)
        self.__attrs_init__(left, p)
