"""Tensors and their blocks; the t-product by its definition, a convolution of tubes.

tests/paper/test_section1.py has the product of any transform.
"""

import array_api_strict
import numpy as np
import pytest
import scipy.fft
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.linalg.operators import FEW_COLUMNS, SymplecticUnit
from support.norms import EPS


def _t_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The t-product by its definition: a circular convolution of tubes."""
    l = A.shape[2]  # noqa: E741
    C = np.zeros((A.shape[0], B.shape[1], l))
    for i in range(l):
        for j in range(l):
            C[:, :, (i + j) % l] += A[:, :, i] @ B[:, :, j]
    return C


def _t_transpose(A: np.ndarray) -> np.ndarray:
    """Each slice transposed, slices 2 to l in reverse order."""
    return np.concatenate([A[:, :, :1], A[:, :, :0:-1]], axis=2).transpose(1, 0, 2)


sizes = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6)).map(
    lambda t: (max(t[:2]), min(t[:2]), t[2])
)


@given(size=sizes, seed=gt.seeds())
def test_dft_points_are_orthogonal_for_the_t_product(size, seed):
    n, p, l = size  # noqa: E741
    M = go.TensorStiefel(n, p, l, "dft")
    X = M.to_tensor(M.random_point(seed))
    assert X.shape == (n, p, l)
    assert X.dtype == float
    identity = np.zeros((p, p, l))
    identity[:, :, 0] = np.eye(p)
    np.testing.assert_allclose(_t_product(_t_transpose(X), X), identity, atol=1e2 * X.size * EPS)


@given(size=sizes, seed=gt.seeds(), transform=st.sampled_from(["dct", "dft"]))
def test_tensors_and_blocks_are_two_forms_of_the_same(size, seed, transform):
    """from_tensor and to_tensor are inverse; "dct" is isometric, "dft" up to a factor of l."""
    n, p, l = size  # noqa: E741
    M, rng = go.TensorStiefel(n, p, l, transform), np.random.default_rng(seed)
    X, Y = rng.standard_normal((2, n, p, l))
    bound = 1e2 * X.size * l * EPS
    np.testing.assert_allclose(M.to_tensor(M.from_tensor(X)), X, atol=bound)
    factor = l if transform == "dft" else 1
    assert abs(M.inner(M.from_tensor(X), M.from_tensor(Y)) - factor * np.vdot(X, Y)) <= bound
    blocks = M.from_tensor(X)
    assert blocks.shape == M.shape
    np.testing.assert_allclose(M.ambient(blocks), blocks, atol=bound)


def test_dft_blocks_come_in_conjugate_pairs():
    M = go.TensorStiefel(5, 2, 6, "dft")
    X = M.random_point(0)
    Z = M.random_tangent(X, 1)
    for blocks in (
        X,
        Z,
        M.project(X, M.random_ambient(2)),
        *(M.retract(X, Z, kind=k) for k in ("cayley", "polar", "exp")),
    ):
        np.testing.assert_allclose(blocks[1:], blocks[:0:-1].conj(), atol=1e-13)
        np.testing.assert_allclose(blocks[0].imag, 0, atol=1e-13)


def test_a_complex_tensor_needs_a_matrix():
    with pytest.raises(ValueError, match=r"tensor: need real entries.*scipy\.linalg\.dft"):
        go.TensorStiefel(3, 2, 4, "dft").from_tensor(1j * np.ones((3, 2, 4)))
    M = go.TensorStiefel(3, 2, 4, scipy.linalg.dft(4))
    X = M.random_point(0)
    np.testing.assert_allclose(M.from_tensor(M.to_tensor(X)), X, atol=1e-13)
    assert M.dim == 4 * (2 * 3 * 2 - 2 * 2)


def _unit(size: int) -> np.ndarray:
    return np.kron(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(size // 2))


@pytest.mark.parametrize("p", [2, FEW_COLUMNS, FEW_COLUMNS + 2])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_path_is_minus_j_x_j(p, order, dtype):
    """By products where rows are short, by blocks where they are long, and in other libraries.

    Exactly the same.
    """
    n = p + 2
    manifold, rng = go.SymplecticStiefel(n, p), np.random.default_rng(0)
    X, T = (np.asarray(rng.standard_normal((k, p)), dtype=dtype, order=order) for k in (n, p))
    for function, Y, left in ((manifold.phi, X, _unit(n)), (manifold.psi, T, _unit(p))):
        expected = -left @ Y @ _unit(p)
        result, other = function(Y), function(array_api_strict.asarray(Y))
        assert result.dtype == dtype and np.asarray(other).dtype == dtype
        assert np.array_equal(result, expected) and np.array_equal(np.asarray(other), expected)


@pytest.mark.parametrize("p", [2, FEW_COLUMNS, FEW_COLUMNS + 2])
@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_every_path_of_j_is_the_product_with_j(p, factor):
    J, X = SymplecticUnit(p, factor), np.random.default_rng(0).standard_normal((p + 1, p))
    for result, expected in (
        (J.left(X.T), factor * _unit(p) @ X.T),
        (J.right(X), X @ _unit(p) * factor),
        (J.inverse().right(J.right(X)), X),
        (J.right(array_api_strict.asarray(X)), X @ _unit(p) * factor),
    ):
        assert np.array_equal(np.asarray(result), expected)
