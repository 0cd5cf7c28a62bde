"""Section 5 of the paper: the extrinsic mean, and the six solvers from one start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS
from paper_repro.problems import PROBLEMS, ExtrinsicMean, Matching
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


@st.composite
def _samples(draw: st.DrawFn) -> tuple[go.IndefiniteStiefel, Matrix]:
    """B = diag(1, ..., k, -m, ..., -1), and samples Y0 diag(W1, W2) of X^T B X = J."""
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
    """X_i = Y0 diag(W1, W2) is on M, and (1/N) sum |X - X_i|^2 = |X - A|^2 + const, A the mean."""
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
