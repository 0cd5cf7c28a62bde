"""Inertia of symmetric and skew matrices, and directions of one sign."""

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

from genorth.linalg import inertia
from genorth.linalg.krylov import signed_directions
from genorth.linalg.operators import Identity, Sparse
from genorth.testing import conditioned_skew, conditioned_symmetric, seeds

CONDITIONS = st.floats(0, 8).map(lambda exponent: 10.0**exponent)


def test_inertia_of_the_identity_and_of_a_skew_matrix():
    assert Identity(3).inertia() == inertia.Inertia(3, 0, 1.0)
    K = conditioned_skew(6, 4.0, 0)
    found = Sparse(scipy.sparse.csr_array(K)).inertia()
    assert found.positive is None and found.negative is None
    assert found.margin == pytest.approx(0.25, rel=0.9)


def test_products_of_scipy_take_numpy_arrays_only():
    S = conditioned_symmetric(6, 10.0, 0)
    op = Sparse(scipy.sparse.csr_array(S), name="B")
    with pytest.raises(ValueError, match="a NumPy array, as B is a SciPy matrix"):
        op.left(strict.asarray(S))


class _Factors:
    """Stands for an LU factorisation: x -> factor x."""

    def __init__(self, factor: float) -> None:
        self.solve = lambda B: factor * B


def test_a_factorisation_that_overflows_has_no_margin():
    M = scipy.sparse.csc_array(np.diag([1.0, 2.0]))
    with np.errstate(invalid="ignore"):
        assert inertia._margin(M, np.ones(2), _Factors(np.inf)) == 0.0
    assert inertia._margin(M, np.ones(2), _Factors(1.0)) == 0.5


def test_a_count_between_two_numbers_is_unknown():
    """The arguments of 1 + i tau and -1 + i tau sum to pi; too large a tau tells nothing."""
    M = scipy.sparse.csc_array(np.diag([1.0, -1.0, 2.0]))
    probes = inertia._gaussian(M)
    assert inertia._shifted_count(M, scipy.sparse.linalg.splu(M), probes) == 1
    assert inertia._shifted_count(M, _Factors(1e-6), probes) is None


def test_directions_of_a_sign_leave_the_kernel_out():
    d = np.array([1.0, 2.0, 0.0, 0.0, -1.0, 0.0])
    V = signed_directions(lambda X: d[:, None] * X, 6, np.dtype(float), 3, 1)
    assert V.shape[1] == 2
    assert np.all(np.linalg.eigvalsh(V.T @ (d[:, None] * V)) > 0.5)


def test_up_to_twice_as_many_directions_as_asked_for():
    V = signed_directions(lambda X: 3 * X, 10, np.dtype(float), 2, 1)
    assert V.shape[1] == 4
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_sparse_directions_of_a_badly_scaled_matrix(sign):
    """Columns V = D L^-T e_j with V^T M V of one sign; the rows of M differ by six decades."""
    n, rng = 40, np.random.default_rng(5)
    B = scipy.sparse.csr_array(rng.random((n, n)) * (rng.random((n, n)) < 0.1))
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    D = scipy.sparse.diags_array(10.0 ** rng.uniform(-3, 3, n))
    M = scipy.sparse.csr_array(D @ (scipy.sparse.diags_array(3 * signs) + B + B.T) @ D)
    V = inertia.sparse_directions(M, 5, sign)
    assert V.shape[1] >= 5
    form = V.T @ (M @ V)
    sizes = np.sqrt(np.abs(np.diagonal(form)))
    assert np.linalg.eigvalsh(sign * form / np.outer(sizes, sizes)).min() > 0


def random_sparse(
    n: int, rng: np.random.Generator, zero_diagonal: bool, dtype: type = float
) -> scipy.sparse.csr_array:
    """About four entries in a row, and a cycle through all rows so that none is empty."""
    rows, columns = rng.integers(0, n, (2, n)), np.roll(np.arange(n), 1)
    values = rng.standard_normal((2, n)) * (1 + 1j if dtype is complex else 1)
    S = scipy.sparse.coo_array(
        (values.ravel(), (np.r_[rows[0], np.arange(n)], np.r_[rows[1], columns])), shape=(n, n)
    )
    S = scipy.sparse.csr_array(S + S.conj().T)
    return (
        scipy.sparse.csr_array(S - scipy.sparse.diags_array(S.diagonal())) if zero_diagonal else S
    )


def arrow(n: int, rng: np.random.Generator, diagonal: float) -> scipy.sparse.csr_array:
    """The first row and column are full; all else is a diagonal of the given size."""
    S = np.diag(diagonal * (0.5 + rng.random(n)) * rng.choice([-1, 1], n))
    S[0, :] = S[:, 0] = rng.standard_normal(n)
    return scipy.sparse.csr_array(S)


