"""`OrthogonalDissolving`: h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2, D Newton's map."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from typing import Any, cast, final

import attrs
import numpy as np

from genorth.errors import OutsideDomainError
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Eigendecomposition, Place
from genorth.linalg.arrays import (
    Array,
    ct,
    eps,
    eye_like,
    inner,
    is_lazy,
    mul,
    namespace,
    norm,
    number,
    on_host,
)
from genorth.linalg.compiled import compiled, compiles
from genorth.penalty.base import Local, NewBeta, Penalty, Point, usable
from genorth.penalty.forms import over_basis, over_blocks
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.result import Status


@attrs.define(eq=False, kw_only=True)
class _Point(Point):
    """P = phi(X), the equation Phi(P^T P S) = T, its solution S for T = C, and D = P S; V and T."""

    P: Array
    equation: Place
    S: Array
    D: Array
    V: Any = None
    T: Any = None


@final
class OrthogonalDissolving(Penalty[_Point]):
    """The orthogonal dissolving function, with D(X) the smallest D for which DC(X)[D] = C(X).

        h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2

    On M its gradient is the Riemannian gradient. At a stationary point X of f its Hessian is
    hess f(X) on the tangent space and beta |V|^2 + <V, phi(V) Theta> on normal V, without cross
    terms. So h_n is as well conditioned as f on M, for every beta of the size of the
    eigenvalues of hess f. `exactness_threshold(problem, X, dissolving="orthogonal")` is the
    smallest beta. Where phi(X) does not have full rank h_n is infinite.

    With P = phi(X), S in S1 with Phi(P^T P S) = C(X), D = P S, and (f, G) at X - D:

        grad h_n = G + P T + phi(V S^T - P (T S^T + S T^T)), V = beta D - G, T = Theta_X(V)

    Two phi, seven n x p x p products, one p x p eigendecomposition, f and its gradient once.

    The rule for beta. Theta at the start says little, so a few gradient steps are taken on M first
    (they are progress, as the gradient of h_n on M is that of f). With c the largest curvature of f
    that the last three of them meet, beta = max(c, 1.1 beta_n* + 0.3 c): at a random start f may be
    a hundred times as curved as at its minimum. Where <V, phi(V) Theta> >= b |V|^2 with b > 0, h_n
    is curved normal to M for every beta, and beta = max(c - b, 0.1 c). The threshold is looked at
    again during the run, from what the gradient of h_n has computed; a run has left M where
    |D| > 0.3 |X| for five iterations. A beta that was raised on the way is lowered again, once,
    where |D| <= 0.01 |X|. With a preconditioner B the curvature along the steps of the run is
    small, whatever it is along gradients: no steps are taken first, and
    c = 5 <Z, B Z>/|B Z|^2 with a random tangent Z.

    Args:
        problem: f on a manifold, with its gradient.
        beta: Penalty parameter, beta > 0.
        keep: Number of points whose results are kept; a trust region uses two.

    Raises:
        ValueError: If `beta` is not positive and finite.
    """

    name, prefix, along = "orthogonal", "odf", True
    _STEPS, _TRIALS = 8, 6  # gradient steps on M, and how often each is shortened
    _LONGEST = 1.0  # of these steps, relative to |X|
    _RECENT = 3  # of these steps, whose curvature counts
    _THRESHOLD, _CURVATURE = 1.1, 0.3
    _SHARE = 0.1  # of the curvature of f, the least beta
    _EASE = 5.0  # of the smallest curvature, which a preconditioner tells
    _LEAST = 1.2  # times the threshold: below, the curvature normal to M is too small
    _GROWTH, _RAISED = 3.0, 1.25
    _EXCESS, _LOWERED = 2.5, 1.5  # times the estimate: above the first, beta becomes the second
    _SETTLED = 0.01  # |D|/|X| of an iterate at which beta may be lowered
    _LOOKS = 2  # the first iteration at which the threshold is looked at; then twice as many, ...
    _FAR, _PATIENCE = 0.3, 5
    _FARTHEST = 1.0  # |D|/|X| of a trial
    # |C| of an iterate that has left M, and of a trial, relative to |I| or to |C| at the start: far
    # away D may be much shorter than X where phi is ill-conditioned
    _LOOSE, _LOOSEST = 3.0, 10.0
    _ACCURACY = 0.05  # of the threshold during a run

    # ------------------------------------------------------------------ maps

    @staticmethod
    def residual(manifold: GenOrthManifold, X: Array) -> Array:
        """D(X)."""
        return manifold.newton_step(X)

    @staticmethod
    def corrected(manifold: GenOrthManifold, X: Array, R: Array) -> Array:  # noqa: ARG004
        """X - D(X)."""
        return X - R

    def _dissolved(self, X: Array) -> _Point:
        if self._compiles(X):
            made, known, ratio = _dissolved(self.manifold, X)
            if number(ratio) > X.shape[-1] * eps(X):  # else singular values tell more, see below
                equation = _equation(self.manifold, X, made["P"], known)
                return _Point(X=X, place=self.manifold.place(X), equation=equation, **made)
        place = equation = self.manifold.place(X)
        P = place.P
        C = mul(ct(X), P)
        C = C - eye_like(C)
        square = inner(C, C)
        if _regular(square, place):
            equation = place.general
            S = equation.solve(C)
            D = mul(P, S)
            Y, penalty = X - D, inner(D, D)
        else:
            S, D, Y, penalty = C, X, X, math.inf
        return _Point(
            X=X,
            Y=Y,
            C=C,
            violation=square,
            penalty=penalty,
            P=P,
            place=place,
            equation=equation,
            S=S,
            D=D,
        )

    def _compiles(self, X: Array) -> bool:
        """Whether programs of JAX do it: with a Q nothing is looked at, see `Place`."""
        return compiles(X) and self.manifold.companion is not None

    def _assemble(self, point: _Point) -> None:
        X, P, S, D = point.X, point.P, point.S, point.D
        if self._compiles(X):
            equation = cast(Eigendecomposition, point.equation)
            known = (equation.K, *equation.spectrum)
            made = _gradient(self.manifold, X, P, S, D, known, point.G, self.beta)
        else:
            made = _assembled(point.equation, S, D, point.G, self.beta)
        point.gradient, point.V, point.T = made

    def _derivative(self, point: _Point, Z: Array) -> Generator[Array, Array, Array]:
        """Two phi, one Hessian product of f, twelve products, two equations with the same P.

        If Phi(K S) = R then Phi(K dS) = dR - Phi(dK S), K = P^T P. So
        dS for R = C and dT for R = Phi(P^T V) follow from dC = Phi(P^T Z), and all else from them.
        """
        P, S, T, V = point.P, point.S, point.T, point.V
        phi, Phi, solve = self.manifold.phi, self.manifold.symmetrize, point.equation.solve
        PZ, Pt, St = phi(Z), ct(P), ct(S)
        dK = mul(Pt, PZ)
        dK = dK + ct(dK)
        dS = solve(Phi(mul(Pt, Z) - mul(dK, S)))
        dD = mul(PZ, S)
        dD += mul(P, dS)
        dG = yield Z - dD
        dD *= self.beta
        dD -= dG
        dV = dD
        dT = solve(Phi(mul(ct(PZ), V) + mul(Pt, dV) - mul(dK, T)))
        B, dB = mul(T, St), mul(dT, St) + mul(T, ct(dS))
        inside = mul(dV, St)
        inside += mul(V, ct(dS))
        inside -= mul(PZ, B + ct(B))
        inside -= mul(P, dB + ct(dB))
        result = phi(inside) + dG
        result += mul(PZ, T)
        result += mul(P, dT)
        return result

    # ------------------------------------------------------------------ threshold and beta

    @staticmethod
    def threshold(
        manifold: GenOrthManifold, X: Array, Theta: Array, accuracy: float = 1e-8
    ) -> float:
        """max(0, -min over V = phi(X) S, S in S1, |V| = 1, of <V, phi(V) Theta>)."""
        return max(0.0, lowest_form(manifold, X, Theta, accuracy))

    def watched(self, monitor: Monitor, auto: bool) -> None:
        """A run begins."""
        super().watched(monitor, auto)
        self._near: Array | None = None
        self._iterations = self._far = self._lost = 0
        self._unit = 1.0
        self._look, self._lowered = self._LOOKS, False

    def first(self, x: Array, X: Array) -> tuple[float, Array]:
        """The estimate after a few gradient steps on M from x."""
        self.monitor.check()
        here = Local(self.problem, x)
        if not here.finite:
            return 1.0, X
        if self.preconditioner is None:
            self.scale = here.curvature()
            here = self._descend(here)
        else:
            self.scale = self._preconditioned(here)
        return self.estimate(here), here.x

    def _preconditioned(self, here: Local) -> float:
        """What stands for the curvature where there is a preconditioner."""
        assert self.preconditioner is not None
        Z = self.manifold.random_tangent(here.x, 0)
        D = self.preconditioner(here.x, Z)
        square = number(inner(D, D))
        return self._EASE * number(inner(Z, D)) / square if square > 0 else 0.0

    def _descend(self, here: Local) -> Local:
        """Barzilai-Borwein steps by Newton's map; each is shortened until f does not rise."""
        t = 1 / self.scale if self.scale > 0 else math.inf
        met = deque([self.scale], self._RECENT)
        for k in range(self._STEPS):
            size = float(norm(here.gradient))
            if not size > self.monitor.tol:
                break
            t = min(t, self._LONGEST * float(norm(here.x)) / size)
            there = None
            for _ in range(self._TRIALS):
                there = self._trial(here, t)
                if there is not None:
                    break
                t /= 4
            if there is None:
                break
            self._record(here)
            s, y = there.x - here.x, there.gradient - there.place.project(here.gradient)
            ss, sy, yy = (abs(float(inner(a, b))) for a, b in ((s, s), (s, y), (y, y)))
            met.append(sy / ss if ss > 0 else 0.0)
            over, under = (ss, sy) if k % 2 else (sy, yy)
            t = over / under if under > 0 else t
            here = there
        self.scale = max(met)
        return here

    def _trial(self, here: Local, t: float) -> Local | None:
        """The point at the step -t grad f, or None where it does not exist or f rises."""
        self.monitor.check()
        try:
            ray = self.manifold.retraction("normal")(here.place, here.gradient)
            ray.velocities = False
            x = self.manifold.ambient(ray.point(-t))
        except OutsideDomainError:
            return None
        there = Local(self.problem, x)
        if there.cost == math.inf:
            return None  # outside the domain of f
        if not there.finite:
            self.last = here.x
            raise Stop(Status.NOT_FINITE)
        return there if there.cost <= here.cost + 1e-12 * abs(here.cost) else None

    def _record(self, here: Local) -> None:
        self.last = here.x
        with self.monitor.paused():
            feasibility = float(self.manifold.feasibility(here.x))
        self.monitor.iteration(here.x, here.cost, float(norm(here.gradient)), feasibility)

    def estimate(self, here: Local) -> float:
        """The beta that the threshold and the curvature at a point ask for."""
        return self._wanted(lowest_form(self.manifold, here.x, here.Theta, self._ACCURACY))

    def _wanted(self, lowest: float) -> float:
        c = self.scale
        if lowest > 0 or self.preconditioner is not None:
            lowest = max(lowest, 0.0)
            return usable(max(self._THRESHOLD * lowest + self._CURVATURE * c, c))
        return usable(max(c + lowest, self._SHARE * c))

    def begin(self, point: _Point) -> None:
        """Iterations are counted from here."""
        self._near, self._far, self._iterations, self._look = point.X, 0, 0, self._LOOKS
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        self._unit = max(blocks * p, point.violation)

    def admits(self, point: _Point) -> bool:
        """|D| <= |X|, and |C| not far above one."""
        near = point.penalty <= (self._FARTHEST * float(norm(point.X))) ** 2
        return bool(near and point.violation <= self._LOOSEST**2 * self._unit)

    def watch(self, point: _Point, gradient_norm: float) -> None:  # noqa: ARG002
        """Far from M for long, or a threshold above beta, or far below."""
        self._iterations += 1
        distance = math.sqrt(point.penalty) / float(norm(point.X))
        if distance > self._FAR or point.violation > self._LOOSE**2 * self._unit:
            self._far += 1
            if self._far >= self._PATIENCE:
                if self.auto and self._near is not None and self.preconditioner is None:
                    raise NewBeta(self._GROWTH * self.beta, self._near)
                raise Stop(Status.DIVERGED)
            return
        self._far, self._near = 0, point.X
        if self.auto and self._iterations >= self._look:
            self._look *= 2
            # which is beta S - T, but for rounding that grows with beta, and beta with it
            Theta = point.equation.coefficients(mul(ct(point.P), point.G))
            lowest = lowest_form(self.manifold, point.X, Theta, self._ACCURACY)
            wanted = self._wanted(lowest)
            if self.beta < self._LEAST * lowest:
                raise NewBeta(max(wanted, self._RAISED * self.beta), point.X)
            if (
                distance <= self._SETTLED
                and self.beta > self._EXCESS * wanted
                and not self._lowered
            ):
                self._lowered = True
                raise NewBeta(self._LOWERED * wanted, point.X)

    def next(self, threshold: float, status: Status, end: End) -> float:
        """Three times as large, and above the threshold.

        The first preconditioned steps from a rough start are lost at every beta: it stays.
        """
        if self.preconditioner is not None and status is Status.DIVERGED and end.restored:
            self._lost += 1
            if self._lost <= self._PATIENCE and self.beta >= threshold:
                return self.beta
        return np.maximum(self._GROWTH * self.beta, threshold + self._CURVATURE * self.scale)


