"""Arrays that count the operations of products and factorisations, manifolds that count phi.

Costs are stated in the paper as orders; counts show them without a clock. Elementwise operations
are of lower order everywhere.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.linalg

import genorth as go
from support.norms import Matrix


def _square(factor: float) -> Callable[..., float]:
    """Factor p^3 for each p x p matrix of the first argument."""
    return lambda A, *_: factor * math.prod(A.shape[:-1]) * A.shape[-1] ** 2


def _matmul(A: Any, B: Any) -> float:
    return (
        2
        * math.prod(np.broadcast_shapes(A.shape[:-2], B.shape[:-2]))
        * A.shape[-2]
        * A.shape[-1]
        * B.shape[-1]
    )


def _solve(A: Any, B: Any) -> float:
    return _square(2 / 3)(A) + 2 * math.prod(A.shape[:-1]) * A.shape[-1] * B.shape[-1]


#: Leading terms of the usual operation counts.
_COSTS: dict[Any, Callable[..., float]] = {
    np.matmul: _matmul,
    np.linalg.qr: lambda A, *_: 4 * math.prod(A.shape) * A.shape[-1],
    np.linalg.cholesky: _square(1 / 3),
    np.linalg.eigh: _square(9),
    np.linalg.inv: _square(2),
    np.linalg.solve: _solve,
}


class Counted(np.ndarray[Any, Any]):
    """An array whose products and factorisations, and those of results, add to `total`."""

    total: ClassVar[float] = 0.0

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        if out is not None:
            options["out"] = tuple(_plain(result) for result in out)
        plain = [_plain(X) for X in inputs]
        self._add(ufunc, plain)
        return _counted(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        plain = [_plain(X) for X in args]
        self._add(function, plain)
        return _counted(function(*plain, **{name: _plain(X) for name, X in kwargs.items()}))

    @staticmethod
    def _add(function: Any, args: list[Any]) -> None:
        if function in _COSTS:
            Counted.total += _COSTS[function](*args)


def _plain(X: Any) -> Any:
    if isinstance(X, list | tuple):
        return type(X)(_plain(item) for item in X)
    return X.view(np.ndarray) if isinstance(X, Counted) else X


def _counted(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_counted(item) for item in result)
    return result.view(Counted) if isinstance(result, np.ndarray) else result


@contextmanager
def _scipy_counts() -> Iterator[None]:
    """Two solvers of SciPy, which turn their input into plain arrays, add to the count as well."""
    lyapunov, triangular = scipy.linalg.solve_continuous_lyapunov, scipy.linalg.solve_triangular

    def counted_lyapunov(A: Any, B: Any) -> Any:
        Counted.total += _square(25)(A)  # a Schur form
        return _counted(lyapunov(_plain(A), _plain(B)))

    def counted_triangular(A: Any, B: Any, **options: Any) -> Any:
        Counted.total += A.shape[-1] * math.prod(B.shape)
        return _counted(triangular(_plain(A), _plain(B), **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.linalg, "solve_continuous_lyapunov", counted_lyapunov)
        patch.setattr(scipy.linalg, "solve_triangular", counted_triangular)
        yield


def flops(function: Callable[..., Any], *arrays: Any) -> float:
    """The operations of function(*arrays), where the arrays are counted from there on."""
    Counted.total = 0.0
    with _scipy_counts():
        function(*(X.view(Counted) for X in arrays))
    return Counted.total


def recast(result: Matrix, like: Any) -> Matrix:
    """What was computed without being counted, counted from here on where `like` is."""
    return result.view(Counted) if isinstance(like, Counted) else result


class CountingManifold(go.GenOrthManifold):
    """A manifold whose phi is counted in calls; the products inside phi and psi are not counted."""

    def __init__(self, within: go.GenOrthManifold) -> None:
        self.within, self.shape, self.dtype, self.calls = within, within.shape, within.dtype, 0
        self.ambient_projector = within.ambient_projector

    def phi(self, X: Matrix) -> Matrix:
        self.calls += 1
        return recast(self.within.phi(np.asarray(X)), X)

    def psi(self, T: Matrix) -> Matrix:
        return recast(self.within.psi(np.asarray(T)), T)
