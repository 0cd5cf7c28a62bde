"""Arrays that count the flops of the products and solves they take part in, and a manifold that counts its phi."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

import genorth as go

Matrix = np.ndarray[Any, Any]


@attrs.define
class Tally:
    """Flops: 2 m k n for a product of m x k and k x n, 2/3 n^3 + 2 n^2 k for a solve with k right-hand sides."""

    products: int = 0
    solves: float = 0.0


_tallies: list[Tally] = []


@contextmanager
def counting() -> Iterator[Tally]:
    """The tally of what counted arrays do inside."""
    _tallies.append(Tally())
    try:
        yield _tallies[-1]
    finally:
        _tallies.pop()


class Counted(np.ndarray[Any, Any]):
    """An array whose products, and those of what is computed from it, are counted."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [_plain(x) for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(_plain(x) for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            for tally in _tallies:
                tally.products += 2 * result.size * plain[0].shape[-1]
        return out[0] if out is not None else _counted(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.linalg.solve:
            n, k = np.shape(args[0])[-1], np.shape(args[1])[-1]
            for tally in _tallies:
                tally.solves += 2 / 3 * n**3 + 2 * n**2 * k
        plain = [_plain(x) if isinstance(x, Counted) else x for x in args]
        result = func(*plain, **kwargs)
        return _counted(result) if isinstance(result, np.ndarray) else result


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Counted) else x


def _counted(x: Any) -> Any:
    return x.view(Counted) if isinstance(x, np.ndarray) else x


def counted(X: Any) -> Counted:
    """X as an array that counts."""
    return np.array(X).view(Counted)


def recast(result: Matrix, like: Any) -> Matrix:
    """The result, counted as `like` is: for what was computed without being counted."""
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
