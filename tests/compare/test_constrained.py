"""Comparisons under further constraints: three families, success by the conditions, refusals."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import baselines  # noqa: F401  registers slsqp and trust-constr
import genorth as go
from genorth import compare
from genorth.compare.runs.definition import fingerprint

B = np.array([[3.0], [1.0], [1.0], [1.0], [2.0]])
CONSTRAINED = ("ralm", "odf-alm", "cdf-alm", "slsqp", "trust-constr")


def _problem(bound: float = 0.3) -> go.Problem:
    """-b^T x on the sphere with x_0 <= bound, which is active."""
    return go.Problem(
        go.Stiefel(5, 1),
        lambda X: -float(np.vdot(B, X)),
        lambda X: -B,
        lambda X, Z: 0 * Z,
        constraints=LinearConstraint(np.eye(1, 5), -np.inf, bound),
        name="cap",
    )


def _cheat(problem, x0, tol=1e-6):
    """Ignores the constraint."""
    return B / np.linalg.norm(B)


@pytest.fixture(scope="module")
def records():
    solvers = {name: go.SOLVERS[name] for name in (*CONSTRAINED, "rtr", "landing")}
    return compare.run(_problem(), solvers | {"cheat": _cheat}, starts=2, tolerances=1e-6)


def test_all_that_take_constraints_find_the_same_minimum(records):
    for name in CONSTRAINED:
        for record in records.where(solver=name):
            assert record.success, record.message
            assert record.fun == pytest.approx(records[0].fun, abs=1e-5)
            assert record.violation <= 1e-6 and record.complementarity <= 1e-6
            assert record.constr_nfev > 0 and record.constr_njev > 0
            assert record.certificate == "minimum"
    assert {r.family for r in records if r.success} == {"Riemannian", "penalty", "infeasible"}


def test_others_are_refused_with_the_reason(records):
    for name in ("rtr", "landing"):
        for record in records.where(solver=name):
            assert record.status == "UNSUPPORTED"
            assert "takes no constraints besides" in record.message and "'ralm'" in record.message
            assert record.violation is None and record.constr_nfev == 0


def test_a_point_that_violates_a_constraint_is_no_success(records):
    for record in records.where(solver="cheat"):
        assert not record.success and record.status == "NOT_FEASIBLE"
        assert "the constraints are violated by at most 0.45" in record.message
        assert record.violation == pytest.approx(0.45)


def test_the_figures_survive_the_store(records, tmp_path):
    compare.save(records, tmp_path)
    for before, after in zip(records, compare.load(tmp_path), strict=True):
        assert after.constr_nfev == before.constr_nfev and after.constr_njev == before.constr_njev
        assert after.violation == before.violation


def test_the_fingerprint_knows_the_constraints():
    start = go.Stiefel(5, 1).random_point(0)
    same, other = fingerprint(_problem(), start), fingerprint(_problem(0.4), start)
    assert same == fingerprint(_problem(), start) and same != other
    free = go.Problem(go.Stiefel(5, 1), lambda X: 0.0, lambda X: 0 * X)
    assert "constraints" not in fingerprint(free, start)
    bounds = go.Problem(
        go.Stiefel(5, 1), lambda X: 0.0, lambda X: 0 * X, constraints=Bounds(0, np.inf)
    )
    assert "constraints" in fingerprint(bounds, start)
