"""Automatic differentiation: the derivatives that a Problem lacks, from JAX or PyTorch.

The user's functions take and return arrays of that library. The functions that `complete` returns
take NumPy arrays (as solvers do) or arrays of the library, and return the same kind. A complex
gradient is the G with df = Re tr(G^T Z).
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import numpy as np

from genorth.errors import refuse, require_known
from genorth.linalg.arrays import Array
from genorth.optional import optional

_Function = Callable[..., Any]


class _Library(ABC):
    """How one library differentiates."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def double_precision(self) -> AbstractContextManager[Any]:
        """The context in which the library works in double precision."""
        return nullcontext()

    @abstractmethod
    def array(self, X: Array) -> Array:
        """X as an array of the library."""

    @abstractmethod
    def numpy(self, X: Array) -> Array:
        """X as a NumPy array."""

    @abstractmethod
    def value_and_gradient(self, cost: _Function) -> _Function:
        """X -> (f, G)."""

    @abstractmethod
    def derivative(self, cost: _Function) -> _Function:
        """(X, Z) -> the derivative of the gradient of cost in the direction Z."""

    @abstractmethod
    def derivative_of(self, gradient: _Function) -> _Function:
        """(X, Z) -> the derivative of a given gradient in the direction Z."""

    @abstractmethod
    def jacobian(self, function: _Function) -> _Function:
        """(X, ...) -> the Jacobians of a function whose values are vectors, one per argument."""

    @final
    def taking_numpy(self, function: _Function) -> _Function:
        """The function on NumPy arrays; a result that is an array comes back as one."""

        def call(*arrays: Array) -> Any:
            if not isinstance(arrays[0], np.ndarray):
                return function(*arrays)
            with self.double_precision():
                result = function(*map(self.array, arrays))
            return (
                tuple(map(self.numpy, result)) if isinstance(result, tuple) else self.numpy(result)
            )

        return call


@final
class _Jax(_Library):
    """JAX, with compiled derivatives; double precision is enabled inside the calls only."""

    def double_precision(self) -> AbstractContextManager[Any]:
        newer = hasattr(self.module, "enable_x64")
        context: AbstractContextManager[Any] = (
            self.module if newer else importlib.import_module("jax.experimental")
        ).enable_x64(True)
        return context

    def array(self, X: Array) -> Array:
        return self.module.numpy.asarray(X)

    def numpy(self, X: Array) -> Array:
        return np.asarray(X)

    def value_and_gradient(self, cost: _Function) -> _Function:
        def both(X: Array) -> tuple[Any, Array]:
            f, G = self.module.value_and_grad(cost)(X)
            return f, self.module.numpy.conj(
                G
            )  # JAX returns the conjugate of the G of this library

        return self.module.jit(both)

    def derivative(self, cost: _Function) -> _Function:
        return self.derivative_of(lambda X: self.module.numpy.conj(self.module.grad(cost)(X)))

    def derivative_of(self, gradient: _Function) -> _Function:
        return self.module.jit(lambda X, Z: self.module.jvp(gradient, (X,), (Z,))[1])

    def jacobian(self, function: _Function) -> _Function:
        def each(*arrays: Array) -> Any:
            return self.module.jacrev(function, tuple(range(len(arrays))))(*arrays)

        return self.module.jit(each)


@final
class _Torch(_Library):
    """PyTorch; its gradient of a real cost is the G of this library, also for complex entries."""

    def array(self, X: Array) -> Array:
        return self.module.tensor(X)  # a copy: the user may write into it

    def numpy(self, X: Array) -> Array:
        return X.detach().cpu().numpy() if isinstance(X, self.module.Tensor) else np.asarray(X)

    def value_and_gradient(self, cost: _Function) -> _Function:
        def both(X: Array) -> tuple[Any, Array]:
            X = X.detach().clone().requires_grad_(True)
            f = self._followed(cost(X))
            return f.detach(), self._gradient(f, X)

        return both

    def _followed(self, f: Any) -> Array:
        """The cost, a tensor."""
        if not isinstance(f, self.module.Tensor):
            hint = "float(...), .item() and .numpy() cut the derivative off: return the tensor."
            refuse("cost", "a tensor, which autodiff='torch' follows", type(f).__name__, None, hint)
        return f

    def _gradient(self, f: Array, X: Array, create_graph: bool = False) -> Array:
        (G,) = self.module.autograd.grad(f, X, create_graph=create_graph, materialize_grads=True)
        return G

    def derivative(self, cost: _Function) -> _Function:
        def product(X: Array, Z: Array) -> Array:
            X = X.detach().clone().requires_grad_(True)
            return self._product(
                self._gradient(self._followed(cost(X)), X, create_graph=True), X, Z
            )

        return product

    def derivative_of(self, gradient: _Function) -> _Function:
        def product(X: Array, Z: Array) -> Array:
            X = X.detach().clone().requires_grad_(True)
            return self._product(gradient(X), X, Z)

        return product

    def jacobian(self, function: _Function) -> _Function:
        return lambda *arrays: self.module.autograd.functional.jacobian(function, arrays)

    def _product(self, G: Array, X: Array, Z: Array) -> Array:
        """The gradient of <G, Z>: the Hessian is symmetric for the real inner product."""
        if not G.requires_grad:
            return self.module.zeros_like(X)
        inner = (G.conj() * Z).sum().real if G.is_complex() else (G * Z).sum()
        return self._gradient(inner, X)


