"""h, its gradient and its Hessian product (F11).

Against differences and autodiff, on and off M, on every manifold.
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

MANIFOLDS = gt.manifolds(max_condition=1e3)
NODES = chebyshev.chebpts1(17)
#: What `Dissolving` gives to both penalties is tested on both.
BOTH = pytest.mark.parametrize("kind", [go.ConstraintDissolving, go.OrthogonalDissolving])
Kind = type[go.ConstraintDissolving] | type[go.OrthogonalDissolving]


def _setting(
    data: st.DataObject, manifold: go.GenOrthManifold, seed: int
) -> tuple[go.ConstraintDissolving, Matrix]:
    """h, and a point off M, or on it where the distance drawn is zero.

    On M alone the penalty is not seen.
    """
    X = data.draw(gt.near_points(manifold, 1.0))
    return go.ConstraintDissolving(smooth(manifold, seed), data.draw(st.floats(0.01, 100))), X


def _direction(manifold: go.GenOrthManifold, X: Matrix, seed: int) -> Matrix:
    """A direction whose unit step changes X by about a tenth of what A can bear."""
    Z = manifold.random_ambient(seed)
    size = np.linalg.norm(X) * np.linalg.norm(manifold.phi(Z)) + np.linalg.norm(
        manifold.phi(X)
    ) * np.linalg.norm(Z)
    return Z / float(size)


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_value_is_the_formula(data, manifold, seed):
    """h(X) = f(A(X)) + beta/2 |C(X)|^2."""
    h, X = _setting(data, manifold, seed)
    cost, violation = h.problem.cost(manifold.dissolve(X)), manifold.feasibility(X)
    size = _terms(h, X)
    assert abs(h.value(X) - (cost + h.beta / 2 * violation**2)) <= 1e4 * np.finfo(float).eps * size
    assert h.value_and_gradient(X)[0] == h.value(X)
    assert h.cost(X) + h.beta / 2 * h.feasibility(X) ** 2 == pytest.approx(h.value(X), rel=1e-14)


def _terms(h: go.ConstraintDissolving, X: Matrix) -> float:
    """The size of the terms that are summed up in h."""
    m = h.manifold
    scale, Y = float(m.scale(X)), float(np.linalg.norm(X)) * (3 + float(m.scale(X))) / 2
    return (
        10 * (1 + Y) ** 4 * np.sqrt(np.prod(m.shape)) * scale
        + h.beta * (scale + np.sqrt(np.prod(m.shape))) ** 2
    )


def _derivatives(
    function: Callable[[float], Any], order: int, sensitivity: float
) -> tuple[Matrix, float]:
    """The derivative at 0 of a polynomial of degree at most 12, and its rounding.

    From values at Chebyshev points. Along a line f(A(X)) is a polynomial of degree 12, as f has
    degree four and A three: this is no approximation. The sensitivity is what the values change by,
    relative to a relative change of X.
    """
    values = np.array([np.ravel(function(float(t))) for t in NODES])
    series = chebyshev.chebfit(NODES, values, 12)
    # The second derivative of a Chebyshev polynomial of degree d is at most d^4/3.
    rounding = 1e5 * np.finfo(float).eps * (float(np.abs(values).max()) + sensitivity)
    return chebyshev.chebval(0.0, chebyshev.chebder(series, order)), rounding


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_gradient_and_hessian_along_a_line(data, manifold, seed):
    """d/dt h(X + tZ) = <grad h, Z> and d^2/dt^2 h(X + tZ) = <Z, hess h[Z]> at t = 0."""
    h, X = _setting(data, manifold, seed)
    Z, G = _direction(manifold, X, seed), h.gradient(X)
    sensitivity = float(np.linalg.norm(G) * np.linalg.norm(X))
    slope, rounding = _derivatives(lambda t: h.value(X + t * Z), 1, sensitivity)
    assert abs(slope[0] - np.vdot(G, Z).real) <= rounding
    curvature, rounding = _derivatives(lambda t: h.value(X + t * Z), 2, sensitivity)
    assert abs(curvature[0] - np.vdot(Z, h.hessian_product(X, Z)).real) <= rounding


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_hessian_differentiates_the_gradient(data, manifold, seed):
    """d/dt grad h(X + tZ) = hess h(X)[Z] at t = 0: all components, not only along Z."""
    h, X = _setting(data, manifold, seed)
    Z = _direction(manifold, X, seed)
    sensitivity = float(np.linalg.norm(h.hessian_product(X, X)))
    parts = [
        _derivatives(lambda t, part=part: part(h.gradient(X + t * Z)), 1, sensitivity)
        for part in (np.real, np.imag)
    ]
    expected = (parts[0][0] + 1j * parts[1][0]).reshape(manifold.shape)
    assert np.abs(h.hessian_product(X, Z) - expected).max() <= parts[0][1] + parts[1][1]


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_hessian_is_symmetric_and_linear(data, manifold, seed):
    h, X = _setting(data, manifold, seed)
    U, V = manifold.random_ambient(seed), manifold.random_ambient(seed + 1)
    HU, HV = h.hessian_product(X, U), h.hessian_product(X, V)
    size = np.linalg.norm(HU) * np.linalg.norm(V) + np.linalg.norm(HV) * np.linalg.norm(U)
    bound = (
        1e4 * np.finfo(float).eps * (size + _terms(h, X) * np.linalg.norm(U) * np.linalg.norm(V))
    )
    assert abs(np.vdot(HU, V).real - np.vdot(U, HV).real) <= bound
    mixed = h.hessian_product(X, 2 * U - 3 * V)
    assert np.linalg.norm(mixed - 2 * HU + 3 * HV) <= bound * 10 / np.linalg.norm(V)


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_gradient_on_M(data, manifold, seed):
    """On M grad h = DA(X)*[grad f] for any beta; its projection is the Riemannian gradient.

    So the stationary points of h on M are those of f on M.
    """
    problem, X = smooth(manifold, seed), data.draw(gt.points(manifold))
    g, other = (go.ConstraintDissolving(problem, beta).gradient(X) for beta in (0.1, 10.0))
    G = problem.euclidean_gradient(X)
    bound = 1e5 * np.finfo(float).eps * float(manifold.scale(X)) ** 2
    bound *= 10 + np.linalg.norm(G) * float(np.prod(manifold.shape))
    assert np.linalg.norm(g - other) <= bound
    assert np.linalg.norm(g - manifold.dissolve_adjoint(X, G)) <= bound
    assert np.linalg.norm(manifold.project(X, g) - manifold.gradient(X, G)) <= bound


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_every_family_by_differences(family):
    """One fixed manifold of each family, so that none is left to chance."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    h = go.ConstraintDissolving(smooth(manifold, 1), 0.7)
    X = manifold.random_point(2)
    X = X + 0.1 * _direction(manifold, X, 3)
    Z, t = _direction(manifold, X, 4), 1e-4
    slope = (h.value(X + t * Z) - h.value(X - t * Z)) / (2 * t)
    g, H = h.gradient(X), h.hessian_product(X, Z)
    # Central differences: the error is t^2 times a third derivative of the size of the function.
    assert abs(slope - np.vdot(g, Z).real) <= 1e-5 * (
        np.linalg.norm(g) * np.linalg.norm(Z) + abs(h.value(X))
    )
    change = (h.gradient(X + t * Z) - h.gradient(X - t * Z)) / (2 * t)
    assert np.linalg.norm(change - H) <= 1e-5 * (np.linalg.norm(H) + np.linalg.norm(g))


