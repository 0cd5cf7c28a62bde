"""Matrices at the edge of what is accepted."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
import genorth.testing as gt
from genorth.linalg import inertia
from genorth.linalg.krylov import signed_directions
from genorth.linalg.operators import Identity, Sparse

KINDS = {
    "dense": np.asarray,
    "sparse": scipy.sparse.csr_array,
    "operator": scipy.sparse.linalg.aslinearoperator,
}
S = gt.conditioned_symmetric(6, 10.0, 0)
CORNER = np.zeros((6, 6))
CORNER[0, 5] = 1.0


def test_p_is_at_most_n() -> None:
    assert go.Stiefel(4, 4).shape == (4, 4)
    for p in (5, 6):
        with pytest.raises(ValueError, match=r"^p: need p <= n = 4"):
            go.Stiefel(4, p)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("kind", KINDS)
def test_symmetry_is_asked_for_relative_to_the_size(kind: str, scale: float) -> None:
    """An asymmetry of 1e-14 |S| is rounding, one of 1e-10 |S| is not."""
    go.GeneralizedStiefel(KINDS[kind](scale * (S + 1e-14 * CORNER)), 2)
    with pytest.raises(ValueError, match=r"^B: need "):
        go.GeneralizedStiefel(KINDS[kind](scale * (S + 1e-10 * CORNER)), 2)


def test_the_hint_names_the_part_that_would_pass() -> None:
    with pytest.raises(ValueError, match=r"\|B - B\^T\|.*Pass \(B \+ B\.T\)/2"):
        go.GeneralizedStiefel(S + CORNER, 2)
    K = gt.conditioned_skew(6, 3.0, 0)
    with pytest.raises(ValueError, match=r"\|A \+ A\^T\|.*Pass \(A - A\.T\)/2"):
        go.BilinearStiefel(K + 1e-3 * CORNER, gt.conditioned_skew(2, 1.0, 0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_empty_matrix_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=r"^B: need .*\(0, 0\)"):
        go.GeneralizedStiefel(KINDS[kind](np.zeros((0, 0))), 1)


def test_a_sparse_matrix_of_objects_is_refused() -> None:
    B = scipy.sparse.csr_array(np.eye(3))
    B.data = B.data.astype(object)
    with pytest.raises(ValueError, match=r"^B: need real or complex numbers.*object"):
        go.GeneralizedStiefel(B, 1)


# ---------------------------------------------------------------------- operators and inertia


def test_a_complex_stiefel_manifold_has_complex_points() -> None:
    manifold = go.Stiefel(6, 2, complex)
    assert manifold.dtype == complex and np.linalg.norm(manifold.random_point(0).imag) > 0.1


def test_inertia_of_the_identity_and_of_a_skew_matrix() -> None:
    assert Identity(3).inertia() == inertia.Inertia(3, 0, 1.0)
    K = gt.conditioned_skew(6, 4.0, 0)
    found = Sparse(scipy.sparse.csr_array(K)).inertia()
    assert found.positive is None and found.negative is None
    assert found.margin == pytest.approx(0.25, rel=0.9)


def test_products_of_scipy_take_numpy_arrays_only() -> None:
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
