"""`minimize` goes on from saddles, from several starts, and from a balanced start."""

import numpy as np
import pytest

import genorth as go
from genorth.rounds import _starts
from genorth.testing.strategies import FAMILIES, Recipe
from support.problems import nearest, smooth, spd, trace
from support.stationary import spectrum, stationary

A = spd(12, 20, 1)
VALUES, VECTORS = np.linalg.eigh(A)
SADDLE = VECTORS[:, [0, 1, 5]]


def eigenproblem():
    return trace(go.Stiefel(12, 3), A)


@pytest.mark.parametrize("method", ["auto", "rgd", "rcg", "rlbfgs", "rtr", "odf-lbfgs", "cdf-tr"])
def test_a_run_leaves_a_saddle(method):
    problem = eigenproblem()
    result = go.minimize(problem, SADDLE, method=method)
    assert result.success and result.certificate.verdict == "minimum"
    assert result.fun == pytest.approx(VALUES[:3].sum(), rel=1e-9)
    assert "left a saddle of eigenvalue -" in result.message
    counts = problem.counts
    assert (result.nfev, result.njev, result.nhev) == (counts.nfev, counts.njev, counts.nhev)
    assert len(result.trace) >= result.nit + 1


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_on_every_family(family):
    """f falls below the planted saddle, or without bound."""
    M = Recipe(family, 6, 3, 4.0, 1).build()
    problem, x = stationary(M, spectrum(M.dim, 1, 10.0, np.random.default_rng(0)), 2)
    result = go.minimize(problem, x, max_iterations=30)
    assert result.fun < problem.cost(x)


def test_without_escapes_it_says_so():
    result = go.minimize(eigenproblem(), SADDLE, escapes=0)
    assert result.status is go.Status.SADDLE and not result.success
    assert result.certificate.verdict == "saddle"
    np.testing.assert_allclose(result.x, SADDLE, atol=1e-12)
    assert "x is a saddle" in result.message and "escapes" in result.message


def test_certify_false_costs_nothing():
    problem = eigenproblem()
    result = go.minimize(problem, SADDLE, certify=False)
    assert result.success and result.certificate is None
    assert problem.counts.evaluations == result.evaluations <= 2 and problem.counts.nhev == 0


def test_budgets_hold_for_certificates_too():
    for limit in (1, 3, 10, 20):
        problem = eigenproblem()
        result = go.minimize(problem, SADDLE, max_evaluations=limit, check=False)
        assert result.evaluations <= limit + 2


def test_a_metric_reaches_the_certificate():
    B = spd(8, 30, 2)
    problem = trace(go.GeneralizedStiefel(B, 2), A[:8, :8])
    start = np.asarray(go.minimize(problem, rng=0, metric="B", certify=False).x)
    result = go.minimize(problem, start, metric="B")
    assert result.certificate.verdict == "minimum" and result.certificate.zeros == 1


def test_several_starts_on_two_components():
    """The nearest rotation or reflection: the better one is found from a start in the other."""
    M = go.Orthogonal(3)
    rng = np.random.default_rng(0)
    B = rng.standard_normal((3, 3))
    problem = nearest(M, B)
    U, _, Vt = np.linalg.svd(B)
    best = U @ Vt
    wrong = best * np.array([-1.0, 1.0, 1.0])
    alone = go.minimize(problem, wrong)
    assert f"component {M.component(wrong)} of 2" in alone.message
    result = go.minimize(problem, wrong, starts=4, rng=0)
    np.testing.assert_allclose(result.x, best, atol=1e-5)
    assert [s.kind for s in result.starts] == ["given", "random", "random", "perturbed"]
    assert {s.component for s in result.starts} == {0, 1}
    assert result.fun == min(s.fun for s in result.starts) < alone.fun
    assert "starts found this point; the others ended at" in result.message
    assert "met 2 of 2 components" in result.message
    same = [s for s in result.starts if s.component == M.component(best)]
    assert all(s.minimum == same[0].minimum for s in same if abs(s.fun - result.fun) < 1e-9)


def test_a_random_start_is_in_the_other_component():
    problem = smooth(go.Orthogonal(3), 0)
    X = problem.manifold.random_point(0)
    for seed in range(10):
        (_, first), (kind, second) = _starts(problem, X, 2, np.random.default_rng(seed))
        assert kind == "random"
        assert problem.manifold.component(first) != problem.manifold.component(second)


