"""`Product`: several variables, each on a manifold of its own or free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, final

import numpy as np

from genorth.errors import did_you_mean, refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise, Euclidean, Factor, Layout, small_shape
from genorth.geometry.shaped import Front
from genorth.linalg.arrays import Array, ct, is_array, library, same_devices, stays
from genorth.manifolds.power import Power


class Record(tuple[Any, ...]):
    """A point of a product whose factors have names: a tuple, with `x.C` and `x["C"]`.

    Args:
        values: The parts.
        names: Their names.
    """

    names: tuple[str, ...]

    def __new__(cls, values: Any, names: tuple[str, ...]) -> Record:
        """The record of some values."""
        self = super().__new__(cls, values)
        self.names = names
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "names":
            raise AttributeError(name)
        try:
            return self[self.names.index(name)]
        except ValueError:
            raise AttributeError(f"no part {name!r}; there are {', '.join(self.names)}") from None

    def __getitem__(self, key: Any) -> Any:
        """A part, by its name or position."""
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self, strict=True))
        return f"Record({parts})"

    def __reduce__(self) -> Any:
        return Record, (tuple(self), self.names)


@final
class Product(Front):
    """A product of manifolds and free variables.

        M = M_1 x M_2 x ... = {(X_1, X_2, ...) : X_i on M_i}

    A point is a tuple of arrays, or with names a `Record`: `Product(C=M1, w=Euclidean(5))` has
    points with `x.C` and `x["w"]`. The methods are those of a manifold, part by part. A cost takes
    one argument for each factor.

    Args:
        *factors: Manifolds, products, or `Euclidean`. Or:
        **named: The same, with names.

    Raises:
        ValueError: If there is no factor, one is no manifold, or all are free.
    """

    def __init__(self, *factors: Any, **named: Any) -> None:
        if factors and named:
            refuse("Product", "factors with names or without", "both")
        self.factors = factors or tuple(named.values())
        self.names = tuple(named) or tuple(map(str, range(len(factors))))
        self._named = bool(named)
        if not self.factors:
            refuse("Product", "at least one factor", "none")
        for name, factor in zip(self.names, self.factors, strict=True):
            if not isinstance(factor, GenOrthManifold | Front | Euclidean):
                need = "a manifold, a Product or genorth.Euclidean(shape)"
                refuse(f"factor {name}", need, type(factor).__name__)
            if name in ("index", "count", "names"):
                refuse("Product", "names that tuples do not have", repr(name))
        if all(isinstance(factor, Euclidean) for factor in self.factors):
            need = "a factor with a constraint"
            refuse("Product", need, "free variables only", None, "Use scipy.optimize for them.")
        inside = [factor.blocks if isinstance(factor, Front) else factor for factor in self.factors]
        dtypes = [M.dtype for M in inside]
        self._layout = Layout([M.shape for M in inside], dtypes)
        self._small = Layout([small_shape(M) for M in inside], dtypes)
        self.blocks = Blockwise(_grouped(inside))
        self.shape = tuple(factor.shape for factor in self.factors)

    def __repr__(self) -> str:
        parts = (
            f"{name}={factor!r}" if self._named else repr(factor)
            for name, factor in zip(self.names, self.factors, strict=True)
        )
        return f"Product({', '.join(parts)})"

    # ------------------------------------------------------------------ points outside and inside

    def inward(self, X: Any, name: str = "X") -> Array:
        """The flat vector of a point, or of a direction there.

        Args:
            X: A tuple with an array for each factor, or a mapping from their names.
            name: What messages call it.

        Returns:
            The vector.

        Raises:
            ValueError: If there are too many or too few parts, one has another name, shape or type,
                or they are arrays of two libraries.
        """
        parts = self._parts(X, name)
        for label, factor, part in zip(self.names, self.factors, parts, strict=True):
            factor._check(**{f"{name}[{label}]": part})
        if any(type(part) is not tuple for part in parts):
            _check_library(name, [p for p in parts if is_array(p)])
        return self._layout.join(
            [
                factor.inward(part) if isinstance(factor, Front) else part
                for factor, part in zip(self.factors, parts, strict=True)
            ]
        )

    def outward(self, X: Array) -> Any:
        """The point with the given flat vector; NumPy arrays are views of it.

        Args:
            X: A flat vector.

        Returns:
            A tuple, or a record.
        """
        parts = (
            factor.outward(part) if isinstance(factor, Front) else part
            for factor, part in zip(self.factors, self._layout.split(X), strict=True)
        )
        return self._tuple(parts)

    def _tuple(self, parts: Iterator[Any]) -> Any:
        return Record(parts, self.names) if self._named else tuple(parts)

    def _parts(self, X: Any, name: str) -> tuple[Any, ...]:
        """The parts in the order of the factors."""
        need = f"one array for each of the factors {', '.join(self.names)}"
        if isinstance(X, Mapping):
            for key in [key for key in X if key not in self.names]:
                refuse(name, need, repr(key), None, did_you_mean(str(key), self.names))
            for missing in [label for label in self.names if label not in X]:
                refuse(name, need, f"nothing for {missing!r}")
            return tuple(X[label] for label in self.names)
        if not isinstance(X, tuple | list):
            refuse(name, f"a tuple with {need}", f"a {type(X).__name__}")
        if len(X) != len(self.factors):
            refuse(name, f"a tuple with {need}", f"{len(X)} parts")
        if isinstance(X, Record) and self._named and X.names != self.names:
            refuse(name, need, f"a record of {', '.join(X.names)}")
        return tuple(X)

    def map_parts(self, function: Callable[[Any, str, Any], Any], X: Any, name: str) -> Any:
        """`function(factor, name, part)` for each part of a point, also of products in it."""
        parts = zip(self.factors, self.names, self._parts(X, name), strict=True)
        return self._tuple(
            factor.map_parts(function, part, f"{name}[{label}]")
            if isinstance(factor, Product)
            else function(factor, f"{name}[{label}]", part)
            for factor, label, part in parts
        )

    def metrics(self, metric: Any) -> list[Any]:
        """A metric for each block, from one for each factor.

        Args:
            metric: A tuple with a metric for each factor, as for `GenOrthManifold.metric`, or a
                mapping from their names; None is the Euclidean one, and a number is its multiple.

        Returns:
            The metrics in the order of `blocks.factors`.

        Raises:
            ValueError: If a name is unknown, or neighbours that are the same manifold differ.
        """
        if isinstance(metric, Mapping):
            metric = dict.fromkeys(self.names) | dict(metric)
        flat = self._flat_metrics(metric)
        found = []
        for block in self.blocks.factors:
            size = block.batch[0] if isinstance(block, Power) and block not in self.factors else 1
            first, *others = flat[:size]
            if any(other is not first for other in others):
                hint = "Make them two manifolds, so that they are not one batch."
                refuse("metric", "one metric for equal neighbours", "different ones", None, hint)
            rows = block.shape[-2] if isinstance(block, GenOrthManifold) else 1
            number = isinstance(first, int | float) and isinstance(block, GenOrthManifold)
            found.append(np.full(rows, float(first)) if number else first)
            flat = flat[size:]
        return found

    def _flat_metrics(self, metric: Any) -> list[Any]:
        parts = zip(self.factors, self._parts(metric, "metric"), strict=True)
        return [
            one
            for factor, own in parts
            for one in (
                factor._flat_metrics(factor._no_metric if own is None else own)
                if isinstance(factor, Product)
                else [own]
            )
        ]

    @property
    def _no_metric(self) -> tuple[None, ...]:
        return (None,) * len(self.factors)

    def _check(self, **points: Any) -> None:
        for name, X in points.items():
            self.inward(X, name)

    def _method(self, method: Any) -> Any:
        def natural(*arguments: Any, **named: Any) -> Any:
            named = {name: self._inside(value) for name, value in named.items()}
            result = method(*map(self._inside, arguments), **named)
            if not is_array(result):
                return result
            if tuple(result.shape) == self.blocks.shape:
                return self.outward(result)
            return self._matrices(result)

        natural.__doc__ = method.__doc__
        return natural

    def _matrices(self, result: Array) -> Any:
        """The p x p matrices of all factors."""
        parts = zip(self.factors, self._small.split(result), strict=True)
        return self._tuple(
            factor._matrices(part) if isinstance(factor, Product) else part
            for factor, part in parts
        )

    def _inside(self, argument: Any) -> Any:
        """The flat vector of a point, or of a p x p matrix for each factor."""
        if not isinstance(argument, tuple | list | Mapping):
            return argument
        parts = self._parts(argument, "X")
        shapes = [getattr(part, "shape", None) for part in parts]
        small = shapes == self._small.shapes and shapes != self._layout.shapes
        return self._small.join(parts) if small else self.inward(argument)

    def _require_finite(self, **points: Any) -> None:
        for name, X in points.items():
            for label, part in zip(self.names, self._parts(X, name), strict=True):
                GenOrthManifold._require_finite(self, **{f"{name}[{label}]": part})  # type: ignore[arg-type]


def _grouped(inside: list[Any]) -> list[Factor]:
    """The factors, those of products among them too; equal neighbours are one batch."""
    flat = [M for factor in inside for M in getattr(factor, "factors", (factor,))]
    grouped: list[Factor] = []
    for _, same in groupby(flat, id):
        equal = list(same)
        first = equal[0]
        if (
            len(equal) > 1
            and isinstance(first, GenOrthManifold)
            and first.ambient_projector is None
            and _acts_on_last_axes(first)
        ):
            grouped.append(Power(first, len(equal)))
        else:
            grouped.extend(equal)
    return grouped


def _acts_on_last_axes(manifold: GenOrthManifold) -> bool:
    """Whether phi and psi take a batch of matrices; functions of a user need not."""
    pair = [manifold.random_ambient(seed) for seed in (0, 1)]
    small = [ct(X) @ X for X in pair]
    try:
        return all(
            np.allclose(f(np.stack(given)), [f(X) for X in given])
            for f, given in ((manifold.phi, pair), (manifold.psi, small))
        )
    except Exception:
        return False


def _check_library(name: str, parts: list[Array]) -> None:
    for part in parts[1:]:
        if stays(part) != stays(parts[0]) or (stays(part) and not same_devices(part, parts[0])):
            got = f"{library(parts[0])} and {library(part)}"
            refuse(name, "arrays of one library on one device", got)
