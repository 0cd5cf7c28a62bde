"""What every solver returns: `Result`, with its `Status` and its `Trace`.

The penalty methods, the Riemannian solvers, pymanopt's and CDOpt's all return the same, so that
they can be compared.
"""

from __future__ import annotations

import textwrap
from enum import Enum
from typing import Any, NamedTuple

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array, on_host
from genorth.notebook import html_table
from genorth.optional import optional
from genorth.problem.problem import evaluations
from genorth.solve.certificate import Certificate

_Column = np.ndarray[Any, Any]


class Status(Enum):
    """Why a run ended; the value is a sentence that says so."""

    CONVERGED = "The gradient norm is at most tol, and x is on the manifold."
    SADDLE = "The gradient norm is at most tol, but x is a saddle: f falls in some direction."
    NOT_FEASIBLE = "The gradient norm is at most tol, but x violates feasibility_tol."
    OTHER_COMPONENT = "The run left the component of the manifold that was asked for."
    NOT_STATIONARY = "The run stopped at a point that, restored to the manifold, is not stationary."
    ITERATION_LIMIT = "The run was stopped by max_iterations."
    EVALUATION_LIMIT = "The run was stopped by max_evaluations."
    TIME_LIMIT = "The run was stopped by max_time."
    CALLBACK = "The run was stopped by the callback."
    INTERRUPTED = "The run was interrupted; x is the best iterate before that."
    STALLED = "No step decreases the cost any more, though the gradient norm is above tol."
    NOT_FINITE = (
        "The cost or its gradient returned NaN or infinity; x is the best iterate before that."
    )
    INFEASIBLE = "No point of the manifold was found that satisfies the constraints."
    UNBOUNDED = "The cost falls without bound on this manifold."
    DIVERGED = "The iterates went so far from the manifold that they cannot be restored."

    def message(self, family: str = "") -> str:
        """The sentence, and what to do next with a solver of this family.

        Args:
            family: A family of `Solver`; without one the advice is for any solver.

        Returns:
            One or two sentences.
        """
        advice = _ADVICE.get((self, family)) or _ADVICE.get((self, ""), "")
        return f"{self.value} {advice}".rstrip()


_GO_ON = "Raise the limit, or go on from the x of this result."

#: What to do next, for one family or ("") for all others.
_ADVICE = {
    (Status.INFEASIBLE, ""): "Loosen the constraint that is named, or start elsewhere.",
    (Status.NOT_FEASIBLE, ""): "Rounding limits it here: raise feasibility_tol.",
    (Status.SADDLE, ""): (
        "See result.certificate; raise escapes or a budget, or use starts=5, or another x0."
    ),
    (Status.OTHER_COMPONENT, ""): (
        "Only Riemannian solvers stay in a component: use method='auto', or start elsewhere."
    ),
    (Status.NOT_STATIONARY, "penalty"): "beta is too small: use beta='auto' or a larger beta.",
    (Status.NOT_STATIONARY, ""): "Run again from the x of this result.",
    (Status.ITERATION_LIMIT, ""): _GO_ON,
    (Status.EVALUATION_LIMIT, ""): _GO_ON,
    (Status.TIME_LIMIT, ""): _GO_ON,
    (Status.INTERRUPTED, ""): "Go on from the x of this result.",
    (Status.UNBOUNDED, ""): "It has no minimum there: check its sign, or add a term.",
    (Status.STALLED, ""): (
        "Rounding limits it here: raise tol or scale the cost. "
        "Or the derivatives are wrong: see genorth.check_gradient."
    ),
    (Status.NOT_FINITE, ""): "Check the cost near x, or start elsewhere.",
    (Status.DIVERGED, "penalty"): (
        "beta is too small there: use beta='auto' or a larger beta, or start on the manifold."
    ),
    (Status.DIVERGED, "Riemannian"): "The cost may fall without bound there, or start elsewhere.",
    (Status.DIVERGED, ""): "Start on the manifold, or use shorter steps.",
}


_ANY = 1e9  # times the threshold: it is zero but for rounding
_WIDTH = 100  # of a line of `print(result)`
#: What `Result.plot` draws, and against what.
_PLOTTED = {"cost": "f minus its best", "gradient_norm": "gradient norm", "feasibility": "|C(X)|"}
_AGAINST = {"evaluations": "evaluations", "iterations": "iterations", "time": "seconds"}
_COLUMNS = ("time", "cost", "gradient_norm", "feasibility", "evaluations")


