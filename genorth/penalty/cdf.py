"""`ConstraintDissolving`: the penalty of the paper, h(X) = f(A(X)) + beta/2 |C(X)|^2."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, final

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import dissolved
from genorth.linalg.arrays import Array, ct, eye_like, inner, norm, on_host
from genorth.linalg.compiled import compiled
from genorth.penalty.base import AWAY, Local, Penalty, Point, usable
from genorth.penalty.forms import matrix_of, over_basis, over_blocks
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.result import Status


def _transposed(T: Array) -> Array:
    """T^T, laid out by rows: as a right factor, a transposed view is slow where rows are short."""
    return ct(T).copy() if type(T) is np.ndarray else ct(T)


@attrs.define(eq=False, kw_only=True)
class _Point(Point):
    """P = phi(X) and W^T, with A(X) = X W; M of the gradient."""

    P: Array
    Wt: Array
    M: Any = None


@final
class ConstraintDissolving(Penalty[_Point]):
    """The constraint dissolving function.

        h(X) = f(A(X)) + beta/2 |C(X)|^2, A(X) = 3/2 X - 1/2 X phi(X)^T X

    Its stationary points near M are those of f on M if beta > beta*, see `exactness_threshold`.
    Value and gradient together cost one phi, f and its gradient, and five n x p x p products:

        grad h = G W^T + P M, M = Phi(beta C - 1/2 R^T), R = X^T G

    The rule for beta. At a stationary point the curvature of h along X S^T, S in S1, is

        (4 beta |S|^2 - 3 Re tr(S^2 Theta)) / |X S^T|^2.

    Hence the first estimate w beta*(x0) + c |x0|^2/(16 p), with c the curvature of f along its
    gradient on M. The weight w is 1.2 where x0 is nearly stationary; elsewhere Theta at x0 says
    less of Theta at the solution, and w falls to 0.4. A run has left M where |C| reaches a limit.

    Args:
        problem: f on a manifold, with its gradient.
        beta: Penalty parameter, beta > 0.
        keep: Number of points whose results are kept; a trust region uses two.

    Raises:
        ValueError: If `beta` is not positive and finite.
    """

    name, prefix = "oblique", "cdf"
    _SHARE = 1 / 16  # normal curvature = a quarter of that along M
    _NEAR, _FAR = 1.2, 0.4  # the weight at a stationary point, and where the gradient is tangent
    _GROWTH = 4.0
    _MARGIN = 1.5  # times the threshold, where a beta proved to be below it
    _PATIENCE = 4  # times that |C| may reach its limit before beta is raised
    _EDGE = 0.95  # share of the limit at which a run is said to have left M
    # |grad h| over beta |C| that tells a stationary point away from M long before it is reached
    _FLAT = 1e-3

    # ------------------------------------------------------------------ maps

    @staticmethod
    def residual(manifold: GenOrthManifold, X: Array) -> Array:
        """C(X)."""
        return manifold.constraint(X)

    @staticmethod
    def corrected(manifold: GenOrthManifold, X: Array, R: Array) -> Array:
        """A(X)."""
        return dissolved(manifold, X, R)

    def _dissolved(self, X: Array) -> _Point:
        Y, C, square, P, Wt = _oblique_point(self.manifold, X)
        return _Point(X=X, Y=Y, C=C, violation=square, penalty=square, P=P, Wt=Wt)

    def _assemble(self, point: _Point) -> None:
        point.gradient, point.M = _oblique_gradient(
            self.manifold, point.X, point.P, point.C, point.Wt, point.G, self.beta
        )

    def _derivative(self, point: _Point, Z: Array) -> Generator[Array, Array, Array]:
        """One phi, one Hessian product of f, nine products.

        With T = P^T Z: dS = Phi(T), dW = -1/2 dS^T, dY = Z W + X dW, dG = hess f(Y)[dY],
        dR = Z^T G + X^T dG, and dG W^T + G dW^T + phi(Z) M + P Phi(beta dS - 1/2 dR^T).
        """
        X, P, G, Phi = point.X, point.P, point.G, self.manifold.symmetrize
        dS = Phi(ct(P) @ Z)
        dWt = -0.5 * dS
        dY = Z @ _transposed(point.Wt)
        dY += X @ _transposed(dWt)
        dG = yield dY
        dR = ct(Z) @ G + ct(X) @ dG
        result = dG @ point.Wt
        result += G @ dWt
        result += self.manifold.phi(Z) @ point.M
        result += P @ Phi(self.beta * dS - 0.5 * ct(dR))
        return result

    # ------------------------------------------------------------------ threshold and beta

    @staticmethod
    def threshold(
        manifold: GenOrthManifold,
        X: Array,  # noqa: ARG004
        Theta: Array,
        accuracy: float = 1e-8,
    ) -> float:
        """3/4 max(0, max over S in S1, |S| = 1, of Re tr(S^2 Theta))."""
        return 0.75 * max(0.0, largest_form(manifold, on_host(Theta), accuracy))

    def watched(self, monitor: Monitor, auto: bool) -> None:
        """A run begins."""
        super().watched(monitor, auto)
        self._lost, self._limit = 0, math.inf

    def begin(self, point: _Point) -> None:
        """|C| may double from here, and reach the size of I in any case."""
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        least = max(1.0, 0.5 * math.sqrt(blocks * p))
        self._limit = max(least, 2 * math.sqrt(point.violation))

    def admits(self, point: _Point) -> bool:
        """|C| within the limit."""
        return bool(point.violation <= self._limit**2)

    def watch(self, point: _Point, gradient_norm: float) -> None:
        """h may decrease away from M, or have a stationary point there."""
        feasibility = math.sqrt(point.violation)
        if feasibility > self._EDGE * self._limit:
            raise Stop(Status.DIVERGED)  # the run would creep along the limit
        # where beta is large enough |grad h| is of the size of beta |C|
        flat = gradient_norm <= self._FLAT * self.beta * feasibility
        if self.auto and feasibility > AWAY and flat:
            raise Stop(Status.NOT_STATIONARY)

    def next(self, threshold: float, status: Status, end: End) -> float:
        """The estimate at the restored point, raised once that has not helped for long.

        The first steps from a long X are lost at every beta; to raise it at once would leave it too
        large for good.
        """
        if status is Status.DIVERGED and end.restored:
            self._lost += 1
            times = max(self._lost - self._PATIENCE, 0)
            return self.estimate(Local(self.problem, end.x)) * self._GROWTH**times
        return np.maximum(self.beta * self._GROWTH, self._MARGIN * threshold)

    def estimate(self, start: Local) -> float:
        """One Hessian product, or one more gradient."""
        if not start.finite:
            return 1.0  # the run itself says what is wrong
        x = start.x
        threshold = self.threshold(self.manifold, x, start.Theta)
        columns = math.prod(self.manifold.shape[:-2]) * self.manifold.shape[-1]
        size = float(norm(start.G))
        distance = float(norm(start.gradient)) / size if size > 0 else 0.0
        weight = self._NEAR - (self._NEAR - self._FAR) * distance
        share = self._SHARE * float(norm(x)) ** 2 / columns
        return usable(weight * threshold + share * start.curvature())


@compiled
def _oblique_point(manifold: GenOrthManifold, X: Array) -> tuple[Array, ...]:
    """A(X), C(X), |C(X)|^2, phi(X) and W^T."""
    P = manifold.phi(X)
    C = ct(X) @ P
    eye = eye_like(C)
    C = C - eye
    Wt = eye - 0.5 * C
    # |C|^2 is of degree four in X and A(X) of degree three: where it is finite, so is A(X)
    return X @ _transposed(Wt), C, inner(C, C), P, Wt


@compiled
def _oblique_gradient(
    manifold: GenOrthManifold, X: Array, P: Array, C: Array, Wt: Array, G: Array, beta: float
) -> tuple[Array, Array]:
    """The gradient of h, and M."""
    R = ct(X) @ G
    R *= -0.5
    T = beta * C
    T += ct(R)
    M = manifold.symmetrize(T)
    gradient = G @ Wt
    gradient += P @ M
    return gradient, M


def largest_form(
    manifold: GenOrthManifold, Theta: np.ndarray[Any, Any], accuracy: float = 1e-8
) -> float:
    """max over S in S1, |S| = 1, of Re tr(S^2 Theta)."""
    companion = manifold.companion
    if (
        companion is None or manifold.ambient_projector is not None
    ):  # S1 is that of the algebra of F
        # Re tr(T S Theta) = <T, (S Theta)^T> for real-linear spaces
        return over_basis(manifold, lambda basis: ct(basis @ Theta))
    if companion.trivial:
        return float(np.linalg.eigvalsh((Theta + ct(Theta)) / 2).max())
    Q, e = matrix_of(companion, Theta), companion.sign
    return over_blocks(ct(Q) @ Q, e * Theta @ Q, Q, e, accuracy)
