"""`auto`: the default of `minimize`, which takes the solver that measurements say is best.

Trust regions solve everything that any other solver solves, and are within a few per cent of the
fastest in the median, with Hessian products that are given, derived, or made by differences of
gradients (docs/choosing.md has the figures). So the choice needs to know little of the problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import attrs

import genorth.riemannian  # noqa: F401  registers what `choose` names
from genorth.errors import NotRestorableError, refuse
from genorth.penalty.registry import PENALTIES
from genorth.problem.problem import Problem
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, joined
from genorth.solve.run import Preconditioner
from genorth.solve.solver import RIEMANNIAN, SOLVERS, Solver

_LOOSE = 1e4  # times tol, the gradient norm at which a penalty method has led to M
_LOOSEST = 0.1  # relative to |G|


class Choice(NamedTuple):
    """A solver, and why."""

    method: str
    why: str


def choose(problem: Problem, expensive: bool = False) -> Choice:
    """The solver for a problem, by its structure.

    Args:
        problem: The problem.
        expensive: Whether an evaluation of f takes longer than everything else.

    Returns:
        The name of the solver, and a sentence that says why.
    """
    if problem.term is not None:
        return Choice("manpg", "auto took 'manpg', as the problem has a nonsmooth term.")
    if problem.constraints is not None:
        return Choice("ralm", "auto took 'ralm', as the problem has further constraints.")
    if expensive:
        return Choice("rlbfgs", "auto took 'rlbfgs', which needs the fewest evaluations of f.")
    if problem.has_hessian:
        return Choice("rtr", "auto took 'rtr', as the problem has Hessian products.")
    why = "auto took 'rtr' with Hessian products by differences of gradients."
    return Choice("rtr", why)


def auto(
    problem: Problem,
    x0: Any = None,
    *,
    expensive: bool = False,
    metric: Any = None,
    preconditioner: Preconditioner | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by the solver that suits the problem.

    From a start that cannot be restored to M a penalty method leads near a solution first.

    Args:
        problem: The problem.
        x0: Start, anywhere in F. Default: a random point of M.
        expensive: Whether an evaluation of f takes longer than everything else: then the solver
            with the fewest evaluations is taken.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        preconditioner: `preconditioner(X, V)`, an approximate inverse of the Hessian applied to V.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `method` is the solver that ran, and `message` says why.
    """
    require(problem, "auto", nonsmooth=True)
    if problem.constraints is not None:
        chosen = choose(problem)
        result = SOLVERS[chosen.method](problem, x0, metric=metric, **common)
        return attrs.evolve(result, message=f"{result.message} {chosen.why}")
    if not isinstance(expensive, bool):
        refuse("expensive", "True or False", repr(expensive))
    options = Options(**common)
    chosen, first = choose(problem, expensive), None
    solver, why = SOLVERS[chosen.method], chosen.why
    own = {"metric": metric, "preconditioner": preconditioner}
    arguments = dict(common) | {name: value for name, value in own.items() if value is not None}
    start = problem.start(x0, options.rng, on_device=True)
    try:
        start = problem.manifold.restore(start, options.feasibility_tol)
    except NotRestorableError:
        problem.require_smooth("a penalty method, which leads to M from this x0,")
        penalty = f"{PENALTIES['orthogonal'].prefix}-lbfgs"
        loose = arguments | {
            "tol": _LOOSE * options.tol,
            "rtol": min(_LOOSE * options.rtol, _LOOSEST),
        }
        first = SOLVERS[penalty](problem, start, **loose)
        why = f"From this start auto took {penalty!r} to reach M. {why}"
        if not first.success or first.gradient_norm <= options.tol or options.rtol >= _LOOSEST:
            return attrs.evolve(first, message=f"{first.message} {why}")
        start = first.x
    result = solver(problem, start, **arguments)
    return attrs.evolve(joined(first, result), message=f"{result.message} {why}")


SOLVERS.register(
    Solver(
        name="auto",
        family=RIEMANNIAN,
        run=auto,
        algorithm="auto",
        cites=("absil2007trust", "steihaug1983conjugate"),
        on_device=True,
        chooses=True,
        nonsmooth=True,
    )
)
