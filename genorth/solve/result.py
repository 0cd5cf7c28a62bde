"""What every solver returns: `Result`, with its `Status` and its `Trace`.

The penalty methods, the Riemannian solvers, pymanopt's and CDOpt's all return the same, so that
they can be compared.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs
import numpy as np

from genorth.linalg.arrays import Array

_Column = np.ndarray[Any, Any]


class Status(Enum):
    """Why a run ended; the value is the sentence that the user reads."""

    CONVERGED = "The gradient norm is at most tol, and x is on the manifold."
    NOT_FEASIBLE = (
        "The gradient norm is at most tol, but x misses feasibility_tol: rounding limits it here. "
        "Raise feasibility_tol."
    )
    NOT_STATIONARY = (
        "h is stationary at a point away from the manifold, and x, restored from there, is not stationary for f: "
        "beta is too small. Use beta='auto' or a larger beta."
    )
    ITERATION_LIMIT = "Stopped by max_iterations: raise it, or go on from the x of this result."
    EVALUATION_LIMIT = "Stopped by max_evaluations: raise it, or go on from the x of this result."
    TIME_LIMIT = "Stopped by max_time: raise it, or go on from the x of this result."
    CALLBACK = "Stopped by the callback, which raised StopIteration."
    STALLED = (
        "No step decreases the cost any more, though the gradient norm is above tol: rounding limits it here. "
        "Raise tol, scale the cost, or check the derivatives with genorth.check_gradient."
    )
    NOT_FINITE = (
        "The cost or its gradient returned NaN or infinity; x is the best iterate before that. "
        "Look at the objective near x, or start elsewhere."
    )
    DIVERGED = (
        "The iterates went so far from the manifold that they cannot be restored: beta is too small there. "
        "Use beta='auto' or a larger beta, or start on the manifold."
    )


@attrs.define
class Trace:
    """One line per iteration, line 0 being the start; `points` only where they were asked for."""

    #: Seconds since the start, without the time spent on measuring and in the callback.
    time: list[float] = attrs.field(factory=list)
    #: f at A(X) for a penalty method (what X becomes when it is restored), at X for a Riemannian
    #: one.
    cost: list[float] = attrs.field(factory=list)
    #: The measure that is compared with tol: |grad h|, or the norm of the Riemannian gradient.
    gradient_norm: list[float] = attrs.field(factory=list)
    #: |C(X)|.
    feasibility: list[float] = attrs.field(factory=list)
    #: Evaluations so far: a cost with its gradient is one, a Hessian product is one.
    evaluations: list[int] = attrs.field(factory=list)
    points: list[Array] | None = None

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return f"Trace({len(self)} lines)"

    def append(
        self, time: float, cost: float, gradient_norm: float, feasibility: float, evaluations: int
    ) -> None:
        """Add a line."""
        self.time.append(time)
        self.cost.append(cost)
        self.gradient_norm.append(gradient_norm)
        self.feasibility.append(feasibility)
        self.evaluations.append(evaluations)

    def as_arrays(self) -> dict[str, _Column]:
        """The columns by name, as NumPy arrays."""
        return {
            name: np.asarray(getattr(self, name))
            for name in ("time", "cost", "gradient_norm", "feasibility", "evaluations")
        }


@attrs.frozen(eq=False)
class Progress:
    """What a callback sees: the iterate (a copy; near M for a penalty method) and its figures."""

    x: Array = attrs.field(repr=False)
    fun: float
    nit: int
    nfev: int
    gradient_norm: float
    feasibility: float
    time: float


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Result:
    """The outcome of a run. `x` is on M, and `fun`, `gradient_norm` and `feasibility` belong to it."""

    #: The point found.
    x: Array
    #: f(x).
    fun: float
    #: The norm of the Riemannian gradient at x.
    gradient_norm: float
    #: |C(x)|.
    feasibility: float
    #: True only if x is on M within feasibility_tol and the stopping measure was met.
    success: bool
    status: Status
    #: The sentence of the status, with what else there is to say.
    message: str
    #: The name of the solver.
    method: str
    nit: int
    nfev: int
    njev: int
    nhev: int
    #: Seconds, without the time spent on measuring and in the callback.
    time: float
    trace: Trace
    #: Seconds by phase, of those that the solver measures: "cost" is the time inside the user's
    #: callables.
    seconds: dict[str, float] = attrs.field(factory=dict)
    #: The last value of what is compared with tol: |grad h| before restoring, or the Riemannian
    #: gradient norm.
    stopping_measure: float = float("nan")
    #: The penalty parameter (None for a Riemannian solver), and how often "auto" changed it.
    beta: float | None = None
    beta_raised: int = 0
    #: The exactness threshold beta* at x (None for a Riemannian solver, or where it was not
    #: computed).
    threshold: float | None = None
    #: |C(X)| before X was restored.
    feasibility_before: float | None = None

    @property
    def evaluations(self) -> int:
        """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
        return max(self.nfev, self.njev) + self.nhev

    @property
    def margin(self) -> float | None:
        """Beta / beta*, how far above the threshold the run ended (infinite where beta* = 0)."""
        if self.beta is None or self.threshold is None:
            return None
        return self.beta / self.threshold if self.threshold > 0 else float("inf")

    def __repr__(self) -> str:
        lines = {
            "success": self.success,
            "status": self.status.name,
            "message": self.message,
            "method": self.method,
            "fun": f"{self.fun:.12g}",
            "gradient_norm": f"{self.gradient_norm:.3g}",
            "feasibility": f"{self.feasibility:.3g}",
            "nit": self.nit,
            "nfev, njev, nhev": f"{self.nfev}, {self.njev}, {self.nhev}",
            "time": f"{self.time:.3g} s",
        }
        if self.beta is not None:
            above = "" if self.margin is None else f" ({self.margin:.3g} times the threshold at x)"
            lines["beta"] = f"{self.beta:.4g}{above}, raised {self.beta_raised} times"
        lines["x"] = f"{type(self.x).__name__} of shape {tuple(self.x.shape)}"
        width = max(map(len, lines))
        return "\n".join(f"{name:>{width}}: {value}" for name, value in lines.items())
