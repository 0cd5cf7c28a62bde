"""F15 to F17 of docs/mathematics.md: Newton's map and h_n, on every family of manifolds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.newton import NewtonStep
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import close, drawn, holds
from support.norms import EPS, norm
from support.problems import linear

MANIFOLDS = gt.manifolds(max_n=7)


def _rounding(s: Sample) -> float:
    """Relative rounding of what the equation Phi(K S) = T gives at X, and of X itself."""
    return 100 * s.q * s.kappa * (s.u * s.g + s.c)


@pytest.mark.statement("F15")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_F15_the_derivative_on_M(manifold, seed):
    """DA_n = P_X is idempotent and self-adjoint, and D(C o A_n) = 0, as D(C o A) is."""
    s = Sample(manifold, seed)
    step, E, F = NewtonStep(manifold.at(s.X)), s.ambient(), s.ambient()
    once, other = (U - step.derivative(U) for U in (E, F))
    rest = _rounding(s)
    close(s, "DA_n = P_X", once, manifold.project(s.X, E), rest)
    close(s, "DA_n DA_n = DA_n", once - step.derivative(once), once, rest)
    close(s, "DA_n* = DA_n", np.vdot(once, F).real, np.vdot(E, other).real, rest)
    oblique = manifold.dissolve_differential(s.X, E)
    size = norm(s.X) * norm(s.P)
    for name, image in (("DC DA_n = 0", once), ("DC DA = 0", oblique)):
        change = norm(manifold.constraint_differential(s.X, image))
        holds(name, change, rest * (1 + norm(s.P) + s.L * norm(s.X)) * (1 + size))


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
