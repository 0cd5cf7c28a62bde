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
from genorth.geometry.field import Field, shortened
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.newton import anywhere
from genorth.geometry.retractions import RETRACTIONS
from genorth.linalg.arrays import Array, ct, namespace, number
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
    of a convolution.

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
    *blocks, n, p = point
    refuse(
        name,
        f"the shape {point} of a point of {manifold!r}, transposed {(*blocks, p, n)}, "
        "with further axes in front, or that of a kernel whose first axis is one of the two",
        f"shape {shape}",
    )


def check_retraction(kind: Any) -> str:
    """The name of a retraction, or an error that lists them."""
    require_known("retraction", kind, RETRACTIONS)
    return str(kind)


def dissolving_maps(name: Any) -> type[Penalty[Any]]:
    """The penalty, for its `residual` and `corrected`: "oblique" or "orthogonal"."""
    require_known("dissolving", name, PENALTIES)
    return PENALTIES[name]


def stepped(manifold: GenOrthManifold, X: Array, Z: Array, retraction: str) -> Array:
    """R_X(Z), followed by A, which keeps the rounding of many steps from adding up (F6).

    Args:
        manifold: The manifold.
        X: A point of M.
        Z: A tangent vector.
        retraction: The retraction.

    Returns:
        A point of M.
    """
    return manifold.dissolve(manifold.retract(X, Z, retraction))


def landing_step(
    field: Field, X: Array, G: Array, lr: Any, attraction: float, tube: float
) -> Array:
    """The step of the landing method at X, shortened for each matrix until |C| is in the tube.

        -t (F(X) + attraction grad N(X)), N = |C|^2/4, t <= lr

    Args:
        field: The tangent field of the manifold.
        X: A point within the tube.
        G: The Euclidean gradient, or its momentum.
        lr: The longest step t.
        attraction: The weight of the normal step.
        tube: The largest |C| of an iterate.

    Returns:
        The step, to be added to X.
    """
    at = anywhere(field.manifold, X)
    ahead = field.direction(at, G, attraction)
    E = ct(ahead.D) @ field.manifold.phi(ahead.D)
    return -shortened(lr, at.constraint, ahead.L, E, tube) * ahead.D


def restored_point(manifold: GenOrthManifold, X: Array) -> Array:
    """X on M, to rounding: a last step of A leads nearer to M than `restore` asks for."""
    X = manifold.restore(X)
    return min((X, manifold.dissolve(X)), key=lambda Y: number(manifold.feasibility(Y)))
