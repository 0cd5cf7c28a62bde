"""`Blockwise`: a product of manifolds as solvers see it, where a point is one flat vector.

The parts of a point are views of the vector, one for each factor, so that line searches, pairs and
conjugate gradients work on one array. The geometry is that of the factors: the place of a point is
the places of its parts, each by its own fast path. `genorth.Product` is what users see of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.geometry import retractions
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.newton import Restoration
from genorth.geometry.retractions import RETRACTIONS, Line, Ray
from genorth.geometry.substitution import SAME, Substitution
from genorth.linalg import arrays
from genorth.linalg.arrays import Array, namespace, number
from genorth.linalg.inputs import as_generator, check_size
from genorth.linalg.once import once

#: A factor of a product.
Factor: TypeAlias = "GenOrthManifold | Euclidean"


class Layout:
    """How arrays lie in one flat vector, one after the other.

    The vector is complex where all arrays are; among real ones, a complex array is its real and
    imaginary parts, entry by entry.

    Args:
        shapes: The shapes of the arrays.
        dtypes: Their types.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]]) -> None:
        self.shapes = list(shapes)
        self.dtype = np.dtype(complex if all(d.kind == "c" for d in dtypes) else float)
        self._pairs = [d.kind == "c" and self.dtype.kind == "f" for d in dtypes]
        sizes = [
            math.prod(shape) * (2 if pair else 1)
            for shape, pair in zip(shapes, self._pairs, strict=True)
        ]
        ends = list(accumulate(sizes, initial=0))
        self.size = ends[-1]
        self._where = list(zip(pairwise(ends), shapes, self._pairs, strict=True))

    def split(self, x: Array) -> list[Array]:
        """The arrays; views of x in NumPy."""
        return [_part(x[a:b], shape, pair) for (a, b), shape, pair in self._where]

    def join(self, parts: Sequence[Array]) -> Array:
        """The flat vector of some arrays."""
        flat = [_flat(part, pair) for part, pair in zip(parts, self._pairs, strict=True)]
        return (
            np.concatenate(flat) if type(flat[0]) is np.ndarray else namespace(flat[0]).concat(flat)
        )


def _part(x: Array, shape: tuple[int, ...], pair: bool) -> Array:
    if type(x) is np.ndarray:
        return (x.view(complex) if pair else x).reshape(shape)
    xp = namespace(x)
    if not pair:
        return xp.reshape(x, shape)
    both = xp.reshape(x, (*shape, 2))
    return both[..., 0] + 1j * both[..., 1]


def _flat(part: Array, pair: bool) -> Array:
    if type(part) is np.ndarray:
        return (
            np.ascontiguousarray(part, complex).reshape(-1).view(float)
            if pair
            else part.reshape(-1)
        )
    xp = namespace(part)
    if pair:
        part = part + 0j
        part = xp.stack([xp.real(part), xp.imag(part)], axis=-1)
    return xp.reshape(part, (-1,))


class _Checked:
    """The checks of a manifold for what has its shape and dtype."""

    def _check(self, **points: Array) -> None:
        GenOrthManifold._check(self, **points)  # type: ignore[arg-type]

    def _require_finite(self, **points: Array) -> None:
        GenOrthManifold._require_finite(self, **points)  # type: ignore[arg-type]


