"""The indefinite Stiefel manifold {X : X^T A X = J}, J a symmetric involution."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from genorth.errors import require
from genorth.geometry.companion import Companion
from genorth.linalg.inputs import as_operator, as_small_operator, check_width, require_signature
from genorth.linalg.operators import Operator
from genorth.manifolds.bilinear import FormManifold


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class IndefiniteStiefel(FormManifold):
    """The indefinite Stiefel manifold, A symmetric and nonsingular, J symmetric with J^2 = I.

        M = {X : X^T A X = J}

        phi(X) = A X J, psi(T) = J T J

        T_X M = {Z : X^T A Z + Z^T A X = 0}

    Args:
        A: An n x n matrix: dense, a diagonal (1-D), sparse, or a LinearOperator.
        J: A p x p matrix, or its signs (1-D).

    Raises:
        ValueError: If A is not symmetric or is singular, or J is not a symmetric involution.
        EmptyManifoldError: If A has fewer positive or negative eigenvalues than J.
    """

    left: Operator
    right: Companion

    def __init__(self, A: Any, J: Any) -> None:
        left = as_operator(A, "A", 1)
        Q = as_small_operator(J, "J", (1,))[0]
        check_width(left, Q)
        matrix, bound = Q.matrix(), 1e3 * Q.size * float(np.finfo(Q.dtype).eps)
        defect = float(np.linalg.norm(matrix @ matrix - np.eye(Q.size)))
        require(defect <= bound, "J", "J^2 = I", f"|J^2 - I| = {defect:.3g}", tolerance=bound)
        negative = round((Q.size - float(np.trace(matrix).real)) / 2)
        require_signature(left, "J", Q.size - negative, negative)
        self.__attrs_init__(left, Companion(Q, 1))
