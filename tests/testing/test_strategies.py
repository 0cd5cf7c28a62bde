"""The strategies of genorth.testing give what they say.

Matrices, points on and near M, tangent vectors.
"""

import itertools

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from support.norms import EPS, norm


@given(
    n=st.integers(1, 12),
    exponent=st.floats(0, 8),
    seed=gt.seeds(),
    kind=st.sampled_from([float, complex]),
)
def test_symmetric_matrices_have_the_condition_and_the_signs_asked_for(n, exponent, seed, kind):
    negative = seed % (n + 1)
    A = gt.conditioned_symmetric(n, 10**exponent, seed, negative, kind)
    values = np.linalg.eigvalsh(A)
    rounding = 100 * n * EPS
    assert A.dtype == kind
    np.testing.assert_array_equal(A, A.conj().T)
    if n > 1:
        assert abs(np.abs(values).max() - 1) <= rounding
        assert abs(np.abs(values).min() - 10**-exponent) <= rounding
    assert (values < 0).sum() == negative


@given(n=st.integers(1, 6).map(lambda k: 2 * k), exponent=st.floats(0, 8), seed=gt.seeds())
def test_skew_matrices_have_the_condition_asked_for(n, exponent, seed):
    K = gt.conditioned_skew(n, 10**exponent, seed)
    np.testing.assert_array_equal(K, -K.T)
    values = np.linalg.svd(K, compute_uv=False)
    rounding = 100 * n * EPS
    assert values[-1] >= 10**-exponent - rounding and values[0] <= 1 + rounding
    if n > 2:
        assert abs(values[0] - 1) <= rounding and abs(values[-1] - 10**-exponent) <= rounding


@given(recipe=gt.recipes())
def test_a_recipe_builds_the_same_manifold_twice(recipe):
    one, other = recipe.build(), recipe.build()
    X = one.random_ambient(0)
    np.testing.assert_array_equal(one.phi(X), other.phi(X))
    assert one.shape == other.shape and one.shape[-1] <= one.shape[-2]


@given(data=st.data(), manifold=gt.manifolds(max_condition=1e4))
def test_points_near_points_and_tangent_vectors(data, manifold):
    X = data.draw(gt.points(manifold))
    assert float(manifold.feasibility(X)) <= 1e-12 * float(manifold.scale(X))
    Z = data.draw(gt.tangent_vectors(manifold, X))
    P = manifold.phi(X)
    condition = np.linalg.cond(P).max() ** 2 * 1e4**0.5
    bound = 1e3 * np.sqrt(X.size) * EPS * condition * norm(P) * norm(Z)
    assert float(manifold.tangency(X, Z)) <= bound + 1e-12 * float(manifold.scale(X))
    Y = data.draw(gt.near_points(manifold, distance=0.1))
    assert float(manifold.feasibility(Y)) <= 0.5
    restored = manifold.restore(Y)
    assert float(manifold.feasibility(restored)) <= 1e-12 * float(manifold.scale(restored))


@given(data=st.data(), product=gt.products(max_condition=1e2))
def test_points_of_products(data, product):
    """Tuples on M and near it; the tangent vectors are those of the factors."""
    x = data.draw(gt.points(product))
    assert isinstance(x, tuple) and len(x) == len(product.factors)
    assert float(product.feasibility(x)) <= 1e-12 * float(product.scale(x))
    Z = data.draw(gt.tangent_vectors(product, x))
    for factor, X, z in zip(product.factors, x, Z, strict=True):
        size = float(norm(z)) * max(1.0, float(factor.scale(X)))
        assert norm(factor.project(X, z) - z) <= 1e5 * EPS * 1e2 * size
    y = data.draw(gt.near_points(product, distance=0.1))
    restored = product.restore(y)
    assert float(product.feasibility(restored)) <= 1e-12 * float(product.scale(restored))


@given(manifold=gt.manifolds(families=("symplectic",)))
def test_families_can_be_chosen(manifold):
    assert isinstance(manifold, go.SymplecticStiefel)
    with pytest.raises(KeyError):
        gt.Recipe("nonsense", 3, 2, 1.0, 0).build()


def test_square_cases_and_all_sizes_are_drawn():
    assert find(gt.recipes(max_n=4), lambda recipe: recipe.p == recipe.n == 4)
    assert find(gt.recipes(max_n=4), lambda recipe: recipe.p == 1 and recipe.n == 4)


@given(recipe=gt.recipes(max_n=5, max_condition=1e2))
def test_sizes_and_condition_numbers_keep_their_limits(recipe):
    assert 1 <= recipe.p <= recipe.n <= 5 and 1 <= recipe.condition <= 1e2 * (1 + 1e-12)


def test_points_near_M_are_off_M():
    manifold = go.Stiefel(5, 2)
    far = find(gt.near_points(manifold), lambda Y: float(manifold.feasibility(Y)) > 1e-3)
    assert float(manifold.feasibility(far)) <= 0.25


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_every_recipe_of_a_family_has_points(family):
    """Odd sizes are made even without p > n; A has the directions of each sign that are needed."""
    for n, seed in itertools.product(range(1, 6), range(6)):
        for p in {n, 1 + seed % n}:
            manifold = gt.Recipe(family, n, p, 3.0, seed).build()
            X = manifold.random_point(seed)
            assert float(manifold.feasibility(X)) <= 1e-12 * float(manifold.scale(X))


def test_the_recipe_of_a_failing_manifold_is_shown():
    @settings(phases=[Phase.generate], max_examples=1, database=None)
    @given(manifold=gt.manifolds())
    def fails(manifold: go.GenOrthManifold) -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        fails()
    assert any("manifold = Recipe(" in note for note in caught.value.__notes__)


def test_complex_matrices_are_complex():
    A = gt.conditioned_symmetric(6, 10.0, 0, dtype=complex)
    assert np.linalg.norm(A.imag) > 0.1 * np.linalg.norm(A)
