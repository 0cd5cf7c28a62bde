"""The geometries in which the Riemannian solvers run, one file each, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from baselines.geometry import faithful, fast
from baselines.geometry.base import Place
from baselines.geometry.products import Products
from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array


@attrs.frozen
class Geometry:
    """A geometry.

    Args:
        places: `places(manifold)` is X -> Place.
        unsupported: `unsupported(manifold)` is the reason why it cannot run there, or None.
        cites: Keys of the bibliography.
    """

    places: Callable[[GenOrthManifold], Callable[[Array], Place]]
    unsupported: Callable[[GenOrthManifold], str | None] = lambda manifold: None  # noqa: ARG005
    cites: tuple[str, ...] = ()


#: By name: "faithful" as the paper ran, "fast" as fast as can be, "products" without equations.
GEOMETRIES: dict[str, Geometry] = {
    "faithful": Geometry(faithful.places, faithful.unsupported, ("gao2021riemannian",)),
    "fast": Geometry(fast.places),
    "products": Geometry(lambda manifold: partial(Products, manifold)),
}


def choose(name: str, manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """The geometry of that name on a manifold.

    Args:
        name: A key of `GEOMETRIES`.
        manifold: The manifold.

    Returns:
        X -> the Place of X.

    Raises:
        ValueError: If the name is unknown, or the geometry cannot run on the manifold.
    """
    if name not in GEOMETRIES:
        refuse("geometry", f"one of {', '.join(map(repr, GEOMETRIES))}", repr(name))
    geometry = GEOMETRIES[name]
    reason = geometry.unsupported(manifold)
    if reason is not None:
        refuse("geometry", f"one that can run on {manifold!r}", f"{name!r}: {reason}")
    return geometry.places(manifold)
