"""The problems of the paper: derivatives, generators as stated, and solutions to 1e-9 by both families."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from baselines import SOLVERS
from paper_repro.problems import ExtrinsicMean, JointDiagonalisation, Matching

INSTANCES = {
    "matching": Matching.generate(12, 4, 0),
    "matching as printed": Matching.generate(12, 4, 0, printed=True),
    "mean": ExtrinsicMean.generate(20, 4, 0, samples=40),
    "mean as printed": ExtrinsicMean.generate(20, 4, 0, samples=40, printed=True),
    "diagonalisation": JointDiagonalisation.generate(8, 3, 4, 5, 0),
    "diagonalisation with noise": JointDiagonalisation.generate(8, 3, 4, 5, 0, noise=0.5),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_derivatives_of_the_papers_problems(name: str) -> None:
    """Central differences of f and of its gradient, off the manifold; f has degree four at most."""
    instance = INSTANCES[name]
    problem, rng, t = instance.problem(), np.random.default_rng(1), 1e-5
    X, Z = problem.manifold.random_ambient(rng), problem.manifold.random_ambient(rng)
    _, G = problem.cost_and_gradient(X)
    (up, up_gradient), (down, down_gradient) = problem.evaluate(X + t * Z), problem.evaluate(X - t * Z)
    slope = float(np.vdot(G, Z))
    assert (up - down) / (2 * t) == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.linalg.norm(G) * np.linalg.norm(Z))
    H = problem.euclidean_hessian(X, Z)
    assert np.linalg.norm((up_gradient - down_gradient) / (2 * t) - H) <= 1e-6 * np.linalg.norm(H)


def test_matching_is_what_the_paper_says() -> None:
    """Eigenvalues a^(1-i) + b (divided by n), 0 < b < 2, mu_j = 0.1 exp(-j/(p/2)); f = tr(X^T A X N)."""
    for printed in (False, True):
        instance = Matching.generate(30, 6, 5, printed=printed)
        assert np.array_equal(instance.A, instance.A.T)
        values = np.sort(np.linalg.eigvalsh(instance.A))[::-1] * (1 if printed else 30)
        b = values[-1] - (values[1] - values[2]) * ((values[1] - values[2]) / (values[0] - values[1])) ** 28
        a = (values[0] - values[1]) / (values[1] - values[2])
        assert a > 1
        assert 0 < values[-1] < 2 + 1e-6
        assert np.allclose(values, a ** -np.arange(30.0) + values[0] - 1, rtol=1e-8)
        assert b <= values[-1]
        assert np.allclose(instance.mu, 0.1 * np.exp(-np.arange(1, 7) / 3))
        X = instance.start(0)
        assert instance.cost_and_gradient(X)[0] == pytest.approx(np.trace(X.T @ instance.A @ X @ np.diag(instance.mu)))
        assert instance.manifold.feasibility(X) <= 1e-12 * instance.manifold.scale(X)


def test_the_mean_is_what_the_paper_says() -> None:
    instance = ExtrinsicMean.generate(20, 4, 0, samples=200)
    assert instance.manifold.left.d.ndim == 1  # a diagonal stays one
    assert np.array_equal(instance.B, [*range(1, 13), *range(-8, 0)])
    assert np.array_equal(instance.signs, [1, 1, 1, -1])
    Y0 = instance.center
    assert instance.manifold.feasibility(Y0) <= 1e-12 * instance.manifold.scale(Y0)
    assert 0 < np.linalg.norm(instance.mean - Y0) < 0.2 * np.linalg.norm(Y0)  # around Y0
    printed = ExtrinsicMean.generate(20, 4, 0, samples=200, printed=True)
    assert np.array_equal(printed.signs, np.ones(4))
    assert np.linalg.norm(printed.mean) < 0.3 * np.linalg.norm(printed.center)  # averages to zero
    with pytest.raises(ValueError, match="p_k"):
        ExtrinsicMean.generate(10, 8, 0, positive=3)


def test_joint_diagonalisation_is_what_the_paper_says() -> None:
    """f is the sum of the squares off the diagonals of X^T * A_i * X, in the transform and in the tensor domain."""
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
    U = np.stack([scipy.linalg.orth(np.hstack(list(blocks[k]))) for k in range(4)])  # the range of all A_i
    assert U.shape == (4, 6, 2)
    noise = A - blocks
    assert np.allclose(np.sqrt((noise**2).sum(axis=(0, 2, 3))), 0.5)  # noise E_i/|E_i|


def test_the_papers_problems_are_solved_to_1e_9() -> None:
    """Both families, to the same minimum; with noise = 0 the joint diagonalisation ends at zero."""
    for name in ("matching", "mean", "diagonalisation"):
        problem = INSTANCES[name].problem()
        start = INSTANCES[name].start(2)
        results = [SOLVERS[solver](problem, start, tol=1e-9) for solver in ("rtr-fast", "rcg-fast", "cdf-lbfgs")]
        assert all(result.success for result in results)
        if name == "diagonalisation":
            assert max(result.fun for result in results) <= 1e-15
        else:
            assert np.ptp([result.fun for result in results]) <= 1e-12 * abs(results[0].fun)
