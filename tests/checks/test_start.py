"""What `minimize` tests before a run: it refuses what is wrong, and nothing that is right."""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import genorth as go
import genorth.testing.strategies as strategies
from genorth.checks.start import check_start
from support.norms import Matrix
from support.problems import smooth

FAMILIES = sorted(strategies.FAMILIES)


def _manifold(seed: int, family: str | None = None, square: bool = False) -> go.GenOrthManifold:
    """A manifold of the families in turn, with a condition number of up to 1e3."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(3, 9))
    p = n if square else int(rng.integers(1, n + 1))
    chosen = family or FAMILIES[seed % len(FAMILIES)]
    condition = 10 ** float(rng.uniform(0, 3))
    return strategies.Recipe(chosen, n, p, condition, seed).build()


def _with_gradient(problem: go.Problem, wrong: Callable[[Matrix], Matrix], fused: bool) -> Any:
    def both(X: Matrix) -> tuple[float, Matrix]:
        return problem.evaluate_cost(X), wrong(problem.evaluate_gradient(X))

    if fused:
        return go.Problem(problem.manifold, cost_and_gradient=both)
    return go.Problem(problem.manifold, problem.evaluate_cost, lambda X: both(X)[1])


FACTORS = (0.5, 2.0, 0.1, 10.0, 1.2, 1e-3)
WRONG: dict[str, Callable[[int], Callable[[Matrix], Matrix]]] = {
    "sign": lambda seed: lambda G: -G,
    "factor": lambda seed: lambda G: FACTORS[seed % len(FACTORS)] * G,
    "transposed": lambda seed: lambda G: np.ascontiguousarray(np.swapaxes(G, -1, -2)),
    "conjugated": lambda seed: np.conj,
}


def _wrong_gradient(kind: str, seed: int) -> tuple[str, go.Problem]:
    """Transposed where X is square; conjugated where it is complex."""
    families = {"transposed": ["stiefel", "generalized"], "conjugated": ["stiefel-complex"]}
    among = families.get(kind, FAMILIES)
    manifold = _manifold(seed, among[seed % len(among)], square=kind == "transposed")
    problem = _with_gradient(smooth(manifold, seed), WRONG[kind](seed), bool(seed % 2))
    return "cost_and_gradient" if seed % 2 else "euclidean_gradient", problem


def _wrong_matrix(seed: int) -> tuple[str, go.Problem]:
    """f(X) = tr(X^T A X B)/2: the gradient is (A X B + A^T X B^T)/2, not A X B."""
    rng = np.random.default_rng([8, seed])
    n = int(rng.integers(3, 12))
    p = int(rng.integers(2, n + 1))
    A, B = rng.standard_normal((n, n)), rng.standard_normal((p, p))
    functions = lambda X: float(np.sum(X * (A @ X @ B))) / 2, lambda X: A @ X @ B
    return "euclidean_gradient", go.Problem(go.Stiefel(n, p), *functions)


def _wrong_hessian(kind: str, seed: int) -> tuple[str, go.Problem]:
    right, wrong = smooth(_manifold(seed), seed), WRONG[kind](seed)
    return "euclidean_hessian", go.Problem(
        right.manifold,
        right.evaluate_cost,
        right.evaluate_gradient,
        lambda X, Z: wrong(right.euclidean_hessian(X, Z)),
    )


def _wrong_psi(seed: int) -> tuple[str, go.Problem]:
    """The identity, the inverse, the transpose and the opposite, of psi(T) = Q T Q^-1."""
    rng = np.random.default_rng([9, seed])
    p = int(rng.integers(2, 6))
    n = p + int(rng.integers(0, 6))
    W, _ = np.linalg.qr(rng.standard_normal((p, p)))
    Q = (W * np.geomspace(1, 10 ** float(rng.uniform(0.3, 3)), p)) @ W.T
    inverse = np.linalg.inv(Q)
    wrong = (
        lambda T: T,
        lambda T: inverse @ T @ Q,
        lambda T: np.swapaxes(Q @ T @ inverse, -1, -2),
        lambda T: -(Q @ T @ inverse),
    )[seed % 4]
    manifold = go.from_maps((n, p), lambda X: X @ inverse, wrong)
    return "psi", go.Problem(manifold, lambda X: float(np.sum(X**2)), lambda X: 2 * X)


@pytest.mark.parametrize(
    "make",
    [
        *(partial(_wrong_gradient, kind) for kind in WRONG),
        *(partial(_wrong_hessian, kind) for kind in ("sign", "factor")),
        _wrong_matrix,
        _wrong_psi,
    ],
)
def test_what_is_wrong_is_refused_in_100_of_100_cases(make: Any) -> None:
    for seed in range(100):
        argument, problem = make(seed)
        check = {"psi": "check_assumptions", "euclidean_hessian": "check_hessian"}
        said = check.get(argument, "check_gradient")
        with pytest.raises(ValueError, match=rf"^{argument}: need .*{said}"):
            go.minimize(problem)


def test_no_right_problem_of_1000_is_refused() -> None:
    """All families, at random points of M and near it, and at points far from M."""
    for seed in range(1000):
        manifold = _manifold(seed)
        rng = np.random.default_rng([10, seed])
        x0 = (
            None
            if seed % 3 == 0
            else manifold.random_ambient(rng) * 10 ** float(rng.uniform(-2, 2))
        )
        check_start(smooth(manifold, seed), x0)


def test_starts_at_kinks_and_at_stationary_points_are_not_refused() -> None:
    manifold = go.Stiefel(6, 3)
    eye = np.eye(6)[:, :3]
    check_start(go.Problem(manifold, lambda X: float(np.abs(X).sum()), np.sign), eye)
    check_start(go.Problem(manifold, lambda X: 1e9 + float(np.sum(X**2)), lambda X: 2 * X), eye)
    check_start(go.Problem(manifold, lambda X: 5.0, lambda X: 0 * X, lambda X, Z: 0 * Z), eye)
    outside = go.Problem(manifold, lambda X: np.inf, lambda X: 0 * X)
    check_start(outside, eye)


def test_the_check_is_not_counted_and_costs_three_evaluations() -> None:
    right = smooth(go.Stiefel(6, 2), 0)
    names = ("evaluate_cost", "evaluate_gradient", "euclidean_hessian")
    calls = [Mock(wraps=getattr(right, name)) for name in names]
    problem = go.Problem(right.manifold, *calls)
    check_start(problem)
    assert [call.call_count for call in calls] == [2, 2, 1]
    assert problem.counts.evaluations == 0
    with_check, without = (go.minimize(problem, rng=0, check=check) for check in (True, False))
    assert with_check.nfev == without.nfev and with_check.nhev == without.nhev
    np.testing.assert_array_equal(with_check.x, without.x)


def test_check_false_runs_what_is_wrong() -> None:
    right = smooth(go.Stiefel(6, 2), 0)
    problem = _with_gradient(right, lambda G: -G, False)
    assert not go.minimize(problem, check=False, rng=0).success


@pytest.mark.parametrize("autodiff", [None, "jax"])
def test_a_cost_that_broadcasts_is_refused(autodiff: str | None) -> None:
    """Written for (8, 5) points, it has a minimum on (8, 5, 1) too, which nobody wants."""
    B, b = np.arange(40.0).reshape(5, 8), np.arange(6.0)
    if autodiff:
        pytest.importorskip("jax")
    for manifold, data, gradient in (
        (go.Power(go.Stiefel(5, 1), (8,)), B, lambda X: 2 * (X - B).sum(-1, keepdims=True)),
        (go.Stiefel(6, 1), b, lambda X: 2 * (6 * X - b.sum())),
        (go.Sphere(6), b[:, None], lambda x: 2 * (6 * x - b.sum())),
    ):
        problem = go.Problem(
            manifold,
            lambda X, data=data: ((X - data) ** 2).sum(),
            None if autodiff else gradient,
            autodiff=autodiff,
        )
        with pytest.raises(ValueError, match=r"^cost: need .* broadcasts X against shape"):
            go.minimize(problem, rng=0)


def test_costs_that_do_not_broadcast_pass() -> None:
    """Data of the shape of X, rows and columns of weights, products, and an axis that is meant."""
    b, A = np.arange(6.0)[:, None], np.diag(np.arange(6.0))
    M = go.Stiefel(6, 1)
    for cost, gradient in (
        (lambda X: float(((X - b) ** 2).sum()), lambda X: 2 * (X - b)),
        (lambda X: float((3.0 * X * b).sum()), lambda X: 3 * b + 0 * X),
        (lambda X: float(np.vdot(X, A @ X)), lambda X: 2 * A @ X),
        (lambda X: float(X[:, 0] @ A @ X[:, 0]), lambda X: 2 * A @ X),
        (lambda X: ((X - b.T) ** 2).sum(), lambda X: 2 * (6 * X - b.sum())),
        (lambda X: np.linalg.norm(np.multiply(X, b, out=np.empty((6, 1)))) ** 2 / 2, None),
    ):
        check_start(go.Problem(M, cost, gradient or (lambda X: X * b**2)), M.random_point(0))


def test_noise_is_no_wrong_gradient(recwarn: pytest.WarningsRecorder) -> None:
    """Noise that is large for f, whose terms cancel, and for its gradient; a wrong sign shows."""
    for seed in range(20):
        exact = smooth(go.Stiefel(6, 2), seed)
        X = exact.manifold.random_point(seed)
        at_X, size = exact.cost(X), 10 * float(np.linalg.norm(exact.euclidean_gradient(X)))

        def cost(
            X: Matrix, exact: go.Problem = exact, f: float = at_X, size: float = size
        ) -> float:
            return exact.cost(X) - f + 1e-8 * size * float(np.sin(1e9 * np.abs(X).sum()))

        check_start(go.Problem(exact.manifold, cost, exact.euclidean_gradient), X)
        wrong = go.Problem(exact.manifold, cost, lambda X, M=exact: -M.euclidean_gradient(X))
        with pytest.raises(ValueError, match=r"^euclidean_gradient: need"):
            check_start(wrong, X)
    assert not recwarn.list


def test_what_is_doubtful_gets_a_warning() -> None:
    right = smooth(go.Stiefel(6, 2), 0)
    problem = _with_gradient(right, lambda G: (1 + 4e-4) * G, False)
    with pytest.warns(UserWarning, match=r"^euclidean_gradient: doubtful, .*check_gradient"):
        check_start(problem, right.manifold.random_point(0))
    manifold = go.from_maps((5, 2), lambda X: X, lambda T: (1 + 4e-4) * T)
    with pytest.warns(UserWarning, match=r"^psi: doubtful, .*check_assumptions"):
        check_start(go.Problem(manifold, lambda X: 0.0, lambda X: 0 * X), np.eye(5, 2))


def test_single_precision_under_differences_gets_a_hint() -> None:
    A = np.diag(np.arange(1.0, 7.0))

    def gradient(X: Matrix) -> Matrix:
        return (2 * A @ X).astype(np.float32).astype(float)

    problem = go.Problem(go.Stiefel(6, 2), lambda X: float(np.vdot(X, A @ X)), gradient)
    with pytest.warns(UserWarning, match="single precision"):
        check_start(problem, problem.manifold.random_point(0))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda X, V: -V, "positive definite"),
        (lambda X, V: V[:3], "an array of shape"),
        (lambda X, V: V + 0.5 * np.roll(V, 1, axis=0), r"<U, B V> = <B U, V>"),
    ],
)
def test_a_wrong_preconditioner_is_refused(wrong: Any, said: str) -> None:
    problem = smooth(go.Stiefel(6, 2), 0)
    for method in ("auto", "odf-lbfgs"):
        with pytest.raises(ValueError, match=rf"^preconditioner: need .*{said}"):
            go.minimize(problem, rng=0, method=method, preconditioner=wrong)