class Euclidean(_Checked):
    """A free variable, as a factor of a product: every direction is tangent.

    Args:
        shape: The shape of the array, or the length of a vector.
        dtype: The type of the entries.

    Raises:
        ValueError: If a size is not a positive integer.
    """

    isometric = definite = True
    components = 1
    T: Substitution
    ambient_projector = companion = None

    def __init__(self, shape: int | tuple[int, ...], dtype: Any = float) -> None:
        axes = shape if isinstance(shape, tuple) else (shape,)
        self.shape = tuple(check_size(axis, axis, "shape") for axis in axes)
        self.dtype = np.dtype(dtype)
        self.dim = math.prod(self.shape) * (2 if self.dtype.kind == "c" else 1)

    def __repr__(self) -> str:
        return f"<Euclidean: {' x '.join(map(str, self.shape))}>"

    def place(self, X: Array) -> FreePlace:
        """The place of X."""
        return FreePlace(self, X)

    at = place

    def anywhere(self, X: Array, P: Array | None = None, S: Array | None = None) -> FreePlace:  # noqa: ARG002
        """The place of X."""
        return FreePlace(self, X)

    def same(self, X: Array, *others: Any) -> Array:  # noqa: ARG002
        """X: A(X), the component, the restored point, the projection onto F."""
        return X

    dissolve = to_component = restore = ambient = same

    def second(self, X: Array, V: Array, *others: Any) -> Array:  # noqa: ARG002
        """V: projections, differentials of A and their adjoints."""
        return V

    project = gradient = dissolve_differential = dissolve_adjoint = second

    def hessian(self, X: Array, egrad: Array, ehess: Array, Z: Array) -> Array:  # noqa: ARG002
        """The Euclidean one."""
        return ehess

    def transport(self, X: Array, Y: Array, Z: Array) -> Array:  # noqa: ARG002
        """Z."""
        return Z

    def retract(self, X: Array, Z: Array, kind: str = "") -> Array:  # noqa: ARG002
        """X + Z."""
        return X + Z

    def zero(self, X: Array, *others: Any) -> Array:  # noqa: ARG002
        """Zero: Newton's step, the adjoint of DC, the second derivative of A."""
        return 0 * X

    newton_step = dissolve_second_adjoint = constraint_adjoint = zero

    def empty(self, X: Array, *others: Any) -> Array:  # noqa: ARG002
        """C, DC and Theta have no entries."""
        return namespace(X).reshape(X, (-1,))[:0]

    constraint = constraint_differential = theta = empty

    def none(self, X: Array, *others: Any) -> float:  # noqa: ARG002
        """There is no violation, and no scale for it."""
        return 0.0

    feasibility = tangency = scale = none

    def inverse_retract(self, X: Array, Y: Array) -> Array:
        """Y - X."""
        return Y - X

    def component(self, X: Array) -> int:  # noqa: ARG002
        """Zero: the space is connected."""
        return 0

    def restoration(self, X: Array, tol: float | None = None) -> Restoration:  # noqa: ARG002
        """X itself."""
        return Restoration(X, "none", 0)

    def random_ambient(self, rng: Any = None, device: Any = None) -> Array:  # noqa: ARG002
        """A Gaussian array."""
        rng = as_generator(rng)
        X = rng.standard_normal(self.shape)
        return X + 1j * rng.standard_normal(self.shape) if self.dtype.kind == "c" else X

    random_point = random_ambient

    def metric(self, W: Any) -> Substitution:
        """T with W = T^-2: W is a positive number, or an array of them in the shape of X."""
        try:
            weights = np.broadcast_to(np.asarray(W, float), self.shape)
        except (TypeError, ValueError):
            weights = np.zeros(1)
        if not np.all((weights > 0) & (weights < math.inf)):
            refuse("metric", f"a positive number, or an array of shape {self.shape}", repr(W))
        t = weights**-0.5
        return Substitution(*(lambda X: X * t, lambda V: V * t, lambda X: X / t, lambda V: V / t))

    def substitute(self, T: Substitution) -> Euclidean:
        """The same space."""
        other = Euclidean(self.shape, self.dtype)
        other.T = T
        return other

    def _require_finite_maps(self, **arrays: Array) -> None:
        """There are no maps."""


