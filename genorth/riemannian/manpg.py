"""`manpg`: proximal gradients on M, for a cost with a nonsmooth term."""

from __future__ import annotations

import math
from typing import Any, Unpack

import attrs

from genorth.errors import NotRestorableError, StepTooLong
from genorth.geometry.place import Place
from genorth.geometry.retractions import Ray
from genorth.geometry.support import restore_on_support
from genorth.linalg.arrays import eps, inner, namespace, number
from genorth.problem.problem import Problem
from genorth.problem.proximal import ProximalStep, natural_step, proximal_step
from genorth.problem.terms import L1, Term
from genorth.riemannian.run import OnManifold
from genorth.solve.descent import averaged
from genorth.solve.metric import takes_metric
from genorth.solve.monitor import check_value
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.run import Iterate

_ZERO = Term(L1(0.0))
_NOISE = 16.0  # units of roundoff: smaller differences of values, relative, are rounding
_TANGENT = 0.1  # the largest normal part of an inexact step, relative to its length
_RANGE = 1e3  # how far t may be from that of the stopping measure, as a factor
_DECREASE = 0.5  # the share of the decrease of the exact step that an inexact one must make


@attrs.frozen
class Settings:
    """The constants of the method.

    Args:
        sufficient: Share of the decrease of the model that a step must make.
        backtracking: Factor by which a rejected step is shortened.
        trials: After this many no step is found.
        averaging: Weight of the past in the average of the costs; 0 makes the search monotone.
    """

    sufficient: float = 1e-4
    backtracking: float = 0.5
    trials: int = 40
    averaging: float = 0.95


class ProximalIterate(Iterate):
    """An iterate whose value is f + r, with the step of its subproblem once that is solved."""

    #: r(X), the t of the subproblem and its solution.
    rough: float
    t: float
    proximal: ProximalStep

    @property
    def fall(self) -> float:
        """The decrease that the model of an exact step promises, half of |Z|^2/t."""
        return self.proximal.length**2 / (2 * self.t)


class Proximal(OnManifold):
    """A run whose measure is |Z|/t, Z the proximal step on the tangent space."""

    nonsmooth = True
    #: Newton steps of all subproblems, and conjugate gradient steps of these.
    newton = products = 0

    @property
    def term(self) -> Any:
        """The nonsmooth term; zero where the problem has none."""
        return self.problem.term or _ZERO

    def evaluate(self, place: Place, ray: Ray | None = None, t: float = 0.0) -> Iterate:
        """f + r, and the gradient of f."""
        first = self._last is None
        value, G = self.monitor.evaluate(place.X, first)
        rough = self.term(place.X)
        point = ProximalIterate(self, place, check_value(value + rough, first), G, ray, t)
        point.rough = rough
        return point

    def accept(self, point: Iterate) -> None:
        """Solve the subproblem at the point, then as always.

        The measure is |Z(t)|/min(t, t_0), t_0 the t of the stopping measure at the end. As |Z(t)|
        grows with t and |Z(t)|/t falls, it is never below |Z(t_0)|/t_0.
        """
        self.arrived(point)

    def arrived(self, point: Any) -> ProximalIterate:
        """Accept the point, or where it is stationary the one next to it that has exact zeros."""
        last = self._last
        self._solve(point, last)
        if math.sqrt(point.decrease) <= self.monitor.tol:
            self._solve(point, point, exact=True)
            found = self.sparse(point) if math.sqrt(point.decrease) <= self.monitor.tol else None
            if found is not None:
                self._solve(found, point, exact=True)
                point = found
        super().accept(point)
        return point

    def _solve(self, point: ProximalIterate, before: Any, exact: bool = False) -> None:
        """The subproblem at a point, with t and a first multiplier from the point before.

        `exact`: to rounding, with the t of the stopping measure.
        """
        X, G, term, place = point.X, point.G, self.term, point.place
        t = natural = natural_step(X, G, point.rough)
        W = None if before is None else before.proximal.U / before.t
        moved = None if W is None else W - place.project(W)
        if W is not None and not exact:
            S, Y = X - before.X, (G - moved) - (before.G - W)
            curvature = abs(number(inner(S, Y)))
            t = number(inner(S, S)) / curvature if curvature > 0 else math.inf
            t = min(max(t, natural / _RANGE), natural * _RANGE)

        def enough(step: ProximalStep) -> bool:
            model = point.rough - term(X + step.Z) - number(inner(G, step.Z))
            slack = _NOISE * eps(X) * max(abs(point.value), abs(point.rough))
            small = step.error <= _TANGENT * step.length
            return small and model + slack >= _DECREASE * step.length**2 / t

        U = None if moved is None else t * moved
        step = proximal_step(place, term, G, t, U, None if exact else enough)
        point.t, point.proximal = t, step
        self.newton += step.newton
        self.products += step.products
        vars(point)["decrease"] = (step.length / min(t, natural)) ** 2

    def sparse(self, point: ProximalIterate) -> ProximalIterate | None:
        """X with the zeros of X + Z, led to M on its support; None where that is too small."""
        V = namespace(point.X).where(point.proximal.V == 0, 0 * point.X, point.X)
        try:
            X = restore_on_support(self.manifold, V, self._drift)
            found = self.evaluate(self.place(X))
        except (NotRestorableError, StepTooLong):
            return None
        assert isinstance(found, ProximalIterate)
        return found


@takes_metric
def manpg(
    problem: Problem,
    x0: Any = None,
    *,
    retraction: str = "auto",
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f + r over M by proximal gradients [chen2020proximal], r the nonsmooth term.

        X <- R_X(a Z), Z = argmin over tangent Z of <G, Z> + |Z|^2/(2t) + r(X + Z)

    t = <S,S>/|<S,Y>| is Barzilai and Borwein's, S and Y the differences of two iterates and of the
    gradients of their Lagrange functions. a = 1, or shortened until f + r is below an average of
    its last values [zhang2004nonmonotone]. The subproblem is solved by a semismooth Newton method,
    until its step makes half of the decrease of the exact one. The run ends at a point
    with exact zeros, where its support holds a point of M.

    Args:
        problem: The problem. Without a nonsmooth term r = 0, and Z = -t grad f(X).
        x0: Start near M, which is restored. Default: a random point of M.
        retraction: A kind of `GenOrthManifold.retract`.
        settings: The constants of the line search.
        metric: Inner product to use (default: Euclidean); none where there is a nonsmooth term.
        **common: The arguments of every solver, see `genorth.minimize`; tol is on |Z|/t.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    run = Proximal(problem, x0, "manpg", retraction=retraction, **common)
    return run.solve(proximal_gradients, settings or Settings())


def proximal_gradients(run: Proximal, settings: Settings) -> None:
    """The loop: a step along Z, shortened until f + r is below an average of its last values."""
    point: Any = run.start()
    average, weight = point.value, 1.0
    while True:
        step = run.line(point, point.proximal.Z)
        slack, a = _NOISE * eps(point.X) * abs(average), 1.0
        for _ in range(settings.trials):
            try:
                trial: Any = step(a)
            except StepTooLong:
                a *= settings.backtracking
                continue
            if trial.value <= average - settings.sufficient * a * point.fall + slack:
                break
            a *= settings.backtracking
        else:
            return
        point = run.arrived(trial)
        average, weight = averaged(average, weight, point.value, settings.averaging)
        average = max(average, point.value)  # zeros may have cost something
