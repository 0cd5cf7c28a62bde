"""The Stiefel manifold {X : X^T X = I}, real or complex."""

from __future__ import annotations

from typing import Any

import attrs

from genorth.linalg.inputs import check_dtype, check_size
from genorth.linalg.operators import Identity
from genorth.manifolds.bilinear import IdentityForm


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class Stiefel(IdentityForm):
    """The Stiefel manifold; with `dtype=complex` the transpose conjugates.

        M = {X : X^T X = I}

        phi(X) = X, psi(T) = T

        T_X M = {Z : X^T Z + Z^T X = 0}, Theta_X(D) = (X^T D + D^T X)/2

    Args:
        n: The number of rows.
        p: The number of columns.
        dtype: The type of the entries.
    """

    isometric = True
    definite = True

    def __init__(self, n: int, p: int, dtype: Any = float) -> None:
        n = check_size(n, n, "n")
        self.__attrs_init__(Identity(n, check_dtype(dtype)), check_size(p, n))
