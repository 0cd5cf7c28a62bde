"""What docs/errata.md says: counterexamples by hand, and the corrected statements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.errors import NotRestorableError
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from paper_repro.problems import ExtrinsicMean, Matching
from support.draws import drawn
from support.norms import EPS, Matrix, norm, spectral
from support.problems import linear
from support.section2_constants import Constants, operator_norm

MANIFOLDS = gt.manifolds(max_n=6)
# The ellipse X^T B X = 1: at X = (3/5, 2/5), phi(X) = (3/5, 8/5) is normal and (8, -3) is tangent.
ELLIPSE = go.GeneralizedStiefel(np.array([1.0, 4.0]), 1)
POINT, NORMAL, TANGENT = (np.array([[x], [y]]) for x, y in ((0.6, 0.4), (0.6, 1.6), (8.0, -3.0)))


def _line(beta: float, slope: float = 1.0) -> go.ConstraintDissolving:
    """H on the Stiefel manifold (1, 1), M = {1, -1}, for f(x) = slope x."""
    return go.ConstraintDissolving(linear(go.Stiefel(1, 1), np.full((1, 1), slope)), beta)


def _at(x: float) -> Matrix:
    return np.array([[x]])


@pytest.mark.statement("R14")
@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-6])
def test_R14_another_point_of_M_is_near_and_has_no_violation(angle):
    """The circle: C(Y) = 0 at Y = (cos t, sin t), so no constant gives |Y - X| <= c |C(Y)|."""
    manifold, X = go.Stiefel(2, 1), np.array([[1.0], [0.0]])
    Y = np.array([[np.cos(angle)], [np.sin(angle)]])
    assert manifold.feasibility(Y) <= 4 * EPS
    assert norm(Y - X) == pytest.approx(2 * np.sin(angle / 2), rel=1e-9)


@pytest.mark.statement("R14")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), size=st.floats(0, 0.9))
def test_R14_corrected(manifold, seed, size):
    """|C| <= L_phi (|X| + |Y|) |Y - X|, and dist(Y, M) <= |Y|_2 |C| / (2 (1 - |C|_2))."""
    s = Sample(manifold, seed)
    Y = s.X + s.ambient(size / (3 * s.steepness))
    C = manifold.constraint(Y)
    rest = 100 * s.q * (s.u * s.g + s.c)
    assert norm(C) <= s.L * norm(Y - s.X) * (norm(s.X) + norm(Y)) + rest
    if spectral(C) < 0.9:
        near = manifold.restore(Y)
        assert norm(Y - near) <= spectral(Y) * norm(C) / (2 * (1 - spectral(C))) + rest * norm(Y)


@pytest.mark.statement("R15")
def test_R15_A_expands_on_an_ellipse():
    """|DA(X)| = |X| |phi(X)| = 949^(1/2)/25 = 1.23 at (3/5, 2/5), so A expands nearby."""
    assert ELLIPSE.feasibility(POINT) <= 4 * EPS
    size = operator_norm(
        lambda D: ELLIPSE.dissolve_differential(POINT, D), np.eye(2).reshape(2, 2, 1)
    )
    assert size == pytest.approx(norm(POINT) * norm(NORMAL), rel=8 * EPS)  # (949)^(1/2)/25
    columns = [ELLIPSE.dissolve_differential(POINT, E.reshape(2, 1)).ravel() for E in np.eye(2)]
    D = np.linalg.svd(np.stack(columns, 1))[2][0]
    step = 1e-3 * D.reshape(2, 1)
    moved = ELLIPSE.dissolve(POINT + step) - ELLIPSE.dissolve(POINT - step)
    assert norm(moved) > 1.2 * norm(2 * step)


@pytest.mark.statement("R3")
def test_R3_the_missing_term():
    """O(2), X = I, f(X) = x_11: stationary with Theta = diag(1, 0); Z = W^T = [[0, 1], [-1, 0]]."""
    manifold, X = go.Stiefel(2, 2), np.eye(2)
    Theta, Z = np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert norm(manifold.gradient(X, Theta)) == 0
    second, W = manifold.dissolve_second_adjoint(X, Z, Theta), Z.T
    printed = -Z @ Theta  # -1/2 phi(Z) Phi(Theta^T)
    np.testing.assert_array_equal(printed, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(second, [[0, -0.5], [0.5, 0]])
    np.testing.assert_array_equal(second, printed - (W @ Theta - Theta @ W) / 2)


@pytest.mark.statement("R4")
def test_R4_phi_of_a_tangent_vector_is_not_tangent_and_the_cross_term_is_not_zero():
    """The ellipse, f(x) = <phi(X), x>: <phi(X), phi(Z)> = -72/5 = -<phi(X), hess h[Z]>."""
    assert ELLIPSE.tangency(POINT, TANGENT) <= 16 * EPS
    assert np.vdot(NORMAL, ELLIPSE.phi(TANGENT)) == pytest.approx(-72 / 5, rel=8 * EPS)
    for beta in (1.0, 100.0):
        h = go.ConstraintDissolving(linear(ELLIPSE, NORMAL), beta)
        assert norm(h.gradient(POINT)) <= 16 * EPS * beta
        cross = float(np.vdot(NORMAL, h.hessian_product(POINT, TANGENT)))
        assert cross == pytest.approx(72 / 5, rel=100 * EPS * beta)
        assert np.vdot(POINT, h.hessian_product(POINT, TANGENT)) == pytest.approx(
            0, abs=100 * EPS * beta
        )


@pytest.mark.statement("R4", "le:sec2")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100))
def test_R4_corrected(manifold, seed, beta):
    """<X S^T, hess h[Z]> = 0 for S in S1, and <N, hess h[Z]> = <DA(X)[N], hess f[Z]>."""
    s = Sample(manifold, seed)
    X, Z, S, Theta = s.X, s.tangent(), s.symmetric(), s.symmetric()
    B, N = s.P @ Theta, s.P @ s.symmetric()
    HZ = go.ConstraintDissolving(linear(manifold, B), beta).hessian_product(X, Z)
    terms = (
        norm(s.P) ** 2 * s.q**2 * (beta + norm(X) ** 2) * (1 + norm(Theta))
        + s.L * norm(X) * norm(B) * s.q
    )
    rest = 100 * s.q * (s.u * s.g + s.c) * (terms + beta) * norm(Z)
    assert abs(np.vdot(X @ ct(S), HZ).real) <= rest * norm(X)
    expected = -np.vdot(manifold.dissolve_differential(X, N), manifold.phi(Z) @ Theta).real
    assert abs(np.vdot(N, HZ).real - expected) <= rest * norm(N) * (1 + s.q * norm(X) * norm(s.P))


@pytest.mark.statement("R5")
@pytest.mark.parametrize("beta", [1.0, 10.0, 1e3])
def test_R5_fails_near_M_for_every_beta(beta):
    """On {1, -1}, f(x) = x: |h'|^2 - |g'|^2 = C^2 (4 beta^2 x^2 - 6 beta x) < beta/9 |C|."""
    h, g = _line(beta), go.Stiefel(1, 1)
    for C in (1e-3 / beta, -1e-3 / beta):
        x = np.sqrt(1 + C)
        left, right = h.gradient(_at(x)).item(), g.dissolve_adjoint(_at(x), _at(1.0)).item()
        assert left**2 - right**2 == pytest.approx(
            C**2 * (4 * beta**2 * x**2 - 6 * beta * x), rel=1e-9
        )
        assert left**2 < right**2 + beta / 9 * abs(C)


@pytest.mark.statement("R5")
@pytest.mark.parametrize("beta", [1.0, 10.0, 1e3])
def test_R5_not_even_the_gradient_of_g_is_a_bound_on_an_ellipse(beta):
    """f(x) = x_1, Y = (1 + t) X: |grad h|^2 - |grad g|^2 = -576/125 beta C + O(C^2) < 0."""
    B, t = np.array([[1.0], [0.0]]), 1e-4 / beta
    Y = (1 + t) * POINT
    C = ELLIPSE.constraint(Y).item()
    h = go.ConstraintDissolving(linear(ELLIPSE, B), beta).gradient(Y)
    g = ELLIPSE.dissolve_adjoint(Y, B)
    difference = norm(h) ** 2 - norm(g) ** 2
    assert difference == pytest.approx(-576 / 125 * beta * C, rel=0.01)
    assert difference < 0


@pytest.mark.statement("R19")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), size=st.floats(0, 1))
def test_R19_what_the_step_of_the_proof_needs(manifold, seed, size):
    """DA(Y)^2 Z - DA(Y) Z = -DA(Y)[Z] c/2 + Y (R c + c R* + c T + T c)/4, T = R + R*."""
    s = Sample(manifold, seed)
    Y, Z = s.X + s.ambient(size / s.steepness), s.ambient()
    c, R = ct(manifold.constraint(Y)), ct(manifold.phi(Y)) @ Z
    star = ct(manifold.psi(R))
    T = R + star
    once = manifold.dissolve_differential(Y, Z)
    twice = manifold.dissolve_differential(Y, once)
    expected = Y @ (R @ c + c @ star + c @ T + T @ c) / 4 - once @ c / 2
    grown = s.g + s.L * norm(Y) ** 2
    assert norm(twice - once - expected) <= 100 * s.q**2 * s.u * grown**2


@pytest.mark.statement("R19")
def test_R19_the_factor_that_is_left_out_exceeds_one():
    """|I - DA(X)*| = 949^(1/2)/25 on the ellipse; the printed step bounds it by one."""
    size = operator_norm(
        lambda D: D - ELLIPSE.dissolve_adjoint(POINT, D), np.eye(2).reshape(2, 2, 1)
    )
    assert size == pytest.approx(949**0.5 / 25, rel=8 * EPS)


@pytest.mark.statement("R6")
def test_R6_the_third_quotient_is_negative_even_on_two_points():
    """On {1, -1}: (C o A)'' = -6 at x = 1, so alpha_CA >= 3 and 9 delta^2 (1 - alpha_CA) < 0."""
    manifold, t = go.Stiefel(1, 1), 1e-3

    def slope(x: float) -> float:
        image, slope = manifold.dissolve(_at(x)), manifold.dissolve_differential(_at(x), _at(1.0))
        return float(manifold.constraint_differential(image, slope).item())

    assert (slope(1 + t) - slope(1 - t)) / (2 * t) == pytest.approx(-6, rel=1e-4)
    first, second, third = Constants(manifold, _at(1.0)).beta_terms(1.0)
    assert third < 0 < min(first, second)


@pytest.mark.statement("R6")
@drawn(
    manifold=gt.manifolds(families=("stiefel", "stiefel-complex", "tensor-dct"), max_n=5),
    seed=gt.seeds(),
)
def test_R6_alpha_is_at_least_three_where_phi_is_the_identity(manifold, seed):
    """D2(C o A)(X)[V, V] = -6 S^2 for V = X S^T (F6), |S| = |V| and S = v v^T: 2 alpha_CA >= 6."""
    s = Sample(manifold, seed)
    v = s.algebra()[..., :1]
    S = v @ ct(v) / float(np.sum(np.abs(v) ** 2))
    if S.ndim > 2:
        S[1:] = 0
        S /= norm(S)
    V, t = s.X @ ct(S), 1e-3

    def curvature() -> Matrix:
        C = [manifold.constraint(manifold.dissolve(s.X + k * t * V)) for k in (-1, 0, 1)]
        return np.asarray((C[0] - 2 * C[1] + C[2]) / t**2)

    assert norm(curvature() + 6 * S @ S) <= 100 * t**2 + 100 * EPS / t**2
    assert abs(norm(6 * S @ S) / norm(V) ** 2 - 6) <= 100 * (s.u + s.c)


@pytest.mark.statement("R17")
@pytest.mark.parametrize("beta", [1.0, 1e3, 1e6])
def test_R17_stationary_points_of_h_that_are_not_on_M(beta):
    """f(x) = -x^2 on {1, -1}: h'(0) = 0, h -> -infinity. On a hyperbola a linear f will do."""
    manifold = go.Stiefel(1, 1)
    f = go.Problem(manifold, lambda X: -(X.item() ** 2), lambda X: -2 * X, lambda X, Z: -2 * Z)
    h = go.ConstraintDissolving(f, beta)
    assert h.gradient(_at(0.0)).item() == 0 and manifold.feasibility(_at(0.0)) == 1
    assert h.value(_at(1e3 * np.sqrt(beta))) < -1e15
    hyperbola = go.HyperbolicStiefel(np.array([1.0, -1.0]), 1)
    null = np.array([[-1.0], [-1.0]])  # <<X,X>> = 0: C = -1 and A(tX) = 3/2 tX all along it
    unbounded = go.ConstraintDissolving(linear(hyperbola, np.array([[1.0], [0.0]])), beta)
    assert unbounded.value(1e9 * null) == pytest.approx(-1.5e9 + beta / 2, rel=1e-12)


