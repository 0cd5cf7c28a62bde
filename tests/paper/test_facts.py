"""F1 to F17 of docs/mathematics.md, on every family; tests/geometry/test_contract.py has more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.errors import OutsideDomainError
from genorth.geometry.bases import dense_theta
from genorth.geometry.newton import NewtonStep
from genorth.geometry.place import ClosedForm
from genorth.geometry.retractions import polar_factor
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import close, drawn, holds
from support.flops import CountingManifold, flops
from support.norms import EPS, Matrix, norm, spectral
from support.problems import linear
from support.unusual_manifolds import complex_bilinear, pairs, quaternionic

MANIFOLDS = gt.manifolds(max_n=7)


def _trace(T: Matrix) -> float:
    """Re tr T, summed over the blocks."""
    return float(np.trace(T, axis1=-2, axis2=-1).sum().real)


@pytest.mark.statement("F3")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_F3(manifold, seed):
    """Re tr(T*) = Re tr(T), so that Re tr(AB) = 0 for A* = A, B* = -B."""
    s = Sample(manifold, seed)
    S, T = s.algebra(), s.algebra()
    left, right = np.asarray(_trace(manifold.psi(T))), np.asarray(_trace(T))
    close(s, "Re tr(T*) = Re tr(T)", left, right, s.u * s.q)
    A, B = S + ct(manifold.psi(S)), T - ct(manifold.psi(T))
    holds("Re tr(AB) = 0", abs(_trace(A @ B)), 10 * s.u * s.q**3)


@pytest.mark.statement("F5")
@drawn(n=st.integers(1, 4), p=st.integers(1, 3), skew=st.booleans(), seed=gt.seeds())
def test_F5_conjugate_linear_companion(n, p, skew, seed):
    """psi(T) = Q conj(T) Q^-1: Theta = Q U (B / (l_i + l_j)) U^t, one eigendecomposition."""
    manifold, Q = complex_bilinear(max(n, p), p, seed, skew=skew)
    e = -1 if skew else 1
    assert manifold.companion is None or p == 1
    assert np.allclose(Q.T, e * Q, rtol=0, atol=EPS * norm(Q))
    s = Sample(manifold, seed)
    D = s.ambient()
    N = s.P @ Q
    values, U = np.linalg.eigh(ct(N) @ N)
    R = ct(N) @ D
    rotated = ct(U) @ (R + e * R.T) @ U.conj()
    Y = U @ (rotated / (values[:, None] + values)) @ U.T
    rest = 20 * (s.u * s.kappa + s.c) * s.q / float(s.singular[0])
    oracle = dense_theta(manifold, s.P, D)
    close(s, "Theta = Q Y", Q @ Y, oracle, rest * float(np.linalg.cond(Q)))


@pytest.mark.statement("F5")
def test_F5_the_closed_form_is_for_points_of_M_only():
    """At X = 2 on Stiefel (1, 1) the argmin of |2S - D| is D/2, and (R + R^T)/2 is 2D."""
    manifold, X, D = go.Stiefel(1, 1), np.array([[2.0]]), np.array([[3.0]])
    assert ClosedForm(manifold, X, X).theta(D).item() == 6.0
    assert dense_theta(manifold, X, D).item() == pytest.approx(1.5, rel=4 * EPS)


@pytest.mark.statement("F6")
@drawn(manifold=gt.manifolds(max_n=6, max_condition=1e2), seed=gt.seeds(), radius=st.floats(0, 0.9))
def test_F6_converges_where_the_spectral_radius_is_below_one(manifold, seed, radius):
    """Repeated A ends at Y <<Y,Y>>^(-1/2), also where |C(Y)| > 1 but its eigenvalues are < 1."""
    s = Sample(manifold, seed)
    H = ct(s.symmetric())
    size = float(np.abs(np.linalg.eigvals(H)).max())
    Y = s.X @ (np.eye(H.shape[-1]) + 0.5 * H * (radius / size if size > 1e-2 else radius))
    C = manifold.constraint(Y)
    rho = float(np.abs(np.linalg.eigvals(C)).max())
    if rho < 1:  # (1 + r/2)^2 - 1 < 1 for r < 0.82
        limit = Y
        for _ in range(60):
            limit = manifold.dissolve(limit)
        condition = float(np.linalg.cond(np.eye(H.shape[-1]) + C).max())
        rest = 1e4 * s.q**2 * (s.u * s.g + s.c) * condition * norm(Y)
        close(s, "lim A^k(Y)", limit, polar_factor(manifold, Y), rest)


@pytest.mark.statement("F7")
def test_F7_it_is_orthogonal_at_some_points_and_oblique_at_others_of_one_manifold():
    """Symplectic: orthogonal at X = I, where phi(X) = X; oblique at X = diag(2, 1/2)."""
    manifold = go.SymplecticStiefel(2, 2)
    norms = []
    for X in (np.eye(2), np.diag([2.0, 0.5])):
        assert manifold.feasibility(X) == 0
        columns = [manifold.dissolve_differential(X, E.reshape(2, 2)).ravel() for E in np.eye(4)]
        norms.append(float(np.linalg.norm(np.array(columns), 2)))
    assert norms[0] == pytest.approx(1, rel=8 * EPS)
    assert norms[1] == pytest.approx(17 / 8, rel=8 * EPS)  # |X| |phi(X)| / 2, phi(X) = diag(1/2, 2)


@pytest.mark.statement("F8")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100))
def test_F8_quadratic_form(manifold, seed, beta):
    """4 beta |S|^2 - 3 Re tr(S^2 Theta) along X S^T, -<phi(Z) Theta, Z> along M, no cross term."""
    s = Sample(manifold, seed)
    X, S, Theta, Z = s.X, s.symmetric(), s.symmetric(), s.tangent()
    B = s.P @ Theta
    h = go.ConstraintDissolving(linear(manifold, B), beta)
    V = X @ ct(S)
    HV, HZ = h.hessian_product(X, V), h.hessian_product(X, Z)
    terms = (
        norm(s.P) ** 2 * s.q**2 * (beta + norm(X) ** 2) * (1 + norm(Theta))
        + s.L * norm(X) * norm(B) * s.q
    )
    rest = 100 * s.q * (s.u * s.g + s.c) * (terms + beta)
    holds("gradient", norm(h.gradient(X)), rest * norm(X))
    expected = 4 * beta * norm(S) ** 2 - 3 * _trace(S @ S @ Theta)
    close(s, "<V, hess h[V]>", np.vdot(V, HV).real, expected, rest * norm(V) ** 2)
    close(s, "<Z, hess h[V]> = 0", np.vdot(Z, HV).real, 0.0, rest * norm(V) * norm(Z))
    along = -np.vdot(manifold.phi(Z) @ Theta, Z).real
    close(s, "<Z, hess h[Z]>", np.vdot(Z, HZ).real, along, rest * norm(Z) ** 2)


@pytest.mark.statement("R17", "R5", "F14")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100), distance=st.floats(0, 2))
def test_F14_gradient_of_h_across_M(manifold, seed, beta, distance):
    """<grad h, Y C^T> = 2 beta (|C|^2 + Re tr(C^T C^2)) - 3/2 Re tr(G^T Y (C^T)^2), and a bound."""
    s = Sample(manifold, seed)
    Y = s.X + s.ambient(distance / s.steepness)
    B = s.ambient(norm(s.P))
    h = go.ConstraintDissolving(linear(manifold, B), beta)
    C, gradient = manifold.constraint(Y), h.gradient(Y)
    c = ct(C)
    expected = 2 * beta * (norm(C) ** 2 + _trace(c @ C @ C)) - 1.5 * _trace(ct(B) @ Y @ c @ c)
    size = max(1.0, s.L * norm(Y) ** 2, norm(Y) * norm(manifold.phi(Y)))
    terms = (beta * size + norm(B) * norm(Y)) * (1 + norm(C)) * s.q
    rest = 100 * s.u * s.q * size * terms * (1 + norm(C))
    close(s, "<grad h, Y C^T>", np.vdot(Y @ c, gradient).real, expected, rest)
    lower = 2 * beta * (1 - spectral(C)) - 1.5 * spectral(ct(Y) @ B)
    assert norm(gradient) * spectral(Y) * norm(C) >= lower * norm(C) ** 2 - rest


@pytest.mark.statement("F14")
def test_F14_is_sharp():
    """Stiefel (1, 1), f(x) = x: equality at every x > 0 (|C| < 1): |h'| = |C| (2 beta x - 3/2)."""
    beta = 2.0
    h = go.ConstraintDissolving(linear(go.Stiefel(1, 1), np.ones((1, 1))), beta)
    for x in (0.8, 0.95, 0.999):
        C = x**2 - 1
        exact = abs(C) * (2 * beta * x - 1.5)
        assert abs(h.gradient(np.array([[x]])).item()) == pytest.approx(exact, rel=1e-12)
        # 1 - |C| = x^2
        assert abs(C) * (2 * beta * (1 - abs(C)) - 1.5 * x) / x == pytest.approx(exact, rel=1e-12)


