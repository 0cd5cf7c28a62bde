"""`rgd`, `rcg`, `rlbfgs` and `rtr`: the loops of `genorth.solve` on the places of M."""

from __future__ import annotations

from typing import Any, Unpack

from genorth.problem.problem import Problem
from genorth.riemannian.run import OnManifold
from genorth.solve.cg import cg
from genorth.solve.descent import Settings as DescentSettings
from genorth.solve.descent import gd
from genorth.solve.lbfgs import check_memory, lbfgs
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.run import Preconditioner
from genorth.solve.tr import Settings as RegionSettings
from genorth.solve.tr import tr
from genorth.solve.wolfe import Conditions


@takes_metric
def rgd(
    problem: Problem,
    x0: Any = None,
    *,
    retraction: str = "auto",
    preconditioner: Preconditioner | None = None,
    settings: DescentSettings | None = None,
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
        retraction: A kind of `GenOrthManifold.retract`.
        preconditioner: `preconditioner(X, V)`, an approximate inverse of the Hessian applied to V.
        settings: The constants of the line search. Default: those of OptM [wen2013feasible].
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    run = OnManifold(
        problem, x0, "rgd", retraction=retraction, precondition=preconditioner, **common
    )
    return run.solve(gd, settings)


@takes_metric
def rcg(
    problem: Problem,
    x0: Any = None,
    *,
    retraction: str = "auto",
    preconditioner: Preconditioner | None = None,
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian conjugate gradients [sato2022riemannian].

    See `genorth.solve.cg.cg` for the formulas. The line search uses the derivative of f along the
    curve and ends with |<g, T(Z)>| <= curvature |<g_old, Z>|, so that the denominator of beta_DY is
    at least (1 - curvature)|<g_old, Z>| > 0; where it could not reach that and the denominator is
    not positive, beta = 0.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        retraction: A kind of `GenOrthManifold.retract`.
        preconditioner: `preconditioner(X, V)`, an approximate inverse of the Hessian applied to V.
        conditions: The constants of the line search.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    run = OnManifold(
        problem, x0, "rcg", retraction=retraction, precondition=preconditioner, **common
    )
    return run.solve(cg, conditions)


@takes_metric
def rlbfgs(
    problem: Problem,
    x0: Any = None,
    *,
    retraction: str = "auto",
    memory: int = 10,
    preconditioner: Preconditioner | None = None,
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by a limited-memory BFGS method that transports no pair.

    See `genorth.solve.lbfgs.lbfgs` for the method. The slope at the end of a step is computed only
    where a parabola through the costs leaves it in doubt.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        retraction: A kind of `GenOrthManifold.retract`.
        memory: How many pairs are kept.
        preconditioner: `preconditioner(X, V)`, an approximate inverse of the Hessian applied to V.
        conditions: The constants of the line search.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    check_memory(memory)
    run = OnManifold(
        problem, x0, "rlbfgs", retraction=retraction, precondition=preconditioner, **common
    )
    return run.solve(lbfgs, memory, conditions)


@takes_metric
def rtr(
    problem: Problem,
    x0: Any = None,
    *,
    retraction: str = "auto",
    preconditioner: Preconditioner | None = None,
    settings: RegionSettings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian trust regions [absil2007trust]; needs a Hessian product.

    See `genorth.solve.tr.tr` for the method. Theta_X(grad f) is computed once for each X.

    Args:
        problem: The problem, with a Hessian product.
        x0: Start near M, which is restored. Default: a random point of M.
        retraction: A kind of `GenOrthManifold.retract`.
        preconditioner: `preconditioner(X, V)`, an approximation of the inverse Hessian applied to
            V; the radius is then measured in its norm.
        settings: The constants of the method.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient or Hessian product, or an argument is wrong.
    """
    run = OnManifold(
        problem,
        x0,
        "rtr",
        retraction=retraction,
        precondition=preconditioner,
        **common,
    )
    return run.solve(tr, settings)
