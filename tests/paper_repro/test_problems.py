"""The problems of the paper: derivatives, generators as stated, solutions by both families."""

import re

import numpy as np
import pytest
import scipy.linalg

from baselines import SOLVERS
from paper_repro.problems import PROBLEMS, ExtrinsicMean, JointDiagonalisation, Matching

INSTANCES = {
    "matching": Matching.generate(12, 4, 0),
    "matching as printed": Matching.generate(12, 4, 0, printed=True),
    "mean": ExtrinsicMean.generate(20, 4, 0, samples=40),
    "mean as printed": ExtrinsicMean.generate(20, 4, 0, samples=40, printed=True),
    "diagonalisation": JointDiagonalisation.generate(8, 3, 4, 5, 0),
    "diagonalisation with noise": JointDiagonalisation.generate(8, 3, 4, 5, 0, noise=0.5),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_derivatives_of_the_papers_problems(name):
    """Central differences of f and of its gradient, off the manifold; f has degree four at most."""
    instance = INSTANCES[name]
    problem, rng, t = instance.problem(), np.random.default_rng(1), 1e-5
    X, Z = problem.manifold.random_ambient(rng), problem.manifold.random_ambient(rng)
    _, G = problem.cost_and_gradient(X)
    (up, up_gradient), (down, down_gradient) = (problem.evaluate(X + d * Z) for d in (t, -t))
    size = np.linalg.norm(G) * np.linalg.norm(Z)
    assert (up - down) / (2 * t) == pytest.approx(np.vdot(G, Z), rel=1e-6, abs=1e-6 * size)
    H = problem.euclidean_hessian(X, Z)
    assert np.linalg.norm((up_gradient - down_gradient) / (2 * t) - H) <= 1e-6 * np.linalg.norm(H)


@pytest.mark.statement("problem:matching")
@pytest.mark.parametrize("printed", [False, True])
def test_matching_is_what_the_paper_says(printed):
    """Eigenvalues a^(1-i) + b (divided by n), mu_j = 0.1 exp(-j/(p/2)), f = tr(X^T A X N)."""
    instance = Matching.generate(30, 6, 5, printed=printed)
    assert np.array_equal(instance.A, instance.A.T)
    values = np.sort(np.linalg.eigvalsh(instance.A))[::-1] * (1 if printed else 30)
    a, b = (values[0] - values[1]) / (values[1] - values[2]), values[0] - 1
    assert a > 1 and 0 < b < 2
    assert np.allclose(values, a ** -np.arange(30.0) + b, rtol=1e-8)
    assert np.allclose(instance.mu, 0.1 * np.exp(-np.arange(1, 7) / 3))
    X = instance.start(0)
    f = np.trace(X.T @ instance.A @ X @ np.diag(instance.mu))
    assert instance.cost_and_gradient(X)[0] == pytest.approx(f)
    assert instance.manifold.feasibility(X) <= 1e-12 * instance.manifold.scale(X)


def test_the_mean_is_what_the_paper_says():
    instance = ExtrinsicMean.generate(20, 4, 0, samples=200)
    assert instance.manifold.left.M.ndim == 1  # a diagonal stays one
    assert np.array_equal(instance.B, [*range(1, 13), *range(-8, 0)])
    assert np.array_equal(instance.signs, [1, 1, 1, -1])
    Y0 = instance.center
    assert instance.manifold.feasibility(Y0) <= 1e-12 * instance.manifold.scale(Y0)
    assert 0 < np.linalg.norm(instance.mean - Y0) < 0.2 * np.linalg.norm(Y0)  # around Y0
    printed = ExtrinsicMean.generate(20, 4, 0, samples=200, printed=True)
    assert np.array_equal(printed.signs, np.ones(4))
    assert np.linalg.norm(printed.mean) < 0.3 * np.linalg.norm(printed.center)  # averages to zero


@pytest.mark.statement("tenpr1")
def test_joint_diagonalisation_is_what_the_paper_says():
    """f is the sum of the squares off the diagonals of X^T * A_i * X, in both domains."""
    instance = JointDiagonalisation.generate(6, 2, 4, 3, 0, noise=0.5)
    M = instance.manifold
    A = np.stack([instance.sample(i) for i in range(3)], axis=1)
    assert np.array_equal(A, A.mT)
    X = instance.start(1)
    total = 0.0
    for i in range(3):
        tensor = M.to_tensor(X.mT @ A[:, i] @ X)  # p x p x l
        total += float((tensor**2).sum() - (np.einsum("iik->ik", tensor) ** 2).sum())
    assert instance.cost_and_gradient(X)[0] == pytest.approx(total)
    exact = JointDiagonalisation.generate(6, 2, 4, 3, 0)
    blocks = np.stack([exact.sample(i) for i in range(3)], axis=1)
    ranges = [scipy.linalg.orth(np.hstack(list(blocks[k]))) for k in range(4)]  # of all A_i
    assert np.stack(ranges).shape == (4, 6, 2)
    noise = A - blocks
    assert np.allclose(np.sqrt((noise**2).sum(axis=(0, 2, 3))), 0.5)  # noise E_i/|E_i|


@pytest.mark.parametrize("name", ["matching", "mean", "diagonalisation"])
def test_the_papers_problems_are_solved_to_1e_9(name):
    """Both families, to the same minimum; with noise = 0 the joint diagonalisation ends at zero."""
    problem, start = INSTANCES[name].problem(), INSTANCES[name].start(2)
    results = [SOLVERS[solver](problem, start, tol=1e-9) for solver in ("rtr", "rcg", "cdf-lbfgs")]
    assert all(result.success for result in results)
    if name == "diagonalisation":
        assert max(result.fun for result in results) <= 1e-13
    else:  # f - min f is of the size of |grad f|^2 over the smallest curvature
        assert np.ptp([result.fun for result in results]) <= 1e-10 * abs(results[0].fun)


@pytest.mark.parametrize("printed", [False, True], ids=["corrected", "printed"])
@pytest.mark.parametrize("center", ["random", "axes"])
def test_center_samples_and_start_of_the_mean_are_feasible(center, printed):
    """X_i = Y0 diag(W1, W2) keeps X^T B X = J; the mean is that of all samples."""
    instance = ExtrinsicMean.generate(
        30, 5, 1, columns=3, center=center, samples=12, keep=12, printed=printed
    )
    M = instance.manifold
    for X in (instance.center, instance.another, instance.start(2), *instance.samples):
        assert M.feasibility(X) <= 1e-13 * M.scale(X)
    assert np.allclose(instance.samples.mean(axis=0), instance.mean)
    assert not any(np.allclose(instance.another, X) for X in instance.samples)
    cut = np.array([[1.0] * 3 + [0.0] * 2])  # W is block diagonal: so are the first columns
    for X in instance.samples:
        W = np.linalg.lstsq(instance.center * cut, X * cut, rcond=None)[0]
        assert np.allclose(instance.center * cut @ W, X * cut)


def test_center_of_unit_vectors_does_not_depend_on_n():
    """|Y0|^2 = 1 + 1/2 + ... + 1/p_k + 1 + ... + 1/p_m, as the paper's f does not depend on n."""
    for n in (20, 200):
        Y0 = ExtrinsicMean.generate(n, 5, 0, columns=3, center="axes", samples=1).center
        assert np.linalg.norm(Y0) ** 2 == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 + 1 / 2)


