"""The hyperbolic Stiefel manifold {X : X^T H X = I}, H symmetric and indefinite."""

from __future__ import annotations

from typing import Any

import attrs

from genorth.linalg.inputs import as_operator, check_size, require_signature
from genorth.manifolds.bilinear import IdentityForm


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class HyperbolicStiefel(IdentityForm):
    """{X : X^T H X = I}, H symmetric and nonsingular with at least p positive eigenvalues.

    phi(X) = H X, psi = id; tangent space {Z : X^T H Z + Z^T H X = 0}. The paper takes eigenvalues
    +-1; any nonsingular H will do. H: dense, a diagonal (1-D), sparse, or a LinearOperator.
    """

    def __init__(self, H: Any, p: int) -> None:
        left = as_operator(H, "H", 1)
        p = check_size(p, left.size)
        require_signature(left, f"I_{p}", p, 0)
        self.__attrs_init__(left, p)
