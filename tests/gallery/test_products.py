"""Instances on products: what is said of them, against other formulas."""

import numpy as np
import pytest
import scipy.linalg

import genorth as go
from genorth import gallery
from genorth.gallery import quantum
from genorth.gallery.base import complex_step


def test_the_tree_is_above_the_exact_ground_state():
    """By 1.7 percent: exact diagonalisation, which knows nothing of the tree."""
    instance = gallery.load("ising-tree")
    here = quantum.tree(1.0, 2, 2)
    exact = float(scipy.linalg.eigvalsh(here.H)[0])
    assert 0.01 < (instance.truth - exact) / abs(exact) < 0.02
    psi = here.state(*instance.start)
    assert np.linalg.norm(psi) == pytest.approx(1.0)


def test_a_tree_that_keeps_all_states_has_the_exact_energy():
    here = quantum.tree(2.0, 4, 6)
    seen = [here.manifold.random_point(0)]
    quantum._sweeps((2.0, 4, 6), None, seen[0], seen.append)
    exact = float(scipy.linalg.eigvalsh(here.H)[0])
    assert -1e-12 <= (here.cost(*seen[-1]) - exact) / abs(exact) <= 1e-7


@pytest.mark.parametrize("spins", [2, 3])
def test_the_chain_is_that_of_pauli_matrices(spins):
    """Free fermions: the ground state of two spins is -sqrt(1 + 4 g^2)."""
    H = quantum.ising(spins, 0.7)
    assert np.array_equal(H, H.T) and H.shape == (2**spins,) * 2
    assert np.trace(H) == 0 and np.sum(H**2) == pytest.approx(
        2**spins * (spins - 1 + spins * 0.7**2)
    )
    if spins == 2:
        assert np.linalg.eigvalsh(H)[0] == pytest.approx(-np.sqrt(1 + 4 * 0.7**2))


def test_the_complex_step_is_the_derivative():
    def gradient(x, y):
        return x**3 * y.sum(), np.sqrt(1 + y * y) * np.sum(x)

    x, y, dx, dy = np.random.default_rng(0).standard_normal((4, 3))
    first, second = complex_step(gradient)(x, y, dx, dy)
    assert np.allclose(first, 3 * x**2 * dx * y.sum() + x**3 * dy.sum(), rtol=1e-13, atol=1e-13)
    root = np.sqrt(1 + y * y)
    expected = y * dy / root * x.sum() + root * dx.sum()
    assert np.allclose(second, expected, rtol=1e-13, atol=1e-13)


def test_two_blocks_are_a_canonical_correlation_of_the_joint_problem():
    pytest.importorskip("sklearn", reason="the extra `gallery` is not installed")
    from genorth.gallery.blocks import blocks

    instance, joint = gallery.load("cca-two-blocks"), gallery.load("cca-diabetes")
    # there [X_1; X_2]/sqrt(2) is one variable, and f is half of tr(X^T A X N)
    assert instance.truth == pytest.approx(2 * joint.truth, rel=1e-10)
    here = blocks("diabetes", ((0, 4), (4, 10)), 3, True)
    X = here.best(instance.start, 0)
    assert float(here.manifold.factors[0].feasibility(X)) <= 1e-12
    other = here.manifold.factors[0].random_point(0)
    at = [here.cost_and_gradient(Y, instance.start[1])[0] for Y in (X, other)]
    assert at[0] < at[1]


def test_partial_least_squares_is_that_of_scikit_learn():
    decomposition = pytest.importorskip("sklearn.cross_decomposition", reason="no scikit-learn")
    from genorth.gallery.blocks import blocks

    instance = gallery.load("pls-breast-cancer")
    here = blocks("breast_cancer", ((0, 10), (20, 30)), 3, False)
    fitted = decomposition.PLSSVD(n_components=3, scale=False).fit(*here.samples)
    x = fitted.x_weights_, fitted.y_weights_
    assert here.cost_and_gradient(*x)[0] == pytest.approx(instance.truth, rel=1e-8)


@pytest.mark.parametrize(("method", "evaluations"), [("rlbfgs-orbital", 22), ("rtr-orbital", 34)])
def test_orbital_gaps_of_both_spins(method, evaluations):
    """Nitrogen dioxide: 20 pairs of Fock matrices, and 10 with 21 Hessian products."""
    pytest.importorskip("pyscf", reason="the extra `gallery` is not installed")
    instance = gallery.load("unrestricted-nitrogen-dioxide")
    (row,) = (solver for solver in instance.solvers if solver.name == method)
    result = go.minimize(
        instance.problem.fresh(), instance.start, method=row, check=False, certify=False
    )
    assert result.success and abs(instance.error(result.fun)) <= 1e-10
    assert result.evaluations <= evaluations
