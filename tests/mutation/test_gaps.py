"""Statements that only a planted error showed to be untested (`python -m tests.mutation`)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from _problems import smooth, spd, trace
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.checks.report import fit_slope
from genorth.geometry.companion import read_companion
from genorth.geometry.retractions import step_size
from genorth.linalg.functions import inverse_sqrt
from genorth.linalg.inertia import sparse_directions
from genorth.penalty.beta import Oblique, _Local
from genorth.penalty.objective import Objective
from genorth.penalty.threshold import multiplier_threshold
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor


def test_scale_is_that_of_the_terms_of_the_constraint() -> None:
    """scale(X) = max(1, |X| |phi(X)|)."""
    manifold = go.GeneralizedStiefel(np.array([4.0, 9.0, 16.0]), 1)
    X = np.array([[1.0], [2.0], [0.0]])
    assert manifold.scale(X) == pytest.approx(np.sqrt(5) * np.sqrt(4**2 + 18**2), rel=1e-15)
    assert manifold.scale(1e-3 * X) == 1.0


def test_restore_is_quadratic() -> None:
    """F6: |C(A(X))| <= 3/4 |C|^2 + 1/4 |C|^3, so that six steps from |C| = 0.44 reach rounding."""
    calls = []
    manifold = go.from_maps((7, 3), lambda X: calls.append(1) or X, lambda T: T)
    X = manifold.random_point(0)
    X = X + 0.2 * X[:, :1] @ np.eye(1, 3)
    violation, bound, steps = float(manifold.feasibility(X)), 1e-15, 0
    while violation > bound:
        violation, steps = violation**2 * (3 + violation) / 4, steps + 1
    calls.clear()
    manifold.restore(X, 10 * np.finfo(float).eps)
    assert (
        len(calls) <= steps + 2
    )  # one phi in each step; the last one sees that it is done, the other is for rounding


def test_companion_of_complex_entries_is_read_as_a_hermitian_matrix() -> None:
    """F5: psi(E_i1) gives the columns of Q up to one complex factor.

    Half of its angle makes Q Hermitian.

    The factor is an entry of R^-1. Here it is imaginary: without the turn the Hermitian part would
    be zero.
    """
    inverse = gt.conditioned_symmetric(5, 3.0, 0, dtype=complex)
    inverse[0] = inverse[:, 0] = 0
    inverse[0, 1], inverse[1, 0] = 2j, -2j
    R = np.linalg.inv(inverse)
    companion = read_companion(lambda T: R @ T @ inverse, R.shape, np.dtype(complex))
    assert companion is not None and companion.sign == 1
    Q = np.asarray(companion.Q.left(np.eye(5, dtype=complex)))
    unit = 1e3 * np.finfo(float).eps * np.linalg.cond(R)
    assert np.linalg.norm(Q - Q.conj().T) <= unit
    factor = np.vdot(R, Q) / np.vdot(R, R)
    assert np.linalg.norm(Q - factor * R) <= unit * np.linalg.norm(Q)


@pytest.mark.parametrize("kind", ["cayley", "exp"])
@given(manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_a_step_that_is_not_tangent_is_taken_to_one_that_is(
    kind: str, manifold: go.GenOrthManifold, seed: int
) -> None:
    """F7: R(Z) = R(DA(X)[Z]), which is on M."""
    rng = np.random.default_rng(seed)
    X, Z = manifold.random_point(rng), manifold.random_ambient(rng)
    steepness = np.linalg.norm(X) * np.linalg.norm(manifold.phi(Z)) + np.linalg.norm(
        manifold.phi(X)
    ) * np.linalg.norm(Z)
    Z = Z * (0.3 / float(steepness))
    R = manifold.retract(X, Z, kind=kind)
    unit = 1e4 * np.sqrt(X.size) * np.finfo(float).eps * float(manifold.scale(X)) ** 2
    assert manifold.feasibility(R) <= unit
    assert (
        np.linalg.norm(R - manifold.retract(X, manifold.dissolve_differential(X, Z), kind=kind))
        <= unit
    )


def test_step_size_is_that_of_the_exponent() -> None:
    """|A|/2 + |<<G,G>>|^(1/2), A = phi(X)^T Z, G = Z - X A/2."""
    manifold = gt.Recipe("bilinear-symmetric", 6, 3, 10.0, 1).build()
    X, Z = manifold.random_point(0), manifold.random_ambient(1)
    A = manifold.phi(X).T @ Z
    G = Z - X @ A / 2
    expected = np.linalg.norm(A) / 2 + np.sqrt(np.linalg.norm(manifold.phi(G).T @ G))
    assert step_size(manifold, X, Z) == pytest.approx(expected, rel=1e-12)


def test_threshold_of_blocks_is_the_largest() -> None:
    """F8 on a product of manifolds: the largest threshold of the factors, each with its own psi."""
    A = np.stack([gt.conditioned_symmetric(5, 3.0, k, negative=2) for k in range(3)])
    R = np.stack([gt.conditioned_symmetric(3, 3.0, k + 9, negative=1) for k in range(3)])
    inverse = np.linalg.inv(R)
    product = go.from_maps((3, 5, 3), lambda X: A @ X @ inverse, lambda T: R @ T @ inverse)
    assert product.companion is not None
    X = product.random_point(0)
    Theta = np.asarray(product.theta(X, product.random_ambient(1)))
    single = [
        multiplier_threshold(go.BilinearStiefel(*pair), T)
        for *pair, T in zip(A, R, Theta, strict=True)
    ]
    assert len({round(value, 6) for value in single}) == 3
    assert multiplier_threshold(product, Theta) == pytest.approx(max(single), rel=1e-9)


# ---------------------------------------------------------------------- the first beta


@pytest.mark.parametrize("with_hessian", [True, False])
@pytest.mark.parametrize("family", ["stiefel", "symplectic", "bilinear-symmetric", "tensor-dct"])
def test_first_beta_is_its_formula(family: str, with_hessian: bool) -> None:
    """w beta*(X) + c |X|^2/(16 p), c = |<d, hess f(X)[d]>|, d = grad f/|grad f|."""
    manifold = gt.Recipe(family, 6, 4, 4.0, 3).build()
    X, full = manifold.random_point(1), smooth(manifold, 2)
    problem = full if with_hessian else go.Problem(manifold, full.cost, full.euclidean_gradient)
    G = full.euclidean_gradient(X)
    gradient = manifold.gradient(X, G)
    d = gradient / np.linalg.norm(gradient)
    curvature = abs(np.vdot(d, manifold.hessian(X, G, full.euclidean_hessian(X, d), d)))
    weight = 1.2 - 0.8 * np.linalg.norm(gradient) / np.linalg.norm(G)
    columns = X.size / manifold.shape[-2]
    expected = weight * go.exactness_threshold(full, X) + curvature * np.linalg.norm(X) ** 2 / (
        16 * columns
    )
    # Without a Hessian product the curvature is a difference quotient, to about six digits.
    beta, start = Oblique(Monitor(problem), auto=True).first(X, 2 * X)
    assert beta == pytest.approx(expected, rel=1e-10 if with_hessian else 1e-4)
    np.testing.assert_array_equal(start, 2 * X)


def test_first_beta_is_positive_and_finite() -> None:
    """One where the estimate says nothing: no gradient, no curvature, NaN, overflow."""
    manifold = go.Stiefel(5, 2)
    X = manifold.random_point(0)
    for G in (0 * X, 0 * X + np.nan, 1e300 * X):
        problem = go.Problem(manifold, lambda Y: 0.0, lambda Y, G=G: G)
        with np.errstate(over="ignore", invalid="ignore"):
            beta, _ = Oblique(Monitor(problem), auto=True).first(X, X)
        assert 0 < beta < np.inf


@pytest.mark.parametrize("sign", [1, -1])
def test_curvature_is_a_size(sign: int) -> None:
    manifold = go.Stiefel(6, 2)
    full = smooth(manifold, 2)
    X = manifold.random_point(1)
    problem = go.Problem(
        manifold,
        lambda Y: sign * full.cost(Y),
        lambda Y: sign * full.euclidean_gradient(Y),
        lambda Y, Z: sign * full.euclidean_hessian(Y, Z),
    )
    assert _Local(problem, X).curvature() > 0


@pytest.mark.parametrize(("gradient", "hessian"), [(0.0, 1.0), (1.0, np.inf)])
def test_without_a_gradient_or_a_finite_hessian_there_is_no_curvature(
    gradient: float, hessian: float
) -> None:
    manifold = go.Stiefel(5, 2)
    B = manifold.random_ambient(1)
    problem = go.Problem(
        manifold, lambda Y: 0.0, lambda Y: gradient * B, lambda Y, Z: np.full((5, 2), hessian)
    )
    with np.errstate(invalid="ignore" if gradient else "warn"):
        assert _Local(problem, manifold.random_point(0)).curvature() == 0.0


def test_beta_is_raised_from_the_fifth_loss_on() -> None:
    """The estimate at the restored point four times, then four times as large each time."""
    problem, X = smooth(go.Stiefel(6, 2), 2), go.Stiefel(6, 2).random_point(1)
    rule = Oblique(Monitor(problem), auto=True)
    first, _ = rule.first(X, X)
    end = End(X, 0.0, X, 1.0, 0.0, True, 0.0, True)
    betas = [rule.next(first, 0.0, go.Status.DIVERGED, end) for _ in range(6)]
    np.testing.assert_allclose(betas, first * np.array([1, 1, 1, 1, 4, 16]), rtol=1e-12)
    assert rule.next(1.0, 0.0, go.Status.CONVERGED, end) == 4.0
    assert rule.next(1.0, 10.0, go.Status.CONVERGED, end) == 15.0


def test_a_stationary_point_that_is_a_saddle_of_h_raises_beta(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the minimum of f on M grad h = 0 whatever beta is.

    Below beta* (F8) the run goes on with 1.5 beta*.
    """
    monkeypatch.setattr(Oblique, "first", lambda self, x, X: (1e-6, X))
    A = spd(8, 10, 0)
    problem, X = trace(go.Stiefel(8, 3), A), np.linalg.eigh(A)[1][:, :3]
    result = go.minimize(problem, X, method="cdf-lbfgs")
    assert result.success and result.beta_raised == 1
    assert result.beta == pytest.approx(1.5 * go.exactness_threshold(problem, X), rel=1e-9)


