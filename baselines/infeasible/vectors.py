"""The problem as SciPy's constrained solvers want it: real vectors, and C as independent equations.

C(X) lies in S1, so that its entries repeat themselves; c_i(X) = <B_i, C(X)> with an orthonormal
basis B_i of S1 has dim S1 equations, and its Jacobian the rows phi(X) Phi(B_i).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from baselines.infeasible.run import Point, Run
from genorth.geometry.field import Place, place
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.multiplier import realvec, symmetric_basis
from genorth.linalg.arrays import Array, all_finite
from genorth.solve.monitor import Stop
from genorth.solve.result import Status

_Vector = np.ndarray[Any, Any]


def unknowns(manifold: GenOrthManifold) -> int:
    """Real unknowns of a point."""
    return int(np.prod(manifold.shape)) * (2 if manifold.dtype.kind == "c" else 1)


def limited(name: str, what: str, size: int, limit: int) -> str | None:
    """Why a solver with dense matrices cannot run, where the size is above the limit."""
    return None if size <= limit else f"{name} factors {what} in every step: {size} > {limit}"


class Vectors:
    """f, C and their derivatives of a real vector; f counts, and keeps the budgets."""

    def __init__(self, run: Run) -> None:
        self.run, self.manifold = run, run.manifold
        self.basis = symmetric_basis(run.manifold)
        self._rows = np.stack([realvec(B) for B in self.basis])
        self._dtype = np.dtype(complex if run.manifold.dtype.kind == "c" else float)
        self._place: tuple[_Vector, Place] | None = None
        self._point: tuple[_Vector, Point] | None = None

    def matrix(self, v: _Vector) -> Array:
        """The point of F that a real vector stands for."""
        X = np.array(v, float).view(self._dtype).reshape(self.manifold.shape)
        return np.asarray(self.manifold.ambient(X))

    def at(self, v: _Vector) -> Place:
        """phi(X) and C(X), kept for the last v."""
        if self._place is None or not np.array_equal(v, self._place[0]):
            self._place = (np.array(v), place(self.manifold, self.matrix(v)))
        return self._place[1]

    def point(self, v: _Vector) -> Point:
        """f and its gradient too, kept for the last v."""
        if self._point is None or not np.array_equal(v, self._point[0]):
            if not all_finite(v):
                raise Stop(Status.STALLED)  # the solver has broken down
            self._point = (np.array(v), self.run.evaluate(self.matrix(v)))
        return self._point[1]

    def cost(self, v: _Vector) -> float:
        """f."""
        return self.point(v).f

    def gradient(self, v: _Vector) -> _Vector:
        """The gradient of f."""
        return realvec(self.point(v).G)

    def hessian_product(self, v: _Vector, w: _Vector) -> _Vector:
        """The Hessian of f times w."""
        if w.dtype.kind != "f":
            return np.zeros(w.shape)  # SciPy asks for the type of a result, not for a product
        self.run.monitor.check()
        H = self.run.problem.euclidean_hessian(self.matrix(v), self.matrix(w))
        return realvec(np.asarray(H, self._dtype))

    def constraint(self, v: _Vector) -> _Vector:
        """c(X)."""
        return self._rows @ realvec(np.asarray(self.at(v).C, self._dtype))

    def jacobian(self, v: _Vector) -> _Vector:
        """The rows phi(X) Phi(B_i)."""
        P, Phi = self.at(v).P, self.manifold.symmetrize
        return np.stack([realvec(np.asarray(P @ Phi(B), self._dtype)) for B in self.basis])

    def constraint_hessian(self, y: _Vector, w: _Vector) -> _Vector:
        """The Hessian of sum y_i c_i times w: phi(W) Phi(sum y_i B_i)."""
        T = self.manifold.symmetrize(np.tensordot(y, self.basis, axes=1))
        return realvec(np.asarray(self.manifold.phi(self.matrix(w)) @ T, self._dtype))

    def minimize(self, start: Point, method: str, **arguments: Any) -> None:
        """SciPy's minimiser from the start; its own tests are switched off where they can be."""
        import scipy.optimize

        def callback(v: _Vector, *state: Any) -> None:  # noqa: ARG001
            self.run.accept(self.point(v))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scipy.optimize.minimize(
                self.cost,
                realvec(start.X),
                method=method,
                jac=self.gradient,
                callback=callback,
                **arguments,
            )
