"""Further constraints, lower <= c(X) <= upper on top of X^T phi(X) = I, as SciPy states them.

A `Bounds`, a `LinearConstraint` or a `NonlinearConstraint` of scipy.optimize becomes the three maps
that solvers need: c, its adjoint derivative J^T y, and the derivative of that along Z.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array
from genorth.linalg.cache import ContentCache

_Vector = Array  # of real numbers
_STEP = 10 * math.sqrt(2.0**-52)  # of a difference of J^T y, relative


@attrs.frozen(eq=False)
class Constraint:
    """lower <= c(X) <= upper, X of the shape that the cost sees.

    Args:
        name: What messages call it.
        lower: The lower bounds, -infinity where there is none.
        upper: The upper bounds; equal to the lower ones for an equation.
        value: X -> c(X), a vector.
        push: (X, Z) -> J Z.
        pull: (X, y) -> J^T y, of the shape of X.
        second: (X, Z, y) -> the derivative of J^T y along Z; None where c is linear.
        affine: Whether c is affine, or which of its entries are.
        parts: The names of the constraints that are joined here, each with its entries.
        calls: How often c was evaluated ("nfev"), and J or its derivative multiplied ("njev").
    """

    name: str
    lower: _Vector
    upper: _Vector
    _value: Callable[[Array], _Vector]
    _push: Callable[[Array, Array], _Vector]
    _pull: Callable[[Array, _Vector], Array]
    _second: Callable[[Array, Array, _Vector], Array] | None = None
    affine: Any = attrs.Factory(lambda self: self._second is None, takes_self=True)
    parts: tuple[tuple[str, Array], ...] = attrs.field(repr=False)
    calls: Counter[str] = attrs.field(factory=Counter, repr=False)

    @parts.default
    def _itself(self) -> tuple[tuple[str, Array], ...]:
        return ((self.name, np.arange(self.lower.size)),)

    def entry(self, i: int) -> str:
        """What messages call an entry of c."""
        for name, entries in self.parts:
            if i < entries.size:
                return f"entry {entries[i]} of {name}"
            i -= entries.size
        return self.name

    def value(self, X: Array) -> _Vector:
        """c(X)."""
        self.calls["nfev"] += 1
        return self._value(X)

    def push(self, X: Array, Z: Array) -> _Vector:
        """J Z."""
        self.calls["njev"] += 1
        return self._push(X, Z)

    def pull(self, X: Array, y: _Vector) -> Array:
        """J^T y."""
        self.calls["njev"] += 1
        return self._pull(X, y)

    def second(self, X: Array, Z: Array, y: _Vector) -> Array:
        """The derivative of J^T y along Z."""
        if self._second is None:
            return 0 * Z
        self.calls["njev"] += 1
        return self._second(X, Z, y)

    def uncounted(self) -> Constraint:
        """The same with counts of its own, from zero: for measuring."""
        return attrs.evolve(self, calls=Counter())

    def nearest(self, c: _Vector) -> _Vector:
        """The nearest values within the bounds."""
        return np.clip(c, self.lower, self.upper)

    def violation(self, c: _Vector) -> float:
        """The largest distance of an entry from its bounds."""
        return float(np.max(np.abs(c - self.nearest(c)), initial=0.0))

    def mapped(
        self, apply: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> Constraint:
        """The constraint in Y, X = apply(Y), of a linear map with that adjoint; it counts here."""
        second = self._second
        return attrs.evolve(
            self,
            value=lambda Y: self._value(apply(Y)),
            push=lambda Y, Z: self._push(apply(Y), apply(Z)),
            pull=lambda Y, y: adjoint(self._pull(apply(Y), y)),
            second=second and (lambda Y, Z, y: adjoint(second(apply(Y), apply(Z), y))),
        )


def joined(parts: Sequence[Constraint]) -> Constraint:
    """Several constraints as one."""
    ends = np.cumsum([part.lower.size for part in parts])[:-1]

    def each(y: _Vector) -> Any:
        return zip(parts, np.split(y, ends), strict=True)

    def second(X: Array, Z: Array, y: _Vector) -> Array:
        return sum(part.second(X, Z, own) for part, own in each(y)) + 0 * X

    return Constraint(
        ", ".join(part.name for part in parts),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        lambda X: np.concatenate([part.value(X) for part in parts]),
        lambda X, Z: np.concatenate([part.push(X, Z) for part in parts]),
        lambda X, y: sum(part.pull(X, own) for part, own in each(y)) + 0 * X,
        second if any(part._second is not None for part in parts) else None,
        np.concatenate([np.broadcast_to(part.affine, part.lower.shape) for part in parts]),
        sum((part.parts for part in parts), ()),
    )


def as_constraint(given: Any, manifold: Any, name: str = "constraints") -> Constraint:
    """A constraint of SciPy, or several, on the entries of arrays of one shape.

    Args:
        given: A `Bounds` (NaN or infinite where an entry is free), a `LinearConstraint` on X in
            row-major order, a `NonlinearConstraint` whose functions take X itself, or a sequence.
        manifold: The manifold of X.
        name: What messages call it.

    Returns:
        The constraint.

    Raises:
        ValueError: If it is none of these, or has a wrong shape, or a lower bound is above an
            upper one.
    """
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

    if isinstance(given, Bounds):
        return _bounds(given, manifold, name)
    if isinstance(given, LinearConstraint):
        return _linear(given, manifold.shape, name)
    if isinstance(given, NonlinearConstraint):
        return _nonlinear(given, manifold, name)
    if isinstance(given, list | tuple) and given:
        return joined([as_constraint(g, manifold, f"{name}[{i}]") for i, g in enumerate(given)])
    need = "Bounds, LinearConstraint or NonlinearConstraint of scipy.optimize, or a list of them"
    refuse(name, need, type(given).__name__)


def on_factors(given: Any, product: Any, name: str = "constraints") -> Constraint:
    """Constraints on the factors of a product, as one on its flat vectors.

    Args:
        given: A mapping from the names of factors to their constraints, or a `NonlinearConstraint`
            whose functions take all factors; its `jac` returns a Jacobian for each. Or a list.
        product: The `genorth.Product`.
        name: What messages call it.

    Returns:
        The constraint.
    """
    from scipy.optimize import NonlinearConstraint

    if isinstance(given, list | tuple):
        return joined([on_factors(g, product, f"{name}[{i}]") for i, g in enumerate(given)])
    if isinstance(given, NonlinearConstraint) and callable(given.jac):

        def jacobian(v: Array) -> list[Array]:
            rows = zip(*given.jac(*product.outward(v)), strict=True)
            return [product.inward(tuple(row)) for row in rows]

        def value(v: Array) -> Array:
            return given.fun(*product.outward(v))

        whole = NonlinearConstraint(value, given.lb, given.ub, jacobian)
        return as_constraint(whole, product.blocks, name)
    if not isinstance(given, Mapping):
        need = f"a mapping from names of {', '.join(product.names)}, or a NonlinearConstraint"
        refuse(name, need, type(given).__name__)
    made = []
    for label, own in given.items():
        if label not in product.names:
            refuse(name, f"names of {', '.join(product.names)}", repr(label))
        index = product.names.index(label)
        part = as_constraint(own, product.factors[index], f"{name}[{label}]")

        def outward(v: Array, index: int = index) -> Array:
            return product.outward(v)[index]

        def inward(V: Array, index: int = index) -> Array:
            zero = product.outward(np.zeros(product.blocks.shape, product.blocks.dtype))
            return product.inward(tuple(V if i == index else z for i, z in enumerate(zero)))

        made.append(part.mapped(outward, inward))
    return joined(made)


def _ends(lower: Any, upper: Any, shape: tuple[int, ...], name: str) -> tuple[_Vector, _Vector]:
    """The bounds as vectors; NaN is no bound."""
    try:
        low, high = (
            np.broadcast_to(np.asarray(end, float), shape).ravel() for end in (lower, upper)
        )
    except ValueError:
        got = f"shapes {np.shape(lower)} and {np.shape(upper)}"
        refuse(name, f"bounds of shape {shape}", got)
    low = np.where(np.isnan(low), -np.inf, low)
    high = np.where(np.isnan(high), np.inf, high)
    if np.any(low > high):
        i = int(np.argmax(low - high))
        refuse(name, "lower <= upper", f"{low[i]:g} > {high[i]:g} at entry {i}")
    return low, high


def _bounds(given: Any, manifold: Any, name: str) -> Constraint:
    shape = manifold.shape
    if manifold.dtype.kind == "c":
        refuse(name, "real entries, which bounds are for", repr(manifold))
    low, high = _ends(given.lb, given.ub, shape, name)
    bound = np.flatnonzero(np.isfinite(low) | np.isfinite(high))

    def pull(X: Array, y: _Vector) -> Array:
        V = np.zeros(X.size)
        V[bound] = y
        return V.reshape(X.shape)

    return Constraint(
        f"{name} (bounds)",
        low[bound],
        high[bound],
        lambda X: np.ravel(X)[bound],
        lambda X, Z: np.ravel(Z)[bound],  # noqa: ARG005
        pull,
        parts=((f"{name} (bounds)", bound),),
    )


def _linear(given: Any, shape: tuple[int, ...], name: str) -> Constraint:
    A = given.A if hasattr(given.A, "tocsr") else np.atleast_2d(np.asarray(given.A, float))
    if A.shape[1] != math.prod(shape):
        refuse(name, f"a matrix with {math.prod(shape)} columns", f"shape {A.shape}")
    low, high = _ends(given.lb, given.ub, (A.shape[0],), name)
    return Constraint(
        f"{name} (linear)",
        low,
        high,
        lambda X: A @ np.ravel(X),
        lambda X, Z: A @ np.ravel(Z),  # noqa: ARG005
        lambda X, y: (A.T @ y).reshape(X.shape),
    )


def _nonlinear(given: Any, manifold: Any, name: str) -> Constraint:
    if not callable(given.jac):
        hint = "Pass jac=, which returns an array of shape (m, *X.shape), or autodiff= to Problem."
        refuse(name, "a NonlinearConstraint with its Jacobian", repr(given.jac), None, hint)
    probe = np.atleast_1d(np.asarray(given.fun(manifold.random_point(0)), float))
    low, high = _ends(given.lb, given.ub, probe.shape, name)
    jacobians = ContentCache()

    def value(X: Array) -> _Vector:
        return np.atleast_1d(np.asarray(given.fun(X), float))

    def jacobian(X: Array) -> _Vector:
        J = np.asarray(jacobians.get(X, given.jac), float)
        if J.size != low.size * X.size:
            refuse(name, f"a Jacobian of shape {(low.size, *X.shape)}", f"shape {J.shape}")
        return J.reshape(low.size, X.size)

    def pull(X: Array, y: _Vector) -> Array:
        return (jacobian(X).T @ y).reshape(X.shape)

    def second(X: Array, Z: Array, y: _Vector) -> Array:
        """By differences of J^T y, or by the Hessian of y^T c that was given."""
        if callable(given.hess):
            return (
                np.asarray(given.hess(X, y), float).reshape(X.size, X.size) @ Z.ravel()
            ).reshape(X.shape)
        length = float(np.linalg.norm(Z))
        if not length > 0:
            return 0 * Z
        s = _STEP * max(1.0, float(np.linalg.norm(X))) / length
        return (pull(X + s * Z, y) - pull(X, y)) / s

    return Constraint(
        f"{name} (nonlinear)",
        low,
        high,
        value,
        lambda X, Z: jacobian(X) @ np.ravel(Z),
        pull,
        second,
    )
