"""The companion that is read off psi, and the form that is read off phi."""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.companion import read_companion
from genorth.geometry.form import forms


def test_companion_of_complex_entries_is_read_as_a_hermitian_matrix():
    """F5: psi(E_i1) gives the columns of Q up to one complex factor.

    Half of its angle makes Q Hermitian.

    The factor is an entry of R^-1. Here it is imaginary: without the turn the Hermitian part would
    be zero.
    """
    inverse = gt.conditioned_symmetric(5, 3.0, 0, dtype=complex)
    inverse[0] = inverse[:, 0] = 0
    inverse[0, 1], inverse[1, 0] = 2j, -2j
    R = np.linalg.inv(inverse)
    companion = read_companion(lambda T: R @ T @ inverse, R + 1j * R.T)
    assert companion is not None and companion.sign == 1
    Q = np.asarray(companion.Q.left(np.eye(5, dtype=complex)))
    unit = 1e3 * np.finfo(float).eps * np.linalg.cond(R)
    assert np.linalg.norm(Q - Q.conj().T) <= unit
    factor = np.vdot(R, Q) / np.vdot(R, R)
    assert np.linalg.norm(Q - factor * R) <= unit * np.linalg.norm(Q)


BILINEAR = {
    "symmetric": (gt.conditioned_symmetric(6, 4.0, 0, 2), gt.conditioned_symmetric(2, 3.0, 1, 1)),
    "skew": (gt.conditioned_skew(6, 4.0, 0), gt.conditioned_skew(2, 1.0, 1)),
    "hermitian": (
        gt.conditioned_symmetric(6, 4.0, 0, 2, complex),
        gt.conditioned_symmetric(2, 3.0, 1, 1, complex),
    ),
}


@pytest.mark.parametrize("name", BILINEAR)
def test_the_form_that_is_read_off_phi(name):
    """F13: A Y = phi(Y) Q, for the Q that is read off psi."""
    A, R = BILINEAR[name]
    inverse = np.linalg.inv(R)
    manifold = go.from_maps(
        (6, 2), lambda X: A @ X @ inverse, lambda T: R @ T @ inverse, dtype=A.dtype
    )
    ((form, Q),) = forms(manifold)
    X = manifold.random_ambient(2)
    np.testing.assert_allclose(form.left(X), manifold.phi(X) @ Q, atol=1e-12)
    factor = np.vdot(R, Q) / np.vdot(R, R)
    np.testing.assert_allclose(form.left(np.eye(6, dtype=A.dtype)), factor * A, atol=1e-12)


MASK, SMALL = (np.kron(np.eye(2), np.ones(shape)) for shape in ((5, 2), (2, 2)))
SUBSPACE = {
    "identity": np.eye(4),
    "symmetric": np.kron(np.eye(2), gt.conditioned_symmetric(2, 3.0, 1)),
    "different": np.diag([1.0, 2.0, 5.0, 3.0]),
    "skew": np.kron(np.diag([1.0, 2.0]), [[0.0, 1.0], [-1.0, 0.0]]),
}


@pytest.mark.parametrize("name", SUBSPACE)
@pytest.mark.parametrize("outside", [1.0, np.nan])
def test_the_companion_is_read_on_the_algebra_that_F_leaves(name: str, outside: float) -> None:
    """F = block-diagonal matrices: psi is asked for block-diagonal T only."""
    Q = SUBSPACE[name]
    form = (
        np.eye(10)
        if name != "skew"
        else np.kron(np.eye(2), gt.conditioned_skew(10, 2.0, 0)[:5, :5])
    )
    inverse = np.linalg.inv(Q)

    def psi(T: np.ndarray) -> np.ndarray:
        return np.where((SMALL == 0) & (T != 0), outside, Q @ T @ inverse)

    def phi(X: np.ndarray) -> np.ndarray:
        return form @ X @ inverse

    given = {"ambient": lambda Y: MASK * Y, "definite": name != "skew"}
    manifold = go.from_maps((10, 4), phi, psi, **given)
    companion = manifold.companion
    assert companion is not None and manifold.theta_solver.name == "eigendecomposition"
    assert companion.sign == (-1 if name == "skew" else 1)
    T = SMALL * np.random.default_rng(1).standard_normal((4, 4))
    np.testing.assert_allclose(companion.psi(T), psi(T), atol=1e-12)
    if name != "skew":
        told = go.from_maps((10, 4), phi, psi, companion=Q, **given)
        X, D = manifold.random_point(0), manifold.random_ambient(1)
        np.testing.assert_allclose(manifold.project(X, D), told.project(X, D), atol=1e-12)


def test_no_companion_is_read_where_there_is_none() -> None:
    """One block symmetric, one skew: Q would be neither."""
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    Q = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), J]])
    form = np.block([[np.eye(4), np.zeros((4, 4))], [np.zeros((4, 4)), np.kron(np.eye(2), J)]])
    mask, inverse = np.kron(np.eye(2), np.ones((4, 2))), np.linalg.inv(Q)
    manifold = go.from_maps(
        (8, 4), lambda X: form @ X @ inverse, lambda T: Q @ T @ inverse, ambient=lambda Y: mask * Y
    )
    assert go.check_assumptions(manifold, rng=0).passed
    assert manifold.companion is None
