"""Inertia of symmetric and skew matrices, and directions of one sign."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth.testing as gt
from genorth.linalg import inertia
from genorth.linalg.krylov import signed_directions
from genorth.linalg.operators import Identity, Sparse


def test_inertia_of_the_identity_and_of_a_skew_matrix() -> None:
    assert Identity(3).inertia() == inertia.Inertia(3, 0, 1.0)
    K = gt.conditioned_skew(6, 4.0, 0)
    found = Sparse(scipy.sparse.csr_array(K)).inertia()
    assert found.positive is None and found.negative is None
    assert found.margin == pytest.approx(0.25, rel=0.9)


def test_products_of_scipy_take_numpy_arrays_only() -> None:
    S = gt.conditioned_symmetric(6, 10.0, 0)
    op = Sparse(scipy.sparse.csr_array(S), name="B")
    with pytest.raises(ValueError, match="a NumPy array, as B is a SciPy csr_array"):
        op.left(strict.asarray(S))


class _Factors:
    """Stands for an LU factorisation: x -> factor x."""

    def __init__(self, factor: float) -> None:
        self.solve = lambda B: factor * B


def test_a_factorisation_that_overflows_has_no_margin() -> None:
    M = scipy.sparse.csc_array(np.diag([1.0, 2.0]))
    with np.errstate(invalid="ignore"):
        assert inertia._margin(M, np.ones(2), _Factors(np.inf)) == 0.0
    assert inertia._margin(M, np.ones(2), _Factors(1.0)) == 0.5


def test_a_count_between_two_numbers_is_unknown() -> None:
    """The arguments of 1 + i tau and -1 + i tau sum to pi; too large a tau tells nothing."""
    M = scipy.sparse.csc_array(np.diag([1.0, -1.0, 2.0]))
    probes = inertia._gaussian(M)
    assert inertia._shifted_count(M, scipy.sparse.linalg.splu(M), probes) == 1
    assert inertia._shifted_count(M, _Factors(1e-6), probes) is None


def test_directions_of_a_sign_leave_the_kernel_out() -> None:
    d = np.array([1.0, 2.0, 0.0, 0.0, -1.0, 0.0])
    V = signed_directions(lambda X: d[:, None] * X, 6, np.dtype(float), 3, 1)
    assert V.shape[1] == 2
    assert np.all(np.linalg.eigvalsh(V.T @ (d[:, None] * V)) > 0.5)


def test_up_to_twice_as_many_directions_as_asked_for() -> None:
    V = signed_directions(lambda X: 3 * X, 10, np.dtype(float), 2, 1)
    assert V.shape[1] == 4
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_sparse_directions_of_a_badly_scaled_matrix(sign: int) -> None:
    """Columns V = D L^-T e_j with V^T M V of one sign; the rows of M differ by six decades."""
    n, rng = 40, np.random.default_rng(5)
    B = scipy.sparse.random_array((n, n), density=0.1, rng=rng)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    D = scipy.sparse.diags_array(10.0 ** rng.uniform(-3, 3, n))
    M = scipy.sparse.csr_array(D @ (scipy.sparse.diags_array(3 * signs) + B + B.T) @ D)
    V = inertia.sparse_directions(M, 5, sign)
    assert V.shape[1] >= 5
    form = V.T @ (M @ V)
    sizes = np.sqrt(np.abs(np.diagonal(form)))
    assert np.linalg.eigvalsh(sign * form / np.outer(sizes, sizes)).min() > 0
