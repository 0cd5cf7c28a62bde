"""x in F is part of "x is on M": quaternionic matrices, and a cost that is not quaternionic."""

import attrs
import numpy as np
import pytest

import genorth as go
from genorth.problem.measure import Measure
from support.problems import trace
from support.unusual_manifolds import quaternionic

N, P = 6, 2
#: What other packages' line searches reach from rounding in the cost, times the largest curvature.
REACH = {"pymanopt-sd": 1e-5, "pymanopt-cg": 1e-5, "trust-constr": 1e-6}


def trace_problem(seed):
    """Re tr(X^T H X)/2 with H positive definite and not quaternionic, and its minimum over M.

    The minimum is that of the quaternionic part of H. Off F, G - X Theta grows with Theta > 0.
    """
    M, rng = quaternionic(N, P), np.random.default_rng(seed)
    H = rng.standard_normal((2 * N, 2 * N)) + 1j * rng.standard_normal((2 * N, 2 * N))
    H = H + H.conj().T + 50 * np.eye(2 * N)
    J = np.kron(np.eye(N), np.array([[0.0, 1.0], [-1.0, 0.0]]))
    least = float(np.sum(np.linalg.eigvalsh((H + J @ H.conj() @ J.T) / 2)[: 2 * P])) / 2
    return trace(M, H / 2), least


def off(M, X):
    return np.linalg.norm(X - M.ambient(X)) / np.linalg.norm(X)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", list(go.SOLVERS))
def test_no_solver_leaves_F(name, seed):
    problem, least = trace_problem(seed)
    M, solver = problem.manifold, go.SOLVERS[name]
    if (why := solver.why_not(problem)) is not None:
        pytest.skip(why)
    tol = REACH.get(name, 1e-9)
    found = go.minimize(problem, M.random_point(seed), method=name, tol=tol, max_time=20)
    assert found.success, found
    assert off(M, found.x) <= 1e-12
    assert found.outside == pytest.approx(off(M, found.x) * np.linalg.norm(found.x), abs=1e-15)
    assert found.fun >= least - max(1e-9, tol) * abs(least)


@pytest.mark.parametrize("name", ["rgd", "rtr", "odf-lbfgs"])
def test_iterates_stay_in_F(name):
    problem, _ = trace_problem(2)
    found = go.minimize(problem, method=name, rng=0, tol=1e-9, keep_points=True)
    assert max(off(problem.manifold, X) for X in found.trace.points) <= 1e-14


def test_a_point_off_F_is_no_success():
    problem, _ = trace_problem(3)
    M = problem.manifold
    X = M.random_point(0)
    phase = np.exp(1e-9j)  # X^T X = I as before, but no quaternionic matrix
    at = Measure.at(problem, X * phase)
    assert M.feasibility(X * phase) <= 1e-13
    assert at.outside == pytest.approx(1e-9 * np.linalg.norm(X), rel=1e-3)
    assert Measure.at(problem, X).feasible(1e-12)
    assert not at.feasible(1e-12)
    assert at.feasible(1e-8)


def test_the_result_says_how_far_off_F_it_is():
    problem, _ = trace_problem(4)
    found = go.minimize(problem, method="rgd", rng=0)
    assert "outside" not in repr(attrs.evolve(found, outside=0.0))
    assert "1.5e-05 (the distance from F)" in repr(attrs.evolve(found, outside=1.5e-5))


def test_restoring_ends_in_F():
    M = quaternionic(N, P)
    X = M.random_point(0) + 0.01 * np.random.default_rng(1).standard_normal((2 * N, 2 * P))
    assert off(M, M.restore(X)) <= 1e-15


def test_a_comparison_records_a_point_off_F_as_a_failure():
    from genorth import compare

    def strays(problem, x0=None, **common):
        found = go.SOLVERS["rlbfgs"](problem, x0, **common)
        return attrs.evolve(found, x=found.x * np.exp(1e-7j))

    problem, _ = trace_problem(5)
    lying = go.Solver(name="strays", family="Riemannian", run=strays, algorithm="lbfgs")
    record = compare.run([problem], [lying], tolerances=1e-3, progress=None)[0]
    assert not record.success
    assert record.status == "NOT_FEASIBLE"
    assert "off F" in record.message
