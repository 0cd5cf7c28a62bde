"""Reports of checks: figures at their bounds, what is shown, slopes, drawings."""

import numpy as np
import pytest

import genorth as go
from genorth.checks.report import Finding, Report, fit_slope


def test_a_figure_at_its_bound_passes():
    assert Finding("x", "x <= 1", 1.0, 1.0).passed and Finding("x", "x >= 1", 1.0, 1.0, True).passed
    assert not Finding("x", "x <= 1", 1.1, 1.0).passed
    assert not Finding("x", "x >= 1", 0.9, 1.0, True).passed


def test_a_report_shows_every_finding_and_counts_the_failures():
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


def test_the_title_names_manifold_and_shape():
    assert go.check_assumptions(go.Stiefel(5, 2), rng=0).title == "Assumption 1 for Stiefel(5, 2)"


def test_a_slope_is_that_of_the_shortest_steps_above_the_floor():
    t = np.logspace(-6, 0, 25)
    assert fit_slope(t, t**2 + 1e3 * t**5, 1e-30) == pytest.approx(2, abs=0.01)
    assert fit_slope(t[::-1], (t**2 + 1e3 * t**5)[::-1], 1e-30) == pytest.approx(2, abs=0.01)
    assert fit_slope(t, np.maximum(t**2, 1e-6), 1.1e-6) == pytest.approx(2, abs=0.01)
    assert fit_slope(t, t**2, 0.05) == pytest.approx(2)  # three points
    assert fit_slope(t, t**2, 0.5) == np.inf  # one
    errors = t**2
    errors[3] *= 1e-3  # two terms cancel there
    assert fit_slope(t, errors, 1e-30) == pytest.approx(2)
    assert fit_slope(t, t**3 + 1e-12 * np.cos(1e5 * t) ** 2, 1e-11) == pytest.approx(3, abs=0.1)
    assert fit_slope(t, 0 * t, 1e-30) == np.inf
    assert np.isnan(fit_slope(t, t * np.nan, 1e-30))


def test_report_reads_and_draws():
    report = go.check_retraction(go.Stiefel(5, 2), rng=0)
    assert str(report).startswith("retraction 'cayley' on Stiefel")
    with pytest.raises(KeyError, match="first order"):
        report["nonsense"]
    assert not Finding("x", "x = y", float("nan"), 1.0).passed
    assert not Report("t", (Finding("x", "x >= y", 0.5, 1.0, at_least=True),)).passed
    plt = pytest.importorskip("matplotlib.pyplot", reason="the extra 'report' is not installed")
    plt.switch_backend("agg")
    axis = report.plot()
    assert len(axis.lines) == 2 and "slope" in axis.get_legend().get_texts()[0].get_text()
    plt.close("all")
