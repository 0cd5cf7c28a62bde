"""`ContentCache`: the values computed for the last arrays, looked up by their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from genorth.linalg.arrays import Array, is_differentiated, stays

_T = TypeVar("_T")


class ContentCache:
    """The values built for the last arrays, as long as the entries are the same.

    Entries of NumPy arrays are compared with a copy, so an array changed in place counts as new.
    An array of JAX or PyTorch is known again if it is the same object: the former cannot be
    changed, the latter counts its changes. One that automatic differentiation follows must not
    outlive its trace or graph and is not remembered.

    Args:
        keep: How many arrays are remembered.
    """

    def __init__(self, keep: int = 1) -> None:
        self._keep = keep
        self._recent: list[tuple[Array, Any]] = []  # the one used last comes first

    def __reduce__(self) -> Any:
        """Pickled empty: what it holds can be computed again, and may not be picklable."""
        return ContentCache, (self._keep,)

    def holds(self, key: Array) -> bool:
        """True if `get(key, ...)` would not build."""
        return any(_same(own, key) for own, _ in self._recent)

    def get(self, key: Array, build: Callable[[Array], _T]) -> _T:
        """The value for `key`, built if it is not remembered.

        Args:
            key: The array.
            build: Called with a copy of `key` if the value is not there.

        Returns:
            The value.
        """
        if type(key) is not np.ndarray and (not stays(key) or is_differentiated(key)):
            return build(key)
        recent = self._recent
        for position, (own, value) in enumerate(recent):
            if _same(own, key):
                if position:
                    recent.insert(0, recent.pop(position))
                return value
        del recent[self._keep - 1 :]  # frees the oldest one before the new one is built
        own = key.copy() if type(key) is np.ndarray else (key, _changes(key))
        value = build(own if type(key) is np.ndarray else key)
        recent.insert(0, (own, value))
        return value


def _changes(X: Array) -> int:
    """How often PyTorch has written into X."""
    return int(getattr(X, "_version", 0))


def _same(own: Any, key: Array) -> bool:
    """Whether `key` is the array that was remembered, unchanged."""
    if type(key) is np.ndarray:
        return type(own) is np.ndarray and same_entries(own, key)
    return type(own) is tuple and own[0] is key and own[1] == _changes(key)


def same_entries(A: Array, B: Array) -> bool:
    """True if all entries are equal. The first is compared first: two iterates differ there."""
    return bool(A.item(0) == B.item(0)) and A.dtype == B.dtype and np.array_equal(A, B)