def test_minima_are_compared_up_to_the_invariance():
    result = go.minimize(eigenproblem(), starts=3, rng=0)
    assert {s.minimum for s in result.starts} == {0} and "the same point" in result.message
    assert np.linalg.norm(result.starts[0].x - result.starts[1].x) > 1e-2
    weighted = trace(go.Stiefel(12, 3), A, np.array([3.0, 2.0, 1.0]))
    other = go.minimize(weighted, starts=6, rng=0)
    equal = [s for s in other.starts if s.minimum == other.starts[0].minimum]
    for s in equal:
        np.testing.assert_allclose(s.x, other.starts[0].x, atol=1e-2)
    assert len(equal) < 6  # the columns have signs


def test_starts_on_a_product_and_counts_of_all():
    M = go.Product(C=go.Stiefel(12, 2), w=go.Euclidean(2))
    problem = go.Problem(
        M, lambda C, w: float(np.vdot(C, A @ C) + w @ w) / 2, lambda C, w: (A @ C, w)
    )
    result = go.minimize(problem, starts=3, rng=0)
    assert result.success and len(result.starts) == 3 and result.x.w.shape == (2,)
    assert (result.nfev, result.njev) == (problem.counts.nfev, problem.counts.njev)


def test_starts_run_in_processes():
    pytest.importorskip("cloudpickle")
    here = go.minimize(eigenproblem(), starts=2, rng=0)
    there = go.minimize(eigenproblem(), starts=2, rng=0, jobs=2)
    assert there.fun == pytest.approx(here.fun) and len(there.starts) == 2


def symplectic_basis(n=24, p=4):
    """|S - V V^+ S|^2, which does not change where V becomes V T, T symplectic."""
    M = go.SymplecticStiefel(n, p)
    S = np.random.default_rng(0).standard_normal((n, 8)) * 0.7 ** np.arange(8)

    def both(V):
        P = M.phi(V)
        E = S - V @ (P.T @ S)
        return float(np.vdot(E, E)), -2 * (E @ (S.T @ P) + M.phi(S @ (E.T @ V)))

    U = np.linalg.svd(np.hstack([S[: n // 2], S[n // 2 :]]))[0][:, : p // 2]
    return go.Problem(M, cost_and_gradient=both), np.block([[U, 0 * U], [0 * U, U]])


def test_a_stretched_start_costs_no_more():
    problem, X = symplectic_basis()
    stretched = X * np.repeat([30.0, 1 / 30], 2)
    runs = [go.minimize(problem, x, tol=1e-5, certify=False) for x in (X, stretched)]
    assert all(run.success for run in runs)
    assert runs[1].evaluations <= 1.3 * runs[0].evaluations + 5
    plain = go.minimize(problem, stretched, tol=1e-5, certify=False, gauge=False)
    assert plain.evaluations > runs[1].evaluations
    assert runs[1].trace.cost[0] == pytest.approx(problem.cost(stretched), rel=1e-8)


def test_a_cost_that_is_not_invariant_keeps_its_start():
    M = go.SymplecticStiefel(8, 4)
    problem = smooth(M, 0)
    X = M.random_point(0) @ np.diag([9.0, 9.0, 1 / 9, 1 / 9])
    first = go.minimize(problem, X, max_iterations=1)
    assert first.trace.cost[0] == pytest.approx(problem.cost(X), rel=1e-8)
    with pytest.raises(
        ValueError, match=r"gauge: need f\(X T\) = f\(X\) .* as gauge=True says; got"
    ):
        go.minimize(problem, X, gauge=True)


@pytest.mark.parametrize(
    ("name", "value", "need"),
    [
        ("starts", 0, "an integer >= 1"),
        ("starts", 2.0, "an integer >= 1"),
        ("starts", True, "an integer >= 1"),
        ("jobs", 0, "an integer >= 1"),
        ("escapes", -1, "an integer >= 0"),
        ("certify", "yes", "True, False or 'auto'"),
        ("gauge", 1, "True, False or 'auto'"),
    ],
)
def test_bad_arguments(name, value, need):
    with pytest.raises(ValueError, match=f"{name}: need {need}; got"):
        go.minimize(eigenproblem(), **{name: value})
