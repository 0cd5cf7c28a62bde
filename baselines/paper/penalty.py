"""SciPy's CG, L-BFGS-B and trust-ncg on h, which the paper used, as loops on a penalty.

SciPy's own tests are switched off: what stops a run is the Frobenius norm of grad h.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from baselines.paper.objective import Objective
from genorth.penalty.run import OnSpace

_Vector = np.ndarray[Any, Any]
_NEVER = 2**31 - 1  # iterations and evaluations are limited by the monitor


def scipy_loop(method: Callable[[Objective, _Vector], None]) -> Callable[[OnSpace], None]:
    """The loop that runs SciPy's method, again from where it stalls in rounding."""

    def loop(run: OnSpace) -> None:
        objective = Objective(run)
        v, progress = objective.vector(run.first), True
        while progress:  # values are differences to the point where a solver starts
            objective.begin(v)
            nit = run.monitor.nit
            method(objective, v)
            progress = run.monitor.nit > nit and not run.turned_back
            assert objective.last is not None
            v = objective.last

    return loop


def conjugate_gradients(objective: Objective, start: _Vector) -> None:
    """SciPy's nonlinear conjugate gradients (Polak and Ribiere)."""
    both = objective.value_and_gradient
    scipy_minimize(objective.iteration, start, "CG", {}, fun=both, jac=True)


def lbfgs(objective: Objective, start: _Vector) -> None:
    """SciPy's L-BFGS-B, without bounds."""
    both, options = objective.value_and_gradient, {"maxcor": 10, "maxls": 30}
    scipy_minimize(objective.iteration, start, "L-BFGS-B", options, fun=both, jac=True)


def trust_region(objective: Objective, start: _Vector) -> None:
    """SciPy's trust-ncg, with Steihaug's conjugate gradients; trust-krylov fails near rounding."""
    radius = 0.1 * (float(np.linalg.norm(start)) or 1.0)
    options = {"initial_trust_radius": radius, "max_trust_radius": 100 * radius}
    parts = {"fun": objective.value, "jac": objective.gradient, "hessp": objective.hessian_product}
    scipy_minimize(objective.iteration, start, "trust-ncg", options, **parts)


def scipy_minimize(
    iteration: Callable[[_Vector], None],
    start: _Vector,
    method: str,
    options: dict[str, Any],
    **arguments: Any,
) -> None:
    """One of SciPy's methods, without its own stopping tests.

    Args:
        iteration: Is told of every iterate; it ends the run by an exception.
        start: The start.
        method: SciPy's name: "CG", "L-BFGS-B" or "trust-ncg".
        options: Options of the method, besides its tolerances and limits.
        **arguments: Other arguments of `scipy.optimize.minimize`.
    """
    never = {"gtol": 0.0, "maxiter": _NEVER}
    if method == "L-BFGS-B":
        never |= {"ftol": 0.0, "maxfun": _NEVER}

    def callback(intermediate_result: Any) -> None:
        iteration(intermediate_result.x)

    import scipy.optimize

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.optimize.OptimizeWarning)
        scipy.optimize.minimize(
            x0=start, method=method, options=never | options, callback=callback, **arguments
        )


#: By algorithm: the loop, and what it cites.
LOOPS: dict[str, tuple[Callable[[OnSpace], None], str]] = {
    "cg": (scipy_loop(conjugate_gradients), "polak1969note"),
    "lbfgs": (scipy_loop(lbfgs), "liu1989limited"),
    "tr": (scipy_loop(trust_region), "steihaug1983conjugate"),
}
