"""The geometries by name, and what chooses one for a manifold."""

from __future__ import annotations

from collections.abc import Callable

from baselines.faithful import Faithful
from baselines.places import Fast, Place, Products
from genorth._array import Array
from genorth.errors import refuse
from genorth.manifold import GenOrthManifold

#: The geometries by name: "faithful" as the paper ran, "fast" as fast as can be, "products" without any equation to
#: solve.
GEOMETRIES: dict[str, type[Place]] = {"faithful": Faithful, "fast": Fast, "products": Products}


def choose(name: str, manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """X -> the Place of X in the geometry of that name."""
    if name not in GEOMETRIES:
        refuse("geometry", f"one of {', '.join(map(repr, GEOMETRIES))}", repr(name))
    kind = GEOMETRIES[name]
    reason = kind.unsupported(manifold)
    if reason is not None:
        refuse("geometry", f"one that can run on {manifold!r}", f"{name!r}: {reason}")
    return lambda X: kind(manifold, X)
