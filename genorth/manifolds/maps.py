"""`from_maps`: a manifold from two functions, phi and psi."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.errors import require
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.user_maps import user_map
from genorth.linalg.arrays import Array, read_only
from genorth.linalg.inputs import as_small_operator, check_dtype, check_returned

_Map = Callable[[Array], Array]


@attrs.frozen(eq=False, slots=False, repr=False)
class _FromMaps(GenOrthManifold):
    """The manifold {X in F : X^T phi(X) = I} of the functions given to `from_maps`."""

    shape: tuple[int, ...]
    _phi: _Map
    _psi: _Map
    dtype: np.dtype[Any]
    ambient_projector: _Map | None
    definite: bool
    _given: Companion | None
    name: str

    @user_map
    def phi(self, X: Array) -> Array:
        """The user's phi."""
        return self._phi(X)

    @user_map
    def psi(self, T: Array) -> Array:
        """The user's psi."""
        return self._psi(T)

    @cached_property
    def companion(self) -> Companion | None:
        """The Q given to `from_maps`, or the one read off psi."""
        return super().companion if self._given is None else self._given


def from_maps(
    shape: tuple[int, ...],
    phi: _Map,
    psi: _Map,
    *,
    dtype: Any = float,
    ambient: _Map | None = None,
    companion: Any = None,
    definite: bool = False,
    name: str = "from_maps",
) -> GenOrthManifold:
    """Make a manifold from two functions.

        M = {X in F : X^T phi(X) = I}, phi(X T) = phi(X) psi(T)

    Run `genorth.check_assumptions` on the result.

    Args:
        shape: The shape of a point, (n, p) or (l, n, p).
        phi: X -> phi(X), linear and self-adjoint.
        psi: T -> psi(T), its companion.
        dtype: The type of the entries.
        ambient: The orthogonal projector onto F. Default: F is the whole space.
        companion: Q with psi(T) = Q T Q^-1 and Q^T = +-Q. Default: read off psi. Where psi is not
            of this form, as for conjugations, Theta_X takes conjugate gradients.
        definite: True if <X, phi(X)> > 0 for X != 0.
        name: The name in messages and tables.

    Returns:
        The manifold.

    Raises:
        ValueError: If an argument has the wrong type or size.
    """
    sizes = tuple(shape) if isinstance(shape, tuple | list) else ()
    require(
        len(sizes) in (2, 3)
        and all(isinstance(s, int | np.integer) and type(s) is not bool and s > 0 for s in sizes),
        "shape",
        "(n, p) or (l, n, p), positive integers",
        repr(shape),
    )
    *batch, n, p = map(int, sizes)
    require(p <= n, "shape", "p <= n", f"(n, p) = {(n, p)}", tolerance=0)
    for argument, value in (("phi", phi), ("psi", psi), ("ambient", ambient)):
        fits = callable(value) or (argument == "ambient" and value is None)
        require(fits, argument, "a function of one array", f"a {type(value).__name__}")
    require(isinstance(definite, bool | np.bool), "definite", "True or False", repr(definite))
    require(isinstance(name, str), "name", "a string", repr(name))
    given = None
    if companion is not None:
        given = Companion(*as_small_operator(companion, "companion"))
        require(given.Q.size == p, "companion", f"size p = {p}", given.Q.size, tolerance=0)
    kind = check_dtype(dtype)
    projector = None if ambient is None else _projector(ambient, kind.kind == "f")
    return _FromMaps((*batch, n, p), phi, psi, kind, projector, definite, given, name)


def _projector(ambient: _Map, real: bool) -> _Map:
    """The user's projector onto F, handed a read-only argument; its value is checked."""

    def project(Y: Array) -> Array:
        image = ambient(read_only(Y))
        check_returned("ambient", image, tuple(Y.shape), real)
        return image

    return project
