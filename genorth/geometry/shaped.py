"""Manifolds whose points look different outside: of a natural shape, or of several parts.

The geometry acts on matrices and on blocks of matrices: a point of the sphere is an n x 1 matrix, k
unit columns are k blocks, and a point of a product is one flat vector. A `Front` holds the manifold
of the blocks and takes and returns points as people know them; a `Problem` on it does the same, and
solvers work on `problem.in_blocks`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, final

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, is_array, namespace

#: The arguments of the methods of a manifold that are points or have the shape of one.
_POINTS = frozenset({"X", "Y", "Z", "D", "T", "U", "V", "egrad", "ehess"})


class Front(ABC):
    """A manifold with other points than its blocks; it has all methods of `GenOrthManifold`."""

    #: The manifold of the blocks: a `GenOrthManifold`, or that of flat vectors for a product.
    blocks: Any

    @abstractmethod
    def inward(self, X: Any) -> Array:
        """The blocks of a point, or of a direction there."""

    @abstractmethod
    def outward(self, X: Array) -> Any:
        """The point that has the given blocks."""

    @abstractmethod
    def _method(self, method: Any) -> Any:
        """A method of the blocks that takes and returns points as users see them."""

    @abstractmethod
    def _check(self, **points: Any) -> None:
        """Check types, shapes and dtypes where points enter."""

    @final
    def mapped(self, function: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
        """A function of two points, such as a preconditioner, as one of blocks."""
        return lambda X, V: self.inward(function(self.outward(X), self.outward(V)))

    @final
    def mean(self, points: Iterable[Any], weights: Any = None, tol: float = 1e-11) -> Any:
        """As `GenOrthManifold.mean`."""
        inside = []
        for X in points:
            self._check(points=X)
            inside.append(self.inward(X))
        return self.outward(self.blocks.mean(inside, weights, tol))

    @final
    def __getattr__(self, name: str) -> Any:
        """Of the manifold of the blocks; a method takes and returns points as users see them."""
        if name.startswith("__") or name == "blocks":
            raise AttributeError(name)  # while a copy or a pickle is being made
        found = getattr(self.blocks, name)
        return self._method(found) if callable(found) and not isinstance(found, type) else found


@final
@attrs.frozen(eq=False, slots=False, repr=False)
class Shaped(Front):
    """A manifold in another shape; it has all methods of `GenOrthManifold`.

    p x p matrices (`theta`, `constraint`) are those of the blocks. `manifold.blocks.at(X)` and
    `manifold.blocks.ray(X, Z)` take blocks; `inward` and `outward` convert.

    Args:
        blocks: The manifold of the blocks.
        shape: The shape of a point.
        name: Its name in messages and tables.
        axes: The order of the axes of a point in the blocks. Default: as they are.
    """

    blocks: GenOrthManifold
    shape: tuple[int, ...]
    name: str
    axes: tuple[int, ...] = attrs.Factory(lambda self: tuple(range(len(self.shape))), True)

    def inward(self, X: Array) -> Array:
        """The blocks of an array of the shape of a point."""
        xp = namespace(X)
        return xp.reshape(xp.permute_dims(X, self.axes), self.blocks.shape)

    def outward(self, X: Array) -> Array:
        """The array of the shape of a point that has the given blocks."""
        xp = namespace(X)
        X = xp.reshape(X, tuple(self.shape[axis] for axis in self.axes))
        return xp.permute_dims(X, tuple(map(int, np.argsort(self.axes))))

    def __repr__(self) -> str:
        entries = "complex" if self.blocks.dtype.kind == "c" else "real"
        return f"<{self.name}: {' x '.join(map(str, self.shape))}, {entries}>"

    def ambient(self, Y: Array) -> Array:
        """Y, as F is the whole space."""
        return Y

    def to_component(self, X: Array) -> Array:
        """X, as all of M is meant."""
        return X

    def _check(self, **arrays: Array) -> None:
        GenOrthManifold._check(self, **arrays)  # type: ignore[arg-type]

    def _require_finite_maps(self, **arrays: Array) -> None:
        """Nothing can be infinite: phi and psi are not the user's."""

    def _method(self, method: Any) -> Any:
        def natural(*arguments: Any, **named: Any) -> Any:
            call = inspect.signature(method).bind(*arguments, **named)
            for name in _POINTS & call.arguments.keys():
                if (value := call.arguments[name]) is not None and not self._is_small(value):
                    self._check(**{name: value})
                    call.arguments[name] = self.inward(value)
            result = method(*call.args, **call.kwargs)
            is_point = is_array(result) and tuple(result.shape) == self.blocks.shape
            return self.outward(result) if is_point else result

        natural.__doc__ = method.__doc__
        return natural

    def _is_small(self, T: Any) -> bool:
        """Whether T is a p x p matrix, or a block of them."""
        *batch, n, p = self.blocks.shape
        return n > p and is_array(T) and tuple(T.shape) == (*batch, p, p)


def in_blocks(manifold: Any, *points: Any) -> tuple[Any, ...]:
    """The manifold of the blocks, and the points there; as they are where they look the same."""
    if not isinstance(manifold, Front):
        return (manifold, *points)
    for X in points:
        if X is not None:
            manifold._check(X=X)
    return (manifold.blocks, *(X if X is None else manifold.inward(X) for X in points))
