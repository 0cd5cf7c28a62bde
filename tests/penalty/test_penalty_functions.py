"""h and h_n (F11, F15 to F17): value, gradient, Hessian product, on and off M, on every manifold.

Against interpolation and automatic differentiation; and where they are infinite.
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
from support.flops import CountingManifold
from support.norms import EPS, norm
from support.problems import Matrix, linear, smooth

MANIFOLDS = gt.manifolds(max_condition=1e3)
NODES = chebyshev.chebpts1(17)
OBLIQUE, ORTHOGONAL = go.ConstraintDissolving, go.OrthogonalDissolving
Kind = type[go.ConstraintDissolving] | type[go.OrthogonalDissolving]
BOTH = pytest.mark.parametrize("kind", [OBLIQUE, ORTHOGONAL])


class Setting:
    """h or h_n, X off M or on it, and a direction Z of a unit step that is short enough."""

    def __init__(self, kind: Kind, M: go.GenOrthManifold, X: Matrix, beta: float, seed: int):
        self.h, self.X, self.manifold = kind(smooth(M, seed), beta), X, M
        self.oblique = kind is OBLIQUE
        singular = np.linalg.svd(M.phi(X), compute_uv=False)
        T = X.mT.conj() @ X
        q = max(1.0, norm(M.psi(T)) / norm(T))
        #: A bound of the condition number of the equation for D.
        self.condition = float(singular.max() / singular.min()) ** 2 * q**2
        Z = M.random_ambient(seed + 1)
        change = norm(X) * norm(M.phi(Z)) + norm(M.phi(X)) * norm(Z)
        # a tenth of what A can bear, or what keeps phi(X) regular ten times over
        self.Z = Z / change if self.oblique else Z * (0.1 * singular.min() / norm(M.phi(Z)))

    def derivative(self, function: Callable[[Matrix], Any], size: float) -> tuple[Matrix, float]:
        """The derivative along Z, by interpolation at Chebyshev points, and a bound of its error.

        Along a line h is a polynomial of degree 12, as f has degree four and A three. phi(X + tZ)
        has full rank for |t| < 10, so h_n is analytic there and the error of degree 16 is far below
        rounding. `size` is what values change by, relative to a relative change of X.
        """
        values = np.array([np.ravel(function(self.X + float(t) * self.Z)) for t in NODES])
        series = chebyshev.chebfit(NODES, values, 12 if self.oblique else 16)
        largest = float(np.abs(values).max())
        error = 10 * (largest + size) if self.oblique else self.condition * largest
        return chebyshev.chebval(0.0, chebyshev.chebder(series)), 1e4 * EPS * error

    def terms(self, square: float) -> float:
        """The size of the terms that are summed up, with the square of the residual."""
        M, X, beta = self.manifold, self.X, self.h.beta
        entries, scale = float(np.prod(M.shape)), float(M.scale(X))
        if self.oblique:
            Y = norm(X) * (3 + scale) / 2
            return (
                100 * (1 + Y) ** 4 * entries**0.5 * scale + 10 * beta * (scale + entries**0.5) ** 2
            )
        cost = (1 + norm(X) + square**0.5) ** 4 * entries
        return self.condition * (cost + beta * (1 + square))


def _drawn(data: st.DataObject, kind: Kind, manifold: go.GenOrthManifold, seed: int) -> Setting:
    X = data.draw(gt.near_points(manifold, 1.0))
    return Setting(kind, manifold, X, data.draw(st.floats(0.01, 100)), seed)


@pytest.mark.statement("def:g", "cdf", "al:1:1")
@BOTH
@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_the_value_is_the_formula(kind, data, manifold, seed):
    """f(A(X)) + beta/2 |C(X)|^2, and f(X - D(X)) + beta/2 |D(X)|^2 with D as in `newton_step`."""
    s = _drawn(data, kind, manifold, seed)
    X, h = s.X, s.h
    R = manifold.constraint(X) if s.oblique else manifold.newton_step(X)
    cost, square = h.problem.cost(manifold.dissolve(X) if s.oblique else X - R), norm(R) ** 2
    bound = 1e3 * EPS * s.terms(square)
    assert abs(h.value(X) - (cost + h.beta / 2 * square)) <= bound
    assert h.value_and_gradient(X)[0] == h.value(X)
    assert abs(h.cost(X) - cost) <= bound
    rounding = 1e3 * EPS * float(manifold.scale(X))
    assert h.feasibility(X) == pytest.approx(norm(manifold.constraint(X)), rel=1e-10, abs=rounding)


@BOTH
@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_the_gradient_is_the_slope_along_lines(kind, data, manifold, seed):
    """d/dt h(X + tZ) = <grad h, Z> at t = 0."""
    s = _drawn(data, kind, manifold, seed)
    G = s.h.gradient(s.X)
    slope, error = s.derivative(s.h.value, norm(G) * norm(s.X))
    assert abs(slope[0] - np.vdot(G, s.Z).real) <= error


@BOTH
@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_the_hessian_differentiates_the_gradient(kind, data, manifold, seed):
    """d/dt grad h(X + tZ) = hess h(X)[Z] at t = 0: all components."""
    s = _drawn(data, kind, manifold, seed)
    H, size = s.h.hessian_product(s.X, s.Z), norm(s.h.hessian_product(s.X, s.X))
    for part in (np.real, np.imag):
        change, error = s.derivative(lambda Y, part=part: part(s.h.gradient(Y)), size)
        assert np.abs(np.ravel(part(H)) - change).max() <= error


@BOTH
@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_derivatives_on_every_family(family, kind):
    """One fixed manifold of each; X is far enough from M for every term to count."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    X = 1.2 * manifold.random_point(2)
    s = Setting(kind, manifold, X, 0.7, 1)
    g, H = s.h.gradient(X), s.h.hessian_product(X, s.Z)
    assert s.derivative(s.h.value, 0)[0][0] == pytest.approx(np.vdot(g, s.Z).real, rel=1e-7)
    for part in (np.real, np.imag):
        change, _ = s.derivative(lambda Y, part=part: part(s.h.gradient(Y)), 0)
        assert np.abs(np.ravel(part(H)) - change).max() <= 1e-7 * np.abs(H).max()
    U, V = manifold.random_ambient(5), manifold.random_ambient(6)
    HU, HV = s.h.hessian_product(X, U), s.h.hessian_product(X, V)
    assert np.vdot(HU, V).real == pytest.approx(np.vdot(U, HV).real, rel=1e-7)
    mixed = s.h.hessian_product(X, 2 * U - 3 * V)
    assert norm(mixed - 2 * HU + 3 * HV) <= 1e-7 * norm(mixed)


