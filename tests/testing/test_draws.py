"""What the strategies can draw, and what they never draw."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

import genorth as go
import genorth.testing as gt


def test_square_cases_and_all_sizes_are_drawn() -> None:
    assert find(gt.recipes(max_n=4), lambda recipe: recipe.p == recipe.n == 4)
    assert find(gt.recipes(max_n=4), lambda recipe: recipe.p == 1 and recipe.n == 4)


@given(recipe=gt.recipes(max_n=5, max_condition=1e2))
def test_sizes_and_condition_numbers_keep_their_limits(recipe: gt.Recipe) -> None:
    assert 1 <= recipe.p <= recipe.n <= 5 and 1 <= recipe.condition <= 1e2 * (1 + 1e-12)


def test_points_near_M_are_off_M() -> None:
    manifold = go.Stiefel(5, 2)
    far = find(gt.near_points(manifold), lambda Y: float(manifold.feasibility(Y)) > 1e-3)
    assert float(manifold.feasibility(far)) <= 0.25


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_every_recipe_of_a_family_has_points(family: str) -> None:
    for seed in range(12):
        n = 1 + seed % 6
        manifold = gt.Recipe(family, n, 1 + (seed // 2) % n, 3.0, seed).build()
        X = manifold.random_point(seed)
        assert float(manifold.feasibility(X)) <= 1e-12 * float(manifold.scale(X))


@pytest.mark.parametrize(
    "family",
    [
        "symplectic",
        "bilinear-skew",
        "indefinite-diagonal",
        "indefinite-dense",
        "bilinear-symmetric",
    ],
)
def test_square_cases_of_every_size_leave_M_nonempty(family: str) -> None:
    """Odd sizes are made even without p > n; A has the directions of each sign that are needed."""
    for n, seed in itertools.product(range(1, 6), range(12)):
        manifold = gt.Recipe(family, n, n, 3.0, seed).build()
        X = manifold.random_point(seed)
        assert float(manifold.feasibility(X)) <= 1e-12 * float(manifold.scale(X))


def test_complex_matrices_are_complex() -> None:
    A = gt.conditioned_symmetric(6, 10.0, 0, dtype=complex)
    np.testing.assert_array_equal(A, A.conj().T)
    assert np.linalg.norm(A.imag) > 0.1 * np.linalg.norm(A)
    assert gt.conditioned_symmetric(6, 10.0, 0).dtype == float


def test_the_recipe_of_a_failing_manifold_is_shown() -> None:
    @settings(phases=[Phase.generate], max_examples=1, database=None)
    @given(manifold=gt.manifolds())
    def fails(manifold: go.GenOrthManifold) -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        fails()
    assert any("manifold = Recipe(" in note for note in caught.value.__notes__)
