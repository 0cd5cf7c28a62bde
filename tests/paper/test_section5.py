"""Section 5 of the paper: its three problems by their definitions, and the six solvers.

The solvers have one start.
"""

import numpy as np
import pytest
import scipy.fft
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS
from paper_repro.problems import PROBLEMS, ExtrinsicMean, JointDiagonalisation, Matching
from support.norms import EPS, Matrix

#: The names of the paper and ours.
PAPER_SOLVERS = {
    "CDFGD": "cdf-gd",
    "CDFCG": "cdf-cg-scipy",
    "CDFLBFGS": "cdf-lbfgs-scipy",
    "CDFTR": "cdf-tr-scipy",
    "RGD": "rgd-paper",
    "RCG": "rcg-paper",
}


def _J(size: int) -> Matrix:
    half = np.eye(size // 2)
    return np.block([[0 * half, half], [-half, 0 * half]])


@pytest.mark.statement("problem:matching")
@given(half_n=st.integers(1, 6), half_p=st.integers(1, 6), seed=gt.seeds())
def test_matching(half_n, half_p, seed):
    """f = tr(X^T A X N) over X^T J_2n X J_2p^T = I, A >= 0, N diagonal and decreasing."""
    n, p = 2 * max(half_n, half_p), 2 * min(half_n, half_p)
    instance = Matching.generate(n, p, seed)
    X = instance.start(seed)
    size = float(np.linalg.norm(X)) ** 2
    residual = X.T @ _J(n) @ X @ _J(p).T - np.eye(p)
    assert np.linalg.norm(residual) <= 1e-12 * max(1.0, size)
    assert np.all(np.linalg.eigvalsh(instance.A) >= 0)
    assert np.all(np.diff(instance.mu) <= 0) and instance.mu[-1] >= 0
    f, G = instance.cost_and_gradient(X)
    assert (
        abs(f - np.trace(X.T @ instance.A @ X @ np.diag(instance.mu))) <= 100 * X.size * EPS * size
    )
    assert (
        np.linalg.norm(G - 2 * instance.A @ X @ np.diag(instance.mu)) <= 100 * X.size * EPS * size
    )


@st.composite
def _samples(draw: st.DrawFn) -> tuple[go.IndefiniteStiefel, Matrix]:
    """An indefinite Stiefel manifold, and samples Y0 diag(W1, W2) on it.

    B = diag(1, ..., k, -m, ..., -1).
    """
    pk, pm = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    k, m = pk + draw(st.integers(0, 4)), pm + draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(gt.seeds()))
    B = np.r_[np.arange(1.0, k + 1), -np.arange(float(m), 0, -1)]
    M = go.IndefiniteStiefel(B, np.r_[np.ones(pk), -np.ones(pm)])
    Y0 = M.random_point(rng)
    samples = []
    for _ in range(5):
        W1, W2 = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in (pk, pm))
        samples.append(np.hstack([Y0[:, :pk] @ W1, Y0[:, pk:] @ W2]))
    return M, np.stack(samples)


@pytest.mark.statement("emp", "emp1")
@given(drawn=_samples(), seed=gt.seeds())
def test_the_mean_of_the_squares_is_a_distance_up_to_a_constant(drawn, seed):
    """X_i = Y0 diag(W1, W2) is on M (J = diag(I, -I)), and the cost is a distance.

    (1/N) sum |X - X_i|^2 = |X - A|^2 + const, A the average.
    """
    M, samples = drawn
    for sample in samples:
        assert M.feasibility(sample) <= 1e-11 * M.scale(sample)
    A = samples.mean(axis=0)
    instance = ExtrinsicMean.generate(10, 4, seed, samples=5)
    constant = float((samples**2).sum() / 5 - (A**2).sum())
    X = M.random_point(seed)
    emp = float(((X - samples) ** 2).sum() / 5)
    rounding = 100 * X.size * EPS * float((X**2).sum() + (samples**2).sum())
    assert abs(emp - float(((X - A) ** 2).sum()) - constant) <= rounding
    Y = instance.start(seed)
    f, G = instance.cost_and_gradient(Y)
    assert f == pytest.approx(float(((Y - instance.mean) ** 2).sum()), rel=1e-12)
    assert np.linalg.norm(G - 2 * (Y - instance.mean)) <= 100 * EPS * np.linalg.norm(G)


@pytest.mark.statement("tenpr1")
@given(
    size=st.tuples(st.integers(2, 5), st.integers(1, 2), st.integers(1, 4), st.integers(1, 3)),
    seed=gt.seeds(),
    noise=st.sampled_from([0.0, 0.5]),
)
def test_joint_diagonalisation(size, seed, noise):
    """f = sum of off(X^T *_c A_i *_c X) over X^T *_c X = I, computed on tensors."""
    n, p, l, N = size  # noqa: E741
    instance = JointDiagonalisation.generate(n, p, l, N, seed, noise=noise)
    M, T = instance.manifold, scipy.fft.dct(np.eye(l), axis=0, norm="ortho")
    blocks = instance.start(seed)
    X = np.asarray(M.to_tensor(blocks))

    def product(A: Matrix, B: Matrix) -> Matrix:
        """A *_c B: face-wise products of the cosine transforms of the tubes.

        They are transformed back (T is orthogonal).
        """
        slices = np.einsum("abi,ji->jab", A, T) @ np.einsum("abi,ji->jab", B, T)
        return np.einsum("jab,ji->abi", slices, T)

    total = 0.0
    for i in range(N):
        A = np.asarray(M.to_tensor(instance.sample(i)))
        R = product(product(X.transpose(1, 0, 2), A), X)
        total += float((R**2).sum() - (np.einsum("iik->ik", R) ** 2).sum())
    f, scale = instance.cost_and_gradient(blocks)[0], float((instance.stacked**2).sum())
    assert abs(f - total) <= 1e3 * instance.stacked.size * EPS * scale * p * l
    orthogonal = product(X.transpose(1, 0, 2), X)
    identity = np.einsum("ab,i->abi", np.eye(p), T.T @ np.ones(l))
    assert np.linalg.norm(orthogonal - identity) <= 100 * X.size * EPS * p * l


@pytest.mark.statement("sec5:solvers")
@pytest.mark.parametrize("name", PAPER_SOLVERS)
def test_the_solvers_of_the_paper_from_one_start_to_both_tolerances(name):
    """Each of the six reaches |grad f| <= 1e-5 and 1e-9 on M from the same start."""
    instance = Matching.generate(12, 4, 0)
    start = instance.start(1)
    solver = SOLVERS[PAPER_SOLVERS[name]]
    options = {"beta": PROBLEMS["matching"].beta} if solver.family == "penalty" else {}
    for tol in (1e-5, 1e-9):
        result = solver(instance.problem(), start, tol=tol, **options)
        assert result.success, result.message
        assert result.gradient_norm <= tol
        M = instance.manifold
        assert float(M.feasibility(result.x)) <= 1e-11 * float(M.scale(result.x))
        G = instance.cost_and_gradient(result.x)[1]
        measured = float(np.linalg.norm(M.gradient(result.x, G)))
        assert abs(result.gradient_norm - measured) <= 1e-3 * measured + 1e3 * EPS * float(
            np.linalg.norm(G)
        )
