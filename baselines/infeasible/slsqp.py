"""`slsqp`: SciPy's sequential least squares programming, for small problems."""

from __future__ import annotations

from typing import Any, Unpack

from baselines.infeasible.run import Run
from baselines.infeasible.vectors import Vectors, limited, unknowns
from genorth.errors import refuse
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

_NEVER = 2**31 - 1
_LARGEST = 1000  # unknowns; half a second for a step


def reason(problem: Problem) -> str | None:
    """Why it cannot run on the problem; None where it can."""
    what = "a dense matrix of the order of the number of unknowns"
    return limited("SLSQP", what, unknowns(problem.manifold), _LARGEST)


@takes_metric
def slsqp(problem: Problem, x0: Any = None, **common: Unpack[Common]) -> Result:
    """Minimise f over M by SciPy's SLSQP [virtanen2020scipy], with C and its Jacobian given.

    Args:
        problem: The problem, with at most 1000 unknowns.
        x0: Start, any point of F. Default: a random point of M.
        metric: A metric of one's own, as for `GenOrthManifold.metric` (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem is too large.
    """
    if isinstance(problem, Problem) and (why := reason(problem)):
        refuse("problem", "a small problem", why)
    return Run(problem, x0, "slsqp", **common).solve(_solve)


def _solve(run: Run) -> None:
    vectors, start = Vectors(run), run.start()
    equations = {"type": "eq", "fun": vectors.constraint, "jac": vectors.jacobian}
    options = {"ftol": 0.0, "maxiter": _NEVER}
    vectors.minimize(start, "SLSQP", constraints=[equations], options=options)
