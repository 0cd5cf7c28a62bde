"""Between points: the inverse of Cayley (F22), means, interpolation, the surrogate distance."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.testing.strategies import FAMILIES, Recipe


def step(M, X, seed, length=0.3):
    """A tangent vector of a length, shorter where Cayley would leave its domain."""
    Z = M.random_tangent(X, (seed, 1))
    return Z * (min(length, 1 / float(M.norm(M.phi(X)))) / max(float(M.norm(Z)), 1e-8))


@pytest.mark.statement("F22")
@hypothesis.given(gt.recipes(max_condition=1e4), gt.seeds())
def test_the_inverse_is_tangent_and_leads_to_Y(recipe, seed):
    """R_X(Z) = Y, DC(X)[Z] = 0, with errors of rounding times what points are long."""
    M = recipe.build()
    X = M.random_point((seed, 0))
    Y = M.retract(X, step(M, X, seed))
    Z = M.inverse_retract(X, Y)
    unit = 1e-12 * (1 + float(M.norm(X)) * float(M.norm(M.phi(X)))) ** 2
    assert float(M.tangency(X, Z)) <= unit * (1 + float(M.norm(M.phi(X))))
    assert float(M.norm(M.retract(X, Z) - Y)) <= unit * float(M.norm(X))
    assert M.distance(X, Y) == pytest.approx(float(M.norm(Z)))
    assert float(M.norm(M.interpolate(X, Y, 0.0) - X)) <= unit * float(M.norm(X))
    assert float(M.norm(M.interpolate(X, Y, 1.0) - Y)) <= unit * float(M.norm(X))


@pytest.mark.statement("F22")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_minus_X_is_outside_the_domain(family):
    """I + <<X, -X>> = 0."""
    M = Recipe(family, 5, 2, 10.0, 1).build()
    X = M.random_point(0)
    with pytest.raises(go.OutsideDomainError, match=r"I \+ <<X, Y>>|component of X"):
        M.inverse_retract(X, -X)


def test_neither_columns_nor_single_precision_make_points_far():
    """|I| |I| = p, which is no distance; single precision leaves little room."""
    M = go.Stiefel(500, 400)
    X = np.asarray(M.random_point(0), np.float32)
    Z = M.random_tangent(X, 1)
    Z *= 20 / M.norm(Z)
    found = M.inverse_retract(X, M.retract(X, Z))
    assert float(M.norm(found - Z)) <= 1e-4 * float(M.norm(Z))


def test_points_of_two_components_are_refused_though_the_matrix_is_invertible():
    """In O(1,1) I + <<X, Y>> is invertible for Y = -X times a boost."""
    M = go.IndefiniteStiefel(np.array([1.0, -1.0]), np.array([1.0, -1.0]))
    boost = np.array([[np.cosh(1), np.sinh(1)], [np.sinh(1), np.cosh(1)]])
    with pytest.raises(go.OutsideDomainError, match="need a point of the component of X; got comp"):
        M.inverse_retract(np.eye(2), -boost)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_mean_of_ten_points_is_stationary(family):
    M = Recipe(family, 7, 2, 10.0, 1).build()
    X = M.random_point(0)
    points = [M.retract(X, step(M, X, k)) for k in range(10)]
    weights = np.arange(1.0, 11.0)
    for w in (None, weights):
        mean = M.mean(points, w)
        share = np.full(10, 0.1) if w is None else w / w.sum()
        Z = sum(a * M.inverse_retract(mean, Y) for a, Y in zip(share, points, strict=True))
        assert float(M.norm(Z)) <= 1e-10
        assert float(M.feasibility(mean)) <= 1e-12 * float(M.scale(mean))


def test_on_the_sphere_they_are_the_classical_ones():
    """The mean of two points is (x + y)/|x + y|, and |Z| = 2 tan(angle/2)."""
    M = go.Sphere(5)
    x = M.random_point(0)
    y = M.retract(x, 0.4 * M.random_tangent(x, 1))
    np.testing.assert_allclose(M.mean([x, y]), (x + y) / np.linalg.norm(x + y), atol=1e-10)
    angle = np.arccos(np.vdot(x, y))
    assert M.distance(x, y) == pytest.approx(2 * np.tan(angle / 2), rel=1e-12)
    assert M.distance(x, M.interpolate(x, y, 0.5)) == pytest.approx(M.distance(x, y) / 2)


def test_a_product_goes_part_by_part():
    M = go.Product(C=go.Stiefel(5, 2), w=go.Euclidean(3))
    X = M.random_point(0)
    Z = tuple(0.2 * part for part in M.random_tangent(X, 1))
    Y = M.retract(X, Z)
    for part, known in zip(M.inverse_retract(X, Y), Z, strict=True):
        np.testing.assert_allclose(part, known, atol=1e-14)
    np.testing.assert_allclose(M.mean([X, Y]).w, (X.w + Y.w) / 2, atol=1e-11)
    assert M.distance(X, Y) == pytest.approx(float(np.sqrt(sum(np.sum(z**2) for z in Z))))


@pytest.mark.parametrize(
    ("points", "weights"),
    [([], None), ("two", [1.0]), ("two", [2.0, -1.0]), ("two", [0.0, 0.0]), ("two", [1.0, np.nan])],
)
def test_points_and_weights_have_to_fit(points, weights):
    M = go.Stiefel(4, 2)
    points = [M.random_point(k) for k in range(2)] if points == "two" else points
    with pytest.raises(ValueError, match="points: need at least one point, and for each a weight"):
        M.mean(points, weights)


def test_what_is_no_point_is_refused():
    M = go.Stiefel(4, 2)
    X = M.random_point(0)
    with pytest.raises(ValueError, match=r"Y: need an array of shape \(4, 2\)"):
        M.inverse_retract(X, X[:3])
    with pytest.raises(ValueError, match="points: need finite entries"):
        M.mean([X, np.nan * X])


@hypothesis.given(st.integers(0, 2**32 - 1))
def test_far_points_have_a_mean_or_are_refused(seed):
    M = go.Stiefel(4, 2)
    points = [M.random_point((seed, k)) for k in range(5)]
    try:
        mean = M.mean(points)
    except go.OutsideDomainError:
        return
    assert float(M.norm(sum(M.inverse_retract(mean, Y) for Y in points))) <= 1e-9


@pytest.mark.parametrize("compiled", [False, True])
def test_arrays_of_jax(compiled):
    jax = pytest.importorskip("jax")
    for M in (go.SymplecticStiefel(8, 4), go.Orthogonal(3)):
        X = M.random_point(0)
        Z = step(M, X, 1)
        inverse = jax.jit(M.inverse_retract) if compiled else M.inverse_retract
        found = inverse(*map(jax.numpy.asarray, (X, M.retract(X, Z))))
        unit = float(jax.numpy.finfo(found.dtype).eps)
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(np.asarray(found), Z, atol=100 * unit)
