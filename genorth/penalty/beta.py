"""The rules of a penalty method: the first beta, when a run has left M, and the next beta.

`Oblique` is for h of the paper, `Orthogonal` for h_n. Both aim at the smallest beta for which the
penalty function is exact and its curvature normal to M is like that of f along M.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, final

from genorth.errors import OutsideDomainError
from genorth.linalg.arrays import Array, all_finite, eps, inner, norm
from genorth.penalty.cdf import ConstraintDissolving
from genorth.penalty.dissolving import AWAY, Dissolving, Point
from genorth.penalty.odf import OrthogonalDissolving
from genorth.penalty.threshold import multiplier_threshold, orthogonal_threshold
from genorth.problem.problem import Problem
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.result import Status

_Matrix = Array


class NewBeta(Exception):
    """beta has proved too small, or far too large: the run goes on from X with this one."""

    def __init__(self, beta: float, X: _Matrix) -> None:
        super().__init__(beta)
        self.beta, self.X = beta, X


class Rule(ABC):
    """How beta is chosen, and when a run has left M.

    Args:
        monitor: The monitor of the run.
        auto: Whether beta is chosen; else only runs that leave M are ended.
    """

    #: The penalty function.
    dissolving: type[Dissolving[Any]]
    #: The last point of `first`, where it takes steps.
    last: _Matrix | None = None
    #: The largest curvature of f that `first` met; zero where it is not known.
    scale: float = 0.0

    def __init__(self, monitor: Monitor, auto: bool) -> None:
        self.problem, self.manifold = monitor.problem, monitor.problem.manifold
        self.monitor, self.auto = monitor, auto

    @abstractmethod
    def first(self, x: _Matrix, X: _Matrix) -> tuple[float, _Matrix]:
        """The first beta, and where the solver starts: x is on M, X is the start that was given."""

    @abstractmethod
    def begin(self, point: Point) -> None:
        """A solver starts here."""

    @abstractmethod
    def admits(self, point: Point) -> bool:
        """Whether a trial is so near to M that f should be called."""

    @abstractmethod
    def watch(self, h: Dissolving[Any], point: Any, gradient_norm: float) -> None:
        """End the round at this iterate, by `Stop` or `NewBeta`, where it leads away from M."""

    @abstractmethod
    def next(self, beta: float, threshold: float, status: Status, end: End) -> float:
        """The beta of the next round, after one that ended away from M or below the threshold."""

    @abstractmethod
    def threshold(self, x: _Matrix, Theta: _Matrix) -> float:
        """The exactness threshold at x on M."""


@final
class Oblique(Rule):
    """For h(X) = f(A(X)) + beta/2 |C(X)|^2.

    At a stationary point the curvature of h along X S^T, S in S1, is (F8)

        (4 beta |S|^2 - 3 Re tr(S^2 Theta)) / |X S^T|^2.

    Hence the first estimate w beta*(x0) + c |x0|^2/(16 p), with c the curvature of f along its
    gradient on M. The weight w is 1.2 where x0 is nearly stationary; elsewhere Theta at x0 says
    less of Theta at the solution, and w falls to 0.4. A run has left M where |C| reaches a limit.
    """

    dissolving = ConstraintDissolving
    _SHARE = 1 / 16  # normal curvature = a quarter of that along M
    _NEAR, _FAR = 1.2, 0.4  # the weight at a stationary point, and where the gradient is tangent
    _GROWTH = 4.0
    _MARGIN = 1.5  # times the threshold, where a beta proved to be below it
    _PATIENCE = 4  # times that |C| may reach its limit before beta is raised
    _EDGE = 0.95  # share of the limit at which a run is said to have left M
    # |grad h| over beta |C| that tells a stationary point away from M long before it is reached
    _FLAT = 1e-3

    def __init__(self, monitor: Monitor, auto: bool) -> None:
        super().__init__(monitor, auto)
        self._lost, self._limit = 0, math.inf

    def first(self, x: _Matrix, X: _Matrix) -> tuple[float, _Matrix]:
        """The estimate at x; the solver starts at X."""
        self.monitor.check()
        return self._estimate(x), X

    def begin(self, point: Point) -> None:
        """|C| may double from here, and reach the size of I in any case."""
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        least = max(1.0, 0.5 * math.sqrt(blocks * p))
        self._limit = max(least, 2 * math.sqrt(point.violation))

    def admits(self, point: Point) -> bool:
        """|C| within the limit."""
        return bool(point.violation <= self._limit**2)

    def watch(self, h: Dissolving[Any], point: Any, gradient_norm: float) -> None:
        """h may decrease away from M, or have a stationary point there."""
        feasibility = math.sqrt(point.violation)
        if feasibility > self._EDGE * self._limit:
            raise Stop(Status.DIVERGED)  # the run would creep along the limit
        # where beta is large enough |grad h| is of the size of beta |C|
        flat = gradient_norm <= self._FLAT * h.beta * feasibility
        if self.auto and feasibility > AWAY and flat:
            raise Stop(Status.NOT_STATIONARY)

    def next(self, beta: float, threshold: float, status: Status, end: End) -> float:
        """The estimate at the restored point, raised once that has not helped for long.

        The first steps from a long X are lost at every beta; to raise it at once would leave it too
        large for good.
        """
        if status is Status.DIVERGED and end.restored:
            self._lost += 1
            times = max(self._lost - self._PATIENCE, 0)
            return self._estimate(end.x) * self._GROWTH**times
        return max(beta * self._GROWTH, self._MARGIN * threshold)

    def threshold(self, x: _Matrix, Theta: _Matrix) -> float:  # noqa: ARG002
        """beta*(x)."""
        return multiplier_threshold(self.manifold, Theta)

    def _estimate(self, x: _Matrix) -> float:
        """One gradient, and one Hessian product or one more gradient."""
        start = _Local(self.problem, x)
        if not start.finite:
            return 1.0  # the run itself says what is wrong
        threshold = multiplier_threshold(self.manifold, start.Theta)
        columns = math.prod(self.manifold.shape[:-2]) * self.manifold.shape[-1]
        size = float(norm(start.G))
        distance = float(norm(start.gradient)) / size if size > 0 else 0.0
        weight = self._NEAR - (self._NEAR - self._FAR) * distance
        share = self._SHARE * float(norm(x)) ** 2 / columns
        return _usable(weight * threshold + share * start.curvature())


@final
class Orthogonal(Rule):
    """For h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2.

    At a stationary point the curvature of h_n along normal V is beta |V|^2 + <V, phi(V) Theta>
    (F16). Theta at the start says little, so a few gradient steps are taken on M first (they are
    progress, as the gradient of h_n on M is that of f). With c the largest curvature of f that they
    meet, beta = max(c, 1.1 beta_n* + 0.3 c). The threshold is looked at again during the run, from
    what the gradient of h_n has computed; a run has left M where |D| > 0.3 |X| for five iterations.
    A beta that was raised on the way is lowered again, once, where |D| <= 0.01 |X|.
    """

    dissolving = OrthogonalDissolving
    _STEPS, _TRIALS = 8, 6  # gradient steps on M, and how often each is shortened
    _LONGEST = 1.0  # of these steps, relative to |X|
    _THRESHOLD, _CURVATURE = 1.1, 0.3
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
    _ACCURACY, _FINAL = 0.05, 1e-4  # of the threshold during a run, and at its end

    def __init__(self, monitor: Monitor, auto: bool) -> None:
        super().__init__(monitor, auto)
        self._near: _Matrix | None = None
        self._iterations = self._far = 0
        self._unit = 1.0
        self._look, self._lowered = self._LOOKS, False

    def first(self, x: _Matrix, X: _Matrix) -> tuple[float, _Matrix]:
        """The estimate after a few gradient steps on M from x."""
        self.monitor.check()
        here = _Local(self.problem, x)
        if not here.finite:
            return 1.0, X
        self.scale = here.curvature()
        here = self._descend(here)
        return self._estimate(here.x, here.Theta), here.x

    def _descend(self, here: _Local) -> _Local:
        """Barzilai-Borwein steps by Newton's map; each is shortened until f does not rise."""
        t = 1 / self.scale if self.scale > 0 else math.inf
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
            s, y = there.x - here.x, there.gradient - here.carried(there)
            ss, sy, yy = (abs(float(inner(a, b))) for a, b in ((s, s), (s, y), (y, y)))
            self.scale = max(self.scale, sy / ss if ss > 0 else 0.0)
            over, under = (ss, sy) if k % 2 else (sy, yy)
            t = over / under if under > 0 else t
            here = there
        return here

    def _trial(self, here: _Local, t: float) -> _Local | None:
        """The point at the step -t grad f, or None where it does not exist or f rises."""
        self.monitor.check()
        try:
            x = self.manifold.retract(here.x, -t * here.gradient, kind="normal")
        except OutsideDomainError:
            return None
        there = _Local(self.problem, x)
        if not there.finite:
            self.last = here.x
            raise Stop(Status.NOT_FINITE)
        return there if there.cost <= here.cost + 1e-12 * abs(here.cost) else None

    def _record(self, here: _Local) -> None:
        self.last = here.x
        with self.monitor.paused():
            feasibility = float(self.manifold.feasibility(here.x))
        self.monitor.iteration(here.x, here.cost, float(norm(here.gradient)), feasibility)

    def _estimate(self, x: _Matrix, Theta: _Matrix) -> float:
        return self._wanted(orthogonal_threshold(self.manifold, x, Theta, self._ACCURACY))

    def _wanted(self, threshold: float) -> float:
        beta = self._THRESHOLD * threshold + self._CURVATURE * self.scale
        return _usable(max(beta, self.scale))

    def begin(self, point: Point) -> None:
        """Iterations are counted from here."""
        self._near, self._far, self._iterations, self._look = point.X, 0, 0, self._LOOKS
        blocks, p = math.prod(self.manifold.shape[:-2]), self.manifold.shape[-1]
        self._unit = max(blocks * p, point.violation)

    def admits(self, point: Point) -> bool:
        """|D| <= |X|, and |C| not far above one."""
        near = point.penalty <= (self._FARTHEST * float(norm(point.X))) ** 2
        return bool(near and point.violation <= self._LOOSEST**2 * self._unit)

    def watch(self, h: Dissolving[Any], point: Any, gradient_norm: float) -> None:  # noqa: ARG002
        """Far from M for long, or a threshold above beta, or far below."""
        self._iterations += 1
        distance = math.sqrt(point.penalty) / float(norm(point.X))
        if distance > self._FAR or point.violation > self._LOOSE**2 * self._unit:
            self._far += 1
            if self._far >= self._PATIENCE:
                if self.auto and self._near is not None:
                    raise NewBeta(self._GROWTH * h.beta, self._near)
                raise Stop(Status.DIVERGED)
            return
        self._far, self._near = 0, point.X
        if self.auto and self._iterations >= self._look:
            self._look *= 2
            Theta = h.beta * point.S - point.T  # Theta_X(G), as V = beta D - G and D = P S
            threshold = orthogonal_threshold(self.manifold, point.X, Theta, self._ACCURACY)
            wanted = self._wanted(threshold)
            if h.beta < self._LEAST * threshold:
                raise NewBeta(max(wanted, self._RAISED * h.beta), point.X)
            if distance <= self._SETTLED and h.beta > self._EXCESS * wanted and not self._lowered:
                self._lowered = True
                raise NewBeta(self._LOWERED * wanted, point.X)

    def next(self, beta: float, threshold: float, status: Status, end: End) -> float:  # noqa: ARG002
        """Three times as large, and above the threshold."""
        return max(self._GROWTH * beta, threshold + self._CURVATURE * self.scale)

    def threshold(self, x: _Matrix, Theta: _Matrix) -> float:
        """beta_n*(x)."""
        return orthogonal_threshold(self.manifold, x, Theta, self._FINAL)