class FreePlace:
    """A place of a free variable, or of the whole space F."""

    feasibility = size = 0.0
    regularity = 1.0

    def __init__(self, manifold: Any, X: Array) -> None:
        self.manifold, self.X, self.P = manifold, X, X

    def split(self, V: Array) -> tuple[Array, None]:
        """V, and no normal part."""
        return V, None

    def project(self, D: Array) -> Array:
        """D."""
        return D

    def lagrangian(self, T: None, ehess: Array, Z: Array) -> Array:  # noqa: ARG002
        """The Euclidean Hessian."""
        return ehess

    def curvature(self, T: None) -> Callable[[Array, Array], Array]:
        """(ehess, Z) -> the Euclidean Hessian."""
        return partial(self.lagrangian, T)

    def normal(self, T: Array) -> Array:  # noqa: ARG002
        """Zero."""
        return 0 * self.X

    def differential(self, D: Array) -> Array:  # noqa: ARG002
        """No entries."""
        return self.constraint

    @property
    def general(self) -> FreePlace:
        """Itself."""
        return self

    def theta_of(self, T: None) -> Array:  # noqa: ARG002
        """No entries."""
        return self.constraint

    dual = theta_of

    @property
    def constraint(self) -> Array:
        """No entries."""
        return self.manifold.empty(self.X)

    S = constraint

    def dissolved(self) -> Array:
        """X."""
        return self.X


