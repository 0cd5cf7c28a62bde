"""`Power`: arrays of points of one manifold, such as the heads or kernels of a layer."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from genorth.errors import require
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class Power(GenOrthManifold):
    """The product of copies of one manifold, one for each index of the leading axes.

        M^batch = {X : X[i] on M for all i}

    phi and psi are those of M, as they act on the last two axes.

    Args:
        manifold: The manifold M.
        batch: The leading axes.

    Raises:
        ValueError: If F is not the whole space, so that its projector needs the axes as they are.
    """

    manifold: GenOrthManifold
    batch: tuple[int, ...]

    def __init__(self, manifold: GenOrthManifold, batch: tuple[int, ...]) -> None:
        require(
            manifold.ambient_projector is None,
            "manifold",
            "F to be the whole space where points are stacked",
            repr(manifold),
        )
        require(math.prod(batch) >= 1, "batch", "axes of length at least 1", batch)
        self.__attrs_init__(manifold, tuple(batch))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The leading axes and the shape of a point of M."""
        return (*self.batch, *self.manifold.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of the entries."""
        return self.manifold.dtype

    @property
    def isometric(self) -> bool:  # type: ignore[override]
        """As M."""
        return self.manifold.isometric

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """As M."""
        return self.manifold.definite

    @property
    def companion(self) -> Companion | None:
        """The companion of M."""
        return self.manifold.companion

    def phi(self, X: Array) -> Array:
        """The map phi of M, for each point."""
        return self.manifold.phi(X)

    def psi(self, T: Array) -> Array:
        """The companion psi of M, for each matrix."""
        return self.manifold.psi(T)
