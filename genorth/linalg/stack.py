"""`Stack`: a few arrays of one shape, as the memory of L-BFGS keeps them."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, final

import numpy as np

from genorth.linalg.arrays import Array, as_like, is_complex, is_jax, namespace, on_host
from genorth.linalg.compiled import Owner, compiled

_Vector = np.ndarray[Any, Any]


class Stack(ABC):
    """k arrays of one shape; each operation passes over them once.

    `Stack.like(k, X)` makes one for arrays like X, where X is.
    """

    @staticmethod
    def like(k: int, X: Array) -> Stack:
        """Room for k arrays like X."""
        return _Rows(k, X) if type(X) is np.ndarray else _OnDevice(k, X)

    @abstractmethod
    def put(self, i: int, X: Array, X0: Array) -> None:
        """Array i is X - X0."""

    @abstractmethod
    def products(self, rows: int, first: int, last: int) -> _Vector:
        """<A_i, A_j> for i < rows and first <= j < last."""

    @abstractmethod
    def against(self, rows: int, X: Array) -> _Vector:
        """<A_i, X> for i < rows."""

    @abstractmethod
    def combined(self, c: _Vector) -> Array:
        """The sum of c_i A_i."""


@final
class _Rows(Stack):
    """NumPy arrays, as the rows of one real matrix."""

    def __init__(self, k: int, X: _Vector) -> None:
        self._shape, self._dtype = X.shape, X.dtype
        self._B = np.empty((k, math.prod(X.shape) * (2 if X.dtype.kind == "c" else 1)))
        self._arrays = self._B.view(complex if X.dtype.kind == "c" else float).reshape(k, *X.shape)

    def _real(self, X: _Vector) -> _Vector:
        flat = np.ascontiguousarray(X).reshape(-1)
        return flat.view(float) if X.dtype.kind == "c" else flat

    def put(self, i: int, X: _Vector, X0: _Vector) -> None:
        np.subtract(X, X0, out=self._arrays[i])

    def products(self, rows: int, first: int, last: int) -> _Vector:
        return np.asarray(self._B[:rows] @ self._B[first:last].T)

    def against(self, rows: int, X: _Vector) -> _Vector:
        return np.asarray(self._B[:rows] @ self._real(X))

    def combined(self, c: _Vector) -> _Vector:
        return (c @ self._B[: c.size]).view(self._dtype).reshape(self._shape)


_OWNER = Owner()


@final
class _OnDevice(Stack):
    """Arrays of JAX or PyTorch, as one array that is where they are; only numbers leave it."""

    def __init__(self, k: int, X: Array) -> None:
        self._B = _outer(_OWNER, X, np.zeros(k))

    def put(self, i: int, X: Array, X0: Array) -> None:
        self._B = _written(self._B, i, X, X0)

    def products(self, rows: int, first: int, last: int) -> _Vector:
        columns = [_against_own(_OWNER, self._B, j) for j in range(first, last)]
        return np.stack([on_host(column)[:rows] for column in columns], axis=1)

    def against(self, rows: int, X: Array) -> _Vector:
        return on_host(_against(_OWNER, self._B, X))[:rows]

    def combined(self, c: _Vector) -> Array:
        weights = np.zeros(self._B.shape[0], c.dtype)
        weights[: c.size] = c
        return _combined(_OWNER, self._B, weights)


def _written(B: Array, i: int, X: Array, X0: Array) -> Array:
    """B with X - X0 as array i, in the memory of B."""
    if is_jax(B):
        return _set()(B, i, X, X0)
    B[i, ...] = X - X0
    return B


@cache
def _set() -> Callable[..., Array]:
    """JAX reuses the memory of an array that is donated to it."""
    function: Callable[..., Array] = sys.modules["jax"].jit(
        lambda B, i, X, X0: B.at[i].set(X - X0), donate_argnums=0
    )
    return function


@compiled
def _outer(owner: Owner, X: Array, c: Array) -> Array:  # noqa: ARG001
    """The arrays c_i X."""
    return namespace(X).tensordot(as_like(c, X), X, axes=0)


@compiled
def _against_own(owner: Owner, B: Array, j: int) -> Array:
    """Re <A_i, A_j>."""
    return _against(owner, B, B[j, ...])


@compiled
def _against(owner: Owner, B: Array, X: Array) -> Array:  # noqa: ARG001
    """Re <A_i, X>."""
    xp, axes = namespace(B), tuple(range(1, B.ndim))
    value = xp.tensordot(xp.conj(B) if is_complex(B) else B, X, axes=(axes, tuple(range(X.ndim))))
    return xp.real(value) if is_complex(value) else value


@compiled
def _combined(owner: Owner, B: Array, c: Array) -> Array:  # noqa: ARG001
    """The sum of c_i A_i."""
    return namespace(B).tensordot(as_like(c, B), B, axes=((0,), (0,)))
