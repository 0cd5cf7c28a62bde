"""The automatic beta of cdf: the first one, and how it is raised."""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.penalty.base import Local
from genorth.problem.measure import Measure
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from support.problems import smooth, spd, trace


def _watched(problem: go.Problem) -> go.ConstraintDissolving:
    """h at the beginning of a run with beta="auto"."""
    h = go.ConstraintDissolving(problem, 1.0)
    h.watched(Monitor(problem), auto=True)
    return h


@pytest.mark.parametrize("with_hessian", [True, False])
@pytest.mark.parametrize("family", ["stiefel", "symplectic", "bilinear-symmetric", "tensor-dct"])
def test_first_beta_is_its_formula(family, with_hessian):
    """w beta*(X) + c |X|^2/(16 p), c = |<d, hess f(X)[d]>|, d = grad f/|grad f|."""
    manifold = gt.Recipe(family, 6, 4, 4.0, 3).build()
    X, full = manifold.random_point(1), smooth(manifold, 2)
    problem = full if with_hessian else go.Problem(manifold, full.cost, full.euclidean_gradient)
    G = full.euclidean_gradient(X)
    gradient = manifold.gradient(X, G)
    d = gradient / np.linalg.norm(gradient)
    curvature = abs(np.vdot(d, manifold.hessian(X, G, full.euclidean_hessian(X, d), d)))
    weight = 1.2 - 0.8 * np.linalg.norm(gradient) / np.linalg.norm(G)
    columns = X.size / manifold.shape[-2]
    expected = weight * go.exactness_threshold(full, X) + curvature * np.linalg.norm(X) ** 2 / (
        16 * columns
    )
    # Without a Hessian product the curvature is a difference quotient, to about six digits.
    beta, start = _watched(problem).first(X, 2 * X)
    assert beta == pytest.approx(expected, rel=1e-10 if with_hessian else 1e-4)
    np.testing.assert_array_equal(start, 2 * X)


def test_first_beta_is_positive_and_finite():
    """One where the estimate says nothing: no gradient, no curvature, NaN, overflow."""
    manifold = go.Stiefel(5, 2)
    X = manifold.random_point(0)
    for G in (0 * X, 0 * X + np.nan, 1e300 * X):
        problem = go.Problem(manifold, lambda Y: 0.0, lambda Y, G=G: G)
        with np.errstate(over="ignore", invalid="ignore"):
            beta, _ = _watched(problem).first(X, X)
        assert 0 < beta < np.inf


@pytest.mark.parametrize("sign", [1, -1])
def test_curvature_is_a_size(sign):
    problem = trace(go.Stiefel(6, 2), sign * spd(6, 10, 0), weights=np.array([1.0, 2.0]))
    assert Local(problem, problem.manifold.random_point(1)).curvature() > 0


@pytest.mark.parametrize(("gradient", "hessian"), [(0.0, 1.0), (1.0, np.inf)])
def test_without_a_gradient_or_a_finite_hessian_there_is_no_curvature(gradient, hessian):
    manifold = go.Stiefel(5, 2)
    B = manifold.random_ambient(1)
    problem = go.Problem(
        manifold, lambda Y: 0.0, lambda Y: gradient * B, lambda Y, Z: np.full((5, 2), hessian)
    )
    with np.errstate(invalid="ignore" if gradient else "warn"):
        assert Local(problem, manifold.random_point(0)).curvature() == 0.0


def test_a_flat_point_ends_a_round_away_from_M_only() -> None:
    """Where |grad h| is a thousandth of beta |C| and |C| > 0.1; and at the limit of |C| always."""
    manifold = go.Stiefel(6, 2)
    h, x = _watched(smooth(manifold, 0)), manifold.random_point(0)
    h.begin(h.at(x))
    size = float(np.sqrt(2))  # |I|, |C(s x)| = |s^2 - 1| |I|
    near, away = (h.at(np.sqrt(1 + C / size) * x) for C in (0.09, 0.5))
    h.watch(near, 0.0)
    h.watch(away, 0.6e-3)
    with pytest.raises(Stop) as stop:
        h.watch(away, 0.4e-3)
    assert stop.value.status is go.Status.NOT_STATIONARY
    with pytest.raises(Stop) as stop:
        h.watch(h.at(np.sqrt(1 + 0.96 / size) * x), 1.0)
    assert stop.value.status is go.Status.DIVERGED


def test_beta_is_raised_from_the_fifth_loss_on():
    """The estimate at the restored point four times, then four times as large each time."""
    problem, X = smooth(go.Stiefel(6, 2), 2), go.Stiefel(6, 2).random_point(1)
    h = _watched(problem)
    first, _ = h.first(X, X)
    end = End(Measure(X, 0.0, X, 1.0, 0.0, 1.0), 0.0, True)
    betas = [h.next(0.0, go.Status.DIVERGED, end) for _ in range(6)]
    np.testing.assert_allclose(betas, first * np.array([1, 1, 1, 1, 4, 16]), rtol=1e-12)
    assert h.next(0.0, go.Status.CONVERGED, end) == 4.0
    assert h.next(10.0, go.Status.CONVERGED, end) == 15.0


def test_a_stationary_point_that_is_a_saddle_of_h_raises_beta(monkeypatch):
    """At the minimum of f on M grad h = 0; below beta* (F8) the run goes on with 1.5 beta*."""
    monkeypatch.setattr(go.ConstraintDissolving, "first", lambda h, x, X: (1e-6, X))
    A = spd(8, 10, 0)
    problem, X = trace(go.Stiefel(8, 3), A), np.linalg.eigh(A)[1][:, :3]
    result = go.minimize(problem, X, method="cdf-lbfgs")
    assert result.success and result.beta_raised == 1
    assert result.beta == pytest.approx(1.5 * go.exactness_threshold(problem, X), rel=1e-9)