def saddle(n: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    """[[H, B^T], [B, 0]] with a sparse B of full rank."""
    m = n // 3
    H = scipy.sparse.diags_array(rng.standard_normal(n - m))
    B = scipy.sparse.eye_array(m, n - m) + 0.5 * scipy.sparse.eye_array(m, n - m, k=1)
    return scipy.sparse.csr_array(scipy.sparse.block_array([[H, B.T], [B, None]]))


def tiny_pivots(n: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    """Blocks [[1e-20, 1, 1], [1, a, b], [1, b, c]], reordered.

    After the tiny pivot a, b and c are lost to rounding.
    """
    G = rng.standard_normal((n // 3 + 1, 3, 3))
    blocks = G + G.mT
    blocks[:, 0, :] = blocks[:, :, 0] = [1e-20, 1, 1]
    order = rng.permuted(np.tile(np.arange(3), (len(blocks), 1)), axis=1)
    blocks = [block[np.ix_(o, o)] for block, o in zip(blocks, order, strict=True)]
    return scipy.sparse.csr_array(scipy.linalg.block_diag(*blocks))[:n, :n]


MAKERS = {
    "random": lambda n, rng: random_sparse(n, rng, False),
    "complex": lambda n, rng: random_sparse(n, rng, False, complex),
    "zero-diagonal": lambda n, rng: random_sparse(n, rng, True),
    "complex-zero-diagonal": lambda n, rng: random_sparse(n, rng, True, complex),
    "arrow": lambda n, rng: arrow(n, rng, 1.0),
    "arrow-tiny-diagonal": lambda n, rng: arrow(n, rng, 1e-9),
    "saddle": saddle,
    "tiny-pivots": tiny_pivots,
}


@pytest.mark.parametrize("maker", MAKERS)
@given(n=st.integers(2, 60), decades=st.sampled_from([0, 4]), seed=seeds())
def test_sparse_inertia(maker, n, decades, seed):
    """Against eigenvalues, also where rows are scaled over several decades.

    What is not nearly singular is counted.
    """
    rng = np.random.default_rng(seed)
    D = scipy.sparse.diags_array(10.0 ** -(decades * rng.random(n)))
    S = MAKERS[maker](n, rng)
    # of the unscaled one: a congruence does not change the signs
    exact = np.linalg.eigvalsh(S.toarray())
    found = inertia.of_sparse(D @ S @ D)
    regular = np.abs(exact).min() / np.abs(exact).max()
    if regular > 1e-4 or (regular > 1e-10 and found.positive is not None):
        assert (found.positive, found.negative) == (np.sum(exact > 0), np.sum(exact < 0))
    scaled = np.abs(np.linalg.eigvalsh((D @ S @ D).toarray()))
    margin = scaled.min() / scaled.max()
    if margin > 1e-10:
        assert 0.01 * margin <= found.margin <= 2 * margin


@given(n=st.integers(1, 40), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_inertia_is_confirmed_or_unknown(n, condition, seed, data):
    """[[0, K], [K^T, 0]] with an ill-conditioned K is the hardest.

    Counts may stay unknown, but are never wrong.
    """
    K = conditioned_symmetric(n, condition, seed, negative=data.draw(st.integers(0, n)))
    found = inertia.of_sparse(
        scipy.sparse.csr_array(np.block([[np.zeros((n, n)), K], [K, np.zeros((n, n))]]))
    )
    assert (found.positive, found.negative) in [(n, n), (None, None)]
    if condition <= 1e4:
        assert found.positive == n


@given(n=st.integers(2, 40), condition=CONDITIONS, seed=seeds(), data=st.data())
def test_dense_inertia(n, condition, seed, data):
    negative, complex_ = data.draw(st.integers(0, n)), data.draw(st.booleans())
    A = conditioned_symmetric(
        n, condition, seed, negative=negative, dtype=complex if complex_ else float
    )
    for found in (inertia.of_dense(A), inertia.of_sparse(A)):
        assert (found.positive, found.negative) == (n - negative, negative)
        assert (
            found.margin is not None
            and 0.01 / (n * condition) <= found.margin <= 100 * n / condition
        )
    assert inertia.of_dense(conditioned_skew(2 * n, condition, seed)).positive == n


def test_inertia_of_large_matrices_without_a_diagonal():
    """The path and the grid graph, whose eigenvalues are known.

    2 cos(pi k / (m+1)), and sums of two of them.
    """
    m = 100
    path = scipy.sparse.diags_array([np.ones(m - 1), np.ones(m - 1)], offsets=[-1, 1])
    grid = scipy.sparse.kron(path, scipy.sparse.eye_array(m)) + scipy.sparse.kron(
        scipy.sparse.eye_array(m), path
    )
    values = 2 * np.cos(np.pi * np.arange(1, m + 1) / (m + 1))
    values = (values[:, None] + values + 0.1234).ravel()
    found = inertia.of_sparse(grid + 0.1234 * scipy.sparse.eye_array(m * m))
    assert (found.positive, found.negative) == (np.sum(values > 0), np.sum(values < 0))
    long = scipy.sparse.diags_array([np.ones(99_999), np.ones(99_999)], offsets=[-1, 1])
    assert inertia.of_sparse(long) == inertia.Inertia(
        50_000, 50_000, inertia.of_sparse(long).margin
    )
