"""`prox_landing`: proximal gradients off M, one prox and one Theta an iteration, no retraction."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Unpack

import numpy as np

from baselines.infeasible.run import TUBE, Point, Run, positive
from genorth.errors import NotRestorableError, OutsideDomainError, StepTooLong
from genorth.geometry.newton import NewtonStep
from genorth.geometry.place import Place
from genorth.geometry.support import restore_on_support
from genorth.linalg.arrays import Array, ct, eps, inner, mul, norm, number
from genorth.problem.problem import Problem
from genorth.problem.proximal import natural_step, proximal_step
from genorth.problem.terms import L1, Term
from genorth.solve.descent import averaged
from genorth.solve.metric import takes_metric
from genorth.solve.monitor import check_value
from genorth.solve.options import Common
from genorth.solve.result import Result

_ZERO = Term(L1(0.0))
_RANGE = 1e2  # how far t may be from that of the stopping measure, as a factor
_HALVINGS = 40
_NEAR = 0.1  # |C| below which its square counts for nothing
_PENALTY = 1.5  # rho over the largest |phi(X) Theta|: |D| then outweighs the multiplier
_AVERAGING = 0.95  # weight of the past in the average of the merits
_SUFFICIENT = 1e-4  # share of |V - X|^2/t by which the merit has to be below the average
_PATIENCE, _HALF = 20, 0.5  # iterations in which the measure has to fall to this share
_FALL = 1e-4  # or the merit by this, relative
_ACCURATE = 1e-3  # the normal part of the step after which the multiplier is solved for, relative
_NOISE = 16.0  # units of roundoff: smaller differences of values, relative, are rounding


@takes_metric
def prox_landing(
    problem: Problem,
    x0: Any = None,
    *,
    tube: float = TUBE,
    **common: Unpack[Common],
) -> Result:
    """Minimise f + r over M by a proximal landing method, r the nonsmooth term [liu2024penalty].

        X <- V = prox_{tr}(Y),  Y = X - t (G - phi(X) Theta_X(G + xi)) - D(X)

    xi = (Y - V)/t of the step before is a subgradient of r at X, so that Theta is the multiplier of
    f + r, and D(X) is Newton's step to M. There is no inner loop and no retraction. All iterates
    have exact zeros, and x is restored to M on its support. t is Barzilai and Borwein's, shortened
    until one of two merits is below an average of its last values: the augmented Lagrange function
    f + r - <W, D> + |W| |D|^2/|X|, W = phi(X) Theta, or the exact penalty f + r + rho |D|. A
    rejected step improves Theta too. If neither the measure nor the merit has fallen in 20
    iterations, X is restored and Theta solved for, as `manpg` does in every iteration.

    Args:
        problem: The problem. Without a nonsmooth term r = 0.
        x0: Start, with |C(x0)| <= tube. Default: a random point of M.
        tube: The largest |C| of an iterate.
        metric: Inner product to use (default: Euclidean); none where there is a nonsmooth term.
        **common: The arguments of every solver, see `genorth.minimize`; tol is on |Z|/t.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, or the tube is not positive.
    """
    positive(tube=tube)
    run = Run(problem, x0, "prox-landing", tube, nonsmooth=True, **common)
    return run.solve(_follow)


class _State:
    """A point with the normal vector W of its multiplier and Newton's step D."""

    def __init__(self, run: Run, term: Any, X: Array, xi: Array) -> None:
        first, point, rough = run._last is None, run.evaluate(X), term(X)
        self.point, self.X = Point(point.at, check_value(point.f + rough, first), point.G), X
        self.place, at, self.C = point.at.general, point.at, None
        shared = isinstance(self.place, Place)  # else it is that of a product
        if not shared:
            self.D: Array = run.manifold.newton_step(X)
        elif run.manifold.isometric and at.feasibility <= _NEAR:
            # K = I + C: to first order in C there is no eigendecomposition
            self.C = at.constraint
            self.D = mul(at.P, self.C / 2)
        else:
            self.D = NewtonStep(self.place).D
        self.natural = natural_step(X, point.G, rough)
        self.update(xi)

    def step(self, term: Any, t: float) -> tuple[Array, Array, Array, float]:
        """Y, V = prox_{tr}(Y), V - X and |V - X|^2."""
        Y = self.X - t * self.field
        Y -= self.D
        V = term.prox(Y, t)
        S = V - self.X
        return Y, V, S, check_value(number(inner(S, S)), first=True)

    def update(self, xi: Array) -> None:
        """W = phi(X) Theta_X(G + xi), and the gradient of the Lagrange function."""
        total = self.point.G + xi
        if self.C is None:
            W = total - self.place.project(total)
        else:  # K T + T K = R + R^T, R = phi(X)^T (G + xi)
            R = mul(ct(self.place.P), total)
            T = (R + ct(R)) / 2
            W = mul(self.place.P, T - (mul(self.C, T) + mul(T, self.C)) / 2)
        self.take(W)

    def take(self, W: Array) -> None:
        """Another normal vector of the multiplier."""
        self.W, self.field, self.pull = W, self.point.G - W, number(norm(W))

    def merits(self, penalty: float) -> np.ndarray[Any, Any]:
        """f + r - <W, D> + |W| |D|^2/|X|, and f + r + penalty |D|."""
        away = number(norm(self.D))
        pull = self.pull / self.place.length * away**2 - number(inner(self.W, self.D))
        return self.point.f + np.array([pull, penalty * away])


