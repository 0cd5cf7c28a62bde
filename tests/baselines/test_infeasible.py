"""The tangent field, the tube and the steps of the infeasible methods; bad input."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS, alm, landing, landing_newton, plam, pogo
from baselines.infeasible.landing import leaves
from baselines.infeasible.newton import Settings
from baselines.infeasible.plam import direction
from baselines.infeasible.pogo import _dissolved
from baselines.infeasible.run import merit
from genorth.geometry.field import Field
from genorth.geometry.field import field_of as own_field
from genorth.linalg.arrays import Array, ct, inner, norm
from genorth.testing.strategies import FAMILIES
from support.known_minima import KNOWN
from support.refusals import refused

EPS = 2.0**-52
INFEASIBLE = [name for name, solver in SOLVERS.items() if solver.family == "infeasible"]
every_family = pytest.mark.parametrize("family", sorted(FAMILIES))


def example(
    family: str, seed: int, condition: float, on: bool = False
) -> tuple[go.GenOrthManifold, Array, Array]:
    """A manifold of the family, a point near it (or on it), and a gradient."""
    manifold = gt.Recipe(family, 7, 3, condition, seed).build()
    rng = np.random.default_rng(seed)
    X, E, G = manifold.random_point(rng), manifold.random_ambient(rng), manifold.random_ambient(rng)
    size = float(norm(manifold.phi(X)) * norm(E) + norm(manifold.phi(E)) * norm(X))
    return manifold, X if on else X + 0.1 / size * E, G


def field_of(manifold: go.GenOrthManifold, form: str) -> Field | None:
    """The field in one of its three forms; None where the manifold does not have it."""
    field = Field(manifold)
    if form == "products":
        return field if field.involutive else None
    field.involutive = False
    field._companion = manifold.companion if form == "companion" else None
    return None if form == "companion" and manifold.companion is None else field


forms = pytest.mark.parametrize("form", ["products", "companion", "general"])
drawn = given(seed=st.integers(0, 2**20), exponent=st.floats(0, 3))


@pytest.mark.statement("F21")
@every_family
@forms
@drawn
def test_the_field_is_tangent_to_the_level_set(family, form, seed, exponent):
    """DC(X)[F] = 0 off M too, and DC(X)[F + weight grad N] = L."""
    manifold, X, G = example(family, seed, 10**exponent)
    field = field_of(manifold, form)
    if field is None:
        return
    at = manifold.anywhere(X)
    gradient = manifold.constraint_adjoint(X, at.constraint) / 2
    for weight in (0.0, 0.7):
        found = field.direction(at, G, weight)
        size = _terms(field, at, G) + weight * float(norm(gradient))
        unit = _unit(field, ct(X) @ G)
        bound = unit * _condition(manifold) * float(norm(at.P)) * size
        assert norm(manifold.constraint_differential(X, found.D) - found.L) <= bound
        if weight == 0:
            F = found.D
            assert norm(found.L) == 0
        else:
            assert norm(found.D - F - weight * gradient) <= bound
            assert found.attraction == pytest.approx(float(norm(gradient)) ** 2, rel=1e-9)
            assert found.slope == pytest.approx(float(inner(G, F)), abs=bound * float(norm(G)))


def _unit(field: Field, T: Array) -> float:
    """Rounding, and what psi(psi(T)) = T fails by where it is taken for granted to `_SAME`."""
    psi = field.manifold.psi
    off = float(norm(psi(psi(T)) - T) / norm(T)) if field.involutive and norm(T) > 0 else 0.0
    return 1e3 * EPS + 10 * off


def _terms(field: Field, at: Any, G: Array) -> float:
    """The size of what cancels in F."""
    # L L*[G], L[U] = U <<X,X>> - X <<U,X>>, takes X twice where there is no closed form
    sides = norm(at.P) if field.by_products else norm(at.P) * norm(at.X)
    sizes = float(sides**2 * norm(G)), float(norm(at.S) ** 2 * norm(G))
    return max(sizes) * _condition(field.manifold)


def _condition(manifold: go.GenOrthManifold) -> float:
    """How far psi stretches, in both directions."""
    if manifold.companion is None:
        return 1.0
    p = manifold.shape[-1]
    Q = np.asarray(manifold.companion.Q.left(np.eye(p, dtype=manifold.dtype)))
    return float(np.max(np.linalg.cond(Q)) * max(1.0, float(norm(Q)) ** 2))


@every_family
@forms
@drawn
def test_the_field_is_an_ascent_direction_and_zero_at_stationary_points(
    family, form, seed, exponent
):
    """<G, F(G)> >= 0 at any X; on M, F = 0 where G = phi(X) Theta, Theta in S1, and only there."""
    manifold, X, G = example(family, seed, 10**exponent, on=seed % 2 == 0)
    field = field_of(manifold, form)
    if field is None:
        return
    at = manifold.anywhere(X)
    unit = _unit(field, ct(X) @ G)
    bound = unit * _terms(field, at, G)
    assert inner(G, field.direction(at, G, 0.0).D) >= -bound * norm(G)
    normal = at.P @ manifold.symmetrize(ct(X) @ G)
    assert norm(field.direction(at, normal, 0.0).D) <= unit * _terms(field, at, normal)
    if seed % 2 == 0:
        gradient = manifold.gradient(X, G)
        found = field.direction(at, gradient, 0.0)
        if norm(gradient) > 1e-6 * norm(G):
            assert found.slope > 0
            assert norm(found.D) > 0


@pytest.mark.statement("F21")
@every_family
@drawn
def test_the_field_is_that_of_the_papers_with_q(family, seed, exponent):
    """(G K - e N G^T N)/2, N = phi(X) Q, up to the length of Q where psi(psi(T)) = T."""
    manifold, X, G = example(family, seed, 10**exponent)
    companion = manifold.companion
    if companion is None:
        return
    Q = np.asarray(companion.Q.left(np.eye(manifold.shape[-1], dtype=manifold.dtype)))
    at, field = manifold.anywhere(X), Field(manifold)
    NQ = at.P @ Q
    expected = (G @ (ct(NQ) @ NQ) - companion.sign * NQ @ (ct(G) @ NQ)) / 2
    factor = np.trace(ct(Q) @ Q, axis1=-2, axis2=-1) / Q.shape[-1] if field.involutive else 1.0
    found = np.reshape(factor, (-1, 1, 1)) * field.direction(at, G, 0.0).D
    bound = _unit(field, ct(X) @ G) * _terms(field, at, G)
    assert norm(found.reshape(expected.shape) - expected) <= bound


@every_family
@drawn
def test_the_linearised_field_is_its_derivative_where_it_vanishes(family, seed, exponent):
    """2 F(X + t V) - 2 F(X - t V) over 2 t, f quadratic and X stationary."""
    manifold, X, G = example(family, seed, 10 ** (exponent / 3), on=True)
    field, at = Field(manifold), manifold.anywhere(X)
    if not field.involutive:
        return
    rng = np.random.default_rng(seed)
    V, H = manifold.random_ambient(rng), manifold.random_ambient(rng)
    G0, t = at.P @ manifold.symmetrize(ct(X) @ G), 1e-4

    def twice(s: float) -> Array:
        return 2 * field.direction(manifold.anywhere(X + s * V), G0 + s * H, 0.0).D

    slope = (twice(t) - twice(-t)) / (2 * t)
    image = field.linearised(at, G0, V, H)
    sizes = [float(norm(U)) + 1 for U in (X, V, at.P, manifold.phi(V), G0, H)]
    assert norm(slope - image) <= 1e-6 * math.prod(sizes)


@every_family
@drawn
def test_the_multiplier_is_exact_at_stationary_points(family, seed, exponent):
    manifold, X, G = example(family, seed, 10**exponent, on=True)
    at = manifold.anywhere(X)
    Theta = manifold.symmetrize(ct(X) @ G)
    condition = float(np.max(np.linalg.cond(at.P))) ** 2 * _condition(manifold)
    found = ct(Field(manifold).dual(at, ct(at.P) @ at.P @ Theta))
    scale = 1 + float(manifold.scale(X))
    assert norm(found - Theta) <= 1e4 * EPS * condition * scale * norm(Theta)


@every_family
@drawn
def test_the_merit_falls_as_fast_as_f_on_the_manifold(family, seed, exponent):
    """Its slope along -F is -<G, F>, for every mu: <Theta^T, C> and |C|^2 are of second order."""
    manifold, X, G = example(family, seed, 10 ** (exponent / 3), on=True)
    field, at = Field(manifold), manifold.anywhere(X)
    found = field.direction(at, G, 1.0)

    def value(t: float) -> float:
        moved = manifold.anywhere(X - t * found.D)
        dual = field.dual(moved, ct(moved.P) @ G)
        return merit(float(inner(G, moved.X)), dual, moved.constraint, 3.0)

    t = 1e-5 * float(norm(X) / norm(found.D)) / float(manifold.scale(X)) if norm(found.D) else 1.0
    slope = (value(t) - value(-t)) / (2 * t)
    bound = 1e-3 * float(norm(G) * norm(found.D)) + 1e-12
    assert slope == pytest.approx(-found.slope, abs=bound)


@every_family
@drawn
def test_the_merit_is_stationary_where_f_is(family, seed, exponent):
    """In normal directions too: <phi(X) Theta, V> = <Theta^T, DC(X)[V]>/2."""
    manifold, X, G = example(family, seed, 10 ** (exponent / 3), on=True)
    at, V = manifold.anywhere(X), manifold.random_ambient(seed)
    normal = at.P @ manifold.symmetrize(ct(X) @ G)

    def value(t: float) -> float:
        moved = manifold.anywhere(X + t * V)
        dual = Field(manifold).dual(moved, ct(moved.P) @ normal)
        return merit(float(inner(normal, moved.X)), dual, moved.constraint, 3.0)

    t = 1e-4 * float(norm(X) / norm(V)) / float(manifold.scale(X))
    slope = (value(t) - value(-t)) / (2 * t)
    condition = float(np.max(np.linalg.cond(at.P))) ** 2
    assert abs(slope) <= 1e-4 * condition * float(norm(normal) * norm(V)) + 1e-12


@given(p=st.integers(1, 5), seed=gt.seeds(), inside=st.floats(0, 0.49))
def test_a_ray_leaves_the_tube_where_it_says(p, seed, inside):
    rng = np.random.default_rng(seed)
    C, L, E = rng.standard_normal((3, p, p))
    C *= inside / np.linalg.norm(C)

    def violation(t: float) -> float:
        return float(np.linalg.norm(C - t * L + t * t * E))

    wall = leaves(C, L, E, 0.5)
    assert violation(wall) == pytest.approx(0.5, rel=1e-6)
    assert all(violation(s * wall) <= 0.5 * (1 + 1e-6) for s in np.linspace(0, 1, 50))


@every_family
@drawn
def test_the_step_of_plam_is_zero_at_stationary_points_only(family, seed, exponent):
    """X^T G = Theta where G = phi(X) Theta, X on M; else it is at least the Riemannian gradient."""
    manifold, X, G = example(family, seed, 10 ** (exponent / 3), on=True)
    at = manifold.anywhere(X)
    normal = at.P @ manifold.symmetrize(ct(X) @ G)
    bound = 1e4 * EPS * _condition(manifold) * float(manifold.scale(X))
    still = direction(at, normal, 2.0)
    assert norm(still) <= bound * (norm(normal) + norm(at.P))
    D = direction(at, G, 2.0)
    assert norm(D) >= norm(manifold.gradient(X, G)) - bound * (norm(G) + norm(at.P))


@every_family
@drawn
def test_pogo_takes_phi_along_the_step_of_a(family, seed, exponent):
    """A(Y) = Y W and phi(Y W) = phi(Y) psi(W): no further phi is evaluated."""
    manifold, Y, _ = example(family, seed, 10**exponent)
    found, expected = (
        _dissolved(manifold.anywhere(Y)),
        manifold.anywhere(manifold.dissolve(Y)),
    )
    bound = 1e3 * EPS * _condition(manifold) * float(manifold.scale(Y))
    assert norm(found.X - expected.X) <= bound * norm(Y)
    assert norm(found.P - expected.P) <= bound * norm(expected.P)
    assert norm(found.S - expected.S) <= bound * norm(found.S)


@every_family
@pytest.mark.parametrize("method", [landing, pogo, plam, landing_newton])
def test_iterates_stay_in_the_tube(method, family):
    """With a cost so steep that every first step would leave it."""
    manifold = gt.Recipe(family, 7, 3, 30.0, 1).build()
    target = 100 * manifold.random_ambient(2)
    problem = go.Problem(
        manifold,
        lambda X: 5 * float(norm(X - target)) ** 2,
        lambda X: 10 * (X - target),
        lambda X, Z: 10 * Z,
    )
    result = method(problem, manifold.random_point(3), tube=0.3, max_iterations=30)
    assert max(result.trace.feasibility) <= 0.3 * (1 + 1e-5)
    assert result.feasibility <= 1e-10 * manifold.scale(result.x)
    assert result.fun < problem.cost(manifold.random_point(3))


@pytest.mark.parametrize("family", KNOWN)
def test_a_newton_step_is_that_of_sqp(family):
    """DC[d] = -C and P_X(G + hess f[d] - phi(d) Theta) = 0 for d = n + T, near a minimum.

    The second to the accuracy asked for: f is flat where columns turn into each other.
    """
    known = KNOWN[family]()
    manifold, problem = known.manifold, known.problem()
    X = landing(problem, manifold.random_point(0), tol=1e-3).x
    X = X + 1e-3 * manifold.random_ambient(1)
    forcing = Settings(accuracy=1e-2)
    arguments = {"tol": 0, "max_iterations": 1, "keep_points": True, "settings": forcing}
    points = landing_newton(problem, X, normal="newton", **arguments).trace.points
    assert points is not None
    d = points[1] - X
    assert norm(manifold.constraint_differential(X, d) + manifold.constraint(X)) <= 1e-11
    space, G = manifold.anywhere(X), problem.euclidean_gradient(X)
    Theta = space.theta(G)

    def residual(d: Array) -> float:
        change = problem.euclidean_hessian(X, d) - manifold.phi(d) @ Theta
        return float(norm(space.project(G + change)))

    assert residual(d) <= 1.001e-2 * residual(-manifold.newton_step(X))


@pytest.mark.parametrize("name", INFEASIBLE)
def test_every_method_takes_a_metric(name):
    """With the metric B the generalized Stiefel manifold is the Stiefel manifold."""
    known = KNOWN["generalized"]()
    start = known.manifold.random_point(1)
    result = SOLVERS[name](known.problem(), start, metric="B", tol=1e-6)
    assert result.metric_gradient_norm is not None and result.metric_gradient_norm <= 2e-6
    assert result.fun == pytest.approx(known.minimum, rel=1e-9)
    assert result.feasibility <= 1e-10


@pytest.mark.parametrize("method", [landing, pogo, plam, landing_newton])
def test_a_start_outside_of_the_tube_is_refused_before_any_work(method):
    known = KNOWN["stiefel"]()
    problem = known.problem()
    with refused("x0", "|C(x0)|", "5.2"):  # 3 times the root of 3
        method(problem, 2 * np.eye(9, 3))
    assert problem.counts.evaluations == 0


@pytest.mark.parametrize(
    ("method", "arguments", "name"),
    [
        (landing, {"lam": 0.0}, "lam"),
        (landing, {"lam": -1.0}, "lam"),
        (landing, {"eta": 0.0}, "eta"),
        (landing, {"eta": "armijo"}, "eta"),
        (landing, {"tube": math.nan}, "tube"),
        (pogo, {"eta": -0.1}, "eta"),
        (plam, {"beta": 0.0}, "beta"),
        (plam, {"beta": "large"}, "beta"),
        (plam, {"eta": math.inf}, "eta"),
        (landing_newton, {"normal": "polar"}, "normal"),
        (landing_newton, {"tangent": "minres"}, "tangent"),
        (landing_newton, {"tube": True}, "tube"),
        (alm, {"sigma": 0}, "sigma"),
    ],
)
def test_a_constant_that_is_not_positive_is_refused(method, arguments, name):
    problem = KNOWN["stiefel"]().problem()
    with pytest.raises(ValueError, match=f"^{name}: need .*{arguments[name]!r}"):
        method(problem, **arguments)
    assert problem.counts.evaluations == 0


def test_the_published_equation_needs_an_involution():
    with pytest.raises(ValueError, match=r"^tangent: need 'cg' on products, and where psi"):
        landing_newton(KNOWN["bilinear"]().problem(), tangent="published")


@pytest.mark.statement("F25")
@given(gt.products(max_condition=1e2), gt.seeds(), st.floats(0.1, 2.0))
def test_F25_the_field_of_a_product_is_that_of_its_factors(product, seed, weight):
    """Also its multiplier, its slope <G, F>, DC of the direction, and |grad N|^2."""
    M, rng = product.blocks, np.random.default_rng(seed)
    X = M.random_point(rng)
    X, G = X + 1e-2 * M.random_ambient(rng), M.random_ambient(rng)
    field, at = own_field(M), M.anywhere(X)
    whole = field.direction(at, G, weight)
    pairs = field.pair(at, G)
    duals = M.matrices.split(field.dual(at, pairs))
    slope = attraction = 0.0
    parts = zip(M.factors, *map(M.points.split, (X, G, whole.D)), duals, pairs, strict=True)
    for factor, x, g, D, dual, R in parts:
        if isinstance(factor, go.Euclidean):
            assert np.array_equal(D, g) and dual.size == 0
            slope += float(np.vdot(g, g).real)
            continue
        own, place = own_field(factor), factor.anywhere(x)
        alone = own.direction(place, g, weight)
        size = 1 + float(norm(alone.D))
        assert norm(D - alone.D) <= 1e-12 * size
        assert norm(dual - own.dual(place, R)) <= 1e-12 * (1 + float(norm(dual)))
        slope, attraction = slope + alone.slope, attraction + alone.attraction
    assert whole.slope == pytest.approx(slope, rel=1e-10)
    assert whole.attraction == pytest.approx(attraction, rel=1e-10)
    assert whole.size == pytest.approx(float(norm(whole.D)))
    change = M.constraint_differential(X, whole.D)
    assert norm(whole.L - change) <= 1e-8 * (1 + float(norm(change)) + whole.size)
