"""CDOpt 0.5.5 through its own API: its penalty function, minimised by SciPy as it documents.

The counts, the budgets, the trace and the restored point at the end are ours; what is evaluated,
and how often, is CDOpt's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

import genorth as go
from baselines.paper.penalty import scipy_minimize
from genorth.errors import refuse, require_known
from genorth.geometry.manifold import GenOrthManifold
from genorth.optional import installed, missing, optional
from genorth.problem.problem import Problem
from genorth.solve.ending import end_at, outcome, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import PENALTY

_Vector = np.ndarray[Any, Any]
#: What is imported of CDOpt.
MODULES = ("cdopt.core.problem", "cdopt.manifold_np")
_METHODS = ("L-BFGS-B", "CG", "trust-ncg")
_NAMES = {
    go.Stiefel: "stiefel_np",
    go.GeneralizedStiefel: "generalized_stiefel_np",
    go.HyperbolicStiefel: "hyperbolic_np",
    go.SymplecticStiefel: "symp_stiefel_np",
}


def unsupported(manifold: Any) -> str | None:
    """Why CDOpt cannot run on the manifold; None where it can."""
    if not isinstance(manifold, GenOrthManifold):
        return "CDOpt has one variable, and this is a product"
    if type(manifold) not in _NAMES:
        return f"CDOpt 0.5.5 has no {type(manifold).__name__}"
    if manifold.dtype.kind == "c":
        return "CDOpt is connected here for real entries only"
    if not installed("cdopt"):
        return f"CDOpt is not installed: it needs {missing('cdopt', 'peers')}"
    return None


def _theirs(manifold: GenOrthManifold) -> Any:
    """CDOpt's manifold; B and H go in as functions, as it wants them."""
    import cdopt.manifold_np

    kind = getattr(cdopt.manifold_np, _NAMES[type(manifold)])
    if isinstance(manifold, go.GeneralizedStiefel | go.HyperbolicStiefel):
        return kind(manifold.shape, B=manifold.left.left)
    return kind(manifold.shape)


def cdopt(
    problem: Problem,
    x0: Any = None,
    *,
    method: str = "L-BFGS-B",
    beta: float | str = "auto",
    **common: Unpack[Common],
) -> Result:
    """Minimise CDOpt's penalty function by SciPy's `method`: "L-BFGS-B", "CG" or "trust-ncg".

    SciPy's own tests are switched off. Cost and gradient at the same point are evaluated once, also
    where CDOpt asks for them one after the other.

    Args:
        problem: The problem.
        x0: Start, any point of F. Default: a random point of M.
        method: SciPy's name of the method.
        beta: Penalty parameter, or "auto", which CDOpt draws from random samples around the start
            (seeded by rng).
        **common: The arguments of every solver, see `genorth.minimize`; tol is on the Frobenius
            norm of the gradient of CDOpt's function.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If CDOpt has no such manifold, or an argument is wrong.
    """
    require_known("method", method, _METHODS)
    reason = unsupported(problem.manifold)
    if reason is not None:
        refuse("problem", "a manifold of CDOpt", reason)
    require(problem, "CDOpt")
    options = Options(**common)
    for module in MODULES:  # before the clock starts: it takes seconds
        optional(module, "peers", "cdopt")
    start = problem.start(x0, options.rng)
    monitor = Monitor(problem, options)
    penalty = _Penalty(problem, monitor)
    rng = np.random.default_rng(options.rng)
    status = outcome(_minimise, penalty, start, method, beta, rng).status
    X = start if penalty.last is None else penalty.last.reshape(start.shape)
    end = end_at(monitor, X, start)
    return result(monitor, status, end, family=PENALTY, method=f"cdopt-{method}", beta=penalty.beta)


def _minimise(
    penalty: _Penalty, start: _Vector, method: str, beta: float | str, rng: np.random.Generator
) -> None:
    """Make the penalty function and minimise it."""
    penalty.make(start, beta, rng)
    penalty.iteration(start.ravel())
    h = penalty.theirs
    parts = {"fun": h.cdf_fun_vec_np, "jac": h.cdf_grad_vec_np}
    if method == "trust-ncg":
        parts["hessp"] = h.cdf_hvp_vec_np
    scipy_minimize(penalty.iteration, start.ravel(), method, {}, **parts)


class _Penalty:
    """CDOpt's problem, with every call of the user's functions behind the budgets."""

    def __init__(self, problem: Problem, monitor: Monitor) -> None:
        self.problem, self.monitor = problem, monitor
        self.theirs: Any = None
        self.beta: float | None = None
        self.last: _Vector | None = None

    def make(self, start: _Vector, beta: float | str, rng: np.random.Generator) -> None:
        """CDOpt's problem; beta="auto" evaluates the cost, and counts."""
        from cdopt.core.problem import problem as make_problem

        def make() -> Any:
            manifold = _theirs(self.problem.manifold)
            manifold.Init_point = lambda Xinit=None: start  # noqa: ARG005  CDOpt ignores Xinit and draws a point
            return make_problem(
                manifold, self._cost, obj_grad=self._gradient, obj_hvp=self._hessian, beta=beta
            )

        self.theirs = _with_random_state(rng, make)
        self.beta = float(self.theirs.beta)

    def _cost(self, X: _Vector) -> float:
        self.monitor.check()
        value = self.problem.cost(X)
        if not math.isfinite(value):  # CDOpt goes far off M where its beta is too small
            away = not self.problem.manifold.feasibility(X) <= 1
            raise Stop(Status.DIVERGED if away else Status.NOT_FINITE)
        return value

    def _gradient(self, X: _Vector) -> _Vector:
        self.monitor.check()
        return np.asarray(self.problem.euclidean_gradient(X))

    def _hessian(self, X: _Vector, Z: _Vector) -> _Vector:
        self.monitor.check()
        return np.asarray(self.problem.euclidean_hessian(X, Z))

    def iteration(self, v: _Vector) -> None:
        """v is the next iterate: to the trace, with figures measured while the clock stands."""
        with self.monitor.paused():
            self.last = v.copy()
            X = self.last.reshape(self.problem.manifold.shape)
            measure = float(np.linalg.norm(self.theirs.cdf_grad_vec_np(v)))
            cost = self.problem.cost(self.theirs.manifold.A(X))
            feasibility = float(self.problem.manifold.feasibility(X))
        self.monitor.iteration(X, cost, measure, feasibility)


def _with_random_state(rng: np.random.Generator, make: Callable[[], Any]) -> Any:
    """make(), while NumPy's global generator, which CDOpt draws from, is seeded by rng."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        return make()
    finally:
        np.random.set_state(state)  # noqa: NPY002
