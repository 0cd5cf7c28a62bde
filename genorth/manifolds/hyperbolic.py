"""The hyperbolic Stiefel manifold {X : X^T H X = I}, H symmetric and indefinite."""

from __future__ import annotations

from typing import Any

import attrs

from genorth.linalg.inputs import as_operator, check_size, require_signature
from genorth.manifolds.bilinear import IdentityForm


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class HyperbolicStiefel(IdentityForm):
    """The hyperbolic Stiefel manifold, H symmetric and nonsingular.

        M = {X : X^T H X = I}

        phi(X) = H X, psi(T) = T

        T_X M = {Z : X^T H Z + Z^T H X = 0}

    The paper takes eigenvalues +-1; any nonsingular H with at least p positive eigenvalues will do.

    Args:
        H: An n x n matrix: dense, a diagonal (1-D), sparse, or a LinearOperator.
        p: The number of columns.

    Raises:
        ValueError: If H is not symmetric, or is singular.
        EmptyManifoldError: If H has fewer than p positive eigenvalues.
    """

    def __init__(self, H: Any, p: int) -> None:
        left = as_operator(H, "H", 1)
        p = check_size(p, left.size)
        require_signature(left, f"I_{p}", p, 0)
        self.__attrs_init__(left, p)
