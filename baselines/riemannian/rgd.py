"""`rgd`: Riemannian gradient descent with alternating Barzilai-Borwein steps and a nonmonotone line search."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Unpack

from baselines.riemannian.run import Iterate, Run
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep, Settings, descend
from genorth.solve.options import Common
from genorth.solve.result import Result


def rgd(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian gradient descent [Iannazzo and Porcelli 2018].

    X <- R_X(-t grad f(X)). With S and Y the differences of two iterates and of their gradients, the
    next t is <S,S>/|<S,Y>| after an even number of iterations and |<S,Y>|/<Y,Y> after an odd one,
    <.,.> that of the ambient space. A step is accepted by comparison with an average of the last
    costs [Zhang and Hager 2004], else divided by ten; `settings` has the constants, by default
    those of OptM [Wen and Yin 2013]. A step outside the domain of the retraction is halved.

    geometry: "fast", "products" or "faithful". The other arguments are those of
    `genorth.minimize`; x0 must be near M.
    """
    run = Run(problem, x0, "rgd", geometry, **common)
    chosen = Settings() if settings is None else settings

    return run.solve(lambda run: _solve(run, chosen))


def _solve(run: Run, settings: Settings) -> None:
    @lru_cache(maxsize=1)  # the trials of one line search share what depends on the point alone
    def line(point: Iterate) -> Callable[[float], Iterate]:
        return run.line(point, point.gradient)

    try:
        descend(run.start(), lambda point, t: line(point)(-t), run.accept, settings)
    except NoStep:
        return
