"""The matrices that users pass in: every kind gives the same manifold, and none is made dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.geometry.retractions import RETRACTIONS
from genorth.testing.strategies import conditioned_skew, conditioned_symmetric, seeds

CONDITIONS = st.floats(0, 8).map(lambda exponent: 10.0**exponent)
FORMATS = {
    "dense": np.asarray,
    "list": lambda M: M.tolist(),
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_array,
    "dia": scipy.sparse.dia_array,
    "lil": scipy.sparse.lil_array,
    "csr-matrix": scipy.sparse.csr_matrix,
    "coo-matrix": scipy.sparse.coo_matrix,
    "dia-matrix": scipy.sparse.dia_matrix,
    "operator": scipy.sparse.linalg.aslinearoperator,
    "matvec": lambda M: scipy.sparse.linalg.LinearOperator(
        M.shape, matvec=lambda v: M @ v, dtype=M.dtype
    ),
}
formats = st.sampled_from(sorted(FORMATS))


def results(M: go.GenOrthManifold, X: np.ndarray, Z: np.ndarray) -> dict[str, np.ndarray]:
    """What the geometry does with X on M and an ambient Z.

    Steps are short enough for every retraction.
    """
    Z = Z * (0.1 / np.sqrt(M.norm(Z) * M.norm(M.phi(Z))))
    found = {"phi": M.phi(X), "psi": M.psi(X[: X.shape[1]]), "dissolve": M.dissolve(X)}
    found |= {"theta": M.theta(X, Z), "project": (Z := M.project(X, Z))}
    return found | {kind: M.retract(X, Z, kind) for kind in ("cayley", "polar", "exp")}


def assert_same(M: go.GenOrthManifold, N: go.GenOrthManifold, condition: float, seed: int) -> None:
    """N does what M does, up to rounding in products with matrices of this condition."""
    assert M.shape == N.shape and M.dtype == N.dtype and M.dim == N.dim
    X, Z = M.random_point(seed), M.random_ambient(seed + 1)
    expected, found = results(M, X, Z), results(N, X, Z)
    unit = np.finfo(M.dtype).eps * X.shape[0]
    for name, value in expected.items():
        assert M.norm(value - found[name]) <= 1e3 * unit * condition * (1 + M.norm(value)), name


@given(kind=formats, n=st.integers(1, 12), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_definite(kind, n, condition, seed, data):
    p, complex_ = data.draw(st.integers(1, n)), data.draw(st.booleans())
    B = conditioned_symmetric(n, condition, seed, dtype=complex if complex_ else float)
    other = go.GeneralizedStiefel(FORMATS[kind](B), p)
    assert_same(go.GeneralizedStiefel(B, p), other, condition, seed)


@given(kind=formats, R_kind=formats, n=st.integers(2, 12), condition=CONDITIONS, seed=seeds())
def test_complex(kind, R_kind, n, condition, seed):
    A = conditioned_symmetric(n, condition, seed, negative=1, dtype=complex)
    R = conditioned_symmetric(2, 2.0, seed, negative=1, dtype=complex)
    other = go.BilinearStiefel(FORMATS[kind](A), FORMATS[R_kind](R))
    assert_same(go.BilinearStiefel(A, R), other, condition, seed)
    M = go.BilinearStiefel(A, R)
    X = M.random_point(seed)
    unit = n * np.finfo(float).eps * condition
    assert M.norm(M.phi(X) @ R - A @ X) <= 100 * unit * M.norm(A @ X)


@given(kind=formats, n=st.integers(1, 12), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_indefinite(kind, n, condition, seed, data):
    plus = data.draw(st.integers(0, n))
    minus = data.draw(st.integers(int(plus == 0), n - plus)) if plus < n else 0
    negative = data.draw(st.integers(minus, n - plus))
    A = conditioned_symmetric(n, condition, seed, negative=negative)
    J = np.r_[np.ones(plus), -np.ones(minus)]
    J_kind = data.draw(formats)
    M = go.IndefiniteStiefel(A, J)
    for make in (go.IndefiniteStiefel, go.BilinearStiefel):
        assert_same(M, make(FORMATS[kind](A), FORMATS[J_kind](np.diag(J))), condition, seed)
    if minus == 0:
        assert_same(M, go.HyperbolicStiefel(FORMATS[kind](A), plus), condition, seed)


@given(kind=formats, m=st.integers(1, 6), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_skew(kind, m, condition, seed, data):
    R_kind = data.draw(formats)
    A = conditioned_skew(2 * m, condition, seed)
    R = conditioned_skew(2 * data.draw(st.integers(1, m)), 2.0, seed)
    other = go.BilinearStiefel(FORMATS[kind](A), FORMATS[R_kind](R))
    assert_same(go.BilinearStiefel(A, R), other, condition, seed)


@given(kind=formats, n=st.integers(1, 12), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_diagonal(kind, n, condition, seed, data):
    """A 1-D array is the diagonal matrix of it, on either side."""
    p, rng = data.draw(st.integers(1, n)), np.random.default_rng(seed)
    d = condition ** -rng.uniform(0, 1, n)
    d[p:] *= rng.choice([-1.0, 1.0], n - p)
    M = go.HyperbolicStiefel(d, p)
    assert_same(M, go.HyperbolicStiefel(FORMATS[kind](np.diag(d)), p), condition, seed)
    r = np.linspace(1, 2, p)
    other = go.BilinearStiefel(FORMATS[kind](np.diag(d)), np.diag(r))
    assert_same(go.BilinearStiefel(d, r), other, condition, seed)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "dtype", [int, bool, np.int8, np.uint16, np.float16, np.float32, np.longdouble]
)
def test_number_types(kind, dtype):
    """Whole numbers and precisions that LAPACK does not know are converted.

    Single precision stays.
    """
    if dtype is np.float16 and kind not in ("dense", "list", "operator", "matvec"):
        dtype = np.float32  # SciPy has no sparse matrices of half precision
    B = np.eye(4, dtype=dtype)
    M = go.GeneralizedStiefel(FORMATS[kind](B), 2)
    assert M.dtype == (np.float32 if dtype is np.float32 and kind != "list" else np.float64)
    X = M.random_point(0)
    assert X.dtype == M.dtype and M.phi(X).dtype == M.dtype
    assert M.feasibility(X) <= 4500 * np.finfo(M.dtype).eps * M.scale(X)


@given(n=st.integers(2, 8), seed=seeds())
def test_a_complex_matrix_made_by_a_product_is_no_warning(n, seed):
    """G G^T has imaginary parts of rounding on its diagonal (warnings are errors here)."""
    G = np.random.default_rng(seed).standard_normal((2, n, n))
    G = G[0] + 1j * G[1]
    B = G @ G.conj().T + np.eye(n) + 1e-16j * np.eye(n)
    for M in (
        go.GeneralizedStiefel(B, 2),
        go.HyperbolicStiefel(B, 1),
        go.BilinearStiefel(B, np.diag(B)[:1]),
        go.GeneralizedStiefel(np.diag(B), 2),
    ):
        X = M.random_point(seed)
        assert X.dtype == complex and M.feasibility(X) <= 1e-12 * M.scale(X)


@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("Q", [np.eye(2), np.diag([1.0, 2]), np.array([[0.0, 1], [-1, 0]])])
def test_maps_in_single_precision_draw_single_precision(Q, definite):
    """Though their matrices are in double precision."""
    skew = Q[0, 1] != 0
    A = np.kron(np.eye(3), [[0.0, 1], [-1, 0]]) if skew else np.diag(np.arange(1.0, 7))
    inverse = np.linalg.inv(Q)
    how = {"dtype": np.float32, "definite": definite and not skew}
    M = go.from_maps((6, 2), lambda X: A @ X @ inverse, lambda T: Q @ T @ inverse, **how)
    X = M.random_point(0)
    Z = 0.1 * M.random_tangent(X, 1)
    values = [X, Z, M.phi(X), M.psi(X.T @ X), *(M.retract(X, Z, kind) for kind in RETRACTIONS)]
    assert {value.dtype for value in values} == {np.dtype(np.float32)}
    assert M.companion.Q.dtype == np.float32


def test_numbers_of_the_matrix_are_not_copied():
    """A dense matrix is kept as it was passed in."""
    B = np.eye(5)
    assert go.GeneralizedStiefel(B, 2).left.M is B


N, P = 20_000, 3
_d = np.linspace(0.5, 2, N) * np.where(np.arange(N) % 5 == 0, -1, 1)
_off = 0.4 * np.cos(np.arange(N - 1.0))
_tridiagonal = scipy.sparse.diags_array([_off, _d, _off], offsets=[-1, 0, 1])
_definite = scipy.sparse.diags_array([_off, 1 + np.abs(_d), _off], offsets=[-1, 0, 1])
_no_diagonal = scipy.sparse.diags_array([1 + _off, 1 + _off], offsets=[-1, 1])
_few = scipy.sparse.diags_array(np.where(np.arange(N) < 2, -1.0, 1.0))
_skew = scipy.sparse.diags_array([1 + _off, -1 - _off], offsets=[1, -1])
_signs, _turn = np.array([1.0, 1.0, -1.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])
_operator = scipy.sparse.linalg.aslinearoperator
LARGE = {
    "stiefel": lambda: go.Stiefel(N, P),
    "symplectic": lambda: go.SymplecticStiefel(N, 4),
    "generalized-diagonal": lambda: go.GeneralizedStiefel(np.abs(_d), P),
    "generalized-sparse": lambda: go.GeneralizedStiefel(_definite, P),
    "generalized-operator": lambda: go.GeneralizedStiefel(_operator(_definite), P),
    "indefinite-diagonal": lambda: go.IndefiniteStiefel(_d, _signs),
    "indefinite-sparse": lambda: go.IndefiniteStiefel(_tridiagonal, _signs),
    "indefinite-zero-diagonal": lambda: go.IndefiniteStiefel(_no_diagonal, _signs),
    "indefinite-operator": lambda: go.IndefiniteStiefel(_operator(_tridiagonal), _signs),
    "few-negative-operator": lambda: go.IndefiniteStiefel(_operator(_few), -_signs),
    "skew-sparse": lambda: go.BilinearStiefel(_skew, _turn),
}


@pytest.mark.parametrize("name", LARGE)
def test_never_n_by_n(name):
    """Peak memory of all that is done with n = 20000: below 1 % of an n x n array."""
    # what is imported and cached on first use does not count
    go.SymplecticStiefel(4, 2).random_point(0)
    tracemalloc.start()
    try:
        M = LARGE[name]()
        X = M.random_point(0)
        Z = M.random_tangent(X, 1)
        for kind in ("cayley", "polar", "exp"):
            M.retract(X, 1e-3 * Z, kind)
        M.project(X, Z), M.dissolve(X), M.dissolve_adjoint(X, Z), M.hessian(X, Z, Z, Z)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 0.01 * 8 * N**2
    assert M.feasibility(X) <= 1e-12 * M.scale(X)


S = conditioned_symmetric(6, 10.0, 0)
CORNER = np.zeros((6, 6))
CORNER[0, 5] = 1.0


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("kind", ["dense", "csr", "operator"])
def test_symmetry_is_asked_for_relative_to_the_size(kind, scale):
    """An asymmetry of 1e-14 |S| is rounding, one of 1e-10 |S| is not."""
    go.GeneralizedStiefel(FORMATS[kind](scale * (S + 1e-14 * CORNER)), 2)
    with pytest.raises(ValueError, match=r"^B: need "):
        go.GeneralizedStiefel(FORMATS[kind](scale * (S + 1e-10 * CORNER)), 2)


def test_a_sparse_matrix_of_objects_is_refused():
    B = scipy.sparse.csr_array(np.eye(3))
    B.data = B.data.astype(object)
    with pytest.raises(ValueError, match=r"^B: need real or complex numbers.*object"):
        go.GeneralizedStiefel(B, 1)
