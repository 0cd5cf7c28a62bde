"""The checks at their limits: small violations, large psi, large sizes, and what a report shows."""

from __future__ import annotations

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.checks import slopes
from genorth.checks.report import Finding, Report, fit_slope
from support.problems import smooth

B = gt.conditioned_symmetric(7, 10, 0)


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_every_family_keeps_assumption_1(family: str) -> None:
    report = go.check_assumptions(gt.Recipe(family, 6, 4, 10.0, 1).build(), rng=0)
    assert report.passed, str(report)


def test_rounding_that_psi_magnifies_is_no_violation() -> None:
    """psi(T) = R T R^-1 with a condition number of 1e6: figures of 1e-6 are rounding."""
    R = gt.conditioned_symmetric(3, 1e6, 0)
    report = go.check_assumptions(go.BilinearStiefel(gt.conditioned_symmetric(7, 10, 1), R), rng=0)
    assert report.passed, str(report)


@pytest.mark.parametrize("size", [1e-4, 1e-9, 1e-11])
def test_a_small_violation_is_found(size: float) -> None:
    E = np.triu(np.ones((7, 7)), 1)
    manifold = go.from_maps((7, 3), lambda X: (B + size * E) @ X, lambda T: T)
    assert not go.check_assumptions(manifold, rng=0)["2 phi self-adjoint"].passed


def test_homogeneous_is_not_linear() -> None:
    """phi(aX) = a phi(X) holds, phi(U + V) = phi(U) + phi(V) does not."""
    manifold = go.from_maps((7, 3), lambda X: X + X**3 / np.vdot(X, X), lambda T: T)
    assert not go.check_assumptions(manifold, rng=0)["2 phi linear"].passed


def test_a_point_that_is_not_on_M_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    manifold = go.Stiefel(7, 3)
    monkeypatch.setattr(go.GenOrthManifold, "random_point", lambda self, rng: 2 * np.eye(7, 3))
    assert not go.check_assumptions(manifold, rng=0)["M has points"].passed


def test_at_large_sizes_phi_is_not_formed_and_may_stay_undecided() -> None:
    def finding(d: np.ndarray) -> Finding:
        manifold = go.from_maps((400, 3), lambda X: d[:, None] * X, lambda T: T)
        return go.check_assumptions(manifold, rng=0)["2 phi one-to-one"]

    assert "shortest U" in finding(np.linspace(1, 2, 400)).note
    undecided = finding(np.geomspace(1, 1e-12, 400))
    assert undecided.passed and "not decided" in undecided.note


# ---------------------------------------------------------------------- findings and reports


def test_a_figure_at_its_bound_passes() -> None:
    assert Finding("x", "x <= 1", 1.0, 1.0).passed and Finding("x", "x >= 1", 1.0, 1.0, True).passed
    assert not Finding("x", "x <= 1", 1.1, 1.0).passed
    assert not Finding("x", "x >= 1", 0.9, 1.0, True).passed


def test_a_report_shows_every_finding_and_counts_the_failures() -> None:
    good = Finding("good", "a <= b", 0.5, 1.0, note="a note")
    bad = Finding("bad", "a >= b", 0.5, 1.0, at_least=True)
    report = Report("title", (good, bad, good))
    first, *lines = str(report).splitlines()
    assert first == "title: 1 of 3 failed" and len(lines) == 3
    words = [" ".join(line.split()) for line in lines]
    assert words[0] == "ok good 5.00e-01 <= 1.00e+00 a <= b (a note)"
    assert words[1] == "FAIL bad 5.00e-01 >= 1.00e+00 a >= b"
    assert report.failures == (bad,)
    assert str(Report("title", (good,))).startswith("title: passed")


def test_the_title_names_manifold_and_shape() -> None:
    assert go.check_assumptions(go.Stiefel(5, 2), rng=0).title == "Assumption 1 for Stiefel(5, 2)"


