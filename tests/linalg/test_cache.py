"""The cache of the last arrays."""

from typing import Any

import numpy as np
import pytest

from genorth.linalg.cache import ContentCache, same_entries
from support.problems import Matrix


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_last_arrays_are_remembered_by_their_entries(keep):
    cache, built = ContentCache(keep), []
    arrays = [np.full(3, float(k)) for k in range(keep + 1)]

    def ask(array: Matrix) -> Any:
        return cache.get(array, lambda own: built.append(own[0]) or object())

    first = [ask(array) for array in arrays[:keep]]
    assert [ask(array.copy()) for array in arrays[:keep]] == first and len(built) == keep
    ask(arrays[0])  # used last: the next new one replaces another
    ask(arrays[keep])
    assert cache.holds(arrays[keep]) and cache.holds(arrays[0]) == (keep > 1)
    changed = arrays[keep]
    changed[1] = 9
    assert not cache.holds(changed)


def test_all_entries_and_their_type_are_compared():
    a = np.arange(4.0)
    assert same_entries(a, a.copy())
    assert not same_entries(a, a + np.array([0, 0, 0, 1]))
    assert not same_entries(a, a + 0j)
