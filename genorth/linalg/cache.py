"""`ContentCache`: what was made for the last arrays, found again by their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from genorth.linalg.arrays import Array

_T = TypeVar("_T")


class ContentCache:
    """The values built for the last NumPy arrays, as long as the entries are the same.

    The entries are compared with a copy: an array that its owner changed in place is seen as new.
    Arrays of other libraries are not remembered (a traced one must not outlive its trace).

    Args:
        keep: How many arrays are remembered.
    """

    def __init__(self, keep: int = 1) -> None:
        self._keep = keep
        self._recent: list[tuple[Array, Any]] = []  # the one used last comes first

    def holds(self, key: Array) -> bool:
        """True if `get` would not build."""
        return type(key) is np.ndarray and any(same_entries(own, key) for own, _ in self._recent)

    def get(self, key: Array, build: Callable[[Array], _T]) -> _T:
        """The value for the array, built from a copy of it where it is new.

        Args:
            key: The array.
            build: Makes the value.
        Returns:
            The value.
        """
        if type(key) is not np.ndarray:
            return build(key)
        recent = self._recent
        for position, (own, value) in enumerate(recent):
            if same_entries(own, key):
                if position:
                    recent.insert(0, recent.pop(position))
                return value
        del recent[self._keep - 1 :]  # frees the oldest one before the new one is built
        own = key.copy()
        value = build(own)
        recent.insert(0, (own, value))
        return value


def same_entries(A: Array, B: Array) -> bool:
    """Equal entries; the first ones are compared first, as two iterates differ there too."""
    return bool(A.item(0) == B.item(0)) and A.dtype == B.dtype and np.array_equal(A, B)
