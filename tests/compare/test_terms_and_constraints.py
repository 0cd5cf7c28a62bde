"""Comparisons under further constraints, and with a nonsmooth term.

Three families agree, a success meets the conditions of optimality, others are refused.
"""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import baselines  # noqa: F401  registers slsqp, trust-constr and prox-landing
import genorth as go
from genorth import compare
from genorth.compare.runs.definition import fingerprint
from genorth.gallery import sparse

B = np.array([[3.0], [1.0], [1.0], [1.0], [2.0]])


def _cap(bound: float = 0.3) -> go.Problem:
    """-b^T x on the sphere with x_0 <= bound, which is active."""
    return go.Problem(
        go.Stiefel(5, 1),
        lambda X: -float(np.vdot(B, X)),
        lambda X: -B,
        lambda X, Z: 0 * Z,
        constraints=LinearConstraint(np.eye(1, 5), -np.inf, bound),
        name="cap",
    )


def _sparse(mu: float = 0.3) -> go.Problem:
    return sparse.sparse_pca(sparse.gene_data(60, 0, groups=2), 2, mu)


def _smooth(problem, x0, tol=1e-6):
    """The minimum of f, as if there were no term and no constraint."""
    return go.minimize(go.Problem(problem.manifold, problem.cost, problem.euclidean_gradient), x0).x


@attrs.frozen
class Kind:
    """A kind of problem: who takes it, who does not and why, and how the minimum of f fails."""

    make: Callable[..., go.Problem]
    take: tuple[str, ...]
    others: tuple[str, ...]
    why: str
    status: str
    said: str


KINDS = {
    "constraints": Kind(
        _cap,
        ("ralm", "odf-alm", "cdf-alm", "slsqp", "trust-constr"),
        ("rtr", "landing"),
        "takes no constraints besides",
        "NOT_FEASIBLE",
        "the constraints are violated by at most 0.45",
    ),
    "term": Kind(
        _sparse,
        ("manpg", "ralm", "odf-alm", "prox-landing"),
        ("rtr", "odf-lbfgs", "landing"),
        "nonsmooth term",
        "NOT_STATIONARY",
        "the Riemannian gradient norm is",
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest) -> tuple[Kind, compare.Records]:
    kind = KINDS[request.param]
    solvers: dict[str, Any] = {name: go.SOLVERS[name] for name in (*kind.take, *kind.others)}
    how: dict[str, Any] = {"starts": 2, "tolerances": 1e-6, "progress": None}
    return kind, compare.run(kind.make(), solvers | {"smooth": _smooth}, **how)


def test_three_families_find_the_same_minimum(made):
    kind, records = made
    assert {r.family for r in records if r.success} == {"Riemannian", "penalty", "infeasible"}
    for record in records.where(lambda each: each.solver in kind.take):
        assert record.success and record.certificate in ("minimum", ""), record.message
        assert record.fun == pytest.approx(records[0].fun, abs=1e-5)
        assert record.gradient_norm <= 2e-6
        if kind.make is _cap:
            assert record.violation <= 1e-6 and record.complementarity <= 1e-6
            assert record.constr_nfev > 0 and record.constr_njev > 0


def test_others_are_refused_with_the_reason(made):
    kind, records = made
    for record in records.where(lambda each: each.solver in kind.others):
        assert record.status == "UNSUPPORTED" and kind.why in record.message
        assert record.violation is None and record.constr_nfev == 0


def test_the_minimum_of_f_alone_is_no_success(made):
    kind, records = made
    for record in records.where(solver="smooth"):
        assert (record.success, record.status) == (False, kind.status)
        assert kind.said in record.message
        wrong = record.violation if kind.make is _cap else record.fun - records[0].fun
        assert wrong > 1e-3


def test_the_store_and_the_report_have_all_figures(made, tmp_path):
    kind, records = made
    compare.save(records, tmp_path, lines=10**6)
    for before, after in zip(records, compare.load(tmp_path), strict=True):
        assert repr(attrs.evolve(after, trace=before.trace)) == repr(before)
    page = compare.report(compare.load(tmp_path), tmp_path / "report.html").read_text("utf-8")
    assert all(name in page for name in kind.take) and kind.why in page


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_fingerprint_knows_them(kind):
    start = np.asarray(kind.make().manifold.random_point(0))
    same, other = (fingerprint(kind.make(*given), start) for given in ((), (0.4,)))
    assert fingerprint(kind.make(), start) == same != other
    free = go.Problem(kind.make().manifold, lambda X: 0.0, lambda X: 0 * X)
    assert not {"constraints", "term"} & fingerprint(free, start).keys()