@BOTH
@pytest.mark.parametrize("dtype", [float, complex])
def test_derivatives_by_automatic_differentiation(kind, dtype):
    """JAX differentiates h itself, eigendecompositions included; h runs under jit."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    manifold = go.Stiefel(7, 3, complex) if dtype is complex else go.SymplecticStiefel(8, 4)
    Y = manifold.random_ambient(0)
    A = Y @ Y.conj().T
    lazy, plain = (
        kind(
            go.Problem(
                manifold,
                lambda X, xp=xp: xp.real(xp.vdot(X, A @ X)),
                lambda X: 2 * A @ X,
                lambda X, Z: 2 * A @ Z,
            ),
            0.3,
        )
        for xp in (jnp, np)
    )
    X, Z = manifold.random_ambient(1), manifold.random_ambient(2)
    with jax.enable_x64(True):
        JX, JZ = jnp.asarray(X), jnp.asarray(Z)
        auto = np.asarray(jnp.conj(jax.grad(lazy.value)(JX)))
        compiled = np.asarray(jax.jit(lazy.gradient)(JX))
        product = np.asarray(jax.jvp(lazy.gradient, (JX,), (JZ,))[1])
    rounding = (1e4 if kind is OBLIQUE else 1e6) * EPS
    for ours, theirs in (
        (plain.gradient(X), auto),
        (plain.gradient(X), compiled),
        (plain.hessian_product(X, Z), product),
    ):
        assert norm(ours - theirs) <= rounding * norm(theirs)


@BOTH
def test_every_array_api_library_will_do(kind):
    xp = pytest.importorskip("array_api_strict")
    manifold = go.SymplecticStiefel(8, 4)
    B, X, Z = (manifold.random_ambient(k) for k in range(3))
    strict = go.Problem(
        manifold,
        lambda X: xp.sum(xp.asarray(B) * X),
        lambda X: xp.asarray(B),
        lambda X, Z: xp.zeros_like(Z),
    )
    h, here = kind(strict, 2.0), kind(linear(manifold, B), 2.0)
    rounding = 1e3 * EPS if kind is OBLIQUE else 1e-10
    assert float(h.value(xp.asarray(X))) == pytest.approx(here.value(X), rel=rounding)
    for ours, theirs in (
        (here.gradient(X), h.gradient(xp.asarray(X))),
        (here.hessian_product(X, Z), h.hessian_product(xp.asarray(X), xp.asarray(Z))),
    ):
        assert norm(ours - np.asarray(theirs)) <= rounding * norm(ours)


@BOTH
def test_phi_and_evaluations_per_point(kind):
    """F11, F17: value, gradient and both share a point; h_n takes one phi more for each derivative.

    A Hessian product adds one phi (h_n: two) and one Hessian product of f.
    """
    manifold = CountingManifold(go.SymplecticStiefel(8, 4))
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
    counts = h.problem.counts
    assert (manifold.calls, counts.nfev, counts.njev, counts.nhev) == (3 + 3 * more, 1, 1, 2)
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


def test_the_problem_keeps_its_gradient():
    """V = beta D - G is formed in memory of its own: what f returned is not written into."""
    manifold = go.SymplecticStiefel(8, 4)
    B = manifold.random_ambient(0)
    kept = B.copy()
    h, X = ORTHOGONAL(linear(manifold, B), 2.0), manifold.random_ambient(1)
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
    s, Z = Setting(ORTHOGONAL, manifold, x, 1.0, seed), manifold.random_tangent(x, seed)
    Z = Z * (norm(x) / max(norm(Z), 1e-300))
    away = manifold.random_ambient(seed + 2)
    away = away * (norm(s.Z) / norm(away))

    def error(distance: float) -> tuple[float, float]:
        X = x + distance * away
        point = s.h.complete(s.h.point(X))
        gradient, product = s.h.model(point)
        place = manifold.place(X).general
        U = place.project(Z)
        exact = place.project(s.h.hessian_product(X, U))
        rest = (10 * distance + 1e6 * EPS * s.condition) * norm(point.gradient)
        assert norm(place.project(point.gradient) - gradient) <= rest * float(manifold.scale(X))
        return norm(product(U) - exact), norm(exact) + norm(point.G)

    near, far = error(10**exponent), error(10 ** (exponent + 2))
    size = 1e5 * EPS * s.condition * float(manifold.scale(x)) * (near[1] + float(s.h.beta))
    assert near[0] <= 0.2 * far[0] + size
    assert error(0.0)[0] <= size


@pytest.mark.parametrize("family", ["hyperbolic", "symplectic", "bilinear-skew"])
def test_the_model_of_a_trust_region_has_the_tangent_part_of_the_gradient(family):
    """DC(X)[g] = 0 off M too, where the gradient itself has a normal part."""
    manifold = gt.Recipe(family, 6, 2, 3.0, 1).build()
    X, h = 1.1 * manifold.random_point(0), go.OrthogonalDissolving(smooth(manifold, 0), 50.0)
    point = h.complete(h.point(X))
    gradient, _ = h.model(point)
    scale = float(manifold.scale(X)) * float(np.linalg.norm(point.gradient))
    assert manifold.tangency(X, gradient) <= 1e-10 * scale
    assert manifold.tangency(X, point.gradient) >= 1e-4 * scale
