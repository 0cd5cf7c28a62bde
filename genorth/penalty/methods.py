"""The unconstrained methods: our gradient descent, and SciPy's CG, L-BFGS-B and trust regions.

Each takes an Objective and a start and works until the objective raises `Stop`; it returns only
where it cannot go on. SciPy's own tests are switched off: what stops a run is the Frobenius norm of
grad h.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import numpy as np
import scipy.optimize

from genorth.linalg.arrays import inner, norm, number
from genorth.penalty.cg import lean_cg
from genorth.penalty.lbfgs import lean_lbfgs
from genorth.penalty.objective import Objective
from genorth.solve.descent import NoStep, Settings, descend

_Vector = np.ndarray[Any, Any]
_NEVER = 2**31 - 1  # iterations and evaluations are limited by the monitor


@attrs.frozen(eq=False)
class _Iterate:
    X: _Vector
    value: float
    gradient: _Vector
    decrease: float


def gradient_descent(objective: Objective, start: _Vector) -> None:
    """Alternating Barzilai-Borwein steps with a nonmonotone line search."""

    def at(v: _Vector) -> _Iterate:
        value, g = objective.value_and_gradient(v)
        return _Iterate(v, value, g, number(inner(g, g)))

    def step(point: _Iterate, t: float) -> _Iterate:
        return at(point.X - t * point.gradient)

    first = at(start)
    with suppress(NoStep):
        descend(first, step, lambda point: objective.iteration(point.X), _settings(first))


def _settings(first: _Iterate) -> Settings:
    """OptM's constants; the first step is at most a tenth of |X|, for large gradients."""
    size = math.sqrt(first.decrease)
    if not size > 0:
        return Settings()
    longest = 0.1 * number(norm(first.X)) / size
    return Settings(first_step=min(Settings().first_step, longest))


def conjugate_gradients(objective: Objective, start: _Vector) -> None:
    """SciPy's nonlinear conjugate gradients (Polak and Ribiere)."""
    both = objective.value_and_gradient
    scipy_minimize(objective.iteration, start, "CG", {}, fun=both, jac=True)


def lbfgs(objective: Objective, start: _Vector) -> None:
    """SciPy's L-BFGS-B, without bounds."""
    both, options = objective.value_and_gradient, {"maxcor": 10, "maxls": 30}
    scipy_minimize(objective.iteration, start, "L-BFGS-B", options, fun=both, jac=True)


def lean(objective: Objective, start: _Vector) -> None:
    """Our own L-BFGS."""
    lean_lbfgs(objective, start, objective.curvature)


def lean_conjugate_gradients(objective: Objective, start: _Vector) -> None:
    """Our own conjugate gradients."""
    lean_cg(objective, start, objective.curvature)


def trust_region(objective: Objective, start: _Vector) -> None:
    """SciPy's trust-ncg, with Steihaug's conjugate gradients; trust-krylov fails near rounding."""
    radius = 0.1 * float(np.linalg.norm(start))
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.optimize.OptimizeWarning)
        scipy.optimize.minimize(
            x0=start, method=method, options=never | options, callback=callback, **arguments
        )


#: The methods that take arrays of JAX and PyTorch as they are.
ON_DEVICE = ("gd", "cg-lean", "lbfgs-lean")

#: By name: the method, and at how many points h keeps its results for it.
METHODS: dict[str, tuple[Callable[[Objective, _Vector], None], int]] = {
    "gd": (gradient_descent, 1),
    "cg": (conjugate_gradients, 1),
    "cg-lean": (lean_conjugate_gradients, 1),
    "lbfgs": (lbfgs, 1),
    "lbfgs-lean": (lean, 1),
    "tr": (trust_region, 2),  # the iterate, and the trial
}