class _Local:
    """f at x on M: cost, Euclidean and Riemannian gradient, multiplier."""

    def __init__(self, problem: Problem, x: _Matrix) -> None:
        self.problem, self.x = problem, x
        self.cost, self.G = problem.cost_and_gradient(x)
        self.finite = all_finite(self.G) and math.isfinite(self.cost)
        if self.finite:
            space = problem.manifold.at(x)
            self.Theta = space.theta(self.G)
            self.gradient = self.G - space.P @ self.Theta

    def carried(self, there: _Local) -> _Matrix:
        """The gradient here, projected onto the tangent space there."""
        return self.problem.manifold.project(there.x, self.gradient)

    def curvature(self) -> float:
        """|<d, hess f(x)[d]>| along M, d the normalised gradient; zero where there is none."""
        size = float(norm(self.gradient))
        if not size > 0:
            return 0.0
        d = self.gradient / size
        if self.problem.has_hessian:
            H = self.problem.euclidean_hessian(self.x, d)
        else:
            # a curvature to a few digits is all that is needed
            t = max(1e-6, 50 * eps(self.x) ** 0.5) * float(norm(self.x))
            H = (self.problem.evaluate_gradient(self.x + t * d) - self.G) / t
        value = abs(float(inner(d, H - self.problem.manifold.phi(d) @ self.Theta)))
        return value if math.isfinite(value) else 0.0


def _usable(beta: float) -> float:
    """beta, or 1 where it says nothing."""
    return beta if 0 < beta < math.inf else 1.0
