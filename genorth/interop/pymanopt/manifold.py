"""`PymanoptManifold`: a genorth manifold with the methods and argument names of pymanopt."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from pymanopt.manifolds.manifold import RiemannianSubmanifold

from genorth.checks.report import title
from genorth.errors import OutsideDomainError, require
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise, step_size
from genorth.geometry.retractions import polar_factor
from genorth.geometry.substitution import SAME
from genorth.interop.steps import check_retraction
from genorth.linalg.arrays import Array
from genorth.linalg.inputs import as_generator

_FARTHEST = 10.0  # points grow like exp of the size of a step, and their rounding like its square


class PymanoptManifold(RiemannianSubmanifold):  # type: ignore[misc]  # pymanopt has no annotations
    """A `GenOrthManifold` for pymanopt: a Riemannian submanifold, <U, V> = Re tr(U^T V).

    With a metric W, <U, V> = Re tr(U^T W V): everything is computed in the variables Y, X = T Y, in
    which W is the Euclidean metric, and returned in X. Geodesics have no closed form here: `log` is
    the inverse of the Cayley retraction, `dist` its length, and `exp` raises NotImplementedError.

    Args:
        manifold: The manifold.
        retraction: A kind of `GenOrthManifold.retract`.
        rng: A seed or a Generator, which `random_point` and `random_tangent_vector` draw from, as
            pymanopt calls them without one.
        metric: Symmetric positive definite, as for `GenOrthManifold.metric`, or a name.

    Raises:
        ValueError: If it is not a `GenOrthManifold`, or the retraction or the metric is unknown.
    """

    def __init__(
        self,
        manifold: GenOrthManifold,
        retraction: str = "auto",
        rng: Any = None,
        metric: Any = None,
    ) -> None:
        require(
            isinstance(manifold, GenOrthManifold | Blockwise),
            "manifold",
            "a GenOrthManifold",
            type(manifold).__name__,
        )
        check_retraction(retraction)
        super().__init__(title(manifold), manifold.dim)
        self.manifold, self.kind, self.metric = manifold, retraction, metric
        self.rng = as_generator(rng)
        #: How often a step was outside the domain of the retraction.
        self.outside = 0
        #: X = T Y, and the manifold in Y: all geometry is done there.
        self._T, self._inside = SAME, manifold
        if metric is not None:
            self._T = manifold.metric(metric)
            self._inside = manifold.substitute(self._T)

    def __repr__(self) -> str:
        metric = "" if self.metric is None else ", metric=..."
        return f"PymanoptManifold({self}, retraction={self.kind!r}{metric})"

    @cached_property
    def typical_dist(self) -> float:
        """|X| at one fixed point of M, p^(1/2) on the Stiefel manifold.

        The largest radius of TrustRegions.
        """
        return float(self.manifold.norm(self.manifold.random_point(0)))

    def inner_product(self, point: Array, tangent_vector_a: Array, tangent_vector_b: Array) -> Any:  # noqa: ARG002
        """<U, V> = Re tr(U^T W V), the same at every point."""
        return self.manifold.inner(self._T.solve(tangent_vector_a), self._T.solve(tangent_vector_b))

    def norm(self, point: Array, tangent_vector: Array) -> Any:  # noqa: ARG002
        """|U| = <U, U>^(1/2)."""
        return self.manifold.norm(self._T.solve(tangent_vector))

    def projection(self, point: Array, vector: Array) -> Array:
        """The projection onto the tangent space, orthogonal in the metric."""
        return self._T.apply(self._inside.project(self._T.solve(point), self._T.solve(vector)))

    def to_tangent_space(self, point: Array, vector: Array) -> Array:
        """As `projection`: takes rounding out of a tangent vector."""
        return self.projection(point, vector)

    def euclidean_to_riemannian_gradient(self, point: Array, euclidean_gradient: Array) -> Array:
        """T grad f(T Y), grad f = P_X(G) without a metric."""
        G = self._T.adjoint(euclidean_gradient)
        return self._T.apply(self._inside.gradient(self._T.solve(point), G))

    def euclidean_to_riemannian_hessian(
        self,
        point: Array,
        euclidean_gradient: Array,
        euclidean_hessian: Array,
        tangent_vector: Array,
    ) -> Array:
        """T hess f(T Y)[T^-1 Z]; hess f(X)[Z] = P_X(H - phi(Z) Theta_X(G)) without a metric."""
        G, H = self._T.adjoint(euclidean_gradient), self._T.adjoint(euclidean_hessian)
        return self._T.apply(
            self._inside.hessian(self._T.solve(point), G, H, self._T.solve(tangent_vector))
        )

    def weingarten(self, point: Array, tangent_vector: Array, normal_vector: Array) -> Array:
        """-P_X(phi(Z) Theta_X(N)), for a tangent Z and a normal N = phi(X) S, S in S1; in Y."""
        here = self._inside.at(self._T.solve(point))
        Theta = here.theta(self._T.solve(normal_vector))
        return self._T.apply(-here.project(self._inside.phi(self._T.solve(tangent_vector)) @ Theta))

    def retraction(self, point: Array, tangent_vector: Array) -> Array:
        """R_X(Z); where Z is outside the domain, the point that "exp" gives.

        pymanopt's line searches and trust regions know no domain. This way they see a true point of
        M in the direction Z, as far away as they asked for, and reject it if the cost is too high
        there. (A shorter step instead would make them believe that the long one was good, and try a
        longer one next.)
        """
        Y, Z = self._T.solve(point), self._T.solve(tangent_vector)
        try:
            return self._T.apply(self._inside.retract(Y, Z, self.kind))
        except OutsideDomainError:
            self.outside += 1
        size = step_size(self._inside, Y, Z)  # shortened where exp would overflow
        return self._T.apply(self._inside.retract(Y, Z * min(1.0, _FARTHEST / size), "exp"))

    def log(self, point_a: Array, point_b: Array) -> Array:
        """Z with R_X(Z) = Y for the Cayley retraction: a surrogate for the Riemannian logarithm.

        Raises:
            OutsideDomainError: If there is no such Z, see `GenOrthManifold.inverse_retract`.
        """
        return self.manifold.inverse_retract(point_a, point_b)

    def dist(self, point_a: Array, point_b: Array) -> float:
        """The length of `log` in the metric, a surrogate for the geodesic distance."""
        return float(self.norm(point_a, self.log(point_a, point_b)))

    def transport(self, point_a: Array, point_b: Array, tangent_vector_a: Array) -> Array:  # noqa: ARG002
        """Transport by projection."""
        return self.projection(point_b, tangent_vector_a)

    def pair_mean(self, point_a: Array, point_b: Array) -> Array:
        """The extrinsic mean: the polar factor of (X + Y)/2, where it exists.

        It is not the midpoint of a geodesic.
        """
        return polar_factor(self.manifold, (point_a + point_b) / 2)

    def random_point(self) -> np.ndarray[Any, Any]:
        """A random point, drawn from `rng`."""
        return self.manifold.random_point(self.rng)

    def random_tangent_vector(self, point: Array) -> Array:
        """A random tangent vector of norm 1, drawn from `rng`; the zero where dim M = 0."""
        if self.manifold.dim == 0:  # a projection is rounding, not to be blown up to norm 1
            return self.zero_vector(point)
        Z = self._T.apply(self._inside.random_tangent(self._T.solve(point), self.rng))
        return Z / self.norm(point, Z)

    def zero_vector(self, point: Array) -> Array:
        """The zero of the tangent space."""
        return np.zeros_like(point)
