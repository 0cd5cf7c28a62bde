"""What a run says, how it is interrupted, and how its result reads."""

import io
import logging
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.notebook import html_table
from genorth.solve import progress as shown
from genorth.solve.result import Interrupted
from support.problems import smooth, trace

A = np.diag(np.arange(1.0, 9.0))
MANIFOLD = go.Stiefel(8, 2)
OURS = ("rgd", "rcg", "rlbfgs", "rtr", "odf-gd", "odf-cg", "odf-lbfgs", "odf-tr", "cdf-lbfgs")
BASELINES = ("landing", "alm", "slsqp", "rgd-paper", "cdf-cg-scipy", "pymanopt-cg")


def _problem() -> go.Problem:
    return trace(MANIFOLD, A, np.array([1.0, 2.0]))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("method", [*OURS, *BASELINES])
def test_every_solver_prints_each_iteration(method: str, capsys: Any) -> None:
    result = go.minimize(_problem(), method=method, rng=0, max_iterations=5, progress=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(result.trace)
    for name in ("iteration", "f = ", "|grad| = ", "|C| = ", " s"):
        assert all(name in line for line in lines)


def test_each_kth_iteration_and_the_last_are_printed(capsys: Any) -> None:
    go.minimize(_problem(), method="rgd", rng=0, tol=0, max_iterations=7, progress=3)
    lines = capsys.readouterr().err.splitlines()
    assert [int(line.split()[1]) for line in lines] == [0, 3, 6, 7]


def test_silence_is_the_default(capsys: Any) -> None:
    for progress in (None, False):
        go.minimize(_problem(), rng=0, progress=progress)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("rich", [True, False])
def test_true_draws_one_line(rich: bool, monkeypatch: Any) -> None:
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(shown, "installed", lambda module: rich)
    monkeypatch.setattr(shown, "_PERIOD", 0.0)
    result = go.minimize(_problem(), rng=0, progress=True)
    text = stream.getvalue()
    assert text.count("\r") == len(result.trace) and text.count("\n") == 1
    assert f"iteration {result.nit} " in text.splitlines()[-1].rpartition("\r")[2]


def test_a_logger_is_told(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="mine"):
        result = go.minimize(_problem(), rng=0, progress="mine")
    assert [record.name for record in caplog.records] == ["mine"] * len(result.trace)


def test_a_long_silent_run_in_a_terminal_says_once_how_to_see_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(shown, "_PATIENCE", 0.0)
    for stream, told in ((_Terminal(), 1), (io.StringIO(), 0)):
        monkeypatch.setattr(sys, "stderr", stream)
        go.minimize(_problem(), method="rgd", rng=0)
        assert stream.getvalue().count("progress=True") == told


def test_progress_and_the_callback_are_not_on_the_clock_and_change_nothing() -> None:
    quiet = go.minimize(_problem(), rng=0)
    spoken = go.minimize(_problem(), rng=0, progress="nobody listens")
    np.testing.assert_array_equal(quiet.x, spoken.x)
    assert quiet.evaluations == spoken.evaluations


@pytest.mark.parametrize("stop", [True, np.True_])
def test_a_callback_that_returns_true_stops_the_run(stop: Any) -> None:
    result = go.minimize(
        _problem(), method="rgd", rng=0, callback=lambda progress: progress.nit == 3 and stop
    )
    assert result.status is go.Status.CALLBACK and result.nit == 3


@pytest.mark.parametrize("method", [*OURS, *BASELINES, "auto"])
@pytest.mark.parametrize("metric", [None, np.linspace(1.0, 2.0, 8)])
def test_ctrl_c_carries_the_result(method: str, metric: Any) -> None:
    if metric is not None and not go.SOLVERS[method].takes("metric"):
        pytest.skip("it takes no metric")
    seen: list[float] = []

    def interrupt(progress: go.Progress) -> None:
        seen.append(progress.fun)
        if len(seen) == 3:
            raise KeyboardInterrupt

    options = {} if metric is None else {"metric": metric}
    with pytest.raises(KeyboardInterrupt) as caught:
        go.minimize(_problem(), method=method, rng=0, callback=interrupt, **options)
    result = caught.value.result  # type: ignore[attr-defined]
    assert result.status is go.Status.INTERRUPTED and not result.success
    assert result.method == method or method == "auto"
    assert result.feasibility < 1e-8 and result.x.shape == MANIFOLD.shape
    np.testing.assert_allclose(_problem().cost(result.x), result.fun, rtol=1e-10)
    assert str(caught.value) == result.message


def test_ctrl_c_inside_the_cost_returns_the_best_iterate() -> None:
    values: list[float] = []
    right = smooth(MANIFOLD, 0)

    def cost(X: Any) -> float:
        if len(values) == 12:
            raise KeyboardInterrupt
        values.append(right.evaluate_cost(X))
        return values[-1]

    problem = go.Problem(MANIFOLD, cost, right.evaluate_gradient)
    with pytest.raises(Interrupted) as caught:
        go.minimize(problem, method="rgd", rng=0, check=False)
    result = caught.value.result
    assert result.fun == min(result.trace.cost)
    assert pickle.loads(pickle.dumps(caught.value)).result.fun == result.fun


def test_a_result_reads_well_everywhere() -> None:
    result = go.minimize(_problem(), method="odf-lbfgs", rng=0)
    text = repr(result)
    assert max(map(len, text.splitlines())) <= 100
    for word in ("CONVERGED", "odf-lbfgs", "fun", "gradient_norm", "evaluations", "time", "beta"):
        assert word in text and word in result._repr_html_()
    theirs = result.to_scipy()
    assert theirs.success and theirs.status == 0 and theirs.nfev == result.nfev
    assert theirs.x is result.x and theirs.fun == result.fun and theirs.message == result.message
    failed = go.minimize(_problem(), method="rgd", rng=0, max_iterations=1).to_scipy()
    assert failed.status > 0 and not failed.success
    report = go.check_gradient(_problem(), rng=0)
    assert "<table>" in report._repr_html_() and "tangency" in report._repr_html_()


def test_a_plot_of_a_result_shows_its_trace(monkeypatch: Any) -> None:
    reason = "matplotlib is not installed: pip install 'genorth[report]'"
    pyplot = pytest.importorskip("matplotlib.pyplot", reason=reason)
    pyplot.switch_backend("Agg")
    first, second = (go.minimize(_problem(), method=name, rng=0) for name in ("rgd", "odf-lbfgs"))
    axes = first.plot(against="iterations")
    assert second.plot(axes, best=first.fun - 1.0) is axes
    for axis, name in zip(axes, ("cost", "gradient_norm", "feasibility"), strict=True):
        lowest = (min(*first.trace.cost, first.fun), first.fun - 1.0)
        for line, result, best in zip(axis.lines, (first, second), lowest, strict=True):
            values = np.array(getattr(result.trace, name)) - (best if name == "cost" else 0.0)
            seen = np.where(values > 0, values, np.nan)
            assert np.array_equal(line.get_ydata(), seen, equal_nan=True)
    assert np.array_equal(axes[0].lines[0].get_xdata(), range(len(first.trace)))
    assert np.array_equal(axes[0].lines[1].get_xdata(), second.trace.evaluations)
    for wrong in ({"against": "steps"}, {"axes": axes[:2]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            first.plot(**wrong)
    pyplot.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Result.plot needs matplotlib.*genorth\[report\]"):
        first.plot()


def test_what_a_notebook_shows_is_escaped() -> None:
    assert "<script>" not in html_table("<script>", [("<script>", 1)], ("<script>", "b"))


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"maxiter": 3}, "max_iterations"),
        ({"disp": True}, "progress"),
        ({"verbose": 2}, "progress"),
        ({"x_0": 1}, "x0"),
        ({"tolerence": 1}, "tol"),
        ({"max_iteration": 1}, "max_iterations"),
        ({"method": "rtr-fst"}, "rtr"),
        ({"method": "rlbgfs"}, "rlbfgs"),
        ({"method": "L-BFGS-B"}, "rlbfgs"),
        ({"method": "TrustRegions"}, "rtr"),
        ({"method": "rgd", "retraction": "caylay"}, "cayley"),
        ({"method": "rgd", "retraction": "qr"}, "polar"),
        ({"method": "pymanopt-cg", "maxiter": 3}, "max_iterations"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(arguments: dict[str, Any], meant: str) -> None:
    with pytest.raises(ValueError, match=rf"Did you mean '{meant}'\?$"):
        go.minimize(_problem(), **arguments)


def test_a_word_like_no_other_gets_none() -> None:
    with pytest.raises(ValueError, match=r"^method: need one of") as caught:
        go.minimize(_problem(), method="zzzzzzzz")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("method", [*OURS, "cdf-gd", "cdf-cg", "cdf-tr", "auto"])
@pytest.mark.parametrize(
    "manifold",
    [
        go.Stiefel(10, 3),
        go.SymplecticStiefel(8, 4),
        go.GeneralizedStiefel(np.geomspace(1, 100, 9), 3),
        go.HyperbolicStiefel(np.r_[np.ones(6), -np.ones(2)], 2),
    ],
    ids=repr,
)
def test_a_gradient_of_wrong_sign_ends_early(method: str, manifold: go.GenOrthManifold) -> None:
    for seed in range(3):
        right = smooth(manifold, seed)
        problem = go.Problem(
            manifold, right.evaluate_cost, lambda X, f=right: -f.evaluate_gradient(X)
        )
        result = go.minimize(problem, method=method, rng=seed, check=False)
        assert result.status is go.Status.STALLED and result.evaluations < 300
        assert "check_gradient" in result.message


@pytest.mark.parametrize("method", ["rgd", "rlbfgs"])
def test_a_cost_without_bound_has_a_status_of_its_own(method: str) -> None:
    """f(X) = -|X|^8 on the symplectic Stiefel manifold, which is not compact."""

    def both(X: Any) -> tuple[float, Any]:
        square = float(np.vdot(X, X))
        return -(square**4), -8 * square**3 * X

    problem = go.Problem(go.SymplecticStiefel(6, 2), cost_and_gradient=both)
    result = go.minimize(problem, method=method, rng=0)
    assert result.status is go.Status.UNBOUNDED and not result.success
    assert "without bound" in result.message


def _seen(estimate: shown.Estimate, norms: Any, tol: float = 1e-6) -> float:
    for k, norm in enumerate(norms):
        estimate.see(go.Progress(None, 0.0, k, k, norm, 0.0, 0.5 * k, tol))
    return estimate.seconds()


def test_the_end_is_estimated_from_the_fall_of_the_gradient() -> None:
    """A tenth in two seconds: from 1e-4 to 1e-6 four more."""
    exact = 10.0 ** (-np.arange(17) / 4)
    assert _seen(shown.Estimate(), exact) == pytest.approx(4.0, rel=1e-6)
    rough = exact * np.exp(0.3 * np.random.default_rng(0).standard_normal(17))
    assert 2.0 < _seen(shown.Estimate(), rough) < 8.0
    assert str(shown.Estimate()) == "no end in sight"


@pytest.mark.parametrize(
    "norms",
    [np.ones(30), np.geomspace(1, 10, 30), 2.0 + np.sin(np.arange(30)), np.geomspace(1, 0.1, 5)],
)
def test_no_end_is_claimed_where_none_is_in_sight(norms: Any) -> None:
    assert np.isnan(_seen(shown.Estimate(), norms))


def test_the_lines_carry_the_estimate(capsys: Any) -> None:
    go.minimize(_problem(), method="rgd", rng=0, progress=1)
    *lines, last = capsys.readouterr().err.splitlines()
    assert all(line.endswith(("no end in sight", "s left")) for line in lines)
    assert any(line.endswith("s left") for line in lines) and last.startswith("iteration")
