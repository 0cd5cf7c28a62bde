"""Comparisons with a nonsmooth term: three families, the measure |Z|/t, refusals, the report."""

import numpy as np
import pytest

import baselines  # noqa: F401  registers prox-landing
import genorth as go
from genorth import compare
from genorth.compare.runs.definition import fingerprint
from genorth.gallery import sparse

TAKE = ("manpg", "ralm", "odf-alm", "prox-landing")


def _problem(mu: float = 0.3) -> go.Problem:
    return sparse.sparse_pca(sparse.gene_data(60, 0, groups=2), 2, mu)


def _dense(problem, x0, tol=1e-6):
    """The principal components, as if there were no term."""
    return go.minimize(go.Problem(problem.manifold, problem.cost, problem.euclidean_gradient), x0).x


@pytest.fixture(scope="module")
def records():
    solvers = {name: go.SOLVERS[name] for name in (*TAKE, "rtr", "odf-lbfgs", "landing")}
    return compare.run(_problem(), solvers | {"dense": _dense}, starts=2, tolerances=1e-6)


def test_three_families_find_the_same_minimum(records):
    assert {r.family for r in records if r.success} == {"Riemannian", "penalty", "infeasible"}
    for name in TAKE:
        for record in records.where(solver=name):
            assert record.success, record.message
            assert record.fun == pytest.approx(records[0].fun, abs=1e-8)
            assert record.gradient_norm <= 2e-6


def test_others_are_refused_with_the_reason(records):
    for name in ("rtr", "odf-lbfgs", "landing"):
        for record in records.where(solver=name):
            assert record.status == "UNSUPPORTED" and "nonsmooth term" in record.message


def test_a_point_is_judged_by_the_generalised_gradient(records):
    """The dense components are stationary for f, but not for f + r."""
    for record in records.where(solver="dense"):
        assert not record.success and record.status == "NOT_STATIONARY"
        assert record.gradient_norm > 1e-2
        assert record.fun > records[0].fun + 1e-3


def test_tables_profiles_and_the_report_show_it(records, tmp_path):
    compare.save(records, tmp_path)
    loaded = compare.load(tmp_path)
    for name in TAKE:
        pairs = zip(loaded.where(solver=name), records.where(solver=name), strict=True)
        assert all(a.gradient_norm == b.gradient_norm for a, b in pairs)
    path = tmp_path / "report.html"
    compare.report(loaded, path)
    page = path.read_text("utf-8")
    assert all(name in page for name in TAKE) and "nonsmooth term" in page


def test_the_fingerprint_knows_the_term():
    start = np.asarray(_problem().manifold.random_point(0))
    assert fingerprint(_problem(), start) == fingerprint(_problem(), start)
    assert fingerprint(_problem(), start) != fingerprint(_problem(0.4), start)