@pytest.mark.statement("F9")
def test_F9_domains_on_a_hyperbola():
    """x^2 - y^2 = 1, X = (1, 0), Z = (0, z): polar needs |z| < 1, Cayley |z| != 2."""
    manifold, X = go.HyperbolicStiefel(np.array([1.0, -1.0]), 1), np.array([[1.0], [0.0]])

    def step(z: float, kind: str) -> Matrix:
        return np.asarray(manifold.retract(X, np.array([[0.0], [z]]), kind=kind)).ravel()

    close = {"rtol": 16 * EPS}
    np.testing.assert_allclose(step(0.5, "polar"), np.array([1, 0.5]) / np.sqrt(0.75), **close)
    np.testing.assert_allclose(
        step(0.5, "cayley"), np.array([1 + 0.0625, 0.5]) / (1 - 0.0625), **close
    )
    np.testing.assert_allclose(step(0.5, "exp"), [np.cosh(0.5), np.sinh(0.5)], **close)
    np.testing.assert_allclose(step(3.0, "cayley"), [-2.6, -2.4], **close)
    # SciPy's exp squares, and loses 250 units here
    np.testing.assert_allclose(step(3.0, "exp"), [np.cosh(3), np.sinh(3)], rtol=1e3 * EPS)
    for z, kind in ((1.0, "polar"), (1.5, "polar"), (2.0, "cayley"), (800.0, "exp")):
        with pytest.raises(OutsideDomainError):  # exp(800) is no double, though exp(Omega) exists
            step(z, kind)


