"""`PymanoptManifold`: a genorth manifold with the methods and argument names of pymanopt."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from pymanopt.manifolds.manifold import RiemannianSubmanifold

from genorth.checks.report import title
from genorth.errors import OutsideDomainError, refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.retractions import RETRACTIONS, polar_factor, step_size
from genorth.linalg.arrays import Array

_FARTHEST = 10.0  # points grow like exp of the size of a step, and their rounding like its square


class PymanoptManifold(RiemannianSubmanifold):  # type: ignore[misc]  # pymanopt has no annotations
    """A `GenOrthManifold` for pymanopt: a Riemannian submanifold, <U, V> = Re tr(U^T V).

    `dist`, `exp` and `log` have no closed form here and raise NotImplementedError in pymanopt's
    way; NelderMead and ParticleSwarm need them.

    Args:
        manifold: The manifold.
        retraction: A kind of `GenOrthManifold.retract`.
        rng: A seed or a Generator, which `random_point` and `random_tangent_vector` draw from, as
            pymanopt calls them without one.

    Raises:
        ValueError: If it is no `GenOrthManifold`, or the retraction is unknown.
    """

    def __init__(
        self, manifold: GenOrthManifold, retraction: str = "cayley", rng: Any = None
    ) -> None:
        if not isinstance(manifold, GenOrthManifold):
            refuse("manifold", "a GenOrthManifold", type(manifold).__name__)
        if retraction not in RETRACTIONS:
            refuse("retraction", f"one of {', '.join(map(repr, RETRACTIONS))}", repr(retraction))
        super().__init__(title(manifold), manifold.dim)
        self.manifold, self.kind = manifold, retraction
        self.rng = np.random.default_rng(rng)
        #: How often a step was outside the domain of the retraction.
        self.outside = 0

    def __repr__(self) -> str:
        return f"PymanoptManifold({self}, retraction={self.kind!r})"

    @cached_property
    def typical_dist(self) -> float:
        """|X| at one fixed point of M, p^(1/2) on the Stiefel manifold.

        The largest radius of TrustRegions.
        """
        return float(self.manifold.norm(self.manifold.random_point(0)))

    def inner_product(self, point: Array, tangent_vector_a: Array, tangent_vector_b: Array) -> Any:  # noqa: ARG002
        """<U, V> = Re tr(U^T V), the same at every point."""
        return self.manifold.inner(tangent_vector_a, tangent_vector_b)

    def norm(self, point: Array, tangent_vector: Array) -> Any:  # noqa: ARG002
        """|U| = <U, U>^(1/2)."""
        return self.manifold.norm(tangent_vector)

    def projection(self, point: Array, vector: Array) -> Array:
        """P_X(D) = D - phi(X) Theta_X(D)."""
        return self.manifold.project(point, vector)

    def to_tangent_space(self, point: Array, vector: Array) -> Array:
        """P_X(D): takes rounding out of a tangent vector."""
        return self.manifold.project(point, vector)

    def euclidean_to_riemannian_gradient(self, point: Array, euclidean_gradient: Array) -> Array:
        """grad f(X) = P_X(G)."""
        return self.manifold.gradient(point, euclidean_gradient)

    def euclidean_to_riemannian_hessian(
        self,
        point: Array,
        euclidean_gradient: Array,
        euclidean_hessian: Array,
        tangent_vector: Array,
    ) -> Array:
        """hess f(X)[Z] = P_X(H - phi(Z) Theta_X(G)), H the Euclidean Hessian applied to Z."""
        return self.manifold.hessian(point, euclidean_gradient, euclidean_hessian, tangent_vector)

    def weingarten(self, point: Array, tangent_vector: Array, normal_vector: Array) -> Array:
        """-P_X(phi(Z) Theta_X(N)), for a tangent Z and a normal N = phi(X) S, S in S1."""
        here = self.manifold.at(point)
        return -here.project(self.manifold.phi(tangent_vector) @ here.theta(normal_vector))

    def retraction(self, point: Array, tangent_vector: Array) -> Array:
        """R_X(Z); where Z is outside the domain, the point that "exp" gives.

        pymanopt's line searches and trust regions know no domain. This way they see a true point of
        M in the direction Z, as far away as they asked for, and reject it if the cost is too high
        there. (A shorter step instead would make them believe that the long one was good, and try a
        longer one next.)
        """
        try:
            return self.manifold.retract(point, tangent_vector, self.kind)
        except OutsideDomainError:
            self.outside += 1
            return self._along_exp(point, tangent_vector)

    def _along_exp(self, point: Array, tangent_vector: Array) -> Array:
        """The "exp" retraction, of a step that is shortened where exp would overflow."""
        size = step_size(self.manifold, point, tangent_vector)
        return self.manifold.retract(point, tangent_vector * min(1.0, _FARTHEST / size), "exp")

    def transport(self, point_a: Array, point_b: Array, tangent_vector_a: Array) -> Array:  # noqa: ARG002
        """P_Y(Z): transport by projection."""
        return self.manifold.project(point_b, tangent_vector_a)

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
        if (
            self.manifold.dim == 0
        ):  # the projection of anything is rounding, which must not be blown up to norm 1
            return self.zero_vector(point)
        Z = self.manifold.random_tangent(point, self.rng)
        return Z / self.manifold.norm(Z)

    def zero_vector(self, point: Array) -> Array:
        """The zero of the tangent space."""
        return np.zeros_like(point)
