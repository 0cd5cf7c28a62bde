"""Sparse solutions: `manpg` and `prox-landing` against enumeration, each other and wrong input."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS
from genorth.gallery import sparse
from genorth.problem.measure import Measure
from support.norms import norm

NONSMOOTH = ("manpg", "prox-landing", "ralm", "odf-alm", "cdf-alm")


def quadratic(manifold: Any, H: np.ndarray, mu: float, term: Any = None) -> go.Problem:
    """tr(X^T H X) + mu |X|_1."""
    return go.Problem(
        manifold,
        cost_and_gradient=lambda X: (float(np.vdot(X, H @ X).real), 2 * H @ X),
        nonsmooth=term or go.L1(mu),
    )


def _symmetric(n: int, seed: int, definite: bool = False) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T / n + np.eye(n) if definite else A + A.T


@functools.cache
def _by_enumeration(seed: int, mu: float) -> float:
    """The least x^T H x + mu |x|_1, |x| = 1: over all supports and signs, by smooth solvers."""
    H, n, best = _symmetric(5, seed), 5, np.inf
    for signs in itertools.product((-1.0, 0.0, 1.0), repeat=n):
        s = np.array(signs)
        on = s != 0
        if not on.any() or s[on][0] < 0:
            continue  # -x is as good as x
        K = H[np.ix_(on, on)]
        if on.sum() == 1:
            best = min(best, float(K[0, 0]) + mu)
            continue
        problem = go.Problem(
            go.Sphere(int(on.sum())),
            cost=lambda x, K=K, c=mu * s[on]: float(x @ K @ x + c @ x),
            euclidean_gradient=lambda x, K=K, c=mu * s[on]: 2 * K @ x + c,
            euclidean_hessian=lambda x, z, K=K: 2 * K @ z,
        )
        for seed in range(3):
            found = go.minimize(problem, method="rtr", rng=seed, check=False)
            if np.all(found.x * s[on] >= -1e-9):
                best = min(best, found.fun)
    return best


@pytest.mark.parametrize("name", NONSMOOTH)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_global_minimum_is_found_from_many_starts(name, seed):
    H, mu = _symmetric(5, seed), 1.5
    problem = quadratic(go.Stiefel(5, 1), H, mu)
    found = [go.minimize(problem, method=name, rng=start, check=False) for start in range(15)]
    truth = _by_enumeration(seed, mu)
    assert min(r.fun for r in found if r.success) == pytest.approx(truth, abs=1e-8)
    assert all(r.fun >= truth - 1e-8 for r in found)


FAMILIES = {
    "stiefel": lambda: go.Stiefel(30, 3),
    "stiefel-complex": lambda: go.Stiefel(30, 3, dtype=complex),
    "generalized": lambda: go.GeneralizedStiefel(_symmetric(30, 1, True), 3),
    "hyperbolic": lambda: go.HyperbolicStiefel(np.repeat([1.0, -1.0], 15), 3),
    "symplectic": lambda: go.SymplecticStiefel(30, 4),
    "indefinite": lambda: go.IndefiniteStiefel(np.repeat([1.0, -2.0], 15), np.array([1.0, 1, -1])),
    "bilinear": lambda: gt.Recipe("bilinear-skew", 20, 4, 10.0, 1).build(),
    "tensor": lambda: go.TensorStiefel(20, 2, 3),
    "from-maps": lambda: gt.Recipe("from-maps", 20, 2, 10.0, 1).build(),
}


@pytest.mark.parametrize("retraction", ["auto", "cayley", "normal"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_solved_with_exact_zeros_on_M(family, retraction):
    manifold = FAMILIES[family]()
    problem = quadratic(manifold, _symmetric(manifold.shape[-2], 2, True), 0.4)
    result = go.minimize(problem, method="manpg", retraction=retraction, rng=0, max_time=60)
    assert result.success, result
    assert 0.2 < result.sparsity < 1
    assert result.feasibility <= 1e-12 * manifold.scale(result.x)
    assert result.fun == pytest.approx(problem.objective(result.x))
    # the measure is computed anew, and is what is certified
    assert result.gradient_norm == pytest.approx(Measure.at(problem, result.x).stationarity)
    assert result.gradient_norm <= 2e-6
    assert result.fun < problem.objective(manifold.random_point(0))


@pytest.mark.parametrize("name", NONSMOOTH[1:])
@pytest.mark.parametrize("family", ["stiefel", "stiefel-complex", "generalized", "tensor"])
def test_the_others_end_on_M_with_exact_zeros(name, family):
    manifold = FAMILIES[family]()
    problem = quadratic(manifold, _symmetric(manifold.shape[-2], 2, True), 0.4)
    result = go.minimize(problem, method=name, rng=0, max_time=60)
    assert result.success, result
    assert result.sparsity > 0.2
    assert result.feasibility <= 1e-12 * manifold.scale(result.x)


@pytest.mark.parametrize("name", NONSMOOTH)
@pytest.mark.parametrize(("value", "factor"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, np.nan)])
def test_a_term_that_is_not_finite_ends_the_run(name, value, factor):
    class Broken:
        def __call__(self, X):
            return value

        def prox(self, Y, t):
            return factor * Y

    problem = quadratic(go.Stiefel(6, 2), _symmetric(6, 0), 0.0, Broken())
    result = go.minimize(problem, rng=0, method=name)
    assert result.status is go.Status.NOT_FINITE and not result.success
    assert np.isfinite(result.x).all()


def test_prox_landing_solves_for_the_multiplier_where_it_wanders():
    """Dual gradient steps alone took 2846 evaluations in these runs, and this 1247."""
    problem = sparse.sparse_indefinite(100, 4, 0.3, 0)
    runs = [
        go.minimize(problem, rng=seed, method="prox-landing", tol=1e-6, check=False)
        for seed in range(3, 9)
    ]
    assert all(run.success for run in runs)
    assert sum(run.nfev for run in runs) <= 2000


def test_no_nearby_point_of_M_is_better():
    """At a solution f + r grows along every retraction of a tangent vector."""
    manifold = go.SymplecticStiefel(12, 2)
    problem = quadratic(manifold, _symmetric(12, 3, True), 0.3)
    best = min((go.minimize(problem, rng=s, tol=1e-8) for s in range(5)), key=lambda r: r.fun)
    rng = np.random.default_rng(0)
    for _ in range(200):
        Z = manifold.random_tangent(best.x, rng)
        Y = manifold.retract(best.x, 1e-4 * Z / norm(Z))
        assert problem.objective(Y) >= best.fun - 1e-10


def test_rows_vanish_together():
    problem = quadratic(go.Stiefel(20, 2), _symmetric(20, 5), 0.0, go.L21(3.0))
    result = go.minimize(problem, rng=0)
    rows = np.linalg.norm(result.x, axis=1)
    assert result.success
    assert np.sum(rows == 0) == result.sparsity * 20 > 0


def test_without_a_term_manpg_is_gradient_descent():
    H = _symmetric(15, 0)
    problem = go.Problem(go.Stiefel(15, 2), lambda X: np.vdot(X, H @ X), lambda X: 2 * H @ X)
    result = go.minimize(problem, method="manpg", rng=0)
    assert result.success
    assert result.fun == pytest.approx(np.linalg.eigvalsh(H)[:2].sum())


@pytest.mark.parametrize("name", ["manpg", "prox-landing", "ralm", "odf-alm"])
def test_products_and_natural_shapes(name):
    H = _symmetric(12, 1)
    product = go.Product(X=go.Stiefel(12, 2), w=go.Euclidean(4))
    centre = np.array([2.0, -0.5, 0.1, -3.0])
    problem = go.Problem(
        product,
        lambda X, w: np.vdot(X, H @ X) + np.sum((w - centre) ** 2) / 2,
        lambda X, w: (2 * H @ X, w - centre),
        nonsmooth={"X": go.L1(1.0), "w": go.L1(0.6)},
    )
    result = go.minimize(problem, method=name, rng=0)
    assert result.success
    # the free factor has a closed form
    assert result.x.w == pytest.approx(go.L1(0.6).prox(centre, 1.0), abs=1e-6)
    assert result.x.w[2] == 0
    sphere = go.minimize(quadratic(go.Sphere(12), H, 2.0), method=name, rng=0)
    assert sphere.success and sphere.x.shape == (12,) and sphere.sparsity > 0


def test_smooth_solvers_say_who_takes_a_nonsmooth_term():
    problem = quadratic(go.Stiefel(6, 2), _symmetric(6, 0), 1.0)
    for name, solver in SOLVERS.items():
        if solver.nonsmooth:
            assert "torch" in (solver.why_not(problem) or "torch")
            continue
        assert solver.why_not(problem) == "the problem has a nonsmooth term"
        with pytest.raises(ValueError, match=r"^nonsmooth: need a smooth cost.*'manpg', "):
            go.minimize(problem, method=name)
    with pytest.raises(ValueError, match=r"^nonsmooth: need a smooth cost, .* rgd takes"):
        go.riemannian.rgd(problem)
    for penalty in (go.ConstraintDissolving, go.OrthogonalDissolving):
        with pytest.raises(ValueError, match=r"^nonsmooth: need a smooth cost"):
            penalty(problem, 1.0)
    with pytest.raises(ValueError, match=r"^metric: need"):
        go.minimize(problem, metric=np.arange(1.0, 7.0))
    with pytest.raises(ValueError, match=r"^nonsmooth: need a smooth cost"):
        go.minimize(problem, np.zeros((6, 2)))


def test_auto_takes_manpg():
    result = go.minimize(quadratic(go.Stiefel(6, 2), _symmetric(6, 0), 1.0), rng=0)
    assert result.method == "manpg"
    assert "nonsmooth term" in result.message


def test_budgets_hold():
    problem = quadratic(go.Stiefel(40, 4), _symmetric(40, 0), 0.5)
    for name in NONSMOOTH:
        result = go.minimize(problem, method=name, max_iterations=3, rng=0)
        assert result.status is go.Status.ITERATION_LIMIT
        assert result.nit == 3 and len(result.trace) == 4
        assert not result.success
        assert result.feasibility <= 1e-12 * problem.manifold.scale(result.x)
        assert go.minimize(problem, method=name, max_evaluations=5, rng=0).nfev <= 8


def test_what_users_write_today_gets_near():
    """Smoothing ends at the same minimum; subgradients near it, without zeros."""
    problem = quadratic(go.Stiefel(12, 2), _symmetric(12, 1, True), 0.4)
    smooth = go.minimize(problem, method="smoothing", rng=0)
    assert smooth.success and smooth.sparsity > 0, smooth
    rounds = go.minimize(problem, rng=0, method="ralm")  # its multiplier spares a large rho
    assert rounds.success and 2 * rounds.evaluations < smooth.evaluations
    other = go.minimize(problem, smooth.x, method="manpg")
    assert other.fun == pytest.approx(smooth.fun, abs=1e-9)
    pytest.importorskip("torch")
    adam = go.minimize(problem, rng=0, method="subgradient-adam", max_iterations=5)
    assert adam.status is go.Status.ITERATION_LIMIT and adam.nit == 5
    assert adam.feasibility <= 1e-11
    assert adam.fun <= problem.objective(problem.manifold.random_point(0))


def test_why_rows_are_missing(monkeypatch):
    problem = quadratic(go.Stiefel(6, 2), _symmetric(6, 0), 1.0)
    plain = go.Problem(go.Stiefel(6, 2), lambda X: 0.0, lambda X: 0 * X)
    for name in ("smoothing", "subgradient-adam"):
        assert SOLVERS[name].why_not(plain) == "the problem has no nonsmooth term"
    monkeypatch.setattr("baselines.nonsmooth.installed", lambda _: False)
    assert "pip install 'genorth[torch]'" in SOLVERS["subgradient-adam"].why_not(problem)
    complex_ = quadratic(go.Stiefel(6, 2, dtype=complex), _symmetric(6, 0), 1.0)
    assert "real entries only" in SOLVERS["subgradient-adam"].why_not(complex_)
    with pytest.raises(ValueError, match=r"^problem: need constraints or a nonsmooth term"):
        go.minimize(plain, method="ralm")