# ---------------------------------------------------------------------- h as the solvers see it


def _objective(
    limit: float, constant: float
) -> tuple[Objective, go.ConstraintDissolving, np.ndarray]:
    """H of a cost with a constant added, begun at a point off M; and h without the constant."""
    manifold = go.SymplecticStiefel(6, 2)
    plain = smooth(manifold, 0)
    shifted = go.Problem(manifold, lambda X: plain.cost(X) + constant, plain.euclidean_gradient)
    h, monitor = go.ConstraintDissolving(shifted, 0.5), Monitor(shifted)
    rule = Oblique(monitor, auto=False)
    rule._limit = limit
    objective = Objective(h, monitor, rule)
    start = objective.vector(1.02 * manifold.random_point(3))
    objective.begin(start)
    return objective, go.ConstraintDissolving(plain, 0.5), start


def test_differences_within_rounding_are_taken_from_the_gradients() -> None:
    """h(v) - h(v0) = (g + g0)/2 .

    (v - v0) + O(|v - v0|^3), where the values of h have no digit of it.
    """
    objective, h, start = _objective(1e3, 1e13)
    direction = np.random.default_rng(4).standard_normal(start.size)
    steps = np.logspace(-3, -1, 7)
    before = h.value(objective.matrix(start))
    errors = []
    for t in steps:
        v = start + t * direction
        errors.append(
            abs(objective.value_and_gradient(v)[0] - (h.value(objective.matrix(v)) - before))
        )
    assert fit_slope(steps, np.array(errors), 1e-14 * abs(before)) >= 2.5


