"""The geometries by name, and what chooses one for a manifold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from baselines.geometry import faithful
from baselines.geometry.fast_form import FastForm
from baselines.geometry.places import Fast, Place, Products
from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array


@attrs.frozen
class Geometry:
    """Where a solver runs: `places(manifold)` is X -> Place, `unsupported(manifold)` the reason why there is none."""

    places: Callable[[GenOrthManifold], Callable[[Array], Place]]
    unsupported: Callable[[GenOrthManifold], str | None]
    cites: tuple[str, ...] = ()


def _never(manifold: GenOrthManifold) -> str | None:  # noqa: ARG001
    """None: phi and psi are enough."""
    return None


def _fast(manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """`FastForm` where A and Q of phi(X) = A X Q^-1 are known and Theta is not explicit, else `Fast`."""
    form, companion = manifold.form, manifold.companion
    if manifold.isometric or form is None or companion is None or len(manifold.shape) > 2:
        return partial(Fast, manifold)
    return lambda X: FastForm(manifold, X, form, companion)


#: By name: "faithful" as the paper ran, "fast" as fast as can be, "products" without any equation
#: to solve.
GEOMETRIES: dict[str, Geometry] = {
    "faithful": Geometry(faithful.places, faithful.unsupported, ("gao2021riemannian",)),
    "fast": Geometry(_fast, _never),
    "products": Geometry(lambda manifold: partial(Products, manifold), _never),
}


def choose(name: str, manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """X -> the Place of X in the geometry of that name."""
    if name not in GEOMETRIES:
        refuse("geometry", f"one of {', '.join(map(repr, GEOMETRIES))}", repr(name))
    geometry = GEOMETRIES[name]
    reason = geometry.unsupported(manifold)
    if reason is not None:
        refuse("geometry", f"one that can run on {manifold!r}", f"{name!r}: {reason}")
    return geometry.places(manifold)
