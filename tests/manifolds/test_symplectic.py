"""The symplectic phi and psi against the products that define them.

Each is one signed exchange of blocks.
"""

import array_api_strict
import numpy as np
import pytest

import genorth as go
from genorth.linalg.operators import FEW_COLUMNS, SymplecticUnit


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