@pytest.mark.statement("R18")
def test_R18_the_loop_of_the_algorithm_need_not_end_or_may_end_elsewhere():
    """A(0) = 0, A(2x) = -x, and from 3 it runs away; on the circle rounding stays."""
    manifold = go.Stiefel(1, 1)
    assert manifold.dissolve(_at(0.0)).item() == 0
    assert manifold.dissolve(_at(2.0)).item() == -1
    assert manifold.dissolve(_at(3.0)).item() == -9
    with pytest.raises(NotRestorableError):
        manifold.restore(_at(0.0))
    assert manifold.restoration(_at(3.0)).map == "Newton's map"
    circle = go.Stiefel(2, 1)
    X = circle.random_point(3)
    seen = set()
    for _ in range(100):
        X = circle.dissolve(X)
        seen.add(float(circle.feasibility(X)))
    assert max(seen) <= 4 * EPS  # rounding, which no further step takes away


@pytest.mark.statement("R7")
def test_R7_with_the_printed_J_the_manifold_may_be_empty():
    """B = diag(1, -1): X^T B X = I has no solution, X^T B X = diag(1, -1) has X = I."""
    B = np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="The manifold is empty"):
        go.IndefiniteStiefel(B, np.ones(2))
    assert go.IndefiniteStiefel(B, np.array([1.0, -1.0])).feasibility(np.eye(2)) == 0