def test_a_slope_is_that_of_the_shortest_steps_above_the_floor() -> None:
    t = np.logspace(-6, 0, 25)
    assert fit_slope(t, t**2 + 1e3 * t**5, 1e-30) == pytest.approx(2, abs=0.01)
    assert fit_slope(t[::-1], (t**2 + 1e3 * t**5)[::-1], 1e-30) == pytest.approx(2, abs=0.01)
    assert fit_slope(t, np.maximum(t**2, 1e-6), 1.1e-6) == pytest.approx(2, abs=0.01)
    assert fit_slope(t, t**2, 0.05) == pytest.approx(2)  # three points
    assert fit_slope(t, t**2, 0.5) == np.inf  # one
    errors = t**2
    errors[3] *= 1e-3  # two terms cancel there
    assert fit_slope(t, errors, 1e-30) == pytest.approx(2)


# ---------------------------------------------------------------------- retractions


def test_the_order_of_a_retraction_is_reported() -> None:
    manifold = go.Stiefel(8, 3)
    assert go.check_retraction(manifold, "polar", rng=0)["order"].value == pytest.approx(2, abs=0.1)
    cayley = go.check_retraction(manifold, "cayley", rng=0)
    assert cayley["order"].value == pytest.approx(1, abs=0.1) and cayley["order"].passed


# ---------------------------------------------------------------------- derivatives


M = go.GeneralizedStiefel(gt.conditioned_symmetric(7, 5, 2), 3)
GOOD = smooth(M, 1)


def _problem(cost=None, gradient=None, hessian=None) -> go.Problem:
    return go.Problem(
        M, cost or GOOD._cost, gradient or GOOD._gradient, hessian or GOOD._hessian, name="f"
    )


@pytest.mark.parametrize("check", [go.check_gradient, go.check_hessian])
def test_derivatives_are_checked_at_the_point_given(check) -> None:
    X, seen = M.random_point(5), []

    def gradient(Y: np.ndarray) -> np.ndarray:
        seen.append(np.array(Y))
        return GOOD._gradient(Y)

    check(_problem(gradient=gradient), X, rng=0)
    np.testing.assert_array_equal(seen[0], X)


@pytest.mark.parametrize("check", [go.check_gradient, go.check_hessian])
def test_a_problem_is_needed(check) -> None:
    with pytest.raises(ValueError, match=r"^problem: "):
        check(M)


@pytest.mark.parametrize("bad", [np.ones((6, 3)), np.full((7, 3), np.nan)])
@pytest.mark.parametrize("check", [go.check_gradient, go.check_hessian])
def test_a_bad_point_is_refused(check, bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^X: "):
        check(GOOD, bad)


@pytest.mark.parametrize(
    ("check", "method", "wrong"),
    [
        (go.check_gradient, "gradient", lambda self, X, G: G),
        (go.check_hessian, "hessian", lambda self, X, G, H, Z: H),
    ],
)
def test_what_is_not_tangent_is_found(
    monkeypatch: pytest.MonkeyPatch, check, method, wrong
) -> None:
    assert check(GOOD, rng=0)["tangency"].passed
    monkeypatch.setattr(go.GenOrthManifold, method, wrong)
    assert not check(GOOD, rng=0)["tangency"].passed


def test_a_small_asymmetry_and_a_small_nonlinearity_of_the_hessian_are_found() -> None:
    def wrong(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return GOOD._hessian(X, Z) + 1e-8 * np.roll(Z, 1, axis=0) + 1e-8 * np.abs(Z)

    report = go.check_hessian(_problem(hessian=wrong), rng=0)
    assert not report["symmetry"].passed and not report["linearity"].passed, str(report)
    assert not report["Riemannian symmetry"].passed


@pytest.mark.parametrize("factor", [1e-10, 1e10])
def test_derivatives_of_a_scaled_cost_pass(factor: float) -> None:
    scaled = _problem(
        lambda X: factor * GOOD._cost(X),
        lambda X: factor * GOOD._gradient(X),
        lambda X, Z: factor * GOOD._hessian(X, Z),
    )
    for check in (go.check_gradient, go.check_hessian):
        report = check(scaled, rng=0)
        assert report.passed, str(report)


def test_steps_at_which_the_cost_is_not_finite_are_left_out() -> None:
    X = M.random_point(0)

    def cost(Y: np.ndarray) -> float:
        return GOOD._cost(Y) if np.linalg.norm(Y - X) < 0.1 else np.nan

    report = go.check_gradient(_problem(cost), X, rng=0)
    assert report.passed and len(report.curves[0].steps) < len(slopes._STEPS)
