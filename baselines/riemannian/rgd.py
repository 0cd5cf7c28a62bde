"""`rgd`: Riemannian gradient descent with alternating Barzilai-Borwein steps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Unpack

from baselines.riemannian.run import Iterate, Run
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep, Settings, descend
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result


@takes_metric
def rgd(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    retraction: str = "auto",
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian gradient descent [iannazzo2018riemannian].

    X <- R_X(-t grad f(X)). With S and Y the differences of two iterates and of their gradients, the
    next t is <S,S>/|<S,Y>| after an even number of iterations and |<S,Y>|/<Y,Y> after an odd one,
    <.,.> that of the ambient space. A step is accepted by comparison with an average of the last
    costs [zhang2004nonmonotone], else divided by ten. A step outside the domain of the retraction
    is halved.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        geometry: "fast", "products" or "faithful".
        retraction: A kind of `GenOrthManifold.retract`, or "auto", which chooses step by step
            between "cayley" and "normal" (F18).
        settings: The constants of the line search. Default: those of OptM [wen2013feasible].
        metric: A metric of one's own, as for `GenOrthManifold.metric`: the solver runs in Y,
            X = T Y (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    run = Run(problem, x0, "rgd", geometry, retraction=retraction, **common)
    chosen = Settings() if settings is None else settings
    return run.solve(lambda run: _solve(run, chosen))


def _solve(run: Run, settings: Settings) -> None:
    @lru_cache(maxsize=1)  # the trials of one line search share what depends on the point alone
    def line(point: Iterate) -> Callable[[float], Iterate]:
        return run.line(point, point.gradient)

    with suppress(NoStep):
        descend(run.start(), lambda point, t: line(point)(-t), run.accept, settings)