@pytest.mark.statement("R7")
def test_R7_haar_samples_are_not_around_their_centre():
    """Their mean tends to zero, so no X is nearer to them than |Y0| on average."""
    printed, mended = (
        ExtrinsicMean.generate(10, 4, 0, samples=400, printed=p) for p in (True, False)
    )
    assert np.array_equal(printed.signs, np.ones(4)) and np.array_equal(mended.signs, [1, 1, 1, -1])
    # The average of |X - X_i|^2 is |X - mean|^2 + |Y0|^2 - |mean|^2 (|X_i| = |Y0|), at least the
    # last two.
    for instance, share in ((printed, 0.9), (mended, 0.0)):
        floor = 1 - (norm(instance.mean) / norm(instance.center)) ** 2
        assert share <= floor <= share + 0.1 + EPS
    distance = norm(printed.mean - printed.center) / norm(printed.center)
    assert distance > 0.9
    assert norm(mended.mean - mended.center) / norm(mended.center) < 0.1


@pytest.mark.statement("R8")
@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.8])
def test_R8_noise_keeps_the_value_up(gamma):
    """Two 2 x 2 matrices: n = p = N = 2, l = 1, U = I.

    A_1 = diag(1, -1) and A_2 = 0, E_1 = diag(1, -1) and E_2 = [[0, 1], [1, 0]].
    f = 2 a^2 sin^2 2t + gamma^2 cos^2 2t >= gamma^2 for the rotation by t, a = 1 + gamma/2^(1/2).
    """
    D, K = np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    A = np.stack([D + gamma * D / norm(D), gamma * K / norm(K)])
    a = 1 + gamma / np.sqrt(2)
    for t in np.linspace(0, np.pi, 50):
        X = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        off = (X.T @ A @ X)[:, [0, 1], [1, 0]]
        f = float((off**2).sum())
        assert f == pytest.approx(
            2 * a**2 * np.sin(2 * t) ** 2 + gamma**2 * np.cos(2 * t) ** 2, abs=16 * EPS
        )
        assert f >= gamma**2 - 16 * EPS


