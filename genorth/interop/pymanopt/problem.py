"""`to_pymanopt` and `from_pymanopt`: a genorth Problem as one of pymanopt, and the reverse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pymanopt

from genorth.errors import refuse, require
from genorth.geometry.product import Euclidean
from genorth.interop.pymanopt.manifold import PymanoptManifold
from genorth.linalg.arrays import Array, is_array
from genorth.linalg.cache import ContentCache
from genorth.manifolds.named import Sphere
from genorth.manifolds.product import Product
from genorth.manifolds.stiefel import Stiefel
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
        self, problem: Problem, manifold: Any, preconditioner: _Preconditioner | None
    ) -> None:
        shared, product = Shared(problem.in_blocks), problem.manifold

        def function(given: Callable[..., Any]) -> Any:
            """pymanopt hands over the parts of a point one by one, and wants lists of parts."""
            if isinstance(product, Product):
                return pymanopt.function.numpy(manifold)(partial(_by_parts, product, given))
            return pymanopt.function.numpy(manifold)(given)

        hessian = problem.in_blocks.euclidean_hessian if problem.has_hessian else None
        super().__init__(
            manifold,
            function(shared.cost),
            euclidean_gradient=function(shared.gradient) if problem.has_gradient else None,
            euclidean_hessian=None if hessian is None else function(hessian),
            preconditioner=preconditioner,
        )
        self.genorth_problem = problem


def _by_parts(product: Product, given: Callable[..., Any], *parts: Array) -> Any:
    """A function of flat vectors, called with the parts of X, or of X and then of Z."""
    size = len(product.factors)
    vectors = [product.inward(parts[i : i + size]) for i in range(0, len(parts), size)]
    result = given(*vectors)
    return list(product.outward(result)) if is_array(result) else result


def to_pymanopt(
    problem: Problem,
    retraction: str = "auto",
    rng: Any = None,
    preconditioner: _Preconditioner | None = None,
) -> Any:
    """A `pymanopt.Problem` on `PymanoptManifold(problem.manifold, retraction, rng)`.

    A `Product` becomes pymanopt's `Product`, of such manifolds and of pymanopt's `Euclidean`.

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
    problem.require_smooth("pymanopt")
    if not isinstance(problem.manifold, Product):
        manifold: Any = PymanoptManifold(problem.manifold, retraction, rng)
    else:
        manifold = pymanopt.manifolds.Product(
            [
                pymanopt.manifolds.Euclidean(*factor.shape)
                if isinstance(factor, Euclidean)
                else PymanoptManifold(factor, retraction, rng)
                for factor in problem.manifold.factors
            ]
        )
    return _SharedProblem(problem, manifold, preconditioner)


def from_pymanopt(problem: Any) -> Problem:
    """A `genorth.Problem` from a `pymanopt.Problem` whose manifold is a `PymanoptManifold`.

    Or pymanopt's `Product` of such manifolds and its own `Stiefel`, `Sphere` and `Euclidean`.

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
    _require_theirs(problem)
    several = isinstance(problem.manifold, pymanopt.manifolds.Product)
    manifold: Any = (
        Product(*map(_ours, problem.manifold.manifolds))
        if several
        else wrapped_manifold(problem).manifold
    )
    gradient = _derivative(problem, "euclidean_gradient")
    require(
        gradient is not None or problem._riemannian_gradient is None,
        "problem",
        "euclidean_gradient",
        "riemannian_gradient alone",
        "The penalty needs a gradient away from the manifold too: pass the Euclidean one.",
    )
    functions = [problem.cost, gradient, _derivative(problem, "euclidean_hessian")]
    if several:
        functions = [f and partial(_in_lists, f, len(manifold.factors)) for f in functions]
    return Problem(
        manifold,
        *(_writable(problem, function) for function in functions),
        name=getattr(problem._original_cost._original_function, "__name__", None),
    )


def _ours(manifold: Any) -> Any:
    """The factor of a `genorth.Product` for a factor of pymanopt's."""
    kinds = pymanopt.manifolds
    if isinstance(manifold, PymanoptManifold):
        return manifold.manifold
    if type(manifold) is kinds.Euclidean:
        return Euclidean(tuple(manifold._shape))
    if type(manifold) is kinds.Stiefel and manifold._k == 1:
        return Stiefel(manifold._n, manifold._p)
    if type(manifold) is kinds.Sphere and len(manifold._shape) == 1:
        return Sphere(manifold._shape[0])
    need = "a PymanoptManifold, or pymanopt's Stiefel, Sphere of vectors or Euclidean"
    refuse("problem", f"a product whose factors are each {need}", str(manifold))


def _in_lists(given: Callable[..., Any], size: int, *parts: Array) -> Any:
    """A function of pymanopt's, which takes lists, with one argument for each factor."""
    result = given(*([*parts[i : i + size]] for i in range(0, len(parts), size)))
    return tuple(result) if isinstance(result, list | tuple) else result


def own_options(problem: Any) -> dict[str, Any]:
    """The retraction, the metric and the preconditioner that a pymanopt Problem brings along."""
    if isinstance(problem.manifold, pymanopt.manifolds.Product):
        return {}
    manifold = wrapped_manifold(problem)
    options = {"retraction": manifold.kind}
    if manifold.metric is not None:
        options["metric"] = manifold.metric
    if getattr(problem.preconditioner, "__module__", None) != "pymanopt.core.problem":
        options["preconditioner"] = problem.preconditioner  # and not pymanopt's default, V -> V
    return options


def wrapped_manifold(problem: Any) -> PymanoptManifold:
    """The manifold of a pymanopt Problem, which must be one of ours."""
    _require_theirs(problem)
    manifold = problem.manifold
    if isinstance(manifold, PymanoptManifold):
        return manifold
    hint = "Wrap a manifold of genorth: PymanoptManifold(go.Stiefel(n, p)), for example."
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


def _require_theirs(problem: Any) -> None:
    require(
        isinstance(problem, pymanopt.Problem),
        "problem",
        "a pymanopt.Problem or a genorth.Problem",
        type(problem).__name__,
    )
