"""Nonsmooth terms: `L1`, `L21`, and what the library needs of a user's own.

A term r is convex and finite everywhere, and its proximal map is cheap:

    prox_{t r}(Y) = argmin over V of t r(V) + |V - Y|^2/2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs
import numpy as np

from genorth.errors import require
from genorth.linalg.arrays import (
    Array,
    as_like,
    eps,
    is_complex,
    library,
    namespace,
    norm,
    number,
    stays,
)

Linear = Callable[[Array], Array]


class _Groups:
    """The sum of mu |group| over groups of entries.

    r(X) = sum_g mu_g |X_g|, prox_{t r}(Y)_g = max(0, 1 - t mu_g/|Y_g|) Y_g
    """

    axis: int | None  # the axis along which entries form a group; None: each is one

    def __init__(self, mu: Any) -> None:
        weights = np.asarray(mu)
        numeric = weights.dtype.kind in "fiu" and weights.size > 0
        good = numeric and bool(np.all((weights >= 0) & (weights < np.inf)))
        require(good, "mu", "mu >= 0, a finite number or an array of them", repr(mu))
        self.mu: Any = float(weights) if weights.ndim == 0 else weights.astype(float)

    def __repr__(self) -> str:
        mu = self.mu if isinstance(self.mu, float) else f"<weights of shape {self.mu.shape}>"
        return f"{type(self).__name__}(mu={mu})"

    def _sizes(self, X: Array) -> Array:
        """|X_g|, with the axis of the group kept."""
        if self.axis is None:
            return abs(X)
        require(X.ndim >= 2, "nonsmooth", "points that are matrices, for L21", f"shape {X.shape}")
        return namespace(X).linalg.vector_norm(X, axis=self.axis, keepdims=True)

    def _weights(self, X: Array) -> Any:
        if isinstance(self.mu, float):
            return self.mu
        mu = self.mu[..., None] if self.axis == -1 else self.mu
        groups = self._sizes(X).shape
        pairs = zip(reversed(mu.shape), reversed(groups), strict=False)
        fits = mu.ndim <= len(groups) and all(size in (1, size_of) for size, size_of in pairs)
        require(fits, "mu", f"weights that broadcast to {groups}", f"shape {self.mu.shape}")
        return as_like(mu, X.real)

    def __call__(self, X: Array) -> float:
        """The value r(X)."""
        return number(namespace(X).sum(self._weights(X) * self._sizes(X)))

    def prox(self, Y: Array, t: float) -> Array:
        """The proximal map, with exact zeros.

        Args:
            Y: An array.
            t: The step, positive.

        Returns:
            The minimiser of t r(V) + |V - Y|^2/2.
        """
        xp, bound = namespace(Y), t * self._weights(Y)
        if self._by_sign(Y):
            return Y - xp.clip(Y, -bound, bound)
        sizes = self._sizes(Y)
        active = sizes > bound
        return xp.where(active, Y * (1 - bound / xp.where(active, sizes, 1.0)), 0 * Y)

    def derivative(self, Y: Array, t: float) -> Linear:
        """The derivative of the proximal map at Y, one of them where there are several.

            D[V]_g = (1 - s_g) V_g + s_g U_g <U_g, V_g>, s_g = t mu_g/|Y_g|, U_g = Y_g/|Y_g|

        for |Y_g| > t mu_g, else zero; for single real entries a mask of zeros and ones.

        Args:
            Y: An array.
            t: The step, positive.

        Returns:
            V -> D[V], self-adjoint, with eigenvalues between 0 and 1.
        """
        xp, bound, sizes = namespace(Y), t * self._weights(Y), self._sizes(Y)
        active = sizes > bound
        mask = xp.astype(active, Y.dtype)
        if self._by_sign(Y):
            return lambda V: mask * V
        U = Y / xp.where(active, sizes, 1.0)
        along = mask * bound / xp.where(active, sizes, 1.0)

        def product(V: Array) -> Array:
            pairs = xp.conj(U) * V if is_complex(U) else U * V
            paired = pairs if self.axis is None else xp.sum(pairs, axis=self.axis, keepdims=True)
            return (mask - along) * V + along * U * paired.real

        return product

    def _by_sign(self, Y: Array) -> bool:
        """Whether groups are single real entries."""
        return self.axis is None and not is_complex(Y)


@final
class L1(_Groups):
    """The sum of the sizes of all entries: solutions have zeros.

        r(X) = sum_ij mu_ij |X_ij|

    Args:
        mu: A number, or weights that broadcast to the shape of X; not negative.

    Raises:
        ValueError: If mu is negative, NaN or infinite.
    """

    axis = None


@final
class L21(_Groups):
    """The sum of the lengths of all rows, or columns: solutions have zero rows, or columns.

        r(X) = sum_i mu_i |row i of X|

    Args:
        mu: A number, or one for each row (column); not negative.
        axis: "rows" or "columns".

    Raises:
        ValueError: If mu is negative, NaN or infinite, or the axis is another.
    """

    def __init__(self, mu: Any, axis: str = "rows") -> None:
        require(axis in ("rows", "columns"), "axis", "'rows' or 'columns'", repr(axis))
        super().__init__(mu)
        self.axis = -1 if axis == "rows" else -2


@attrs.frozen(eq=False)
class Term:
    """A user's term as solvers see it: what it returns is checked.

    Args:
        given: An object with r(X) and r.prox(Y, t), and r.derivative(Y, t) where it is known.
            Operators of pyproximal, which take flat vectors, are used as they are.
        ambient: The projector onto F where F is not all arrays; the prox has to stay in F.
    """

    given: Any
    ambient: Linear | None = None
    #: Whether it takes flat vectors, as the operators of pyproximal do.
    _flat: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        fits = callable(self.given) and callable(getattr(self.given, "prox", None))
        need = "a term with r(X) and r.prox(Y, t), as genorth.L1(mu)"
        hint = "A smooth term, such as Huber's, belongs into the cost."
        require(fits, "nonsmooth", need, type(self.given).__name__, hint)

    @_flat.default
    def _takes_vectors(self) -> bool:
        bases = type(self.given).__mro__
        return any(base.__module__.partition(".")[0] == "pyproximal" for base in bases)

    def __call__(self, X: Array) -> float:
        """The value r(X)."""
        value = self.given(X.reshape(-1) if self._flat else X)
        shaped = getattr(value, "shape", ()) not in ((), (1,)) or isinstance(value, complex)
        require(not shaped, "nonsmooth", "r(X) to be a real number", repr(value))
        return number(value)

    def prox(self, Y: Array, t: float) -> Array:
        """The proximal map."""
        V = self.given.prox(Y.reshape(-1), t).reshape(Y.shape) if self._flat else self._prox(Y, t)
        if self.ambient is not None:
            outside = number(norm(self.ambient(V) - V))
            bound = 1e3 * eps(Y) * max(1.0, number(norm(Y)))
            need = "a prox that stays in the space F of the manifold"
            require(outside <= bound, "nonsmooth", need, outside, tolerance=bound)
        return V

    def _prox(self, Y: Array, t: float) -> Array:
        V = self.given.prox(Y, t)
        shape = tuple(getattr(V, "shape", ()))
        need = f"r.prox(Y, t) to return an array of shape {tuple(Y.shape)}"
        require(shape == tuple(Y.shape), "nonsmooth", need, f"shape {shape}")
        if type(V) is not type(Y) and (stays(V) or stays(Y)):
            need = f"r.prox(Y, t) to return an array where Y is, {library(Y)}"
            require(False, "nonsmooth", need, library(V))
        return V

    def derivative(self, Y: Array, t: float) -> Linear:
        """The derivative of the prox, as given, else by differences."""
        known = getattr(self.given, "derivative", None)
        if callable(known) and not self._flat:
            return known(Y, t)
        here, size = self.prox(Y, t), eps(Y) ** 0.5 * max(1.0, number(norm(Y)))

        def product(V: Array) -> Array:
            length = number(norm(V))
            s = size / length if length > 0 else 1.0
            return (self.prox(Y + s * V, t) - here) / s

        return product


@attrs.frozen(eq=False)
class Mapped:
    """The term r(apply(Y)) of an isometry with inverse `adjoint`."""

    term: Any
    apply: Linear
    adjoint: Linear

    def __call__(self, Y: Array) -> float:
        """The value."""
        return self.term(self.apply(Y))

    def prox(self, Y: Array, t: float) -> Array:
        """The proximal map."""
        return self.adjoint(self.term.prox(self.apply(Y), t))

    def derivative(self, Y: Array, t: float) -> Linear:
        """Its derivative."""
        D = self.term.derivative(self.apply(Y), t)
        return lambda V: self.adjoint(D(self.apply(V)))


@attrs.frozen(eq=False)
class ByFactor:
    """The sum of a term for each factor of a product; None where there is none.

    Args:
        product: The product.
        terms: The terms, in the order of the factors.
    """

    product: Any
    terms: tuple[Term | None, ...]

    @classmethod
    def of(cls, product: Any, given: Any) -> ByFactor:
        """From a tuple, or from a mapping in which a factor without a term may be left out."""
        if isinstance(given, Mapping):
            given = dict.fromkeys(product.names) | dict(given)
        need = "on a product a tuple or mapping with a term, or None, for each factor"
        fits = isinstance(given, tuple | list | Mapping)
        require(fits, "nonsmooth", need, type(given).__name__)
        parts = product._parts(given, "nonsmooth")
        return cls(product, tuple(None if part is None else Term(part) for part in parts))

    def __call__(self, x: Array) -> float:
        """The value."""
        pairs = zip(self.terms, self.product.outward(x), strict=True)
        return sum(r(part) for r, part in pairs if r is not None)

    def prox(self, y: Array, t: float) -> Array:
        """The proximal map, factor by factor."""
        pairs = zip(self.terms, self.product.outward(y), strict=True)
        return self.product.inward(
            tuple(part if r is None else r.prox(part, t) for r, part in pairs)
        )

    def derivative(self, y: Array, t: float) -> Linear:
        """Its derivative, factor by factor."""
        pairs = zip(self.terms, self.product.outward(y), strict=True)
        maps = [None if r is None else r.derivative(part, t) for r, part in pairs]

        def product(v: Array) -> Array:
            parts = zip(maps, self.product.outward(v), strict=True)
            return self.product.inward(tuple(x if D is None else D(x) for D, x in parts))

        return product