def test_a_step_beyond_the_limit_is_turned_back() -> None:
    """There the value is higher and the slope points upward, away from the last iterate.

    f is not called.
    """
    objective, h, start = _objective(2.0, 0.0)
    calls = objective.h.problem.counts.nfev
    value, slope = objective.value_and_gradient(3 * start)
    assert h.feasibility(objective.matrix(3 * start)) > 2.0
    assert value > 0.0  # values are differences to the start
    assert slope @ (3 * start - start) > 0
    assert objective.h.problem.counts.nfev == calls


# ---------------------------------------------------------------------- transforms, directions,
# draws


def test_cosine_transform_is_orthonormal() -> None:
    """|X x_3 M| = |X| for "dct": gradients in blocks are those of the tensor."""
    T = np.random.default_rng(0).standard_normal((4, 3, 5))
    blocks = go.TensorStiefel(4, 3, 5).from_tensor(T)
    assert np.linalg.norm(blocks) == pytest.approx(np.linalg.norm(T), rel=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_sparse_directions_of_a_badly_scaled_matrix(sign: int) -> None:
    """Columns V = D L^-T e_j with V^T M V of one sign; the rows of M differ by six decades."""
    n, rng = 40, np.random.default_rng(5)
    B = scipy.sparse.random_array((n, n), density=0.1, rng=rng)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    D = scipy.sparse.diags_array(10.0 ** rng.uniform(-3, 3, n))
    M = scipy.sparse.csr_array(D @ (scipy.sparse.diags_array(3 * signs) + B + B.T) @ D)
    V = sparse_directions(M, 5, sign)
    assert V.shape[1] >= 5
    form = V.T @ (M @ V)
    sizes = np.sqrt(np.abs(np.diagonal(form)))
    assert np.linalg.eigvalsh(sign * form / np.outer(sizes, sizes)).min() > 0


def test_complex_points_have_every_phase() -> None:
    """X -> iX maps M to itself: the mean of x^2 is small against that of |x|^2."""
    manifold = go.HyperbolicStiefel(np.array([1.0, 1.0, 1.0, -1.0]) + 0j, 2)
    rng = np.random.default_rng(6)
    X = np.stack([manifold.random_point(rng) for _ in range(200)])
    assert abs(np.mean(X**2)) <= 4 / np.sqrt(X.size) * np.mean(np.abs(X) ** 2)


@pytest.mark.parametrize("share", [0.3, 0.9, -0.3, -0.9])
def test_inverse_root_by_one_last_factor_has_all_digits(share: float) -> None:
    """(1 + e)^(-1/2) = 1 - e/2 + 3/8 e^2 up to rounding, for e just below eps^(1/3)."""
    e = share * np.finfo(float).eps ** (1 / 3)
    root = inverse_sqrt(np.array([[1 + e]]))[0, 0]
    assert root == pytest.approx(np.exp(-0.5 * np.log1p(e)), rel=4 * np.finfo(float).eps)
