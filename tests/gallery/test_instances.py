"""Every instance of the gallery: derivatives, the start, and the truth by every family.

Those whose package is not installed skip; .ci/gallery runs all of them.
"""

import functools
import pickle

import numpy as np
import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth import gallery
from genorth.gallery import comparison
from genorth.solve.solver import OTHER, RIEMANNIAN

#: What solves all instances with default arguments: the default of go.minimize is the first.
METHODS = ("odf-lbfgs", "rlbfgs", "rtr", "landing-newton")
STARTS = ("practice", "random")
#: Why a random start is left out: docs/real-problems.md.
NOT_RANDOM = {
    "robust-pca-digits": "a centre far away holds penalty and landing methods",
}


@functools.cache
def _loaded(name: str) -> gallery.Instance:
    return gallery.load(name)


@pytest.fixture(params=gallery.names())
def instance(request: pytest.FixtureRequest) -> gallery.Instance:
    reason = gallery.why_not(request.param)
    if reason is not None:
        pytest.skip(reason)
    return _loaded(request.param)


@pytest.fixture
def simple(instance: gallery.Instance) -> gallery.Instance:
    if instance.several:
        pytest.skip("it has saddles and several minima, see test_sources.py")
    return instance


@pytest.fixture
def free(simple: gallery.Instance) -> gallery.Instance:
    if simple.problem.constraints is not None:
        pytest.skip("it has further constraints")
    return simple


def _solved(instance: gallery.Instance, result: go.Result) -> bool:
    error = instance.error(result.fun)
    return result.success and (error <= 1e-8 if instance.bound else abs(error) <= 1e-8)


def test_the_record_is_complete(instance):
    problem = instance.problem
    assert problem.has_gradient and problem.has_hessian and problem.name == instance.name
    assert instance.about.endswith(".") and instance.truth_by and instance.source
    assert np.isfinite(instance.truth)
    for solver in instance.solvers:
        assert solver.family in (OTHER, RIEMANNIAN)
        assert pickle.loads(pickle.dumps(solver)).name == solver.name


def test_the_start_is_on_the_manifold(instance):
    manifold = instance.problem.manifold
    scale = float(manifold.scale(instance.start))
    manifold._check(X=instance.start)
    assert float(manifold.feasibility(instance.start)) <= 1e-10 * scale


def test_the_derivatives_are_those_of_the_cost(instance):
    for report in (
        go.check_gradient(instance.problem, rng=0),
        go.check_hessian(instance.problem, rng=0),
    ):
        assert report.passed, report


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("method", METHODS)
def test_the_truth_is_reached_with_default_arguments(free, method, start):
    instance = free
    if start == "random" and instance.name in NOT_RANDOM:
        pytest.skip(NOT_RANDOM[instance.name])
    x0 = instance.start if start == "practice" else None
    result = go.minimize(instance.problem, x0, method=method, rng=1)
    assert _solved(instance, result), (result.message, instance.error(result.fun))


@pytest.mark.parametrize("method", comparison.CONSTRAINED[:3])
def test_the_truth_is_reached_under_constraints(instance, method):
    """From the start of practice, and from a random one where there is one minimum."""
    if instance.problem.constraints is None:
        pytest.skip("no further constraints")
    for x0 in (instance.start,) if instance.several else (instance.start, None):
        result = go.minimize(instance.problem, x0, method=method, rng=1, tol=1e-7)
        assert _solved(instance, result), (result.message, instance.error(result.fun))
        assert result.kkt.violation <= 1e-6 and result.kkt.complementarity <= 1e-6


def test_the_start_is_not_the_answer(instance):
    """A truth that the start meets already would test nothing, nor one that breaks constraints."""
    further = instance.problem.in_blocks.constraints
    manifold = instance.problem.manifold
    x0 = manifold.inward(instance.start) if hasattr(manifold, "inward") else instance.start
    if further is not None and further.violation(further.value(x0)) > 1e-6:
        return
    assert instance.error(instance.problem.cost(instance.start)) > 1e-6


@pytest.mark.parametrize("method", comparison.IN_METRIC)
def test_the_metric_leads_to_the_same_minimum(simple, method):
    instance = simple
    if instance.metric is None:
        pytest.skip("no metric")
    factor = comparison.gradient_factor(instance.problem, instance.metric)
    result = comparison._with_metric(
        instance.problem, instance.start, solver=method, metric=instance.metric, factor=factor
    )
    assert _solved(instance, result), (result.message, instance.error(result.fun))
    assert result.gradient_norm <= 2e-6


def test_the_solvers_of_the_domain_run(instance):
    """They count what they evaluate, and none is better than the truth, unless it is a bound."""
    if not instance.solvers:
        pytest.skip("the domain has no solver of its own")
    for solver in instance.solvers:
        how = {"certify": False, "max_time": 60.0 if instance.several else None}
        result = go.minimize(instance.problem, instance.start, method=solver, **how)
        assert result.njev > 0 and result.method == solver.name
        assert instance.several or instance.error(result.fun) >= -1e-8


def test_the_picture_is_drawn(instance):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    figure = comparison.picture(instance)
    assert (figure is None) == (instance.draw is None)
    if figure is not None:
        assert figure.axes[0].has_data()
        figure.canvas.draw()
