"""`trust_constr`: SciPy's trust regions with equality constraints, for small problems."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from baselines.infeasible.run import Run
from baselines.infeasible.vectors import Vectors, limited, unknowns
from genorth.errors import refuse
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

_NEVER = 2**31 - 1
_LARGEST = 2_000_000  # entries; half a second for a step


def reason(problem: Problem) -> str | None:
    """Why it cannot run on the problem; None where it can."""
    manifold = problem.manifold
    entries = unknowns(manifold) ** 2 * manifold.shape[-1] // manifold.shape[-2]
    return limited("trust-constr", "the dense Jacobian of C (entries)", entries, _LARGEST)


@takes_metric
def trust_constr(problem: Problem, x0: Any = None, **common: Unpack[Common]) -> Result:
    """Minimise f over M by SciPy's trust-constr [virtanen2020scipy], with C and DC given.

    Byrd and Omojokun's method. The Hessian of C is given too, and that of f where the problem has
    one; else SciPy's BFGS stands for it.

    Args:
        problem: The problem, with at most 2e6 entries in the Jacobian of C.
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
    return Run(problem, x0, "trust-constr", **common).solve(_solve)


def _solve(run: Run) -> None:
    from scipy.optimize import BFGS, NonlinearConstraint
    from scipy.sparse.linalg import LinearOperator

    vectors, start, size = Vectors(run), run.start(), unknowns(run.manifold)

    def second(v: Any, y: Any) -> LinearOperator:  # noqa: ARG001
        return LinearOperator((size, size), partial(vectors.constraint_hessian, y))

    exact = run.problem.has_hessian
    vectors.minimize(
        start,
        "trust-constr",
        constraints=NonlinearConstraint(
            vectors.constraint, 0.0, 0.0, jac=vectors.jacobian, hess=second
        ),
        options={"gtol": 0.0, "xtol": 0.0, "maxiter": _NEVER},
        **{"hessp": vectors.hessian_product} if exact else {"hess": BFGS()},
    )
