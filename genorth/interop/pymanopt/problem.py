"""`to_pymanopt` and `from_pymanopt`: a genorth Problem as one of pymanopt, and the reverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pymanopt

from genorth.errors import refuse, require
from genorth.interop.pymanopt.manifold import PymanoptManifold
from genorth.linalg.arrays import Array
from genorth.linalg.cache import ContentCache
from genorth.problem.problem import Problem
from genorth.solve.monitor import Guard

_Preconditioner = Callable[[Array, Array], Array]


@attrs.define(eq=False)
class _Point:
    """What is known at one X."""

    X: Array
    cost: float | None = None
    gradient: Array | None = None


class Shared:
    """f and G at the iterate (where G was asked for last) and at the latest trial point.

    Each is evaluated once. A line search or a trust region that goes back to the iterate finds it
    still there, whatever was tried in between.
    """

    def __init__(self, problem: Problem, source: Guard | None = None) -> None:
        self._source = problem if source is None else source
        self._cost_alone, self._gradient_alone = problem.has_cost, problem._gradient is not None
        self._iterate, self._trial = ContentCache(), ContentCache()

    def cost(self, X: Array) -> float:
        """f(X)."""
        cache = self._iterate if self._iterate.holds(X) else self._trial
        here = cache.get(X, _Point)
        if here.cost is None:
            if self._cost_alone:
                here.cost = self._source.evaluate_cost(here.X)
            else:
                here.cost, here.gradient = self._source.evaluate(here.X)
        return here.cost

    def gradient(self, X: Array) -> Array:
        """G at X, which becomes the iterate."""
        if not self._iterate.holds(X):
            self._iterate, self._trial = self._trial, self._iterate
        here = self._iterate.get(X, _Point)
        if here.gradient is None:
            if self._gradient_alone:
                here.gradient = self._source.evaluate_gradient(here.X)
            else:
                here.cost, here.gradient = self._source.evaluate(here.X)
        return here.gradient


class _SharedProblem(pymanopt.Problem):  # type: ignore[misc]  # pymanopt has no annotations
    """A pymanopt Problem that knows which genorth Problem it was made from."""

    def __init__(
        self, problem: Problem, manifold: PymanoptManifold, preconditioner: _Preconditioner | None
    ) -> None:
        function, shared = pymanopt.function.numpy(manifold), Shared(problem)
        super().__init__(
            manifold,
            function(shared.cost),
            euclidean_gradient=function(shared.gradient) if problem.has_gradient else None,
            euclidean_hessian=function(problem.euclidean_hessian) if problem.has_hessian else None,
            preconditioner=preconditioner,
        )
        self.genorth_problem = problem


def to_pymanopt(
    problem: Problem,
    retraction: str = "auto",
    rng: Any = None,
    preconditioner: _Preconditioner | None = None,
) -> Any:
    """A `pymanopt.Problem` on `PymanoptManifold(problem.manifold, retraction, rng)`.

    The problem counts what pymanopt's solvers evaluate, and nothing is evaluated twice: neither the
    cost after a line search nor the Euclidean gradient for each Hessian product.

    Args:
        problem: The problem.
        retraction: As for `PymanoptManifold`.
        rng: A seed or a Generator for random points and vectors.
        preconditioner: `preconditioner(point, tangent_vector)`, pymanopt's.

    Returns:
        The pymanopt Problem.

    Raises:
        ValueError: If it is not a genorth Problem, or the retraction is unknown.
    """
    require(isinstance(problem, Problem), "problem", "a genorth.Problem", type(problem).__name__)
    return _SharedProblem(
        problem, PymanoptManifold(problem.manifold, retraction, rng), preconditioner
    )


def from_pymanopt(problem: Any) -> Problem:
    """A `genorth.Problem` from a `pymanopt.Problem` whose manifold is a `PymanoptManifold`.

    Derivatives that pymanopt's backend makes by automatic differentiation are taken over; a cost of
    the NumPy backend has only those that were given.

    Args:
        problem: The pymanopt Problem.

    Returns:
        The problem; the one that `to_pymanopt` was given, where it comes from there.

    Raises:
        ValueError: If the manifold is not one of ours, or the gradient is Riemannian: a penalty
            needs the Euclidean one, away from M too.
    """
    if isinstance(problem, _SharedProblem):
        return problem.genorth_problem
    manifold = wrapped_manifold(problem)
    gradient = _derivative(problem, "euclidean_gradient")
    require(
        gradient is not None or problem._riemannian_gradient is None,
        "problem",
        "euclidean_gradient",
        "riemannian_gradient alone",
        "The penalty needs a gradient away from the manifold too: pass the Euclidean one.",
    )
    return Problem(
        manifold.manifold,
        _writable(problem, problem.cost),
        _writable(problem, gradient),
        _writable(problem, _derivative(problem, "euclidean_hessian")),
        name=getattr(problem._original_cost._original_function, "__name__", None),
    )


def own_options(problem: Any) -> dict[str, Any]:
    """The retraction, the metric and the preconditioner that a pymanopt Problem brings along."""
    manifold = wrapped_manifold(problem)
    options = {"retraction": manifold.kind}
    if manifold.metric is not None:
        options["metric"] = manifold.metric
    if getattr(problem.preconditioner, "__module__", None) != "pymanopt.core.problem":
        options["preconditioner"] = problem.preconditioner  # and not pymanopt's default, V -> V
    return options


def wrapped_manifold(problem: Any) -> PymanoptManifold:
    """The manifold of a pymanopt Problem, which must be one of ours."""
    require(
        isinstance(problem, pymanopt.Problem),
        "problem",
        "a pymanopt.Problem or a genorth.Problem",
        type(problem).__name__,
    )
    manifold = problem.manifold
    if isinstance(manifold, PymanoptManifold):
        return manifold
    hint = "Wrap a manifold of genorth: PymanoptManifold(go.Stiefel(n, p)), for example."
    if isinstance(manifold, pymanopt.manifolds.Product):
        hint = "A Product is for pymanopt's own solvers: call optimizer.run(problem)."
    refuse(
        "problem",
        "a problem on a PymanoptManifold",
        f"{type(manifold).__name__} ({manifold})",
        None,
        hint,
    )


def _writable(problem: Any, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The function, handed copies if it is pymanopt's of PyTorch, which warns of read-only ones."""
    if function is None or str(problem._original_cost._backend) != "PyTorch":
        return function
    return lambda *arrays: function(*(array.copy() for array in arrays))


def _derivative(problem: Any, name: str) -> Callable[..., Array] | None:
    """The derivative, given or made by the backend; None where the backend (NumPy) makes none."""
    try:
        return getattr(problem, name)
    except NotImplementedError:
        return None
