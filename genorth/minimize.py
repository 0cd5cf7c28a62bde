"""`minimize`: the front door to every registered solver, of any family."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import genorth.alm  # noqa: F401  registers all solvers of genorth
from genorth.checks.start import check_start
from genorth.errors import refuse
from genorth.linalg.arrays import eps, stays
from genorth.problem.problem import Problem
from genorth.rounds import Plan, balanced, best_of
from genorth.solve.options import Options
from genorth.solve.progress import hint
from genorth.solve.result import Progress, Result
from genorth.solve.solver import PENALTY, SOLVERS, Solver

_PENALTY = "odf-lbfgs"


def minimize(
    problem: Problem,
    x0: Any = None,
    *,
    method: str | Solver = "auto",
    beta: float | str = "auto",
    tol: float | None = None,
    rtol: float | None = None,
    feasibility_tol: float = 1e-12,
    max_iterations: int | None = 10_000,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
    keep_points: bool = False,
    progress: bool | int | str | None = None,
    check: bool = True,
    rng: Any = None,
    metric: Any = None,
    preconditioner: Callable[[Any, Any], Any] | None = None,
    certify: bool | str = "auto",
    escapes: int = 5,
    starts: int = 1,
    jobs: int = 1,
    gauge: bool | str = "auto",
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
        method: The name of a solver, or a `Solver`. "auto" takes the best one of our measurements;
            `result.method` and `result.message` say which and why. On M: "rgd", "rcg",
            "rlbfgs", "rtr", and "manpg" for a nonsmooth term. Penalty methods: "odf-gd", "odf-cg",
            "odf-lbfgs", "odf-tr", the same four with "cdf". With baselines installed, "landing",
            "prox-landing", "pymanopt-cg" and others.
            `Solver.on_device` says which ones stay on the device of an x0 of JAX or PyTorch.
        beta: Penalty parameter of a penalty method, or "auto". With a number, method="auto" is
            "odf-lbfgs".
        tol: Bound on the stopping measure: |grad h| of a penalty method, else the norm of the
            Riemannian gradient; with a nonsmooth term |Z|/t, that of the generalised gradient. It
            is absolute, as SciPy's.
        rtol: The same relative to |G| at the start, G the Euclidean gradient: the run ends where
            the measure is at most max(tol, rtol |G|). Default: 0 with a tol; without one sqrt(eps),
            1.5e-8 in double precision. Then neither the scale of f nor a good start matters, and
            the error of f, of the order of its square, is rounding.
        feasibility_tol: Bound on |C(x)|, relative to max(1, |x| |phi(x)|).
        max_iterations: None for no limit, as for the other budgets.
        max_evaluations: A cost with its gradient is one, a Hessian product is one. The check of x
            at the end may be one more.
        max_time: Seconds, without the time spent in the callback, and without the first half second
            spent on measuring.
        callback: `callback(progress)` sees each iterate; it stops the run by returning True or
            raising StopIteration.
        keep_points: Whether the trace keeps the iterates.
        progress: True shows one line that is drawn anew, k prints each k-th iteration, and the name
            of a logger sends all of them to `logging`. None is silent, but says once how to see
            more of a run in a terminal that takes longer than ten seconds.
        check: Whether the derivatives are compared with differences, and psi with phi, before the
            run: two evaluations and a Hessian product, which are not in the counts of the result.
        rng: A seed or a Generator, for random starts and randomised solvers.
        metric: A symmetric positive definite W (matrix, diagonal, sparse), a pair (T, T inverse)
            with W = (T T^T)^-1, or a name ("B" on the generalized Stiefel manifold): gradients and
            normals are those of W (F20). docs/metrics.md says when it pays. On a `Product` one for
            each factor, or "auto": weights by the curvature along the first gradient.
        preconditioner: `preconditioner(X, V)`, an approximation of the inverse Hessian at X applied
            to V, symmetric and positive definite. Default: that of the problem. docs/metrics.md
            says how to write one. "auto" and the methods named above use it; others refuse it.
        certify: "auto" or True: after convergence x is certified (`result.certificate`, see
            `genorth.certify`), and where it is a saddle the solver goes on from a lower point.
            "auto" skips this where the problem is not smooth, or has constraints: there a saddle
            is reported but not left. False skips it everywhere.
        escapes: How many saddles the run may leave before it ends with the status SADDLE.
        starts: The number of starts: x0, random points (in other components of M where there are
            some), and perturbations of x0. The best result is returned, and `result.starts` says
            what each start found.
        jobs: How many processes run the starts; with more than one, cloudpickle is needed.
        gauge: "auto": where f(X T) = f(X) for all T with T*T = I (two random T tell) and x0 has a
            much smaller representative, the run starts there, see `GenOrthManifold.balance`. True:
            f is invariant, which is tested. False: x0 as it is.
        **options: Arguments of the solver's own, such as `memory`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the method is unknown, the problem lacks what it needs, an argument is
            wrong or not one of the solver's, the preconditioner is not positive definite, or the
            check fails.
        KeyboardInterrupt: At Ctrl-C, with the result at the best iterate as `result`.
    """
    given = not isinstance(beta, str) or beta != "auto"
    if given and isinstance(method, str) and method == "auto":
        method = _PENALTY  # a penalty parameter asks for a penalty method
    solver = SOLVERS.find(method)
    if given:
        if solver.family != PENALTY:
            refuse("beta", f"a penalty method; {solver.name!r} is {solver.family}", repr(beta))
        options["beta"] = beta
    if tol is None and rtol is None and solver.takes("rtol"):
        rtol = math.sqrt(eps(x0 if stays(x0) else np.dtype(float)))
    if not isinstance(check, bool):
        refuse("check", "True or False", repr(check))
    checked = Options(
        tol=(1e-6 if rtol is None else 0.0) if tol is None else tol,
        rtol=0.0 if rtol is None else rtol,
        feasibility_tol=feasibility_tol,
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        max_time=max_time,
        callback=callback,
        keep_points=keep_points,
        progress=hint() if progress is None else progress,
        rng=rng,
    )
    if metric is not None:
        options["metric"] = metric
    if preconditioner is not None:
        options["preconditioner"] = preconditioner
    if _is_pymanopts(problem):
        from genorth.interop.pymanopt.problem import from_pymanopt, own_options

        options = {k: v for k, v in own_options(problem).items() if solver.takes(k)} | options
        problem = from_pymanopt(problem)
    if check and isinstance(problem, Problem) and problem.has_gradient and not stays(x0):
        with np.errstate(all="ignore"):  # as in the run
            check_start(problem, x0, options.get("preconditioner", problem.preconditioner))
    choices: dict[str, Any] = {"certify": certify, "gauge": gauge}
    for name, choice in choices.items():
        if not isinstance(choice, bool) and choice != "auto":
            refuse(name, "True, False or 'auto'", repr(choice))
    value: Any
    for name, value, least in (("escapes", escapes, 0), ("starts", starts, 1), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            refuse(name, f"an integer >= {least}", repr(value))
    rough = getattr(problem, "term", None) is not None
    bound = getattr(problem, "constraints", None) is not None
    if certify is True and rough:
        refuse("certify", "a smooth problem", repr(problem))
    certified = certify is True or (certify == "auto" and not (rough or bound))
    plan = Plan(
        solver=solver,
        arguments=checked.changed() | options,
        explains=check,
        escapes=(0 if bound else escapes) if certified else -1,
        options=checked,
        rng=rng,
    )
    if isinstance(problem, Problem) and problem.has_gradient:
        x0 = balanced(problem, x0, False if rough else gauge)  # r has no gauge
    if starts > 1:
        return best_of(plan, problem, x0, starts, jobs)
    return plan.run(problem, x0)


def _is_pymanopts(problem: Any) -> bool:
    """Known by the name of its module, so that pymanopt need not be loaded."""
    return any(base.__module__.partition(".")[0] == "pymanopt" for base in type(problem).__mro__)
