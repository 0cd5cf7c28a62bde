"""The array operations, each by itself."""

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from genorth.linalg.arrays import all_finite, as_like, ct, eps, eye_like, inner, is_floating, plus
from genorth.linalg.cache import ContentCache, same_entries
from support.problems import Matrix

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_type_of_the_entries_is_kept(dtype):
    X = np.ones((3, 2), dtype)
    assert is_floating(X) and eye_like(X[:2]).dtype == dtype
    assert eps(X) == eps(X.dtype) == np.finfo(dtype).eps
    assert as_like(np.ones(3), X).dtype == X.real.dtype
    assert as_like(np.ones(3) + 0j, X).dtype.kind == "c"
    assert as_like(np.ones(3) + 0j, X).dtype.itemsize == 2 * X.real.dtype.itemsize


@pytest.mark.parametrize("dtype", [int, bool, np.float16, np.longdouble])
def test_other_types_are_not_floating(dtype):
    assert not is_floating(np.ones(3, dtype))


def test_infinity_and_nan_are_not_finite():
    for xp in (np, strict):
        assert all_finite(xp.asarray([1.0, 2.0]))
        assert not all_finite(xp.asarray([1.0, np.inf]))
        assert not all_finite(xp.asarray([np.nan, 1.0]))


def test_a_sum_is_written_over_an_array_of_the_same_type_only():
    R, D = np.ones(3), np.full(3, 2.0)
    assert plus(R, D) is R and np.array_equal(R, np.full(3, 3.0))
    np.testing.assert_array_equal(plus(np.ones(3), 1j * D), 1 + 2j * np.ones(3))


def test_the_inner_product_is_real_and_conjugates():
    U, V = np.array([[1 + 2j, 3j]]), np.array([[2 - 1j, 1 + 1j]])
    for xp in (np, strict):
        value = inner(xp.asarray(U), xp.asarray(V))
        assert float(value) == np.vdot(U, V).real


@pytest.mark.parametrize("dtype", [float, complex])
def test_the_transpose_conjugates_in_every_library(dtype):
    xp = pytest.importorskip("array_api_strict")
    X = (np.arange(6.0).reshape(3, 2) * (1 + 2j)).astype(complex)
    X = X if dtype is complex else X.real
    for put in (np.asarray, xp.asarray):
        np.testing.assert_array_equal(np.asarray(ct(put(X))), X.conj().T)


def test_an_identity_that_is_shared_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        eye_like(np.zeros((3, 3)))[0, 0] = 2.0


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
