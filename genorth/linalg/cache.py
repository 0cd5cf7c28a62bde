"""`ContentCache`: the value computed for the last array, looked up by its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from genorth.linalg.arrays import Array

_T = TypeVar("_T")


class ContentCache:
    """The value built for the last NumPy array, as long as the array's entries are the same.

    Entries are compared with a copy, so an array changed in place counts as new. Arrays of other
    libraries are not remembered (a traced one must not outlive its trace).
    """

    def __init__(self) -> None:
        self._last: tuple[Array, Any] | None = None

    def holds(self, key: Array) -> bool:
        """True if `get(key, ...)` would not build."""
        return (
            type(key) is np.ndarray and self._last is not None and same_entries(self._last[0], key)
        )

    def get(self, key: Array, build: Callable[[Array], _T]) -> _T:
        """The value for `key`, built if it is not the one remembered.

        Args:
            key: The array.
            build: Called with a copy of `key` if the value is not there.

        Returns:
            The value.
        """
        if type(key) is not np.ndarray:
            return build(key)
        last = self._last
        if last is not None and same_entries(last[0], key):
            return last[1]
        self._last = None  # frees the old one before the new one is built
        own = key.copy()
        value = build(own)
        self._last = (own, value)
        return value


def same_entries(A: Array, B: Array) -> bool:
    """True if all entries are equal. The first is compared first: two iterates differ there."""
    return bool(A.item(0) == B.item(0)) and A.dtype == B.dtype and np.array_equal(A, B)
