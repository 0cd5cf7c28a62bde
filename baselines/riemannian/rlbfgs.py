"""`rlbfgs`: a Riemannian limited-memory BFGS method that transports no pair."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Unpack

from baselines.riemannian.run import Iterate, Preconditioner, Run
from genorth.errors import refuse
from genorth.linalg.arrays import Array, norm, number
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.pairs import Pairs
from genorth.solve.result import Result
from genorth.solve.wolfe import Conditions

_CAUTION = 1e-8
_FIRST = 0.01  # the first step, relative to |X|


@takes_metric
def rlbfgs(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    retraction: str = "auto",
    memory: int = 10,
    preconditioner: Preconditioner | None = None,
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by a limited-memory BFGS method.

    The direction is -P_X H(w): H is the BFGS matrix of the last pairs S = X_new - X and Y = w_new -
    w, held in the ambient space, w the differential of f, and P_X the projection onto the tangent
    space (DA(X) in "products"). H is symmetric and positive definite, and w = P_X* w, hence
    <w, P_X H w> = <w, H w> > 0: the direction is one of descent. To carry all pairs along by
    projection, as is usual [huang2015broyden], costs 2 memory projections for each step and saves
    no iterations (docs/baselines.md has the figures).

    H starts from the identity times <S,Y>/<Y,Y>, with a preconditioner from that, times
    <S,Y>/<Y, preconditioner(Y)>. A pair is stored only if <S,Y> > 1e-8 |S||Y| |w|/|w_0| (the
    cautious update of Li and Fukushima, without a unit). The first trial of each search is t = 1.
    The slope at its end is computed only where a parabola through the costs leaves it in doubt.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        geometry: "fast", "products" or "faithful".
        retraction: A kind of `GenOrthManifold.retract`, or "auto", which chooses step by step
            between "cayley" and "normal" (F18).
        memory: How many pairs are kept.
        preconditioner: `preconditioner(X, V)`, an approximate inverse of the Hessian applied to V.
        conditions: The constants of the line search.
        metric: A metric of one's own, as for `GenOrthManifold.metric`: the solver runs in Y,
            X = T Y (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        refuse("memory", "an integer, memory >= 1", repr(memory))
    run = Run(
        problem,
        x0,
        "rlbfgs",
        geometry,
        retraction=retraction,
        precondition=preconditioner,
        **common,
    )
    chosen = Conditions() if conditions is None else conditions
    return run.solve(lambda run: _solve(run, Pairs(memory), chosen))


def _solve(run: Run, pairs: Pairs, conditions: Conditions) -> None:
    point = run.start()
    first = math.sqrt(point.decrease)
    while True:
        Z = _direction(run, pairs, point)
        slope = point.slope(Z)
        t = 1.0 if len(pairs) else _FIRST * number(norm(point.X)) / number(norm(Z))
        try:
            if not slope < 0:
                raise NoStep  # rounding, or a preconditioner that is not positive definite
            trial, t = run.search(point, Z, slope, t, conditions)
        except NoStep:
            if not len(pairs):
                return
            pairs.clear()
            continue
        del Z
        trial.settle()
        run.accept(trial)
        caution = _CAUTION * math.sqrt(trial.decrease) / first
        pairs.add(trial.X, point.X, trial.covector, point.covector, caution)
        point = trial


def _direction(run: Run, pairs: Pairs, point: Iterate) -> Array:
    """-P_X H(w)."""
    preconditioner = run.preconditioner
    if preconditioner is None and not len(pairs):
        return -point.gradient
    HW = pairs.inverse(
        point.covector, None if preconditioner is None else partial(preconditioner, point.X)
    )
    with run.phases.projection:
        return point.place.transport(-HW)
