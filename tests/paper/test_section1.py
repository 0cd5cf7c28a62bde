"""Section 1 of the paper: the problem, Assumption 1, the examples of Table 1, tensors as blocks."""

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from support.norms import EPS, Matrix, norm, spectral


def _size(*arrays: Any) -> float:
    """The product of the norms: what the rounding of a product of these is relative to."""
    return float(np.prod([np.linalg.norm(X) for X in arrays]))


def _close(A: Any, B: Any, size: float) -> None:
    """|A - B| within the rounding of sums of this length and size."""
    error = float(np.linalg.norm(np.asarray(A) - np.asarray(B)))
    assert error <= 100 * np.size(A) * EPS * size, (error, size)


def _J(size: int) -> Matrix:
    """[[0, I], [-I, 0]]."""
    half = np.eye(size // 2)
    return np.block([[0 * half, half], [-half, 0 * half]])


def _stiefel(recipe: gt.Recipe, rng: Any) -> tuple[go.GenOrthManifold, Matrix, Matrix]:
    n, p = recipe.n, recipe.p
    return go.Stiefel(n, p), np.eye(n), np.eye(p)


def _generalized(recipe: gt.Recipe, rng: Any) -> tuple[go.GenOrthManifold, Matrix, Matrix]:
    B = gt.conditioned_symmetric(recipe.n, recipe.condition, rng)
    assert np.linalg.eigvalsh(B).min() > 0
    return go.GeneralizedStiefel(B, recipe.p), B, np.eye(recipe.p)


def _hyperbolic(recipe: gt.Recipe, rng: Any) -> tuple[go.GenOrthManifold, Matrix, Matrix]:
    n, p = recipe.n, recipe.p
    H = gt.conditioned_symmetric(n, 1.0, rng, int(rng.integers(0, n - p + 1)))
    _close(np.abs(np.linalg.eigvalsh(H)), np.ones(n), 1.0)
    return go.HyperbolicStiefel(H, p), H, np.eye(p)


def _symplectic(recipe: gt.Recipe, rng: Any) -> tuple[go.GenOrthManifold, Matrix, Matrix]:
    n, p = 2 * recipe.n, 2 * recipe.p
    return go.SymplecticStiefel(n, p), _J(n), -_J(p)


def _indefinite(recipe: gt.Recipe, rng: Any) -> tuple[go.GenOrthManifold, Matrix, Matrix]:
    """A symmetric J with J^2 = I and `minus` eigenvalues -1, and A with at least as many."""
    n, p = recipe.n, recipe.p
    minus = int(rng.integers(0, p + 1))
    U = np.linalg.qr(rng.standard_normal((p, p)))[0]
    J = (U * np.where(np.arange(p) < minus, -1.0, 1.0)) @ U.T
    J = (J + J.T) / 2
    negative = int(rng.integers(minus, n - p + minus + 1))
    A = gt.conditioned_symmetric(n, recipe.condition, rng, negative)
    return go.IndefiniteStiefel(A, J), A, J


FORMS = [_stiefel, _generalized, _hyperbolic, _symplectic, _indefinite]


@pytest.mark.statement("tab:ex:stiefel", "tab:ex:generalized", "tab:ex:hyperbolic")
@pytest.mark.statement("tab:ex:symplectic", "tab:ex:indefinite")
@pytest.mark.parametrize("make", FORMS)
@given(recipe=gt.recipes(("stiefel",)))
def test_the_examples_of_the_table(make, recipe):
    """phi(X) = A X Q^-1 and C(X) Q = X^T A X - Q, so that both vanish together; here Q^-1 = Q^T."""
    rng = recipe.rng
    M, A, K = make(recipe, rng)
    X = M.random_point(rng)
    size = spectral(A)
    for Y in (X, X + M.random_ambient(rng) * (norm(X) / np.sqrt(X.size))):
        _close(M.phi(Y), A @ Y @ K, size * norm(Y))
        _close(M.constraint(Y) @ K.T, Y.T @ A @ Y - K.T, size * norm(Y) ** 2)
        assert make is not _stiefel or np.array_equal(M.phi(Y), Y)


@pytest.mark.statement("tab:ex:indefinite", "R12")
def test_indefinite_stiefel_needs_a_regular_A():
    """The printed row asks for A^T = A alone; Section 5 of the paper has "nonsingular".

    With A = diag(1, 0), J = 1 the set {(+-1, t)} is not empty, but phi(X) = AXJ sends (0, t) to
    zero: not one-to-one.
    """
    A, J = np.diag([1.0, 0.0]), np.eye(1)
    for t in (0.0, 3.0):
        X = np.array([[1.0], [t]])
        assert np.array_equal(X.T @ A @ X, J)
    assert np.array_equal(A @ np.array([[0.0], [1.0]]) @ J, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="A: need"):
        go.IndefiniteStiefel(A, J)
    assert not go.check_assumptions(
        go.from_maps((2, 1), lambda X: A @ X, lambda T: T), rng=0
    ).passed


@pytest.mark.statement("tab:ex:indefinite", "R12")
@given(recipe=gt.recipes(("indefinite-dense",)))
def test_an_involution_J_is_symmetric_where_M_is_not_empty(recipe):
    """AXJ is self-adjoint only if J^T = J, which the row omits; J = X^T A X implies it."""
    n, p, rng = recipe.n, recipe.p, recipe.rng
    A = gt.conditioned_symmetric(n, recipe.condition, rng)
    X = rng.standard_normal((n, p))
    value = X.T @ A @ X
    _close(value, value.T, _size(X, A, X))
    shear = np.eye(p)
    if p > 1:  # J^2 = I and J^T != J: <AXJ, Y> and <X, AYJ> differ
        shear[0, :2], shear[1, 1] = (1.0, 2.0), -1.0
        _close(shear @ shear, np.eye(p), _size(shear, shear))
        Y = np.outer(A[:, 0], np.eye(p)[1])
        X = np.outer(np.eye(n)[:, 0], np.eye(p)[0])
        gap = abs(np.vdot(A @ X @ shear, Y) - np.vdot(X, A @ Y @ shear))
        assert gap >= np.linalg.norm(A[:, 0]) ** 2
        with pytest.raises(ValueError, match="J: need"):
            go.IndefiniteStiefel(A, shear)


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)).map(
    lambda t: (max(t[:2]), min(t[:2]), t[2])
)


