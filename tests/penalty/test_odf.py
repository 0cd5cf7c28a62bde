"""h_n, its gradient and its Hessian product (F15 to F17).

Against interpolation and autodiff, on and off M, on every manifold; and where h_n is infinite.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

import genorth as go
import genorth.testing as gt
from support.problems import Matrix, smooth

EPS = float(np.finfo(float).eps)
MANIFOLDS = gt.manifolds(max_condition=1e3)
NODES = chebyshev.chebpts1(17)


class Setting:
    """h_n, X off M or on it, a direction of a unit step that keeps phi(X) regular, and rounding."""

    def __init__(self, manifold: go.GenOrthManifold, X: Matrix, beta: float, seed: int) -> None:
        self.h, self.X = go.OrthogonalDissolving(smooth(manifold, seed), beta), X
        singular = np.linalg.svd(manifold.phi(X), compute_uv=False)
        T = X.mT.conj() @ X
        q = max(1.0, float(np.linalg.norm(manifold.psi(T)) / np.linalg.norm(T)))
        #: A bound of the condition number of the equation for D.
        self.condition = float(singular.max() / singular.min()) ** 2 * q**2
        Z = manifold.random_ambient(seed + 1)
        self.Z = Z * (0.1 * float(singular.min()) / float(np.linalg.norm(manifold.phi(Z))))

    def derivative(self, function: Callable[[Matrix], Any]) -> tuple[Matrix, float]:
        """The derivative along Z, by interpolation at Chebyshev points, and a bound of its error.

        phi(X + tZ) has full rank for |t| < 10, so the function is analytic there and the error of
        degree 16 is far below rounding, also where it has poles of high order beyond.
        """
        values = np.array([np.ravel(function(self.X + float(t) * self.Z)) for t in NODES])
        series = chebyshev.chebfit(NODES, values, 16)
        error = 1e4 * EPS * self.condition * float(np.abs(values).max())
        return chebyshev.chebval(0.0, chebyshev.chebder(series)), error


def _drawn(data: st.DataObject, manifold: go.GenOrthManifold, seed: int) -> Setting:
    X = data.draw(gt.near_points(manifold, 1.0))
    return Setting(manifold, X, data.draw(st.floats(0.01, 100)), seed)


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_value_of_h_n_is_the_formula(data, manifold, seed):
    """h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2, with D as `newton_step` has it."""
    s = _drawn(data, manifold, seed)
    D = manifold.newton_step(s.X)
    cost = s.h.problem.cost(s.X - D)
    square = float(np.linalg.norm(D)) ** 2
    size = (1 + np.linalg.norm(s.X) + np.linalg.norm(D)) ** 4 * np.prod(manifold.shape)
    bound = 1e3 * EPS * s.condition * (size + s.h.beta * (1 + square))
    assert abs(s.h.value(s.X) - (cost + s.h.beta / 2 * square)) <= bound
    assert s.h.value_and_gradient(s.X)[0] == s.h.value(s.X)
    assert abs(s.h.cost(s.X) - cost) <= bound
    assert s.h.feasibility(s.X) == pytest.approx(
        float(manifold.feasibility(s.X)), rel=1e-10, abs=1e3 * EPS * float(manifold.scale(s.X))
    )


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_gradient_of_h_n(data, manifold, seed):
    """d/dt h_n(X + tZ) = <grad h_n, Z> at t = 0."""
    s = _drawn(data, manifold, seed)
    slope, error = s.derivative(s.h.value)
    assert abs(slope[0] - np.vdot(s.h.gradient(s.X), s.Z).real) <= error


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_hessian_differentiates_the_gradient_of_h_n(data, manifold, seed):
    """d/dt grad h_n(X + tZ) = hess h_n(X)[Z] at t = 0: all components."""
    s = _drawn(data, manifold, seed)
    product = s.h.hessian_product(s.X, s.Z)
    for part in (np.real, np.imag):
        change, error = s.derivative(lambda Y, part=part: part(s.h.gradient(Y)))
        assert np.abs(np.ravel(part(product)) - change).max() <= error


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_h_n_on_every_family(family):
    """One fixed manifold of each family; X is far enough from M for every term to count."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    X = 1.2 * manifold.random_point(2)
    s = Setting(manifold, X, 0.7, 1)
    g, H = s.h.gradient(X), s.h.hessian_product(X, s.Z)
    slope, _ = s.derivative(s.h.value)
    assert slope[0] == pytest.approx(np.vdot(g, s.Z).real, rel=1e-7)
    for part in (np.real, np.imag):
        change, _ = s.derivative(lambda Y, part=part: part(s.h.gradient(Y)))
        assert np.abs(np.ravel(part(H)) - change).max() <= 1e-7 * np.abs(H).max()
    U, V = manifold.random_ambient(5), manifold.random_ambient(6)
    HU, HV = s.h.hessian_product(X, U), s.h.hessian_product(X, V)
    assert np.vdot(HU, V).real == pytest.approx(np.vdot(U, HV).real, rel=1e-7)


