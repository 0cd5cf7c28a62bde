"""How parameters of other libraries fit a manifold, and the maps that dissolve its constraint.

A weight may be a point, a transposed point, a kernel of a convolution, or a stack of points; `Fit`
brings it to the shape of a point and back. What is here is written against the array API and shared
by the interfaces to PyTorch and to Optax.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from genorth.errors import refuse, require, require_known
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, namespace, number
from genorth.manifolds.power import Power
from genorth.penalty.base import Penalty
from genorth.penalty.registry import PENALTIES


@attrs.frozen(eq=False)
class Fit:
    """How an array of one shape holds a point of a manifold."""

    #: The manifold of the points; a power of the user's where there are several.
    manifold: GenOrthManifold
    #: The shape of the array.
    shape: tuple[int, ...]
    #: Whether the array holds the transposed point.
    transposed: bool

    def point(self, W: Array) -> Array:
        """The point that an array holds.

        Args:
            W: An array of `shape`.

        Returns:
            The point, of the shape of the manifold.
        """
        *batch, n, p = self.manifold.shape
        held = (*batch, p, n) if self.transposed else (*batch, n, p)
        X = W if held == self.shape else namespace(W).reshape(W, held)
        return X.mT if self.transposed else X

    def array(self, X: Array) -> Array:
        """The array that holds a point.

        Args:
            X: A point, of the shape of the manifold.

        Returns:
            An array of `shape`.
        """
        X = X.mT if self.transposed else X
        return X if tuple(X.shape) == self.shape else namespace(X).reshape(X, self.shape)


def fit(manifold: Any, shape: Any, name: str, transposed: bool | None = None) -> Fit:
    """Find out how an array of a shape holds points of a manifold.

    The last axes are those of a point (n, p), or of its transpose (p, n); axes before them count
    points. Otherwise, all axes but the first are taken together, as for the kernel (out, in, k, k)
    of a convolution, or the rows are those of several points, as for the gates of a recurrent cell
    (4 n, p) and the three projections of an attention.

    Args:
        manifold: The manifold.
        shape: The shape of the array.
        name: What the array is, for the error message.
        transposed: Whether the array holds the transposed point. Default: only if it has to.

    Returns:
        The fit.

    Raises:
        ValueError: If the shape does not fit.
    """
    require(
        isinstance(manifold, GenOrthManifold),
        "manifold",
        "a manifold of genorth",
        f"a {type(manifold).__name__}",
    )
    shape, point = tuple(shape), manifold.shape
    flat = (shape[0], math.prod(shape[1:])) if len(shape) > 2 else shape
    for turn in (False, True) if transposed is None else (bool(transposed),):
        held = (*point[:-2], point[-1], point[-2]) if turn else point
        if shape[-len(held) :] == held:
            batch = shape[: -len(held)]
            return Fit(Power(manifold, batch) if batch else manifold, shape, turn)
    for turn in (False, True) if transposed is None else (bool(transposed),):
        if flat == ((point[-1], point[-2]) if turn else point):
            return Fit(manifold, shape, turn)
    for turn in (False, True) if transposed is None else (bool(transposed),):
        rows, columns = (point[-1], point[-2]) if turn else point[-2:]
        if len(point) == len(shape) == 2 and shape[1] == columns and shape[0] % rows == 0:
            return Fit(Power(manifold, shape[0] // rows), shape, turn)
    *blocks, n, p = point
    refuse(
        name,
        f"the shape {point} of a point of {manifold!r}, transposed {(*blocks, p, n)}, with further "
        "axes in front, several of them one below the other, or that of a kernel whose first axis "
        "is one of the two",
        f"shape {shape}",
    )


def dissolving_maps(name: Any) -> type[Penalty[Any]]:
    """The penalty, for its `residual` and `corrected`: "oblique" or "orthogonal"."""
    require_known("dissolving", name, PENALTIES)
    return PENALTIES[name]


def restored_point(manifold: GenOrthManifold, X: Array) -> Array:
    """X on M, to rounding: a last step of A leads nearer to M than `restore` asks for."""
    X = manifold.restore(X)
    return min((X, manifold.dissolve(X)), key=lambda Y: number(manifold.feasibility(Y)))
