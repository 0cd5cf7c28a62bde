"""`Power`: arrays of points of one manifold, such as the heads or kernels of a layer."""

from __future__ import annotations

import math
from operator import attrgetter

import attrs

from genorth.errors import require
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array
from genorth.linalg.inputs import check_size


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class Power(GenOrthManifold):
    """The product of copies of one manifold, one for each index of the leading axes.

        M^batch = {X : X[i] on M for all i}

    phi and psi are those of M, as they act on the last two axes.

    Args:
        manifold: The manifold M.
        batch: The leading axes, or the number of copies.

    Raises:
        ValueError: If F is not the whole space, so that its projector needs the axes as they are,
            or if an axis is not a positive integer.
    """

    manifold: GenOrthManifold
    batch: tuple[int, ...]

    def __init__(self, manifold: GenOrthManifold, batch: int | tuple[int, ...]) -> None:
        require(
            isinstance(manifold, GenOrthManifold),
            "manifold",
            "a GenOrthManifold",
            f"a {type(manifold).__name__}",
        )
        require(
            manifold.ambient_projector is None,
            "manifold",
            "F to be the whole space where points are stacked",
            repr(manifold),
        )
        axes = batch if isinstance(batch, tuple) else (batch,)
        self.__attrs_init__(manifold, tuple(check_size(axis, axis, "batch") for axis in axes))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The leading axes and the shape of a point of M."""
        return (*self.batch, *self.manifold.shape)

    dtype = property(attrgetter("manifold.dtype"), doc="The type of the entries.")
    isometric = property(attrgetter("manifold.isometric"), doc="As M.")
    definite = property(attrgetter("manifold.definite"), doc="As M.")
    companion = property(attrgetter("manifold.companion"), doc="The companion of M.")

    @property
    def components(self) -> int | None:
        """Those of M, for each point."""
        one = self.manifold.components
        return None if one is None else one ** math.prod(self.batch)

    def to_component(self, X: Array) -> Array:
        """The component of M, for each point."""
        return self.manifold.to_component(X)

    def phi(self, X: Array) -> Array:
        """The map phi of M, for each point."""
        return self.manifold.phi(X)

    def psi(self, T: Array) -> Array:
        """The companion psi of M, for each matrix."""
        return self.manifold.psi(T)