def lowest_form(manifold: GenOrthManifold, X: Array, Theta: Array, accuracy: float = 1e-8) -> float:
    """-min over V = phi(X) S, S in S1, |V| = 1, of <V, phi(V) Theta>, of either sign."""
    companion, P = manifold.companion, manifold.phi(X)
    if companion is None or manifold.ambient_projector is not None:
        Theta, P = on_host(Theta), on_host(P)

        def image(basis: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            normal = np.stack([np.asarray(manifold.phi(P @ S)) for S in basis])
            return np.asarray(-ct(P) @ normal @ Theta)

        return over_basis(manifold, image, ct(P) @ P)
    N = companion.Q.right(P)
    L, K = on_host(ct(N) @ companion.Q.right(manifold.phi(N))), on_host(ct(N) @ N)
    R = on_host(companion.Qinv.left(Theta))
    return over_blocks(K, -L, R, companion.sign, accuracy)


def _assembled(
    equation: Place, S: Array, D: Array, G: Array, beta: float
) -> tuple[Array, Array, Array]:
    """The gradient of h_n, V and T."""
    P, St = equation.P, ct(S)
    V = beta * D
    V -= G
    T = equation.coefficients(mul(ct(P), V))
    B = mul(T, St)
    inside = mul(V, St)
    inside -= mul(P, B + ct(B))
    gradient = equation.manifold.phi(inside) + G
    gradient += mul(P, T)
    return gradient, V, T


def _equation(
    manifold: GenOrthManifold, X: Array, P: Array, known: tuple[Array, ...]
) -> Eigendecomposition:
    """The equation, with K = P^T P and its spectrum."""
    equation = Eigendecomposition(manifold, X, P)
    vars(equation).update(K=known[0], spectrum=known[1:])
    return equation


@compiled
def _dissolved(
    manifold: GenOrthManifold, X: Array
) -> tuple[dict[str, Array], tuple[Array, ...], Array]:
    """The fields of the point, K and its spectrum, and smallest / largest of that."""
    P = manifold.phi(X)
    C = ct(X) @ P
    C = C - eye_like(C)
    equation, xp = Eigendecomposition(manifold, X, P), namespace(X)
    S = equation.solve(C)
    D = P @ S
    QU, Ut, sums = equation.spectrum
    ratio = xp.min(abs(sums)) / xp.max(abs(sums))
    sizes = {"violation": inner(C, C), "penalty": inner(D, D)}
    return {"Y": X - D, "C": C, "P": P, "S": S, "D": D, **sizes}, (equation.K, QU, Ut, sums), ratio


@compiled
def _gradient(
    manifold: GenOrthManifold,
    X: Array,
    P: Array,
    S: Array,
    D: Array,
    known: tuple[Array, ...],
    G: Array,
    beta: float,
) -> tuple[Array, Array, Array]:
    return _assembled(_equation(manifold, X, P, known), S, D, G, beta)


def _regular(square: Any, place: Place) -> bool:
    """Whether nothing has overflowed and phi(X) has full rank; unknown, so yes, under JAX."""
    if is_lazy(place.X):
        return True
    return math.isfinite(square) and place.general.regularity > place.X.shape[-1] * eps(place.X)