def test_solution_among_the_rows_of_the_samples_is_a_saddle():
    """From one more sample every row outside of Y0 stays zero; f has lower minima."""
    instance = ExtrinsicMean.generate(60, 6, 0, columns=4, center="axes", spread=0.88, samples=200)
    M, problem = instance.manifold, instance.problem()
    outside = np.flatnonzero(~instance.center.any(axis=1))
    for solver, options in (("rtr", {}), ("cdf-lbfgs", {"beta": PROBLEMS["extrinsic mean"].beta})):
        X = SOLVERS[solver](problem, instance.another, tol=1e-9, **options).x
        assert not X[outside].any()
    value, G = problem.evaluate(X)
    curvature = []
    for row in outside:
        Z = np.zeros(X.shape)
        Z[row, 0] = 1.0
        Z = M.project(X, Z)
        curvature.append(np.vdot(Z, M.hessian(X, G, instance.hessian(X, Z), Z)) / np.vdot(Z, Z))
    assert min(curvature) < -1
    assert SOLVERS["rtr"](problem, instance.start(1), tol=1e-8).fun < 0.6 * value


@pytest.mark.statement("R8")
def test_zero_is_reachable_as_the_count_says():
    """R8: with noise there are enough unknowns at N = 10 and in Table 6, not at N = 50 or 100."""
    reachable = JointDiagonalisation.zero_is_reachable
    assert [reachable(100, 5, 10, N) for N in (10, 50, 100)] == [True, False, False]
    assert [reachable(n, 5, 5, 30) for n in (100, 300, 500)] == [True] * 3
    assert [reachable(100, p, 5, 30) for p in (5, 10, 30)] == [True, False, False]
    for N, zero in ((2, True), (9, False)):
        assert reachable(8, 3, 2, N) == zero
        instance = JointDiagonalisation.generate(8, 3, 2, N, 0, noise=0.5)
        result = SOLVERS["rtr"](instance.problem(), instance.start(1), tol=1e-9)
        assert (result.fun < 1e-12) == zero