@pytest.mark.parametrize("dtype", [float, complex])
def test_gradient_and_hessian_by_autodiff(dtype):
    """JAX differentiates the formula of h itself; also shows that h runs on JAX arrays."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    manifold = go.Stiefel(7, 3, complex) if dtype is complex else go.SymplecticStiefel(8, 4)
    Y = manifold.random_ambient(0)
    D = Y @ Y.conj().T
    problem = go.Problem(
        manifold,
        lambda X: jnp.real(jnp.vdot(X, D @ X)),
        lambda X: 2 * D @ X,
        lambda X, Z: 2 * D @ Z,
    )
    plain = go.Problem(
        manifold,
        lambda X: float(np.vdot(X, D @ X).real),
        lambda X: 2 * D @ X,
        lambda X, Z: 2 * D @ Z,
    )
    h, here = go.ConstraintDissolving(problem, 0.3), go.ConstraintDissolving(plain, 0.3)
    X, Z = manifold.random_ambient(1), manifold.random_ambient(2)
    switch = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with switch(True):

        def gradient(X):  # type: ignore[no-untyped-def]
            return jnp.conj(jax.grad(h.value)(X))

        auto, product = (
            np.asarray(gradient(jnp.asarray(X))),
            jax.jvp(gradient, (jnp.asarray(X),), (jnp.asarray(Z),))[1],
        )
        compiled = np.asarray(jax.jit(h.gradient)(jnp.asarray(X)))
    size = 1e4 * np.finfo(float).eps
    assert np.linalg.norm(here.gradient(X) - auto) <= size * np.linalg.norm(auto)
    assert np.linalg.norm(here.gradient(X) - compiled) <= size * np.linalg.norm(auto)
    assert np.linalg.norm(
        here.hessian_product(X, Z) - np.asarray(product)
    ) <= size * np.linalg.norm(product)


def test_h_runs_on_any_array_api_library():
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
    h, here = go.ConstraintDissolving(strict, 2.0), go.ConstraintDissolving(plain, 2.0)
    size = 1e3 * np.finfo(float).eps
    assert abs(float(h.value(xp.asarray(X))) - here.value(X)) <= size * abs(here.value(X))
    for ours, theirs in (
        (here.gradient(X), h.gradient(xp.asarray(X))),
        (here.hessian_product(X, Z), h.hessian_product(xp.asarray(X), xp.asarray(Z))),
    ):
        assert np.linalg.norm(ours - np.asarray(theirs)) <= size * np.linalg.norm(ours)


class _Counted(go.GenOrthManifold):
    """A manifold that counts its phi."""

    def __init__(self, inner: go.GenOrthManifold) -> None:
        self.within, self.shape, self.calls = inner, inner.shape, 0

    def phi(self, X: Matrix) -> Matrix:
        self.calls += 1
        return self.within.phi(X)

    def psi(self, T: Matrix) -> Matrix:
        return self.within.psi(T)


@BOTH
def test_phi_and_evaluations_per_point(kind):
    """F11, F17: value, gradient and both share a point; h_n takes one phi more for each derivative.

    A Hessian product adds one phi (h_n: two) and one Hessian product of f.
    """
    manifold = _Counted(go.SymplecticStiefel(8, 4))
    more = kind is go.OrthogonalDissolving
    h = kind(smooth(manifold, 0), 1.0)
    assert manifold.companion is not None  # found by evaluations of its own
    X, Z = manifold.random_ambient(0), manifold.random_ambient(1)
    manifold.calls = 0
    h.value(X)
    h.value_and_gradient(X)
    h.gradient(X.copy())
    assert (manifold.calls, h.problem.counts.nfev, h.problem.counts.njev) == (1 + more, 1, 1)
    h.hessian_product(X, Z)
    h.hessian_product(X, Z)
    assert (
        manifold.calls,
        h.problem.counts.nfev,
        h.problem.counts.njev,
        h.problem.counts.nhev,
    ) == (3 + 3 * more, 1, 1, 2)
    # the same, in whatever order they are asked for
    np.testing.assert_array_equal(h.gradient(X), kind(smooth(manifold, 0), 1.0).gradient(X))


@BOTH
def test_a_fused_problem_is_evaluated_once_for_value_and_gradient(kind):
    manifold = go.Stiefel(5, 2)
    problem = go.Problem(manifold, cost_and_gradient=lambda X: (float(X.sum()), np.ones_like(X)))
    h = kind(problem, 1.0)
    X = manifold.random_point(0)
    h.value(X)
    h.gradient(X)
    assert (h.problem.counts.nfev, h.problem.counts.njev) == (1, 1)


@BOTH
def test_two_points_are_kept_where_asked(kind):
    manifold = go.Stiefel(5, 2)
    h = kind(smooth(manifold, 0), 1.0, keep=2)
    X, Y, Z = (manifold.random_ambient(k) for k in range(3))
    for point in (X, Y, X, Y, X, Z, X, Z):
        h.value(point)
    assert h.problem.counts.nfev == 3
    h.value(Y)
    assert h.problem.counts.nfev == 4


@BOTH
def test_an_array_changed_in_place_is_a_new_point(kind):
    manifold = go.Stiefel(5, 2)
    h, X = kind(smooth(manifold, 0), 1.0), manifold.random_ambient(0)
    before = h.gradient(X)
    X *= 1.5
    assert not np.allclose(h.gradient(X), before)


@BOTH
@pytest.mark.parametrize("family", ["stiefel", "symplectic", "indefinite", "complex"])
@pytest.mark.parametrize("size", [1e80, 1e160, 1e300])
def test_overflow_is_infinite_and_does_not_call_the_cost(kind, family, size):
    """A wild step of a line search: no warning (they are errors here), no exception, no call.

    With some BLAS kernels the products hold inf - inf: +inf has to come out all the same.
    """
    manifold = {
        "stiefel": lambda: go.Stiefel(5, 2),
        "symplectic": lambda: go.SymplecticStiefel(6, 4),
        "indefinite": lambda: go.IndefiniteStiefel(np.r_[1.0, 2, 3, -1, -2], np.r_[1.0, -1]),
        "complex": lambda: go.Stiefel(5, 2, dtype=complex),
    }[family]()
    problem = go.Problem(manifold, lambda X: pytest.fail("called"), lambda X: X)
    h, X = kind(problem, 1e3), manifold.random_ambient(0)
    assert h.value(size * X) == np.inf
    assert h.feasibility(size * X) > 1e150
    assert np.isnan(h.gradient(size * X)).all()
    assert problem.counts == go.Counts()


def test_a_large_beta_overflows_without_a_warning():
    """|C|^2 is finite and beta/2 |C|^2 is not."""
    manifold = go.Stiefel(5, 2)
    h, X = go.ConstraintDissolving(smooth(manifold, 0), 1e30), manifold.random_point(0)
    h.problem.evaluate_cost = lambda Y: 0.0  # type: ignore[method-assign]
    assert h.value(1e75 * X) == np.inf and np.isfinite(h.feasibility(1e75 * X))


@BOTH
def test_overflow_inside_a_product_is_no_nan(kind, monkeypatch):
    """|C|^2 is NaN with Prescott kernels at 1e160 X; the value is +inf with every kernel."""
    manifold = go.Stiefel(5, 2)
    h, X = kind(smooth(manifold, 0), 1.0), manifold.random_ambient(0)
    plain = h._dissolved

    def with_nan(X: np.ndarray) -> object:
        point = plain(X)
        point.violation = point.penalty = np.float64(np.nan)
        return point

    monkeypatch.setattr(h, "_dissolved", with_nan)
    assert h.value(X) == h.feasibility(X) == np.inf
    assert np.isnan(h.hessian_product(X, X)).all()
    assert np.isnan(h.value(np.nan * X)), "NaN that was there before stays NaN"
