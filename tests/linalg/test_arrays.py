"""The array operations, each by itself."""

import array_api_strict as strict
import numpy as np
import pytest

from genorth.linalg.arrays import all_finite, as_like, ct, eps, eye_like, inner, is_floating, plus

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
