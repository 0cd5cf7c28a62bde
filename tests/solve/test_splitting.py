"""The smooth inner problem of a nonsmooth term, and the exactness of f(A) + r(A) + beta/2 |C|^2."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.linalg.arrays import ct
from genorth.splitting import Envelope
from genorth.testing.contract import Sample
from support.draws import drawn, holds
from support.norms import norm
from support.problems import linear

MANIFOLDS = gt.manifolds(max_n=6, max_condition=1e4)
TERMS = (go.L1(0.7), go.L21(0.9))


def _envelope(term, rho: float, seed: int = 0) -> tuple[go.Problem, Envelope, np.ndarray]:
    manifold = go.Stiefel(8, 3)
    H, y = (np.random.default_rng(seed).standard_normal(s) for s in ((8, 8), (8, 3)))
    problem = go.Problem(
        manifold,
        lambda X: float(np.vdot(X, H @ X)) / 2,
        lambda X: (H + H.T) @ X / 2,
        lambda X, Z: (H + H.T) @ Z / 2,
        nonsmooth=term,
    )
    return problem, Envelope(problem, 0.3 * y, rho), manifold.random_point(seed)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("rho", [0.5, 7.0])
def test_the_inner_problem_has_these_derivatives(term, rho):
    _, envelope, X = _envelope(term, rho)
    inner = envelope.smooth()
    assert go.check_gradient(inner, X, rng=1).passed
    Z, s = inner.manifold.random_ambient(2), 1e-7
    change = (inner.euclidean_gradient(X + s * Z) - inner.euclidean_gradient(X)) / s
    assert norm(change - envelope.hessian(X, Z)) <= 1e-5 * (1 + rho) * norm(Z)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("rho", [0.5, 7.0])
def test_it_is_the_least_augmented_lagrangian_over_V(term, rho):
    """L(X) = f(X) + min over V of r(V) + <y, X - V> + rho/2 |X - V|^2."""
    problem, envelope, X = _envelope(term, rho)
    V, y = envelope.copy(X), envelope.y

    def lagrangian(V):
        return problem.cost(X) + term(V) + np.vdot(y, X - V) + rho / 2 * norm(X - V) ** 2

    assert envelope.value_and_gradient(X)[0] == pytest.approx(lagrangian(V))
    for seed in range(20):
        E = np.random.default_rng(seed).standard_normal(X.shape)
        assert lagrangian(V + 10.0 ** (-seed / 5) * E) >= lagrangian(V)
    xi = envelope.multiplier(X)  # a subgradient of r at V
    for seed in range(5):
        W = np.random.default_rng(seed).standard_normal(X.shape)
        assert term(W) >= term(V) + np.vdot(xi, W - V) - 1e-12


def test_with_y_zero_it_is_hubers_function():
    problem, envelope, X = _envelope(go.L1(0.7), 7.0)
    envelope.y = 0 * envelope.y
    a, s = np.abs(X), 1 / 7.0
    huber = np.where(a <= 0.7 * s, a**2 / (2 * s), 0.7 * a - 0.7**2 * s / 2).sum()
    assert envelope.value_and_gradient(X)[0] - problem.cost(X) == pytest.approx(huber)


@pytest.mark.statement("F24")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), size=st.floats(1e-3, 0.45))
def test_F24_the_dissolved_sum_has_no_stationary_points_off_M(manifold, seed, size):
    """DA(X)[X C^T] = -3/2 X C^T C^T and DC(X)[X C^T] = 2 C (I + C): so h rises along X C^T.

    For every vector V in the place of a gradient of f + r at A(X), and beta > 3/2 |X| |V|.
    """
    s = Sample(manifold, seed)
    M, E, V = manifold, s.ambient(), s.ambient()
    for _ in range(60):
        X = M.ambient(s.X + E)
        C = M.constraint(X)
        if norm(C) <= size:
            break
        E = E / 2
    Ct = ct(C)
    scale = 1e3 * s.u * norm(X) * (norm(M.phi(X)) + s.L * norm(X))
    along = M.dissolve_differential(X, X @ Ct)
    holds("DA(X)[X C^T]", norm(along + 1.5 * X @ Ct @ Ct), scale * norm(X))
    onto = M.constraint_differential(X, X @ Ct)
    holds("DC(X)[X C^T]", norm(onto - 2 * C @ (np.eye(C.shape[-1]) + C)), scale)
    beta = 2 * norm(X) * norm(V)
    h = linear(M, V)
    subgradient = M.dissolve_adjoint(X, h.euclidean_gradient(X)) + beta * M.constraint_adjoint(X, C)
    rise = np.vdot(subgradient, X @ Ct).real
    least = (beta - 1.5 * norm(X) * norm(V)) * norm(C) ** 2
    holds("<subgradient, X C^T>", least - rise, scale * (norm(V) + beta) * norm(X))


@pytest.mark.parametrize("method", ["ralm", "odf-alm", "smoothing", "subgradient-adam"])
def test_starts_without_a_size(method):
    """From zeros there may be no way to M; nothing breaks."""
    problem = linear(go.Stiefel(4, 2), np.eye(4, 2))
    parts = problem.manifold, problem.cost, problem.euclidean_gradient
    problem = go.Problem(*parts, nonsmooth=go.L1(1.0))
    if reason := go.SOLVERS[method].why_not(problem):
        pytest.skip(reason)
    for size in (0.0, 1e-165, 1e155):
        x0 = size * np.random.default_rng(0).standard_normal((4, 2))
        with suppress(go.NotRestorableError):
            assert not np.isnan(go.minimize(problem, x0, method=method, max_time=0.5).gradient_norm)