def _mode3(tensor: Matrix, T: Matrix) -> Matrix:
    """(X x_3 M)_abj = sum over i of x_abi m_ji."""
    return np.einsum("abi,ji->abj", tensor, T)


def _product(A: Matrix, B: Matrix, T: Matrix) -> Matrix:
    """A * B = ((A x_3 M) face-wise (B x_3 M)) x_3 M^-1."""
    return _mode3(np.einsum("aij,ibj->abj", _mode3(A, T), _mode3(B, T)), np.linalg.inv(T))


def _transpose(A: Matrix, T: Matrix) -> Matrix:
    """A^T: the tensor whose transformed slices are the (conjugate) transposes."""
    return _mode3(_mode3(A, T).conj().transpose(1, 0, 2), np.linalg.inv(T))


def _Diag(tensor: Matrix) -> Matrix:
    """The frontal slices on the diagonal of an ln x lp matrix."""
    return np.asarray(scipy.linalg.block_diag(*np.moveaxis(tensor, 2, 0)))


def _tensor_manifold(
    kind: str, n: int, p: int, depth: int, rng: np.random.Generator
) -> tuple[go.TensorStiefel, Matrix]:
    """The manifold and its matrix M: cosine, Fourier, or any invertible matrix, real or complex."""
    if kind == "dct":
        return go.TensorStiefel(n, p, depth), scipy.fft.dct(np.eye(depth), axis=0, norm="ortho")
    if kind == "dft":
        return go.TensorStiefel(n, p, depth, "dft"), scipy.linalg.dft(depth)
    T = gt.conditioned_symmetric(
        depth, 10, rng, depth // 2, complex if kind == "complex" else float
    )
    return go.TensorStiefel(n, p, depth, T), T


@pytest.mark.statement("remark:tensor", "tab:ex:tensor")
@given(size=SIZES, seed=gt.seeds(), kind=st.sampled_from(["dct", "dft", "matrix", "complex"]))
def test_tensor_stiefel_is_the_manifold_of_the_blocks(size, seed, kind):
    """Diag(X x_3 M)^T Diag(X x_3 M) = Diag((X^T * X) x_3 M), so X^T * X = I iff C = 0."""
    n, p, l = size  # noqa: E741
    rng = np.random.default_rng(seed)
    M, T = _tensor_manifold(kind, n, p, l, rng)
    complex_tensors = kind == "complex"
    identity = _mode3(np.repeat(np.eye(p)[:, :, None], l, axis=2), np.linalg.inv(T))
    point = np.asarray(M.to_tensor(M.random_point(rng)))
    for tensor in (
        point,
        rng.standard_normal((n, p, l)) + (1j * rng.standard_normal((n, p, l)) * complex_tensors),
    ):
        blocks = np.asarray(M.from_tensor(tensor if complex_tensors else tensor.real))
        big, condition = _Diag(_mode3(tensor, T)), 100 * float(np.linalg.cond(T)) ** 2
        bound = condition * _size(big, big)
        _close(_Diag(np.moveaxis(blocks, 0, 2)), big, condition * _size(big))
        gram = _product(_transpose(tensor, T), tensor, T)
        _close(big.conj().T @ big, _Diag(_mode3(gram, T)), bound)
        _close(
            _Diag(np.moveaxis(np.asarray(M.constraint(blocks)), 0, 2)),
            big.conj().T @ big - np.eye(l * p),
            bound,
        )
        assert np.array_equal(M.phi(blocks), blocks)
    gram = _product(_transpose(point, T), point, T)
    _close(gram, identity, 1e3 * float(np.linalg.cond(T)) ** 2 * (1 + float(np.linalg.norm(gram))))