@attrs.define
class Trace:
    """One line per iteration, line 0 for the start; `points` only with keep_points."""

    #: Seconds since the start, without the time spent on measuring and in the callback.
    time: list[float] = attrs.field(factory=list)
    #: f at A(X) for a penalty method (what X becomes when restored), at X for a Riemannian one.
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
        return {name: np.asarray(getattr(self, name)) for name in _COLUMNS}


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
    #: What the gradient norm is compared with.
    tol: float = 0.0


class Start(NamedTuple):
    """What one of several starts of `minimize` found."""

    #: "given", "random" or "perturbed".
    kind: str
    x: Array
    fun: float
    status: Status
    #: The component of M that x is in, see `GenOrthManifold.component`.
    component: int
    #: Starts with the same number found the same point, up to T with f(X T) = f(X).
    minimum: int


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Result:
    """The outcome of a run.

    `x` is on M, and `fun`, `gradient_norm` and `feasibility` belong to it.
    """

    #: The point found.
    x: Array
    #: f(x), plus r(x) where the problem has a nonsmooth term.
    fun: float
    #: The norm of the Riemannian gradient at x; with a nonsmooth term |Z|/t, that of the
    #: generalised gradient, Z the proximal step on the tangent space.
    gradient_norm: float
    #: |C(x)|.
    feasibility: float
    #: True only if the run converged, x is on M within feasibility_tol (and |C(x)| <= 1e-6), and
    #: the gradient norm at x is at most 2 tol.
    success: bool
    status: Status
    #: What happened and what to do next.
    message: str
    #: The name of the solver.
    method: str
    nit: int
    nfev: int
    njev: int
    nhev: int
    #: Values of further constraints, and products with their Jacobian (or its derivative).
    constr_nfev: int = 0
    constr_njev: int = 0
    #: Seconds, without the time spent on measuring and in the callback.
    time: float
    trace: Trace
    #: Seconds by phase, of those that the solver measures; "cost" is inside the user's callables.
    seconds: dict[str, float] = attrs.field(factory=dict)
    #: The last value that was compared with tol: |grad h|, or the norm of the Riemannian gradient.
    stopping_measure: float = float("nan")
    #: The penalty parameter (None for a Riemannian solver; on a product a tuple, one per factor
    #: with a constraint), and how often "auto" changed it.
    beta: Any = None
    beta_raised: int = 0
    #: The exactness threshold beta* at x, where it was computed.
    threshold: Any = None
    #: |C(X)| before X was restored.
    feasibility_before: float | None = None
    #: |x - P(x)|, the distance of x from F; zero where F is the whole space.
    outside: float = 0.0
    #: With metric=W: the norm of the Riemannian gradient in W, by which the run stopped.
    metric_gradient_norm: float | None = None
    #: With further constraints: multipliers, violation and complementarity at x.
    kkt: Any = None
    #: How often a Riemannian solver used each retraction.
    retractions: dict[str, int] = attrs.field(factory=dict)
    #: Whether x is a minimum or a saddle, where `minimize` has certified it.
    certificate: Certificate | None = None
    #: With starts > 1: what each start found.
    starts: tuple[Start, ...] = ()

    @property
    def evaluations(self) -> int:
        """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
        return evaluations(self.nfev, self.njev, self.nhev)

    @property
    def sparsity(self) -> float:
        """The share of entries of x that are exactly zero."""
        parts = self.x if isinstance(self.x, tuple) else (self.x,)
        arrays = [on_host(part) for part in parts]
        return 1 - sum(np.count_nonzero(X) for X in arrays) / sum(X.size for X in arrays)

    @property
    def margin(self) -> float | None:
        """Beta / beta*, how far above the threshold the run ended (infinite where beta* = 0)."""
        if self.beta is None or self.threshold is None:
            return None
        pairs = zip(*np.atleast_1d(self.beta, self.threshold), strict=True)
        return min(float(b / t) if t > 0 else float("inf") for b, t in pairs)

    def _lines(self) -> dict[str, str]:
        """What a reader wants to know, by name."""
        lines = {
            "success": str(self.success),
            "status": self.status.name,
            "message": self.message,
            "method": self.method,
            "fun": f"{self.fun:.12g}",
            "gradient_norm": f"{self.gradient_norm:.3g}",
            "feasibility": f"{self.feasibility:.3g}",
            "nit": str(self.nit),
            "evaluations": (
                f"{self.evaluations} (nfev {self.nfev}, njev {self.njev}, nhev {self.nhev})"
            ),
            "time": f"{self.time:.3g} s",
        }
        if self.certificate is not None:
            lines["certificate"] = self.certificate.verdict
        if self.kkt is not None:
            lines["constraints"] = (
                f"violation {self.kkt.violation:.3g}, complementarity "
                f"{self.kkt.complementarity:.3g} (nfev {self.constr_nfev}, "
                f"njev {self.constr_njev})"
            )
        if self.outside > 0:
            lines["outside"] = f"{self.outside:.3g} (the distance from F)"
        if self.beta is not None:
            above = "" if self.margin is None else f" ({self.margin:.3g} times the threshold at x)"
            if self.margin is not None and self.margin > _ANY:
                above = " (every beta > 0 is exact at x)"
            betas = ", ".join(f"{beta:.4g}" for beta in np.atleast_1d(self.beta))
            lines["beta"] = f"{betas}{above}, raised {self.beta_raised} times"
        parts = self.x if isinstance(self.x, tuple) else (self.x,)
        shapes = ", ".join(str(tuple(getattr(part, "shape", ()))) for part in parts)
        return lines | {"x": f"{type(self.x).__name__} of shape {shapes}"}

    def __repr__(self) -> str:
        lines = self._lines()
        width = max(map(len, lines))
        folded = (
            textwrap.fill(f"{name:>{width}}: {value}", _WIDTH, subsequent_indent=" " * (width + 2))
            for name, value in lines.items()
        )
        return "\n".join(folded)

    def _repr_html_(self) -> str:
        return html_table(f"{self.method}: {self.status.name}", self._lines().items())

    def plot(
        self, axes: Any = None, against: str = "evaluations", best: float | None = None
    ) -> Any:
        """Plot the convergence: f minus its best value, the gradient norm and |C|.

        To see several results in one figure, pass the axes of the first to the others, and the same
        best value to all of them.

        Args:
            axes: Three matplotlib axes. Default: a new row of three.
            against: What the curves are drawn against: "evaluations", "iterations" or "time".
            best: What is subtracted from f. Default: the lowest f of the run.

        Returns:
            The three axes.

        Raises:
            ValueError: If `axes` or `against` is none of these.
            ImportError: If matplotlib is not installed.
        """
        if against not in _AGAINST:
            refuse("against", f"one of {', '.join(_AGAINST)}", repr(against))
        if axes is None:
            pyplot = optional("matplotlib.pyplot", "report", "Result.plot")
            _, axes = pyplot.subplots(1, 3, figsize=(10.0, 3.2), layout="constrained")
        if np.size(axes) != len(_PLOTTED):
            refuse("axes", "three axes: f, gradient norm, |C|", f"{np.size(axes)} of them")
        columns = self.trace.as_arrays() | {"iterations": np.arange(len(self.trace))}
        lowest = np.min(columns["cost"], initial=self.fun) if best is None else best
        columns["cost"] = columns["cost"] - lowest
        for axis, (name, title) in zip(np.ravel(axes), _PLOTTED.items(), strict=True):
            height = np.where(columns[name] > 0, columns[name], np.nan)
            axis.plot(columns[against], height, label=self.method)
            axis.set(yscale="log", title=title, xlabel=_AGAINST[against])
            axis.grid(alpha=0.3)
        np.ravel(axes)[0].legend()
        return axes

    def to_scipy(self) -> Any:
        """The result as SciPy's `OptimizeResult`.

        Returns:
            It has all fields of this result; `status` is 0 for a success, else the place of the
            status among all of them.
        """
        from scipy.optimize import OptimizeResult

        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Result)}
        return OptimizeResult(fields | {"status": list(Status).index(self.status)})


#: What runs add up.
COUNTED = ("nfev", "njev", "nhev", "constr_nfev", "constr_njev", "time")


def joined(first: Result | None, second: Result) -> Result:
    """The result of two runs, one after the other; of the second where there is no first."""
    if first is None:
        return second
    before, after = first.trace, second.trace
    trace = Trace(
        [*before.time, *(first.time + t for t in after.time)],
        [*before.cost, *after.cost],
        [*before.gradient_norm, *after.gradient_norm],
        [*before.feasibility, *after.feasibility],
        [*before.evaluations, *(first.evaluations + n for n in after.evaluations)],
        None if before.points is None else [*before.points, *(after.points or [])],
    )
    sums = {name: getattr(first, name) + getattr(second, name) for name in ("nit", *COUNTED)}
    return attrs.evolve(second, trace=trace, **sums)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes:
        result: The Result at the best iterate, as if the run had ended there.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return self.result.message
