"""What a Problem counts, shares, converts and says of itself, one by one."""

import time
from typing import Any

import numpy as np
import pytest

import genorth as go

M = go.Stiefel(6, 2)
X = M.random_point(0)
NAMES = ("nfev", "njev", "nhev")


def _cost(Y: np.ndarray) -> float:
    return float(np.vdot(Y, Y)) / 2


def _separate(**more: Any) -> go.Problem:
    return go.Problem(M, _cost, lambda Y: 1.0 * Y, lambda Y, Z: 1.0 * Z, **more)


def _fused(**more: Any) -> go.Problem:
    return go.Problem(M, cost_and_gradient=lambda Y: (_cost(Y), 1.0 * Y), **more)


def _counts(problem: go.Problem) -> tuple[int, ...]:
    return tuple(getattr(problem.counts, name) for name in NAMES)


def test_every_count_of_a_run_is_a_difference():
    run = go.Counts(7, 5, 4, 3.5) - go.Counts(1, 2, 3, 0.5)
    assert run == go.Counts(6, 3, 1, 3.0)


def test_passes_over_the_data():
    """A cost with its gradient is one, and so is a Hessian product."""
    assert go.Counts(5, 3, 2).evaluations == 7
    assert go.Counts(3, 5, 2).evaluations == 7


def test_all_counts_are_reset():
    problem = _separate()
    problem.cost_and_gradient(X)
    problem.euclidean_hessian(X, X)
    assert _counts(problem) == (1, 1, 1)
    before = problem.counts
    problem.cost(2 * X)
    assert (problem.counts - before).nfev == 1 and problem.counts.seconds > before.seconds > 0
    problem.reset_counts()
    assert problem.counts == go.Counts()


@pytest.mark.parametrize(
    ("call", "counts"),
    [
        (lambda problem: problem.evaluate_cost(X), (1, 0, 0)),
        (lambda problem: problem.evaluate_gradient(X), (0, 1, 0)),
        (lambda problem: problem.evaluate(X), (1, 1, 0)),
        (lambda problem: problem.euclidean_hessian(X, X), (0, 0, 1)),
    ],
    ids=["cost", "gradient", "both", "hessian"],
)
def test_each_call_is_counted_and_timed(call, counts):
    def slow(value: Any) -> Any:
        time.sleep(0.01)
        return value

    separate = go.Problem(
        M, lambda Y: slow(1.0), lambda Y: slow(1.0 * Y), lambda Y, Z: slow(1.0 * Z)
    )
    call(separate)
    assert _counts(separate) == counts
    assert separate.counts.seconds >= 0.009 * sum(counts)
    fused = go.Problem(M, cost_and_gradient=lambda Y: slow((1.0, 1.0 * Y)))
    fused.evaluate(X)
    assert _counts(fused) == (1, 1, 0) and fused.counts.seconds >= 0.009


@pytest.mark.parametrize("first", ["cost", "euclidean_gradient", "cost_and_gradient"])
@pytest.mark.parametrize("second", ["cost", "euclidean_gradient", "cost_and_gradient"])
def test_nothing_is_evaluated_twice(first, second):
    for problem in (_separate(), _fused()):
        for name in (first, second, "cost_and_gradient", second, first):
            getattr(problem, name)(X)
        assert _counts(problem) == (1, 1, 0)
        f, G = problem.cost_and_gradient(X)
        assert f == _cost(X)
        np.testing.assert_array_equal(G, X)


def test_the_cost_alone_does_not_call_the_gradient():
    for name, counts in (("cost", (1, 0, 0)), ("euclidean_gradient", (0, 1, 0))):
        problem = _separate()
        getattr(problem, name)(X)
        assert _counts(problem) == counts


def test_names():
    assert _separate(name="mine").name == "mine" and _separate().name == "_cost"
    assert _fused(name="mine").name == "mine"
    assert "name='mine'" in repr(_separate(name="mine"))


def test_what_a_problem_has_and_lacks():
    bare = go.Problem(M, _cost)
    assert (bare.has_cost, bare.has_gradient, bare.has_hessian) == (True, False, False)
    assert (_fused().has_cost, _fused().has_gradient, _fused().has_hessian) == (False, True, False)
    full = _separate()
    assert (full.has_cost, full.has_gradient, full.has_hessian) == (True, True, True)
    assert "no gradient" in str(bare.lacks())
    assert _fused().lacks() is None and full.lacks() is None


def test_the_default_start_is_drawn_from_rng():
    np.testing.assert_array_equal(_separate().start(None, 3), M.random_point(3))


def test_a_start_is_converted():
    for start in (np.eye(6, 2, dtype=int), np.eye(6, 2, dtype=bool), np.eye(6, 2).tolist()):
        x = _separate().start(start)
        assert x.dtype == float
        np.testing.assert_array_equal(x, np.eye(6, 2))
    complex_ = go.Problem(go.Stiefel(6, 2, complex), lambda Y: 0.0)
    assert complex_.start(np.eye(6, 2)).dtype == complex


def test_starts_gradients_and_products_lie_in_F():
    mask = np.kron(np.eye(2), np.ones((3, 1)))
    blocks = go.from_maps((6, 2), lambda Y: Y, lambda T: T, ambient=lambda Y: mask * Y)
    ones = np.ones((6, 2))
    for G in (ones, ones.astype(np.float32), ones.astype(int)):
        problem = go.Problem(
            blocks, lambda Y: 0.0, lambda Y, G=G: G, lambda Y, Z, G=G: G, lambda Y, G=G: (0.0, G)
        )
        for found in (
            problem.start(ones),
            problem.euclidean_gradient(mask),
            problem.euclidean_hessian(mask, mask),
            problem.evaluate(mask)[1],
        ):
            np.testing.assert_array_equal(found, mask)


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_an_array_that_the_user_writes_into_later_is_copied(dtype):
    buffer = np.ones((6, 2), dtype)
    problem = go.Problem(M, lambda Y: 0.0, lambda Y: buffer)
    G = problem.euclidean_gradient(X)
    assert G.dtype.kind == "f"
    buffer += 1
    np.testing.assert_array_equal(G, np.ones((6, 2)))


def test_a_complex_manifold_takes_complex_gradients():
    manifold = go.Stiefel(6, 2, complex)
    problem = go.Problem(manifold, lambda Y: 0.0, lambda Y: (1j * Y).astype(np.complex64))
    Y = manifold.random_point(0)
    np.testing.assert_allclose(problem.euclidean_gradient(Y), 1j * Y, rtol=1e-6)


def test_a_cost_that_overflows_is_infinite():
    assert go.Problem(M, lambda Y: 10**400).cost(X) == np.inf


def test_a_fused_gradient_is_differentiated():
    pytest.importorskip("jax")
    fused = go.Problem(M, cost_and_gradient=lambda Y: ((Y**3).sum(), 3 * Y**2), autodiff="jax")
    np.testing.assert_allclose(fused.euclidean_hessian(X, X), 6 * X * X)
    assert fused.euclidean_hessian(X, X).dtype == np.float64
