"""The group T*T = I: its elements, the directions along it, and the least representative (F29)."""

import contextlib

import hypothesis
import numpy as np
import pytest
import scipy.linalg

import genorth as go
import genorth.testing as gt
from genorth.errors import NotRestorableError
from genorth.geometry.gauge import horizontal, random_element, random_skew
from genorth.testing.strategies import FAMILIES, Recipe


def unit(M, X):
    return 1e-12 * (1 + float(M.norm(X)) * float(M.norm(M.phi(X))))


@pytest.mark.statement("F29")
@hypothesis.given(gt.recipes(max_condition=1e3), gt.seeds())
def test_elements_keep_M_and_directions_are_tangent(recipe, seed):
    M, rng = recipe.build(), np.random.default_rng(seed)
    X, T, S = M.random_point(rng), random_element(M, rng), random_skew(M, rng)
    size = float(np.linalg.norm(T)) ** 2 * max(1.0, float(np.linalg.norm(M.psi(S))))
    assert float(M.feasibility(X @ T)) <= 10 * size * unit(M, X)
    assert float(M.tangency(X, X @ S)) <= 10 * size * unit(M, X)
    _, G, trace = M.dimensions()
    assert trace == G or float(np.linalg.norm(T - np.eye(T.shape[-1]))) > 0.1


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_where_the_algebra_is_zero_its_elements_are(family):
    """Not what rounding leaves of W - W*, divided by its own size."""
    M = Recipe(family, 6, 1, 1e3, 1).build()
    _, G, trace = M.dimensions()
    if trace == G:
        assert not random_skew(M, np.random.default_rng(0)).any()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_horizontal_projection(family):
    """It is symmetric, idempotent, maps X S to zero and keeps tangent vectors tangent."""
    M, rng = Recipe(family, 6, 4, 10.0, 1).build(), np.random.default_rng(0)
    X = M.random_point(rng)
    project = horizontal(M, X)
    if project is None:
        assert M.companion is None
        return
    U, V, along = M.random_tangent(X, rng), M.random_tangent(X, rng), X @ random_skew(M, rng)
    size = 100 * unit(M, X) * float(M.norm(U) * M.norm(V))
    assert float(M.norm(project(along))) <= size
    assert abs(float(M.inner(project(U), along))) <= size
    assert float(M.norm(project(project(U)) - project(U))) <= size
    assert float(M.inner(project(U), V)) == pytest.approx(float(M.inner(U, project(V))), abs=size)
    assert float(M.tangency(X, project(U))) <= size


@pytest.mark.statement("F29")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_balanced_point_is_the_least_of_its_orbit(family):
    """No X T near it is shorter in the norm |X T |Q|^(-1/2)|, and it depends on the orbit only."""
    M, rng = Recipe(family, 6, 4, 10.0, 1).build(), np.random.default_rng(0)
    X = M.random_point(rng)
    if M.companion is None:
        with pytest.raises(ValueError, match="need psi"):
            M.balance(X)
        return
    Q = np.asarray(M.companion.Q.left(np.eye(M.companion.Q.size)))
    less = scipy.linalg.sqrtm(np.linalg.inv(scipy.linalg.sqrtm(Q @ Q.conj().T).real)).real

    def size(X):
        return float(np.linalg.norm(X @ less))

    least, other = M.balance(X), M.balance(X @ random_element(M, rng))
    assert float(M.feasibility(least)) <= 1e-12 * float(M.scale(least))
    assert size(other) == pytest.approx(size(least), rel=1e-8)
    assert size(least) <= size(X) * (1 + 1e-12)
    for _ in range(10):
        S = 0.1 * random_skew(M, rng)
        assert size(least @ scipy.linalg.expm(S)) >= size(least) * (1 - 1e-10)


def test_on_the_symplectic_manifold_scales_are_undone():
    """X diag(s, 1/s) has the representative X, for an orthonormal X."""
    M = go.SymplecticStiefel(12, 4)
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]
    X = np.block([[U, 0 * U], [0 * U, U]])
    stretched = X * np.array([30.0, 30.0, 1 / 30, 1 / 30])
    np.testing.assert_allclose(M.balance(stretched), X, atol=1e-9)


def test_a_compact_group_leaves_X_as_it_is():
    for M in (go.Stiefel(5, 2), go.GeneralizedStiefel(np.arange(1.0, 6.0), 2)):
        X = M.random_point(0)
        assert M.balance(X) is X


def test_a_point_whose_gram_matrix_is_singular_to_rounding_can_be_balanced():
    """Soak 8000426: eigenvalues of X^T X below the rounding were negative, and their root NaN."""
    M = Recipe("indefinite-dense", 2, 2, 56027050297.645744, 8000426).build()
    start = np.array([[-2349.52656027, -3720.87441221], [-126400.7214783, -200076.34313557]])
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = M.restore(start * (1 + 1e-12 * rng.standard_normal((2, 2))))
        with contextlib.suppress(NotRestorableError):
            assert np.isfinite(M.balance(X)).all()
