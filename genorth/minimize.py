"""`minimize`: the front door to every registered solver, of any family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import genorth.auto  # noqa: F401  registers all solvers of genorth
from genorth.errors import refuse
from genorth.problem.problem import Problem
from genorth.solve.options import Options
from genorth.solve.result import Progress, Result
from genorth.solve.solver import PENALTY, SOLVERS, Solver

_PENALTY = "odf-lbfgs"


def minimize(
    problem: Problem,
    x0: Any = None,
    *,
    method: str | Solver = "auto",
    beta: float | str = "auto",
    tol: float = 1e-6,
    feasibility_tol: float = 1e-12,
    max_iterations: int | None = 10_000,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
    keep_points: bool = False,
    rng: Any = None,
    metric: Any = None,
    **options: Any,
) -> Result:
    """Minimise f over M by any solver: a penalty method, a Riemannian one, another package's.

    A penalty method minimises h without constraints, then restores X to M (Algorithm 1). The "odf"
    methods use h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2 with Newton's map D (F16), the "cdf" methods
    h(X) = f(A(X)) + beta/2 |C(X)|^2 of the paper.

    Args:
        problem: A Problem, or a pymanopt `Problem` on a `PymanoptManifold`, whose retraction and
            preconditioner hold if the solver takes them.
        x0: Start. A penalty method starts anywhere in F, a Riemannian one near M. Default: a random
            point of M.
        method: The name of a solver, or a `Solver`. "auto" takes the one that measurements say is
            best; `result.method` and `result.message` say which and why. On M: "rgd", "rcg",
            "rlbfgs", "rtr". Penalty methods: "odf-gd", "odf-cg", "odf-lbfgs", "odf-tr", the same
            four with "cdf". With baselines installed, "landing", "pymanopt-cg" and others. Those
            that end in "tr" use Hessian products.
            `Solver.on_device` says which ones stay on the device of an x0 of JAX or PyTorch.
        beta: Penalty parameter of a penalty method, or "auto". With a number, method="auto" is
            "odf-lbfgs".
        tol: On the stopping measure: |grad h| of a penalty method, else the norm of the Riemannian
            gradient.
        feasibility_tol: On |C(x)|, relative to max(1, |x| |phi(x)|).
        max_iterations: None for no limit, as for the other budgets.
        max_evaluations: A cost with its gradient is one, a Hessian product is one. The check of x
            at the end may be one more.
        max_time: Seconds, without the time spent on measuring and in the callback.
        callback: `callback(progress)` sees each iterate; it stops the run by raising StopIteration.
        keep_points: Whether the trace keeps the iterates.
        rng: A seed or a Generator, for the start where there is none, and for solvers that draw.
        metric: A symmetric positive definite W (matrix, diagonal, sparse), a pair (T, T inverse)
            with W = (T T^T)^-1, or a name ("B" on the generalized Stiefel manifold): gradients and
            normals are those of W (F20). docs/metrics.md says when it pays.
        **options: Arguments of the solver's own, such as `memory` or `preconditioner`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the method is unknown, the problem lacks what it needs, or an argument is
            wrong or not one of the solver's.
    """
    given = not isinstance(beta, str) or beta != "auto"
    if given and isinstance(method, str) and method == "auto":
        method = _PENALTY  # a penalty parameter asks for a penalty method
    solver = SOLVERS.find(method)
    if given:
        if solver.family != PENALTY:
            refuse("beta", f"a penalty method; {solver.name!r} is {solver.family}", repr(beta))
        options["beta"] = beta
    checked = Options(
        tol=tol,
        feasibility_tol=feasibility_tol,
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        max_time=max_time,
        callback=callback,
        keep_points=keep_points,
        rng=rng,
    )
    if metric is not None:
        options["metric"] = metric
    if _is_pymanopts(problem):
        from genorth.interop.pymanopt.problem import from_pymanopt, own_options

        options = {k: v for k, v in own_options(problem).items() if solver.takes(k)} | options
        problem = from_pymanopt(problem)
    return solver(problem, x0, **checked.changed(), **options)


def _is_pymanopts(problem: Any) -> bool:
    """Known by the name of its module, so that pymanopt need not be loaded."""
    return any(base.__module__.partition(".")[0] == "pymanopt" for base in type(problem).__mro__)
