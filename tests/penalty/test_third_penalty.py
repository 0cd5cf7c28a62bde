"""A third penalty is one class and one record: f(A(A(X))) + beta/2 |C(X)|^2, solved by lbfgs."""

from typing import Any, final

import numpy as np
import pytest

import genorth as go
from genorth.penalty.base import Local, Penalty, Point, usable
from genorth.penalty.registry import record
from genorth.solve.lbfgs import lbfgs
from support.problems import smooth, spd, trace


@final
class TwiceDissolving(Penalty[Point]):
    """h(X) = f(A(A(X))) + beta/2 |C(X)|^2."""

    name, prefix = "twice", "tdf"

    @staticmethod
    def residual(manifold: go.GenOrthManifold, X: Any) -> Any:
        return manifold.constraint(X)

    @staticmethod
    def corrected(manifold: go.GenOrthManifold, X: Any, R: Any) -> Any:
        return manifold.dissolve(manifold.dissolve(X))

    def _dissolved(self, X: Any) -> Point:
        C = self.residual(self.manifold, X)
        square = np.vdot(C, C).real
        Y = self.corrected(self.manifold, X, C)
        return Point(X=X, Y=Y, C=C, violation=square, penalty=square)

    def _assemble(self, point: Point) -> None:
        M, X = self.manifold, point.X
        inner = M.dissolve_adjoint(M.dissolve(X), point.G)
        point.gradient = M.dissolve_adjoint(X, inner) + self.beta * M.constraint_adjoint(X, point.C)

    def _derivative(self, point: Point, Z: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def threshold(
        manifold: go.GenOrthManifold, X: Any, Theta: Any, accuracy: float = 1e-8
    ) -> float:
        """No sharp one is known; this one is on the safe side."""
        return go.ConstraintDissolving.threshold(manifold, X, Theta, accuracy)

    def estimate(self, here: Local) -> float:
        return usable(2 * float(np.linalg.norm(here.Theta)))

    def begin(self, point: Point) -> None:
        pass

    def admits(self, point: Point) -> bool:
        return bool(point.violation <= 1.0)

    def watch(self, point: Point, gradient_norm: float) -> None:
        pass

    def next(self, threshold: float, status: go.Status, end: Any) -> float:
        return max(4 * self.beta, 1.5 * threshold)


def test_a_third_penalty_solves_a_known_problem():
    solver = record(TwiceDissolving, "lbfgs", lbfgs)
    assert solver.name == "tdf-lbfgs" and solver.family == "penalty"
    A = spd(10, 20, 1)
    result = go.minimize(trace(go.Stiefel(10, 3), A), method=solver, rng=0, tol=1e-7)
    assert result.success and result.method == "tdf-lbfgs", result
    assert result.fun == pytest.approx(np.linalg.eigvalsh(A)[:3].sum(), rel=1e-9)
    assert result.margin is not None and result.margin >= 1 - 1e-6


def test_its_gradient_is_that_of_its_value():
    manifold = go.SymplecticStiefel(6, 2)
    h = TwiceDissolving(smooth(manifold, 0), 2.0)
    X = manifold.random_point(0) + 0.05 * manifold.random_ambient(1)
    Z, t = manifold.random_ambient(2), 1e-5
    slope = (h.value(X + t * Z) - h.value(X - t * Z)) / (2 * t)
    assert np.vdot(h.gradient(X), Z) == pytest.approx(slope, rel=1e-6)
