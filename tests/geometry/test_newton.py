"""Newton's map, the normal retraction, rays, and the way back to M (F15, F18, F19)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry import place
from genorth.geometry.newton import NewtonStep, scaled, step_length, to_manifold
from genorth.linalg.arrays import norm
from support.refusals import refused

EPS = 2.0**-52


def _gaussian(shape: tuple[int, ...], seed: int, dtype: type = float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal(shape)
    return G + 1j * rng.standard_normal(shape) if dtype is complex else G


@given(p=st.integers(1, 6), more=st.integers(0, 5), seed=gt.seeds(), length=st.floats(0, 20))
def test_on_stiefel_the_normal_retraction_is_the_polar_one(p, more, seed, length):
    """For steps of any length."""
    manifold = go.Stiefel(p + more, p)
    X = manifold.random_point(seed)
    Z = length * manifold.random_tangent(X, seed)
    difference = manifold.retract(X, Z, "normal") - manifold.retract(X, Z, "polar")
    assert norm(difference) <= 1e3 * (p + more) * EPS * (1 + norm(Z) ** 2)


@given(
    p=st.integers(1, 6),
    more=st.integers(0, 5),
    seed=gt.seeds(),
    exponents=st.tuples(st.floats(-6, 6), st.floats(0, 12)),
)
def test_on_stiefel_every_start_of_full_rank_is_restored(p, more, seed, exponents):
    """Singular values from 10^-6 to 10^6, condition numbers to 1e12."""
    size, condition = exponents
    U, _, Vt = np.linalg.svd(_gaussian((p + more, p), seed), full_matrices=False)
    manifold = go.Stiefel(p + more, p)
    X = manifold.restore((U * np.logspace(size, size - condition, p)) @ Vt)
    assert manifold.feasibility(X) <= 1e-12 * manifold.scale(X)


@pytest.mark.parametrize("family", gt.FAMILIES)
def test_without_full_rank_it_is_refused(family):
    """Equal columns, and zero; on the skew manifolds two columns less leave a kernel too."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    X = manifold.random_point(0)
    X[..., -2:] = X[..., :1]
    X = np.asarray(manifold.ambient(X))
    for bad in (X, 0 * X):
        with refused("X", "phi(X) of full rank", "", error=go.OutsideDomainError):
            manifold.newton_step(bad)


def test_squared_singular_values_are_not_lost():
    """A condition number of 1e11: the smallest eigenvalue of X^T X is rounding, and is not used."""
    U, _, Vt = np.linalg.svd(_gaussian((7, 3), 0), full_matrices=False)
    values = np.array([1.0, 1e-5, 1e-11])
    X = (U * values) @ Vt
    step = go.Stiefel(7, 3).newton_step(X)
    expected = (U * (values - 1 / values) / 2) @ Vt
    assert norm(step - expected) <= 1e-3 * norm(expected)


@pytest.mark.parametrize(
    "shape", [(8, 4), (6, 6), (20, 2), (10, 4)], ids=lambda shape: f"{shape[0]}x{shape[1]}"
)
def test_the_unit_matrix_is_restored_on_the_symplectic_manifold(shape):
    """np.eye(8, 4): A would stretch it for ever, as phi(X)^T X = 0."""
    manifold = go.SymplecticStiefel(*shape)
    found = manifold.restoration(np.eye(*shape))
    assert found.map == ("none" if shape[0] == shape[1] else "Newton's map")
    assert manifold.feasibility(found.X) <= 1e-12 and norm(found.X) <= 2 * norm(np.eye(*shape))


@given(manifold=gt.manifolds(max_condition=1e4), seed=gt.seeds(), size=st.floats(-3, 3))
def test_what_is_restored_is_on_the_manifold(manifold, seed, size):
    """From any Gaussian start: near M relative to X and against 1, or an error."""
    Y = manifold.random_ambient(seed) * 10**size
    try:
        X = manifold.restore(Y)
    except go.NotRestorableError:
        return
    violation = manifold.feasibility(X)
    assert violation <= 1e-12 * manifold.scale(X) and violation <= 0.01
    assert manifold.restoration(Y).map in ("A", "Newton's map", "none")


@given(seed=gt.seeds(), size=st.floats(-3, 3))
def test_the_step_length_makes_the_violation_smallest(seed, size):
    """|(1 - s) C + s^2 E| over (0, 1]; one where |E| <= |C|/2."""
    C, E = _gaussian((2, 3, 3), seed) * np.array([1.0, 10**size]).reshape(2, 1, 1)
    s = step_length(C, E)
    grid = np.linspace(0, 1, 1001)[1:]
    values = [norm((1 - t) * C + t * t * E) for t in grid]
    if norm(E) <= norm(C) / 2:
        assert s == 1
    else:
        assert 0 < s <= 1 and norm((1 - s) * C + s * s * E) <= min(values) * (1 + 1e-6)