@pytest.mark.statement("R9")
@given(n=st.sampled_from([4, 6, 8]), p=st.sampled_from([2, 4]), seed=gt.seeds())
def test_R9_corrected(n, p, seed):
    """tr(X^T A X N) >= 2 lambda_min(A) sum (mu_j mu_(j+p))^(1/2) on M."""
    for printed in (True, False):
        instance = Matching.generate(n, p, seed, printed=printed)
        X = instance.start(seed)
        half = p // 2
        floor = 2 * float(np.sqrt(instance.mu[:half] * instance.mu[half:]).sum())
        floor *= float(np.linalg.eigvalsh(instance.A)[0])
        f = instance.cost_and_gradient(X)[0]
        assert f >= floor - 1e3 * EPS * f
    # The size in the tables: b/(2n) times 0.346 at (100, 10) is 6.29e-3 for b = 1.8, inside (0, 2).
    assert 0 < 6.29e-3 * 100 / 0.3463 < 2 and 0 < 4.77e-4 * 1000 / 0.3463 < 2


@pytest.mark.statement("R13", "tab:man:generalized")
def test_R13_the_explicit_projection_is_not_orthogonal_on_the_generalized_stiefel_manifold():
    """The ellipse: D - X X^T B D is tangent, but not the nearest tangent vector; it is DA(X)[D]."""
    D = np.array([[1.0], [0.0]])
    explicit = D - POINT @ (NORMAL.T @ D)
    np.testing.assert_allclose(explicit, ELLIPSE.dissolve_differential(POINT, D), atol=4 * EPS)
    nearest = ELLIPSE.project(POINT, D)
    assert (
        ELLIPSE.tangency(POINT, explicit) <= 4 * EPS and ELLIPSE.tangency(POINT, nearest) <= 4 * EPS
    )
    np.testing.assert_allclose(explicit.ravel(), [0.64, -0.24], atol=4 * EPS)
    np.testing.assert_allclose(nearest.ravel(), [64 / 73, -24 / 73], atol=4 * EPS)
    assert norm(D - nearest) < norm(D - explicit)


@pytest.mark.statement("R13", "tab:man:generalized")
@given(
    manifold=gt.manifolds(families=("generalized", "generalized-sparse", "generalized-complex")),
    seed=gt.seeds(),
)
def test_R13_corrected(manifold, seed):
    """D - N, N = X (X^T B D + D^T B X)/2, is the orthogonal projection in the metric <U, B V>."""
    s = Sample(manifold, seed)
    D, Z = s.ambient(), s.tangent()
    R = ct(s.P) @ D
    N = s.X @ (R + ct(R)) / 2
    rest = 10 * (s.u * s.g + s.c + float(manifold.tangency(s.X, Z)))
    assert float(manifold.tangency(s.X, D - N)) <= rest * (1 + norm(s.P))
    assert abs(np.vdot(Z, manifold.phi(N)).real) <= rest * norm(s.P)