@pytest.mark.parametrize("dtype", [float, complex])
def test_h_n_by_autodiff(dtype):
    """JAX differentiates h_n itself, eigendecomposition included; h_n runs under jit."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    manifold = go.Stiefel(7, 3, complex) if dtype is complex else go.SymplecticStiefel(8, 4)
    Y = manifold.random_ambient(0)
    D = Y @ Y.conj().T
    lazy, plain = (
        go.OrthogonalDissolving(
            go.Problem(
                manifold,
                lambda X, xp=xp: xp.real(xp.vdot(X, D @ X)),
                lambda X: 2 * D @ X,
                lambda X, Z: 2 * D @ Z,
            ),
            0.3,
        )
        for xp in (jnp, np)
    )
    X, Z = manifold.random_ambient(1), manifold.random_ambient(2)
    switch = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with switch(True):
        auto = np.asarray(jnp.conj(jax.grad(lazy.value)(jnp.asarray(X))))
        compiled = np.asarray(jax.jit(lazy.gradient)(jnp.asarray(X)))
        product = np.asarray(jax.jvp(lazy.gradient, (jnp.asarray(X),), (jnp.asarray(Z),))[1])
    for ours, theirs in (
        (plain.gradient(X), auto),
        (plain.gradient(X), compiled),
        (plain.hessian_product(X, Z), product),
    ):
        assert np.linalg.norm(ours - theirs) <= 1e6 * EPS * np.linalg.norm(theirs)


def test_h_n_runs_on_any_array_api_library():
    xp = pytest.importorskip("array_api_strict")
    manifold = go.SymplecticStiefel(8, 4)
    B = manifold.random_ambient(0)
    strict = go.Problem(
        manifold,
        lambda X: xp.sum(xp.asarray(B) * X),
        lambda X: xp.asarray(B),
        lambda X, Z: xp.zeros_like(Z),
    )
    plain = go.Problem(
        manifold, lambda X: float(np.sum(B * X)), lambda X: B, lambda X, Z: np.zeros_like(Z)
    )
    X, Z = manifold.random_ambient(1), manifold.random_ambient(2)
    h, here = go.OrthogonalDissolving(strict, 2.0), go.OrthogonalDissolving(plain, 2.0)
    assert float(h.value(xp.asarray(X))) == pytest.approx(here.value(X), rel=1e-10)
    for ours, theirs in (
        (here.gradient(X), h.gradient(xp.asarray(X))),
        (here.hessian_product(X, Z), h.hessian_product(xp.asarray(X), xp.asarray(Z))),
    ):
        assert np.linalg.norm(ours - np.asarray(theirs)) <= 1e-10 * np.linalg.norm(ours)


def test_the_problem_keeps_its_gradient():
    """V = beta D - G is formed in memory of its own: what f returned is not written into."""
    manifold = go.SymplecticStiefel(8, 4)
    B = manifold.random_ambient(0)
    kept = B.copy()
    problem = go.Problem(manifold, lambda X: float(np.sum(B * X)), lambda X: B, lambda X, Z: B)
    h, X = go.OrthogonalDissolving(problem, 2.0), manifold.random_ambient(1)
    h.gradient(X)
    h.hessian_product(X, X)
    np.testing.assert_array_equal(B, kept)


RANK_DEFICIENT = {
    "zeros": lambda m: np.zeros(m.shape, m.dtype),
    "equal columns": lambda m: np.broadcast_to(m.random_ambient(0)[..., :1], m.shape).copy(),
    "one column": lambda m: m.random_ambient(0) * (np.arange(m.shape[-1]) > 0),
}


@pytest.mark.parametrize("start", RANK_DEFICIENT)
@pytest.mark.parametrize(
    "family", ["stiefel", "stiefel-complex", "symplectic", "tensor-dft", "from-maps", "indefinite"]
)
def test_h_n_is_infinite_where_phi_of_X_has_no_full_rank(family, start):
    """No error and no call of f: a line search steps back."""
    name = "indefinite-dense" if family == "indefinite" else family
    manifold = gt.Recipe(name, 6, 4, 10.0, 7).build()
    problem = go.Problem(manifold, lambda X: pytest.fail("called"), lambda X: X, lambda X, Z: Z)
    h, X = go.OrthogonalDissolving(problem, 1.0), RANK_DEFICIENT[start](manifold)
    assert h.value(X) == np.inf and h.value_and_gradient(X)[0] == np.inf
    assert np.isnan(h.gradient(X)).all() and np.isnan(h.hessian_product(X, X)).all()
    assert problem.counts == go.Counts()


def test_one_block_without_full_rank_is_enough():
    manifold = go.TensorStiefel(5, 2, 3)
    X = manifold.random_point(0)
    h = go.OrthogonalDissolving(smooth(manifold, 0), 1.0)
    assert np.isfinite(h.value(X))
    X[1] = 0
    assert h.value(X) == np.inf


def test_small_singular_values_are_no_rank_deficiency():
    """1e-6 among ones is full rank; h_n is finite and large."""
    X = np.eye(5, 3) * [1.0, 1.0, 1e-6]
    h = go.OrthogonalDissolving(smooth(go.Stiefel(5, 3), 0), 1.0)
    assert 1e10 < abs(h.value(X)) < np.inf


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds(), exponent=st.floats(-6, -2))
def test_the_model_of_a_trust_region_is_the_hessian_up_to_D(data, manifold, seed, exponent):
    """On M the tangent part of hess h_n(X)[Z], Z tangent; beside it up to a multiple of |D|.

    The multiple is that of a hundred times the distance: the error is linear, so at a distance d
    it is at most a few times d/d' of that at d' = 100 d.
    """
    x = data.draw(gt.points(manifold))
    if not manifold.dim:
        return
    s, Z = Setting(manifold, x, 1.0, seed), manifold.random_tangent(x, seed)
    Z = Z * (float(np.linalg.norm(x)) / max(float(np.linalg.norm(Z)), 1e-300))
    away = manifold.random_ambient(seed + 2)
    away = away * (float(np.linalg.norm(s.Z)) / float(np.linalg.norm(away)))

    def error(distance: float) -> tuple[float, float]:
        X = x + distance * away
        point = s.h.complete(s.h.point(X))
        gradient, product = s.h.model(point)
        place = manifold.place(X).general
        U = place.project(Z)
        exact = place.project(s.h.hessian_product(X, U))
        norm = np.linalg.norm
        assert norm(place.project(point.gradient) - gradient) <= (
            10 * distance + 1e6 * EPS * s.condition
        ) * norm(point.gradient) * float(manifold.scale(X))
        return float(norm(product(U) - exact)), float(norm(exact) + norm(point.G))

    near, far = error(10**exponent), error(10 ** (exponent + 2))
    size = 1e5 * EPS * s.condition * float(manifold.scale(x)) * (near[1] + float(s.h.beta))
    assert near[0] <= 0.2 * far[0] + size
    assert error(0.0)[0] <= size