@given(manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds(), size=st.floats(-3, 3))
def test_the_scaling_makes_the_violation_smallest(manifold, seed, size):
    """Zero would do it where tr(X^T phi(X)) <= 0: X stays as it is."""
    X = manifold.random_ambient(seed) * 10**size
    if np.trace(manifold.gram(X), axis1=-2, axis2=-1).sum().real <= 0:
        assert scaled(manifold, X) is X
        return
    least = manifold.feasibility(scaled(manifold, X))
    for factor in 10.0 ** np.linspace(-4, 4, 33):
        assert least <= manifold.feasibility(factor * X) * (1 + 1e-9)


def test_where_no_step_decreases_the_violation_it_is_refused():
    """X^T H X = -I: Newton's map leads to zero."""
    manifold = go.HyperbolicStiefel(np.array([1.0, 1.0, -1.0]), 1)
    with refused(
        "X", "a point near M", "phi(X) became rank-deficient", error=go.NotRestorableError
    ):
        manifold.restore(np.array([[0.0], [0.0], [1.0]]))


def test_a_ray_makes_what_t_does_not_change_once():
    """phi is not evaluated again by Cayley; "normal" needs it once for each step of Newton."""
    A = np.diag([1.0, 2.0, 3.0, -1.0, -2.0])
    calls = []

    def phi(X: np.ndarray) -> np.ndarray:
        calls.append(1)
        return A @ X

    manifold = go.from_maps((5, 2), phi, lambda T: T)
    X = manifold.random_point(0)
    Z = 0.1 * manifold.random_tangent(X, 1)
    for kind in ("cayley", "polar", "exp"):
        ray = manifold.ray(X, Z, kind)
        calls.clear()
        for t in (0.1, 0.2, 0.3):
            ray.point(t), ray.velocity(t)
        assert not calls, kind
    ray = manifold.ray(X, Z, "normal")
    ray.point(1.0)
    calls.clear()
    ray.point(1.0)
    assert not calls


def test_a_short_step_takes_one_factorisation(monkeypatch):
    """The second step of Newton is made with the K of the first."""
    manifold = go.SymplecticStiefel(20, 4)
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    Z *= 1e-3 * norm(X) / norm(Z)
    factored, eigh = [], place.eigh
    monkeypatch.setattr(place, "eigh", lambda K: factored.append(1) or eigh(K))
    R = manifold.retract(X, Z, "normal")
    assert len(factored) == 1
    assert manifold.feasibility(R) <= 10 * EPS * manifold.scale(R)
    assert manifold.feasibility(X + Z) > 1e6 * EPS * manifold.scale(R)


@given(manifold=gt.manifolds(max_condition=1e4), seed=gt.seeds(), length=st.floats(-6, 0))
def test_the_normal_retraction_ends_at_rounding(manifold, seed, length):
    """|C| <= 100 eps |X| |phi(X)|, whichever step the iteration ended with."""
    X = manifold.random_point(seed)
    Z = manifold.random_tangent(X, seed)
    if not norm(Z) > 0:
        return
    Z = 10**length * norm(X) / norm(Z) * Z
    try:
        R = manifold.retract(X, Z, "normal")
    except go.OutsideDomainError:
        return
    assert manifold.feasibility(R) <= 100 * EPS * manifold.scale(R)


@given(manifold=gt.manifolds(max_condition=1e2), seed=gt.seeds())
def test_the_derivative_of_the_step_off_the_manifold(manifold, seed):
    """DD(Y)[V] against differences of D, at Y off M."""
    s = gt.Sample(manifold, seed)
    V = s.within_newton(s.ambient())
    slope = NewtonStep(manifold.anywhere(s.Y)).derivative(V)
    errors = []
    for h in (1e-2, 1e-3):
        difference = manifold.newton_step(s.Y + h * V) - manifold.newton_step(s.Y - h * V)
        errors.append(float(norm(difference / (2 * h) - slope)))
    singular = np.linalg.svd(manifold.phi(s.Y), compute_uv=False)
    kappa = (singular.max() / singular.min() * s.q) ** 2
    rest = 1e3 * s.u * kappa * (norm(V) + s.g / singular.min()) / 1e-3
    assert errors[1] <= 0.05 * errors[0] + rest


