"""The proximal step on the tangent space, on every family: its equation, measure and descent."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.support import restore_on_support
from genorth.linalg.arrays import ct
from genorth.problem.measure import Measure
from genorth.problem.proximal import natural_step, proximal_step
from genorth.problem.terms import Term
from genorth.testing.contract import Sample
from support.draws import drawn, holds
from support.norms import EPS, norm
from support.problems import linear

MANIFOLDS = gt.manifolds(max_n=6, max_condition=1e4)
#: Families with psi != id, and n >= p + 2, so that the derivative D of the prox matters.
TWISTED = ("symplectic", "bilinear-symmetric", "bilinear-skew", "weighted")


def _mask(manifold: go.GenOrthManifold, seed: int) -> np.ndarray:
    """The derivative of a prox: zeros and ones, in F."""
    shape = np.random.default_rng([seed, 7]).random(manifold.shape)
    return (np.asarray(manifold.ambient(shape + 0 * manifold.random_ambient(0))).real > 0.3) * 1.0


@pytest.mark.statement("F23")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_F23_the_derivative_of_E_is_symmetric_and_positive_semidefinite(manifold, seed):
    """S -> Phi(P^T D[P S])^T pairs S' with 2 <P S', D[P S]>: with the transpose, for every psi."""
    s = Sample(manifold, seed)
    S, T, D = s.symmetric(), s.symmetric(), _mask(manifold, seed)
    bound = 100 * s.u * s.L**2 * norm(s.X) ** 2 * max(norm(S), norm(T)) ** 2 * s.q

    def derivative(S):
        return ct(manifold.symmetrize(ct(s.P) @ (D * (s.P @ S))))

    one, two = np.vdot(T, derivative(S)).real, np.vdot(S, derivative(T)).real
    both = 2 * np.vdot(s.P @ T, D * (s.P @ S)).real
    holds("<T, E'[S]> = 2 <PT, D[PS]>", abs(one - both), bound)
    holds("<T, E'[S]> = <S, E'[T]>", abs(one - two), bound)
    holds("<S, E'[S]> >= 0", -np.vdot(S, derivative(S)).real, bound)


@pytest.mark.statement("F23")
@pytest.mark.parametrize("family", TWISTED)
def test_F23_without_the_transpose_it_is_not_symmetric(family):
    manifold = gt.Recipe(family, 8, 4, 10.0, 1).build()
    s = Sample(manifold, 0)
    S, T, D = s.symmetric(), s.symmetric(), _mask(manifold, 0)

    def derivative(S):
        return manifold.symmetrize(ct(s.P) @ (D * (s.P @ S)))

    one, two = np.vdot(T, derivative(S)).real, np.vdot(S, derivative(T)).real
    assert abs(one - two) >= 1e-3 * (abs(one) + abs(two))


@pytest.mark.statement("F23")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), t=st.floats(0.01, 10), mu=st.floats(0, 2))
def test_F23_the_solution_is_tangent_and_descends(manifold, seed, t, mu):
    """<G, Z> + r(X + Z) - r(X) <= -|Z|^2/t, and no tangent step has a smaller model."""
    s = Sample(manifold, seed)
    term, G = Term(go.L1(mu), manifold.ambient_projector), s.ambient()
    step = proximal_step(manifold.place(s.X), term, G, t)
    size = norm(s.X) + t * norm(G)
    Z = step.Z
    holds("|E|", step.error, 1e-9 * size * (1 + s.L / float(s.singular[0])))
    slack = 1e-8 * size * (norm(G) + mu * np.sqrt(s.X.size)) * (1 + s.L / float(s.singular[0]))
    rough = term(s.X + Z) - term(s.X)
    holds("<G, Z> + r(X+Z) - r(X) + |Z|^2/t", np.vdot(G, Z).real + rough + norm(Z) ** 2 / t, slack)

    def model(Z):
        return np.vdot(G, Z).real + norm(Z) ** 2 / (2 * t) + term(s.X + Z)

    for other in (0 * Z, s.tangent(), Z + 1e-3 * s.tangent()):
        rise = model(other) - model(Z) - norm(other - Z) ** 2 / (2 * t)
        holds("the model is least at Z", -rise, slack * (1 + norm(other)))


@pytest.mark.statement("F23")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), t=st.floats(0.01, 10))
def test_F23_Z_vanishes_exactly_at_stationary_points(manifold, seed, t):
    """G = P S - R with a subgradient R of r at X: Z = 0; with a tangent part besides it is not."""
    s = Sample(manifold, seed)
    term, Theta = Term(go.L1(1.0), manifold.ambient_projector), s.symmetric()
    R = s.X / np.where(s.X == 0, 1, np.abs(s.X))
    G = s.P @ Theta - R
    size = norm(s.X) + t * norm(G)
    bound = 1e-9 * size * (1 + s.L / float(s.singular[0])) ** 2
    holds("|Z|", proximal_step(manifold.place(s.X), term, G, t).length, bound)
    tangent = s.tangent()
    moved = proximal_step(manifold.place(s.X), term, G - tangent, t)
    if norm(tangent) > 1e-3:
        # the entries of X have room: for small t no zero is made, and |Z| >= the exact one
        small = min(t, np.abs(s.X[s.X != 0]).min(initial=1.0) / (1 + np.abs(G).max()) / 10)
        assert moved.length >= 0.5 * min(small, 1.0) * norm(tangent) - bound


@pytest.mark.statement("F23")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), t=st.floats(0.01, 1), factor=st.floats(1, 20))
def test_F23_how_the_length_depends_on_t(manifold, seed, t, factor):
    """|Z(t)| grows with t, |Z(t)|/t falls: so |Z|/min(t, t_0) is never below |Z(t_0)|/t_0."""
    s = Sample(manifold, seed)
    term, G = Term(go.L1(0.5), manifold.ambient_projector), s.ambient()
    short, long = (proximal_step(manifold.place(s.X), term, G, u) for u in (t, factor * t))
    slack = 1e-8 * (norm(s.X) + factor * t * norm(G)) * (1 + s.L / float(s.singular[0]))
    holds("|Z(t)| <= |Z(ct)|", short.length - long.length, slack)
    holds("|Z(ct)|/c <= |Z(t)|", long.length / factor - short.length, slack)


@pytest.mark.parametrize("family", TWISTED)
def test_it_ends_where_the_projection_is_too_inexact_to_gain(family):
    """Here P has a relative error of 1e-8: E stays far above the rounding, and Newton ends."""
    s = Sample(gt.Recipe(family, 12, 4, 1e3, 1).build(), 1)
    exact, term, G, size = s.M.place(s.X), Term(go.L1(0.3)), s.ambient(), s.X.size
    error = 1e-8 * np.random.default_rng(0).standard_normal((size, size)) / np.sqrt(size)

    def project(V):
        return exact.project(V) + (error @ V.ravel()).reshape(V.shape)

    for t in (0.01, 0.1, 1.0):
        step = proximal_step(SimpleNamespace(X=s.X, project=project), term, G, t)
        assert step.newton <= 50  # of 100
        assert step.error <= 1e-6 * (norm(s.X) + t * norm(G))


@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_without_a_term_the_measure_is_the_gradient_norm(manifold, seed):
    s = Sample(manifold, seed)
    problem, G = linear(manifold, s.ambient()), None
    measure = Measure.at(problem, s.X)
    G = problem.euclidean_gradient(s.X)
    term = Term(go.L1(0.0), manifold.ambient_projector)
    t = natural_step(s.X, G, 0.0)
    step = proximal_step(manifold.place(s.X), term, G, t)
    bound = 1e3 * EPS * norm(G) * (1 + s.L / float(s.singular[0])) ** 2
    holds("|Z|/t = |grad f|", abs(step.length / t - measure.stationarity), bound + 1e3 * EPS / t)


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_restoring_on_the_support_keeps_the_zeros(family):
    """From X + E with E in the support of a sparse X: back on M, with the zeros of X."""
    manifold = gt.Recipe(family, 9, 3, 10.0, 4).build()
    W = manifold.random_ambient(1)
    problem = go.Problem(
        manifold,
        lambda X: np.vdot(X - W, X - W).real / 2,
        lambda X: X - W,
        nonsmooth=go.L1(0.6),
    )
    result = go.minimize(problem, rng=0)
    X = result.x
    assert result.success and result.sparsity > 0, result
    E = (X != 0) * manifold.random_ambient(2)
    found = restore_on_support(manifold, X + 1e-5 * E, 1e-13)
    assert manifold.feasibility(found) <= 1e-12 * manifold.scale(found)
    assert np.array_equal(found == 0, X == 0)
    assert norm(found - X) <= 1e-2


def test_a_support_that_is_too_small_is_refused():
    manifold = go.Stiefel(4, 2)
    X = np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(
        go.NotRestorableError, match="a support of 2 entries that holds a point of M"
    ):
        restore_on_support(manifold, X, 1e-12)


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_newton_steps_are_few(family):
    """Newton finds the pieces of a piecewise linear equation; conjugate gradients need little."""
    manifold = gt.Recipe(family, 9, 3, 10.0, 5).build()
    s = Sample(manifold, 3)
    term = Term(go.L1(0.5), manifold.ambient_projector)
    step = proximal_step(manifold.place(s.X), term, s.ambient(), 0.3)
    assert step.error <= 1e-10 * (1 + norm(s.X))
    assert step.newton <= 50
    assert step.products <= 12 * max(step.newton, 1)


@pytest.mark.statement("F24")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), t=st.floats(0.01, 3))
def test_F24_stationary_points_are_fixed_and_the_multiplier_takes_dual_steps(manifold, seed, t):
    """prox(X - t(G - P Theta(G + xi)) - D) with xi a subgradient; U <- U - E(U) at a kept X."""
    s = Sample(manifold, seed)
    term, place = Term(go.L1(0.5), manifold.ambient_projector), manifold.place(s.X)
    xi = 0.5 * s.X / np.where(s.X == 0, 1, np.abs(s.X))
    condition = 1 + s.L / float(s.singular[0])

    def step(G, xi):
        Y = s.X - t * (G - (G + xi - place.project(G + xi)))
        return Y, term.prox(Y, t)

    G = s.P @ s.symmetric() - xi
    bound = 1e3 * s.u * (norm(s.X) + t * norm(G)) * condition**2
    Y, V = step(G, xi)
    holds("|V - X| at a stationary point", norm(V - s.X), bound)
    holds("xi stays", t * norm((Y - V) / t - xi), bound)
    G = s.ambient()
    Y, V = step(G, xi)
    U, E = t * (G + xi - place.project(G + xi)), (V - s.X) - place.project(V - s.X)
    after = G + (Y - V) / t
    moved = t * (after - place.project(after))
    holds("U <- U - E(U)", norm(moved - (U - E)), bound + 1e3 * s.u * t * norm(G) * condition**2)


@pytest.mark.statement("F24")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_F24_repeated_updates_solve_the_subproblem(manifold, seed):
    """|E| falls: the dual function has a gradient with the Lipschitz constant one."""
    s = Sample(manifold, seed)
    term, place = Term(go.L1(0.3), manifold.ambient_projector), manifold.place(s.X)
    G, t = s.ambient(), 0.5
    U, sizes = t * (G - place.project(G)), []
    for _ in range(30):
        V = term.prox(s.X - t * G + U, t)
        E = V - s.X - place.project(V - s.X)
        sizes.append(norm(E))
        U = U - E
    rounding = 1e3 * s.u * (norm(s.X) + t * norm(G)) * (1 + s.L / float(s.singular[0])) ** 2
    assert all(b <= a + rounding for a, b in itertools.pairwise(sizes))


@pytest.mark.statement("F24")
@pytest.mark.parametrize("penalty", [go.ConstraintDissolving, go.OrthogonalDissolving])
@pytest.mark.parametrize("family", ["stiefel", "generalized"])
def test_F24_a_penalty_plus_r_is_exact_for_no_beta(penalty, family):
    """Minimisers of h + r are off M, by a multiple of 1/beta: ten times nearer for ten times it."""
    manifold = gt.Recipe(family, 8, 2, 3.0, 0).build()
    W, r = manifold.random_ambient(1), go.L1(0.5)
    smooth = go.Problem(manifold, lambda X: np.vdot(X - W, X - W) / 2, lambda X: X - W)
    away = []
    for beta in (100.0, 1000.0):
        h, X = penalty(smooth, beta), manifold.random_point(0)
        t = 0.02 / beta
        for _ in range(40_000 if beta > 500 else 10_000):
            X = r.prox(X - t * h.gradient(X), t)
        away.append(float(manifold.feasibility(X)))
        assert away[-1] > 1e-5
    assert 5 <= away[0] / away[1] <= 20


@drawn(manifold=MANIFOLDS, seed=gt.seeds(), scale=st.floats(0.01, 100))
def test_the_step_of_the_measure_has_the_scale_of_the_problem(manifold, seed, scale):
    """|X|^2/(|X| |G| + |r|): of units X/G, so that the measure of c f + c r is c times that."""
    s = Sample(manifold, seed)
    G, r = s.ambient(), 0.7 * float(np.abs(s.X).sum())
    t = natural_step(s.X, G, r)
    assert natural_step(s.X, scale * G, scale * r) == pytest.approx(t / scale)
    assert natural_step(scale * s.X, G, scale * r) == pytest.approx(scale * t)
    assert natural_step(s.X, 0 * G, 0.0) == 1.0


@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_the_measure_is_that_of_the_definition(manifold, seed):
    """f + r, and |Z|/t with t = |X|^2/(|X| |G| + r(X))."""
    s = Sample(manifold, seed)
    G = s.ambient()
    problem = go.Problem(
        manifold, lambda X: np.vdot(G, X).real, lambda X: G + 0 * X, nonsmooth=go.L1(0.4)
    )
    r = 0.4 * float(np.abs(s.X).sum())
    t = norm(s.X) ** 2 / (norm(s.X) * norm(G) + r)
    at = Measure.at(problem, s.X)
    step = proximal_step(manifold.place(s.X), problem.term, problem.euclidean_gradient(s.X), t)
    assert at.cost == pytest.approx(np.vdot(G, s.X).real + r)
    bound = 1e-8 * norm(G) * (1 + s.L / float(s.singular[0])) ** 2
    assert at.stationarity == pytest.approx(step.length / t, rel=1e-6, abs=bound)
