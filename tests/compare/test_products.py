"""A comparison on a product of manifolds: records, tables, the report, and several processes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth import compare
from genorth.compare.runs.bench import _penalty, measured

pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")
PRODUCT = go.Product(C=go.Stiefel(6, 2), w=go.Euclidean(3))


def make(seed: int) -> go.Problem:
    """The nearest point; a start is another random point."""
    target = PRODUCT.outward(PRODUCT.blocks.random_ambient(seed + 100))

    def nearest(C: Any, w: Any) -> float:
        return float(np.sum((C - target.C) ** 2) + np.sum((w - target.w) ** 2)) / 2

    return go.Problem(
        PRODUCT, nearest, lambda C, w: (C - target.C, w - target.w), lambda C, w, dC, dw: (dC, dw)
    )


def by_hand(problem: go.Problem, x0: Any) -> Any:
    """The polar factor; returns a plain tuple, as a solver of one's own may."""
    G = problem.euclidean_gradient(x0)
    u, _, v = np.linalg.svd(x0.C - G.C, full_matrices=False)
    return u @ v, x0.w - G.w


@pytest.mark.parametrize("jobs", [1, 2])
def test_solvers_are_compared_on_a_product(tmp_path, jobs):
    solvers = {name: name for name in ("rtr", "rlbfgs", "odf-lbfgs")} | {"by hand": by_hand}
    how: dict[str, Any] = {"starts": 2, "out": tmp_path, "jobs": jobs, "progress": None}
    records = compare.run({"near": make}, solvers, **how)
    assert len(records) == 8 and all(r.success for r in records), [r.message for r in records]
    assert set(records.distinct("size")) == {"(6,2) x (3)"}
    for seed in (0, 1):
        values = [r.fun for r in records.where(seed=seed)]
        assert max(values) - min(values) <= 1e-8 * max(1.0, values[0])
    penalised = records.where(solver="odf-lbfgs")
    assert all(r.beta >= r.threshold for r in penalised)
    assert len(compare.run({"near": make}, solvers, **how)) == 8  # from the folder: same problem
    assert len(compare.load(tmp_path)) == 8


def test_the_report_of_a_product_has_its_size(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    records = compare.run({"near": make}, ["rtr", "rlbfgs"], progress=None)
    page = compare.report(records, tmp_path / "report.html").read_text("utf-8")
    assert "(6,2) x (3)" in page


def test_what_is_no_point_of_the_product_is_measured_as_none():
    problem = make(0)
    assert np.isfinite(measured(problem, PRODUCT.random_point(0)).cost)
    for wrong in ((np.eye(6),), np.zeros(4), None):
        assert np.isnan(measured(problem, wrong).cost)


def test_a_record_has_the_beta_that_is_closest_to_its_threshold():
    both = SimpleNamespace(beta=(1.0, 5.0, 0.5), threshold=(0.1, 4.9, 0.0))
    assert _penalty(both) == (5.0, 4.9)
    assert _penalty(SimpleNamespace(beta=(1.0, 5.0), threshold=None)) == (1.0, None)