def test_the_velocity_of_a_step_too_short_for_newton_is_tangent():
    """X + Z is on M to rounding and no step of Newton is made; Z is tangent at X, not there."""
    manifold = go.HyperbolicStiefel(np.array([3.0, 2.0, 1.0, -1.0, -2.0]), 2)
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    Z *= 1e-9 / norm(Z)
    ray = manifold.ray(X, Z, "normal")
    c, V = ray.point(1.0), ray.velocity(1.0)
    assert norm(c - X - Z) <= 1e-14 * norm(X) and norm(V - Z) <= 1e-8 * norm(Z)
    assert manifold.tangency(c, V) <= 1e-13 * manifold.scale(c) * norm(Z)
    assert manifold.tangency(c, Z) > 1e-10 * norm(Z)


@pytest.mark.parametrize("z", [0.5, 5.0, 1e3])
def test_long_steps_on_the_hyperbola(z):
    """x^2 - y^2 = 1 from (1, 0) along (0, z), where polar ends at 1 and Cayley at 2."""
    manifold = go.HyperbolicStiefel(np.array([1.0, -1.0]), 1)
    x, y = manifold.retract(np.array([[1.0], [0.0]]), np.array([[0.0], [z]]), "normal").ravel()
    assert x**2 - y**2 == pytest.approx(1, rel=1e-12) and 0 < y < z


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize(
    "manifold",
    [
        go.Stiefel(5, 3),
        go.SymplecticStiefel(6, 2),
        go.HyperbolicStiefel(np.array([2.0, 1, 1, -1]), 2),
    ],
    ids=["stiefel", "symplectic", "hyperbolic"],
)
def test_jax_differentiates_it_where_eigenvalues_meet(jax, manifold):
    """On Stiefel K = I: eigenvectors have no derivative there, the step has two."""
    X = manifold.random_point(0)
    V = np.asarray(manifold.random_ambient(1))
    W = np.asarray(manifold.random_ambient(2))

    def first(Y):
        return jax.jvp(manifold.newton_step, (Y,), (jax.numpy.asarray(V),))[1]

    _, slope = jax.jvp(manifold.newton_step, (jax.numpy.asarray(X),), (jax.numpy.asarray(V),))
    assert norm(np.asarray(slope) - (V - manifold.project(X, V))) <= 1e-12 * norm(V)
    X, h = 1.2 * X, 1e-4  # eigenvalues meet there too, and D is not zero
    _, second = jax.jvp(first, (jax.numpy.asarray(X),), (jax.numpy.asarray(W),))

    def exact(Y):
        return NewtonStep(manifold.anywhere(Y)).derivative(V)

    difference = (exact(X + h * W) - exact(X - h * W)) / (2 * h)
    assert norm(np.asarray(second) - difference) <= 1e-5 * max(norm(difference), 1.0)


def test_traced_steps_outside_the_domain_of_normal_are_not_finite(jax):
    manifold = go.HyperbolicStiefel(np.array([1.0, -1.0]), 1)
    X, Z = jax.numpy.asarray([[1.0], [0.0]]), jax.numpy.asarray([[0.0], [1.0]])
    retract = jax.jit(lambda Z: manifold.retract(X, Z, "normal"))
    assert np.all(np.isfinite(retract(Z / 2)))
    assert not np.any(np.isfinite(retract(1e3 * Z)))


def test_scale_is_that_of_the_terms_of_the_constraint():
    """scale(X) = max(1, |X| |phi(X)|)."""
    manifold = go.GeneralizedStiefel(np.array([4.0, 9.0, 16.0]), 1)
    X = np.array([[1.0], [2.0], [0.0]])
    assert manifold.scale(X) == pytest.approx(np.sqrt(5) * np.sqrt(4**2 + 18**2), rel=1e-15)
    assert manifold.scale(1e-3 * X) == 1.0


def test_a_step_of_newton_that_increases_the_violation_is_refused():
    """From X/10 on the Stiefel manifold the first step leads to 5 X."""
    manifold = go.Stiefel(6, 2)
    X = manifold.random_point(0)
    end, steps = to_manifold(manifold, 1.5 * X)
    assert manifold.feasibility(end.X) <= 1e-14 and steps
    with pytest.raises(go.OutsideDomainError, match="decrease"):
        to_manifold(manifold, 0.1 * X)


def test_a_tolerance_of_zero_means_rounding():
    manifold = go.GeneralizedStiefel(gt.conditioned_symmetric(7, 10.0, 0), 3)
    found = manifold.restoration(1.1 * manifold.random_point(0), tol=0.0)
    assert manifold.feasibility(found.X) <= 1e-14 * manifold.scale(found.X)
    assert found.steps <= 8, "each squares the violation"


@given(manifold=gt.manifolds(max_condition=100), seed=gt.seeds())
def test_the_length_of_a_step_is_that_of_D(manifold: go.GenOrthManifold, seed: int) -> None:
    """|D|^2 = <S, K S>."""
    step = NewtonStep(manifold.anywhere(1.1 * manifold.random_point(seed)))
    assert step.length == pytest.approx(float(norm(step.D)), rel=1e-6)