class BlockPlace:
    """The place of a point of a product: the places of its parts.

    Args:
        manifold: The product.
        X: A point, a flat vector.
        parts: The places of its parts.
    """

    def __init__(self, manifold: Blockwise, X: Array, parts: list[Any]) -> None:
        self.manifold, self.X, self.parts = manifold, X, parts

    def mapped(self, function: Callable[[Any], Any]) -> BlockPlace:
        """The place with `function(place)` for each part."""
        parts = [function(place) for place in self.parts]
        return BlockPlace(self.manifold, self.manifold.points.join([p.X for p in parts]), parts)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """`function(place, own, ...)` for each part, with its own parts of the arguments."""
        parts = zip(self.parts, *map(self.manifold.parts, arguments), strict=True)
        return [function(*own) for own in parts]

    def joined(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """A point, or a direction there, from `each`."""
        return self.manifold.points.join(self.each(function, *arguments))

    def matrices(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """The p x p matrices of all factors, a flat vector, from `each`."""
        return self.manifold.matrices.join(self.each(function, *arguments))

    def split(self, V: Array) -> tuple[Array, list[Any]]:
        """The projection of V onto the tangent space, and the coefficients of the normal parts."""
        tangent, normal = zip(*self.each(lambda place, v: place.split(v), V), strict=True)
        return self.manifold.points.join(tangent), list(normal)

    def project(self, D: Array) -> Array:
        """The orthogonal projection onto the tangent space."""
        return self.joined(lambda place, d: place.project(d), D)

    def differential(self, D: Array) -> Array:
        """DC(X)[D], a flat vector."""
        return self.matrices(lambda place, d: place.differential(d), D)

    def normal(self, T: Array) -> Array:
        """DC(X)*[T]."""
        return self.joined(lambda place, t: place.normal(t), self.manifold.matrices.split(T))

    def curvature(self, T: list[Any]) -> Callable[[Array, Array], Array]:
        """(ehess, Z) -> the Riemannian Hessian, from the coefficients T of the gradient."""
        points = self.manifold.points
        maps = self.each(lambda place, t: place.curvature(t), T)

        def hessian(ehess: Array, Z: Array) -> Array:
            parts = zip(maps, points.split(ehess), points.split(Z), strict=True)
            return points.join([curved(h, z) for curved, h, z in parts])

        return hessian

    def lagrangian(self, T: list[Any], ehess: Array, Z: Array) -> Array:
        """The Hessian of the Lagrangian, before it is projected."""
        return self.joined(lambda place, *own: place.lagrangian(*own), T, ehess, Z)

    def theta_of(self, T: list[Any]) -> Array:
        """Theta of all factors, a flat vector."""
        return self.matrices(lambda place, t: place.theta_of(t), T)

    def dual(self, T: list[Any]) -> Array:
        """Theta^T of all factors, a flat vector."""
        return self.matrices(lambda place, t: place.dual(t), T)

    @property
    def general(self) -> BlockPlace:
        """A place at X whose projection holds off M too."""
        return BlockPlace(self.manifold, self.X, [place.general for place in self.parts])

    @once
    def P(self) -> Array:
        """phi of the parts; of a free one itself, and X where that holds for all."""
        if all(place.P is place.X for place in self.parts):
            return self.X
        return self.joined(lambda place: place.P)

    @once
    def S(self) -> Array:
        """X^T phi(X) of the parts, a flat vector."""
        return self.matrices(lambda place: place.S)

    @once
    def constraint(self) -> Array:
        """C of the parts, a flat vector."""
        return self.matrices(lambda place: place.constraint)

    @once
    def feasibility(self) -> float:
        """|C(X)|."""
        return math.hypot(*(place.feasibility for place in self.parts))

    @once
    def length(self) -> float:
        """|X|."""
        return number(arrays.norm(self.X))

    @once
    def size(self) -> float:
        """What |C(X)| is relative to."""
        return max(1.0, math.hypot(*(place.size for place in self.parts)))

    @property
    def regularity(self) -> float:
        """That of the worst part."""
        return min(place.regularity for place in self.parts)

    def dissolved(self) -> Array:
        """A(X)."""
        return self.joined(lambda place: place.dissolved())


class BlockRay(Ray):
    """The curve of a product: a retraction for each part; a straight line for a free one.

    Args:
        kind: The retraction.
        place: The place of X.
        Z: A tangent vector, flat.
    """

    kind = "product"

    def __init__(self, kind: type[Ray], place: BlockPlace, Z: Array) -> None:
        self._points = place.manifold.points
        self.rays = place.each(
            lambda part, z: (Line if isinstance(part, FreePlace) else kind)(part, z), Z
        )

    @property
    def velocities(self) -> bool:
        """Whether velocities are expected."""
        return self.rays[0].velocities

    @velocities.setter
    def velocities(self, expected: bool) -> None:
        for ray in self.rays:
            ray.velocities = expected

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """Whether all parts of the last point are on their manifolds to rounding."""
        return all(ray.trusted for ray in self.rays)

    @property
    def cheap_slopes(self) -> bool:  # type: ignore[override]
        """Whether those of all parts are."""
        return all(ray.cheap_slopes for ray in self.rays)

    def first(self, t: float) -> Ray:
        """With the retractions of its parts that are chosen at t."""
        self.rays = [ray.first(t) for ray in self.rays]
        kinds = dict.fromkeys(ray.kind for ray in self.rays if ray.kind != "line")
        self.kind = ", ".join(kinds)  # type: ignore[misc]
        return self

    def point(self, t: float) -> Array:
        """c(t)."""
        return self._points.join([ray.point(t) for ray in self.rays])

    def velocity(self, t: float) -> Array:
        """c'(t)."""
        return self._points.join([ray.velocity(t) for ray in self.rays])

    def slope(self, t: float, G: Array) -> float:
        """<G, c'(t)>."""
        parts = zip(self.rays, self._points.split(G), strict=True)
        return sum(ray.slope(t, g) for ray, g in parts)


@attrs.frozen(eq=False)
class JoinedSubstitution(Substitution):
    """X = T Y with a T for each factor."""

    parts: list[Substitution] = attrs.field(kw_only=True)


class Blockwise(_Checked):
    """A product of manifolds and free variables; points are flat vectors.

    It has the methods of `GenOrthManifold` that solvers and checks use, except phi and psi: each
    acts factor by factor. p x p matrices (`theta`, `constraint`) come one after the other in a flat
    vector too, and sizes (`feasibility`) are roots of sums of squares.

    Args:
        factors: The factors.
    """

    companion = None
    #: Where it was made by `substitute`: X = T Y.
    T: Substitution

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.factors = tuple(factors)
        self.points = Layout([M.shape for M in factors], [M.dtype for M in factors])
        self.matrices = Layout([small_shape(M) for M in factors], [M.dtype for M in factors])
        self.shape, self.dtype = (self.points.size,), self.points.dtype
        self.dim = sum(M.dim for M in factors)
        self.isometric = all(M.isometric for M in factors)
        self.definite = all(M.definite for M in factors)

    def __repr__(self) -> str:
        return f"<product of {', '.join(map(repr, self.factors))}>"

    # ------------------------------------------------------------------ factor by factor

    def __getattr__(self, name: str) -> Any:
        """A method of the factors, with flat vectors for points and for p x p matrices."""
        if name not in _METHODS:
            raise AttributeError(f"a product of manifolds has no {name!r}")
        return partial(self._mapped, name)

    def _mapped(self, name: str, *arguments: Any, **named: Any) -> Any:
        self._check(X=arguments[0] if arguments else named["X"])
        results = self.each(lambda M, *own: getattr(M, name)(*own, **named), *arguments)
        return _METHODS[name](self, results)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """`function(factor, own, ...)` for each factor, with its own parts of the arguments."""
        parts = zip(self.factors, *map(self.parts, arguments), strict=True)
        return [function(*own) for own in parts]

    def parts(self, argument: Any) -> list[Any]:
        """The parts of a point or of p x p matrices; another argument is that of all factors.

        A list has the parts already.
        """
        if isinstance(argument, list):
            return argument
        for layout in (self.points, self.matrices):
            if getattr(argument, "shape", None) == (layout.size,):
                return layout.split(argument)
        return [argument] * len(self.factors)

    def place(self, X: Array) -> BlockPlace:
        """The place of X."""
        return BlockPlace(self, X, self.each(lambda M, x: M.place(x), X))

    def at(self, X: Array) -> BlockPlace:
        """As `place`, with a check."""
        self._check(X=X)
        return self.place(X)

    def anywhere(self, X: Array, P: Array | None = None, S: Array | None = None) -> BlockPlace:
        """The place of any X of F, on M or not; P and S are those of another place, moved."""
        return BlockPlace(self, X, self.each(lambda M, *own: M.anywhere(*own), X, P, S))

    def retraction(self, kind: str) -> Callable[[BlockPlace, Array], Ray]:
        """The curves of a retraction, by its name."""
        return partial(BlockRay, RETRACTIONS[kind])

    def ray(self, X: Array, Z: Array, kind: str = "cayley") -> Ray:
        """The curve along Z."""
        return self.retraction(kind)(self.at(X), Z)

    def restoration(self, X: Array, tol: float | None = None) -> Restoration:
        """The point of M, the maps that led there, and the largest number of steps."""
        found = self.each(lambda M, x: M.restoration(x, tol), X)
        maps = dict.fromkeys(one.map for one in found if one.map != "none")
        return Restoration(
            self.points.join([one.X for one in found]),
            ", ".join(maps) or "none",
            max(one.steps for one in found),
        )

    def inner(self, U: Array, V: Array) -> Any:
        """<U, V>."""
        return arrays.inner(U, V)

    def norm(self, U: Array) -> Any:
        """|U|."""
        return arrays.norm(U)

    def random_ambient(self, rng: Any = None, device: Any = None) -> Array:
        """A Gaussian element of F."""
        rng = as_generator(rng)
        return self.points.join([M.random_ambient(rng, device) for M in self.factors])

    def random_point(self, rng: Any = None, device: Any = None) -> Array:
        """A random point: on each manifold, and Gaussian for free variables."""
        rng = as_generator(rng)
        return self.points.join([M.random_point(rng, device) for M in self.factors])

    def random_tangent(self, X: Array, rng: Any = None) -> Array:
        """A Gaussian tangent vector."""
        self._check(X=X)
        return self.project(X, arrays.as_like(self.random_ambient(rng), X))

    @cached_property
    def ambient_projector(self) -> Callable[[Array], Array] | None:
        """The projector onto F; None where F is the whole space."""
        free = all(M.ambient_projector is None for M in self.factors)
        return None if free else self._onto_F

    def _onto_F(self, Y: Array) -> Array:
        return self.points.join(self.each(lambda M, y: M.ambient(y), Y))

    def ambient(self, Y: Array) -> Array:
        """The projection onto F."""
        return Y if self.ambient_projector is None else self._onto_F(Y)

    def to_component(self, X: Array) -> Array:
        """X where each part is in the component that is meant, else the point there."""
        parts = self.points.split(X)
        found = self.each(lambda M, x: M.to_component(x), parts)
        same = all(a is b for a, b in zip(found, parts, strict=True))
        return X if same else self.points.join(found)

    interpolate, distance, mean = (
        GenOrthManifold.interpolate,
        GenOrthManifold.distance,
        GenOrthManifold.mean,
    )

    @property
    def components(self) -> int | None:
        """The product of those of the factors."""
        counts = [M.components for M in self.factors]
        return None if None in counts else math.prod(counts)  # type: ignore[arg-type]

    def component(self, X: Array) -> int:
        """The components of the parts as one number, the first part counting most."""
        self._check(X=X)
        found = 0
        for M, x in zip(self.factors, self.points.split(X), strict=True):
            found = found * (M.components or 1) + M.component(x)
        return found

    def metric(self, W: Sequence[Any]) -> Substitution:
        """The substitution of a metric for each factor; None is the Euclidean one."""
        parts = self.each(lambda M, w: SAME if w is None else M.metric(w), list(W))

        def mapped(name: str) -> Callable[[Array], Array]:
            def apply(X: Array) -> Array:
                own = self.each(lambda _, T, x: getattr(T, name)(x), parts, X)
                return self.points.join(own)

            return apply

        names = ("apply", "adjoint", "solve", "solve_adjoint")
        maps: dict[str, Any] = {name: mapped(name) for name in names}
        return JoinedSubstitution(**maps, parts=parts)

    def substitute(self, T: JoinedSubstitution) -> Blockwise:
        """The product in Y, X = T Y."""
        other = Blockwise(
            self.each(lambda M, part: M if part is SAME else M.substitute(part), T.parts)
        )
        other.T = T
        return other

    def _require_finite_maps(self, **points: Array) -> None:
        for name, X in points.items():
            self.each(lambda M, x, name=name: M._require_finite_maps(**{name: x}), X)


def step_size(manifold: Factor | Blockwise, X: Array, Z: Array) -> float:
    """The length of a step, as `retractions.step_size`; of a product, the root of the squares."""
    if isinstance(manifold, Blockwise):
        return math.hypot(*manifold.each(step_size, X, Z))
    if isinstance(manifold, Euclidean):
        return number(arrays.norm(Z))
    return retractions.step_size(manifold, X, Z)


def factors_of(manifold: Factor | Blockwise) -> list[GenOrthManifold]:
    """The manifold, or all factors of a product that have a constraint."""
    factors = manifold.factors if isinstance(manifold, Blockwise) else (manifold,)
    return [M for M in factors if isinstance(M, GenOrthManifold)]


def small_shape(factor: Any) -> tuple[int, ...]:
    """The shape of C of a factor; no entries of a free one."""
    if not isinstance(factor, GenOrthManifold):
        return (factor.matrices.size if isinstance(factor, Blockwise) else 0,)
    *batch, _, p = factor.shape
    return (*batch, p, p)


def _point(manifold: Blockwise, results: list[Array]) -> Array:
    return manifold.points.join(results)


def _matrices(manifold: Blockwise, results: list[Array]) -> Array:
    return manifold.matrices.join(results)


def _root(manifold: Blockwise, results: list[Any]) -> float:  # noqa: ARG001
    return math.hypot(*map(number, results))


def _scale(manifold: Blockwise, results: list[Any]) -> float:
    return max(1.0, _root(manifold, results))


#: The methods that act factor by factor, and how their results are joined.
_METHODS: dict[str, Callable[[Blockwise, list[Any]], Any]] = {
    **dict.fromkeys(
        (
            "project",
            "gradient",
            "hessian",
            "newton_step",
            "retract",
            "inverse_retract",
            "transport",
            "restore",
            "dissolve",
            "dissolve_differential",
            "dissolve_adjoint",
            "dissolve_second_adjoint",
            "constraint_adjoint",
        ),
        _point,
    ),
    **dict.fromkeys(("constraint", "constraint_differential", "theta"), _matrices),
    **dict.fromkeys(("feasibility", "tangency"), _root),
    "scale": _scale,
}