@pytest.mark.statement("F10", "prop:submanifold")
@pytest.mark.parametrize(("n", "p", "l"), [(4, 2, 3), (6, 6, 2), (6, 4, 5)])
def test_F10_by_hand(n, p, l):  # noqa: E741
    """The dimensions in the table of the page."""
    real_blocks = 2 - l % 2
    expected = {
        go.Stiefel(n, p): n * p - p * (p + 1) // 2,
        go.Stiefel(n, p, complex): 2 * n * p - p * p,
        go.SymplecticStiefel(n, p): n * p - p * (p - 1) // 2,
        gt.Recipe("bilinear-skew", n, p, 10.0, 0).build(): n * p - p * (p - 1) // 2,
        gt.Recipe("indefinite-dense", n, p, 10.0, 0).build(): n * p - p * (p + 1) // 2,
        complex_bilinear(n, p, 0)[0]: 2 * n * p - p * (p + 1),
        complex_bilinear(n // 2, p // 2, 0, skew=True)[0]: 2 * n * p - p * (p - 1),
        pairs(n, p): 2 * n * p - p * p,
        quaternionic(n // 2, p // 2): 4 * (n // 2) * (p // 2) - (p // 2) * (p - 1),
        go.TensorStiefel(n, p, l): l * (n * p - p * (p + 1) // 2),
        go.TensorStiefel(n, p, l, "dft"): n * p * l - (p * p * l + p * real_blocks) // 2,
    }
    for manifold, dim in expected.items():
        assert manifold.dim == dim, manifold


@pytest.mark.statement("F11", "F17")
@pytest.mark.parametrize(
    ("kind", "phis", "products", "more"),
    [(go.ConstraintDissolving, 1, 5, 9), (go.OrthogonalDissolving, 2, 7, 12)],
)
def test_F11_F17_products_of_a_gradient_and_of_a_hessian_product(kind, phis, products, more):
    """h and its gradient: one phi, five n x p x p products; a Hessian product: one and nine more.

    h_n: two and seven, two and twelve. As n is large against p, what is p x p does not show.
    """
    n, p = 4000, 4
    manifold = CountingManifold(go.SymplecticStiefel(n, p))
    B, X, Z = (manifold.random_ambient(k) for k in range(3))
    assert manifold.companion is not None  # read off psi
    product, manifold.calls = 2 * n * p**2, 0
    h = kind(linear(manifold, B), 1.0)
    assert round(flops(h.value_and_gradient, X) / product) == products
    assert manifold.calls == phis
    # only plain arrays are remembered: the point is made again
    assert round(flops(h.hessian_product, X, Z) / product) == products + more
    assert manifold.calls == 3 * phis


_NAMED = "F1 F2 F3 F4 F6 F7 F9 F10 F12 projection retractions"
_ALGEBRA = _NAMED.split()


@pytest.mark.statement("F13")
@given(n=st.integers(1, 4), p=st.integers(1, 3), skew=st.booleans(), seed=gt.seeds())
def test_F13_complex_bilinear_forms_are_the_second_complex_case(n, p, skew, seed):
    """X^t A X = Q without conjugation, A and Q complex, both symmetric or both skew."""
    manifold, _ = complex_bilinear(max(n, p), p, seed, skew=skew)
    assert go.check_assumptions(manifold, rng=0).passed
    for prop in gt.PROPERTIES:
        if prop.name in _ALGEBRA:
            prop.check(manifold, seed)


@pytest.mark.statement("F13")
@pytest.mark.parametrize(
    "manifold", [pairs(3, 2), pairs(3, 1), quaternionic(3, 2), quaternionic(2, 2)], ids=repr
)
def test_F13_blocks_may_be_swapped_and_F_may_be_smaller(manifold):
    """Pairs X1^T X2 = I and quaternionic matrices are no products of bilinear manifolds."""
    assert go.check_assumptions(manifold, rng=0).passed
    assert manifold.companion is None or manifold.ambient_projector is not None
    for prop in gt.PROPERTIES:
        prop.check(manifold, 3)


def _rounding(s: Sample) -> float:
    """Relative rounding of what the equation Phi(K S) = T gives at X, and of X itself."""
    return 100 * s.q * s.kappa * (s.u * s.g + s.c)


@pytest.mark.statement("F15")
@given(n=st.integers(1, 6), p=st.integers(1, 6), seed=gt.seeds(), dtype=st.sampled_from("dD"))
def test_F15_newton_and_newton_schulz_on_stiefel(n, p, seed, dtype):
    """A_n(X) = (X + X^-T)/2 and A(X) = X (3 I - X^T X)/2, and A_n leads to the polar factor."""
    n, p = max(n, p), min(n, p)
    manifold = go.Stiefel(n, p, np.dtype(dtype).type)
    rng = np.random.default_rng(seed)
    U, _, Vt = np.linalg.svd(manifold.random_ambient(rng), full_matrices=False)
    s = 10.0 ** rng.uniform(-2, 2, p)
    X = (U * s) @ Vt
    bound = 1e3 * EPS * float((s.max() / s.min()) ** 2 * (s.max() + 1 / s.min()))
    inverse = (U / s) @ Vt
    assert norm(X - manifold.newton_step(X) - (X + inverse) / 2) <= bound
    schulz = X @ (3 * np.eye(p) - ct(X) @ X) / 2
    assert norm(manifold.dissolve(X) - schulz) <= 1e3 * EPS * float(1 + s.max() ** 3)
    for _ in range(25):  # a singular value of 100 is halved seven times, one of 1/100 is 50 first
        X = X - manifold.newton_step(X)
    assert norm(X - U @ Vt) <= bound


@pytest.mark.statement("F16")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100))
def test_F16_gradient_on_M(manifold, seed, beta):
    """On M h_n = f, and grad h_n(X) = grad f(X) for every beta."""
    s = Sample(manifold, seed)
    B = s.ambient()
    h = go.OrthogonalDissolving(linear(manifold, B), beta)
    rest = _rounding(s) * (1 + beta) * (1 + s.L / float(s.singular[0]) ** 2)
    close(s, "h_n = f", h.value(s.X), np.vdot(B, s.X).real, rest * (1 + norm(s.X)))
    close(s, "grad h_n = grad f", h.gradient(s.X), manifold.gradient(s.X, B), rest)


@pytest.mark.statement("F16")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100))
def test_F16_hessian_at_a_stationary_point(manifold, seed, beta):
    """beta |V|^2 + <V, phi(V) Theta> on normal V, -<Z, phi(Z) Theta> on M; no cross term."""
    s = Sample(manifold, seed)
    Theta, S, Z = s.symmetric(), s.symmetric(), s.tangent()
    h = go.OrthogonalDissolving(linear(manifold, s.P @ Theta), beta)
    V = s.P @ S
    V, Z = V / max(norm(V), 1e-100), Z / max(norm(Z), 1e-100)
    HV, HZ = h.hessian_product(s.X, V), h.hessian_product(s.X, Z)
    # The gradient is zero to rounding only, and a derivative of phi(X)^+ is L/sigma times as large.
    steep = 1 + s.L / float(s.singular[0]) ** 2
    rest = _rounding(s) * (1 + beta + s.L * s.q) * steep**2 * (1 + norm(s.P))
    normal = beta * norm(V) ** 2 + np.vdot(V, manifold.phi(V) @ Theta).real
    close(s, "<V, hess h_n[V]>", np.vdot(V, HV).real, normal, rest)
    close(s, "<Z, hess h_n[V]> = 0", np.vdot(Z, HV).real, 0.0, rest)
    along = -np.vdot(Z, manifold.phi(Z) @ Theta).real
    close(s, "<Z, hess h_n[Z]>", np.vdot(Z, HZ).real, along, rest)