_LIBRARIES: dict[str, type[_Library]] = {"jax": _Jax, "torch": _Torch}


def _load(name: str) -> _Library:
    require_known("autodiff", name, _LIBRARIES)
    return _LIBRARIES[name](optional(name, name, f"autodiff={name!r}"))


def _number(cost: _Function) -> _Function:
    """The cost, with (1,) and (1, 1) taken as numbers."""

    def number(X: Array) -> Any:
        f = cost(X)
        return f.reshape(()) if getattr(f, "shape", ()) in ((1,), (1, 1)) else f

    return number


def with_jacobian(library: str, given: Any) -> Any:
    """Constraints of SciPy, of which each `NonlinearConstraint` has its Jacobian.

    Args:
        library: "jax" or "torch".
        given: Constraints, lists of them, or mappings. Where a `NonlinearConstraint` has no
            callable `jac`, its function takes and returns arrays of the library.

    Returns:
        The same, with `jac` where it lacked, and functions that take NumPy arrays there.
    """
    from scipy.optimize import NonlinearConstraint

    if isinstance(given, Mapping):
        return {name: with_jacobian(library, each) for name, each in given.items()}
    if isinstance(given, list | tuple):
        return [with_jacobian(library, each) for each in given]
    if not isinstance(given, NonlinearConstraint) or callable(given.jac):
        return given
    loaded = _load(library)
    derivative = loaded.taking_numpy(loaded.jacobian(given.fun))

    def jac(*arrays: Array) -> Any:
        parts = derivative(*arrays)
        return parts if len(arrays) > 1 else parts[0]

    value = loaded.taking_numpy(given.fun)
    return NonlinearConstraint(value, given.lb, given.ub, jac, given.hess)


def complete(
    library: str,
    *,
    cost: _Function | None,
    euclidean_gradient: _Function | None,
    euclidean_hessian: _Function | None,
    cost_and_gradient: _Function | None,
) -> dict[str, _Function | None]:
    """Derive what is missing and wrap all four callables of a Problem for NumPy arrays.

    Args:
        library: "jax" or "torch".
        cost: X -> f(X).
        euclidean_gradient: X -> G.
        euclidean_hessian: (X, Z) -> the derivative of G in the direction Z.
        cost_and_gradient: X -> (f, G).

    Returns:
        The callables by name; None for those that cannot be derived.

    Raises:
        ValueError: If the library is unknown.
        ImportError: If the library is not installed.
    """
    loaded = _load(library)
    cost = None if cost is None else _number(cost)
    if euclidean_hessian is None:
        if euclidean_gradient is not None:
            euclidean_hessian = loaded.derivative_of(euclidean_gradient)
        elif cost is not None:
            euclidean_hessian = loaded.derivative(cost)
        elif cost_and_gradient is not None:
            fused = cost_and_gradient
            euclidean_hessian = loaded.derivative_of(lambda X: fused(X)[1])
    if cost is not None and euclidean_gradient is None and cost_and_gradient is None:
        cost_and_gradient = loaded.value_and_gradient(cost)
    given = {
        "cost": cost,
        "euclidean_gradient": euclidean_gradient,
        "euclidean_hessian": euclidean_hessian,
        "cost_and_gradient": cost_and_gradient,
    }
    return {
        name: None if function is None else loaded.taking_numpy(function)
        for name, function in given.items()
    }
