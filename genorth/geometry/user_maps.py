"""Validation of a user's phi and psi: what they are handed, and what they return."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from genorth.linalg.arrays import Array, read_only
from genorth.linalg.inputs import check_returned

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


def user_map(function: Callable[[Any, Array], Array]) -> Callable[[Any, Array], Array]:
    """phi or psi, handed a read-only argument; its value is checked, and has the precision of X."""
    name = function.__name__

    @wraps(function)
    def checked(self: GenOrthManifold, X: Array) -> Array:
        image = function(self, read_only(X))
        if type(image) is np.ndarray and image.shape == X.shape and image.dtype is X.dtype:
            return image
        check_returned(name, image, tuple(X.shape), self.dtype.kind == "f")
        if type(X) is type(image) is np.ndarray and X.dtype.char in "fF":
            return image.astype("F" if image.dtype.kind == "c" else "f", copy=False)
        return image

    checked._is_user_map = True  # type: ignore[attr-defined]
    return checked