def _follow(run: Run) -> None:
    term = run.problem.term or _ZERO
    state = _State(run, term, run._start, 0 * run._start)
    t, weight, penalty = state.natural, 1.0, state.pull
    average = state.merits(penalty)
    least, low, idle = math.inf, math.inf, 0
    while True:
        Y, V, S, square = state.step(term, t)
        measure = math.sqrt(square) / min(t, state.natural)
        least, idle = (measure, 0) if measure < _HALF * least else (least, idle + 1)
        if idle == _PATIENCE:
            fallen, low = low - average[0] > _FALL * abs(average[0]), average[0]
            idle = 0 if fallen else idle
        if idle == _PATIENCE or measure <= run.monitor.tol:
            state, measure = _solved(run, term, state)
            idle, t = 0, state.natural
            Y, V, S, square = state.step(term, t)
        run.accept(state.point, measure)
        for _ in range(_HALVINGS):
            penalty = max(penalty, _PENALTY * state.pull)
            with suppress(StepTooLong, OutsideDomainError):
                trial = _State(run, term, V, (Y - V) / t)
                merits = trial.merits(penalty)
                slack = _NOISE * eps(V) * np.abs(average)
                if np.any(merits <= average - _SUFFICIENT * square / t + slack):
                    break
            # a step of the dual problem, which makes V - X tangent, and a shorter step
            state.update((Y - V) / t)
            t /= 2
            Y, V, S, square = state.step(term, t)
        else:
            return
        curvature = abs(number(inner(S, trial.field - state.field)))
        t = square / curvature if curvature > 0 else math.inf
        t = min(max(t, trial.natural / _RANGE), trial.natural * _RANGE)
        state = trial
        average, weight = averaged(average, weight, merits, _AVERAGING)


def _solved(run: Run, term: Any, state: _State) -> tuple[_State, float]:
    """The state on M with the multiplier of the step on the tangent space, and |Z|/t."""
    with suppress(NotRestorableError, StepTooLong):
        X = restore_on_support(run.manifold, state.X, run.monitor.options.feasibility_tol)
        state = _State(run, term, X, state.W - state.point.G)
    t, G = state.natural, state.point.G
    step = proximal_step(
        state.place, term, G, t, t * state.W, lambda step: step.error <= _ACCURATE * step.length
    )
    state.take(step.U / t)
    return state, step.length / t