@pytest.mark.statement("F17")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), beta=st.floats(0.01, 100), distance=st.floats(0, 1))
def test_F17_gradient_across_M(manifold, seed, beta, distance):
    """<grad h_n, D> = beta |D|^2 - beta <D, E> + <G, E - P_T(phi(D) S)> off M, and the bound."""
    s = Sample(manifold, seed)
    X = s.X + s.ambient(0.3 * distance * float(s.singular[0]) / s.L)
    B = s.ambient()
    h = go.OrthogonalDissolving(linear(manifold, B), beta)
    step = NewtonStep(manifold.at(X))
    D, S, P = step.D, step.multiplier, np.asarray(manifold.phi(X))
    equation = manifold.at(X).general
    E = P @ equation.solve(2 * ct(D) @ manifold.phi(D))
    W = manifold.phi(D) @ S
    tangent = W - P @ equation.theta(W)
    gradient, d = h.gradient(X), norm(D)
    expected = beta * d**2 - beta * np.vdot(D, E).real + np.vdot(B, E - tangent).real
    sigma = float(np.linalg.svd(P, compute_uv=False).min())
    ratio = s.L / sigma
    # rounding of C is not in S1, and that of D is not normal: it is as large as D near M
    rest = _rounding(s) * (1 + beta) * (1 + ratio * d) ** 2 * (1 + ratio / sigma) * (d + 1 / sigma)
    close(s, "<grad h_n, D>", np.vdot(D, gradient).real, expected, rest)
    assert norm(E) <= ratio * d**2 + rest
    assert norm(tangent) <= ratio * d**2 + rest
    lower = beta * (1 - ratio * d) - np.sqrt(2) * ratio * norm(B)
    assert norm(gradient) * d >= lower * d**2 - rest
