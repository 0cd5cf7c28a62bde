"""The Stiefel manifold {X : X^T X = I}, real or complex."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.manifolds.bilinear import IdentityForm, check_size
from genorth.operators import Identity


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """A floating-point or complex dtype."""
    kind = np.dtype(dtype)
    if kind.kind not in "fc":
        refuse("dtype", "float or complex", str(kind))
    return kind


@attrs.frozen(eq=False, slots=False, init=False)
class Stiefel(IdentityForm):
    """{X : X^T X = I}; with dtype=complex the transpose conjugates.

    phi = id, psi = id; tangent space {Z : X^T Z + Z^T X = 0}; Theta_X(D) = (X^T D + D^T X)/2.
    """

    isometric = True
    definite = True

    def __init__(self, n: int, p: int, dtype: Any = float) -> None:
        n = check_size(n, n, "n")
        self.__attrs_init__(Identity(n, check_dtype(dtype)), check_size(p, n))  # type: ignore[attr-defined]