@pytest.mark.statement("R9")
def test_value_of_the_printed_matching_problem_is_out_of_reach():
    """R9: f >= 2 b sum_j (mu_j mu_(j+p/2))^(1/2) = 0.346 b for p = 10; the paper prints 6.29e-3.

    As x_j^T J x_(j+p/2) = 1 gives |x_j| |x_(j+p/2)| >= 1, and A >= b.
    """
    mu = 0.1 * np.exp(-np.arange(1, 11) / 5)
    bound = 2 * np.sqrt(mu[:5] * mu[5:]).sum()
    assert bound == pytest.approx(0.346, abs=5e-4)
    for seed in range(3):
        b = np.random.default_rng(seed).uniform([1, 0], 2)[1]
        printed, corrected = (
            Matching.generate(100, 10, seed, printed=flag) for flag in (True, False)
        )
        assert np.allclose(printed.A, 100 * corrected.A)
        result = SOLVERS["rtr"](corrected.problem(), corrected.start(1), tol=1e-5)
        assert bound * b <= 100 * result.fun <= bound * (b + 1)


def test_value_of_table_2_at_p_100_is_out_of_reach_even_divided_by_n():
    """A <= (1 + b) I/n, b < 2, gives min f <= 3 min |X N^(1/2)|^2/n = 1.14e-2.

    The paper prints 1.56e-2.
    """
    mu = Matching.generate(100, 100, 0).mu
    # at pairs of lengths (mu_(j+p/2)/mu_j)^(1/4) and its inverse
    least = 2 * np.sqrt(mu[:50] * mu[50:]).sum()
    assert 3 * least / 1000 == pytest.approx(1.14e-2, rel=5e-3) and 3 * least / 1000 < 1.56e-2
    lengths = (mu[50:] / mu[:50]) ** 0.25
    X = np.diag(np.concatenate([lengths, 1 / lengths]))
    instance = Matching(np.eye(100), mu)
    assert instance.manifold.feasibility(X) < 1e-13
    assert instance.cost_and_gradient(X)[0] == pytest.approx(least)


@pytest.mark.parametrize(
    ("make", "sizes", "more", "named"),
    [
        (Matching, (11, 4), {}, "n even"),
        (Matching, (4, 6), {}, "p <= n = 4"),
        (ExtrinsicMean, (4, 6), {}, "p <= n = 4"),
        (ExtrinsicMean, (10, 8), {"positive": 3}, "p_k"),
        (ExtrinsicMean, (10, 8), {"columns": 8, "printed": True}, "p_k <= k = 6"),
        (ExtrinsicMean, (10, 8), {"columns": 6, "printed": True}, "at least 8 positive"),
        (ExtrinsicMean, (10, 2), {"center": "here"}, "'random', 'axes'"),
        (JointDiagonalisation, (4, 6, 2, 3), {}, "p <= n = 4"),
        (JointDiagonalisation, (6, 2, 2, 0), {}, "N: need a positive integer"),
        (JointDiagonalisation, (6, 2, 2, 3), {"noise": -1.0}, "noise >= 0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(make, sizes, more, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        make.generate(*sizes, **more)
