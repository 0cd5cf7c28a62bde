"""Solvers on JAX and PyTorch arrays: NumPy's results, x in the library of x0, nothing copied."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import baselines
import genorth as go
from genorth.linalg.arrays import inners, kept, library, number, on_host, stays
from genorth.linalg.cache import ContentCache
from genorth.linalg.compiled import compiled, compiles
from genorth.linalg.stack import Stack
from genorth.riemannian import rgd, rlbfgs

N, P = 24, 3
WEIGHTS = np.linspace(1.0, 5.0, N)
DIAGONAL = np.linspace(1.0, 2.0, N)
ON_DEVICE = [name for name, solver in go.SOLVERS.items() if solver.on_device]


@pytest.fixture(params=["jax", "torch"])
def wrap(request: pytest.FixtureRequest) -> Iterator[Any]:
    """NumPy arrays into the library, in their own precision."""
    if request.param == "torch":
        torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
        yield lambda values: torch.from_numpy(np.array(values))
        return
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    with jax.enable_x64(True):
        yield jax.numpy.asarray


def _no_copies(X: Any) -> Any:
    """Fail where NumPy gets an array of n rows."""
    assert stays(X), type(X)
    return X


def problem(wrap: Any, dtype: Any = float, manifold: Any = None) -> go.Problem:
    """<X, W X>/2 on a generalized Stiefel manifold."""
    w = wrap(WEIGHTS.astype(dtype)[:, None])
    manifold = go.GeneralizedStiefel(DIAGONAL, P) if manifold is None else manifold

    def both(X: Any) -> tuple[Any, Any]:
        if wrap is not np.asarray:
            _no_copies(X)
        return (X * (w * X)).sum() / 2, w * X

    return go.Problem(manifold, cost_and_gradient=both, euclidean_hessian=lambda X, Z: w * Z)


def test_the_solvers_that_stay():
    """Those that the documentation names."""
    assert set(ON_DEVICE) == {
        *("auto", "rgd", "rcg", "rlbfgs", "rtr", "manpg", "landing", "landing-auto"),
        *("cdf-gd", "cdf-cg", "cdf-lbfgs", "cdf-tr"),
        *("odf-gd", "odf-cg", "odf-lbfgs", "odf-tr"),
    }


@pytest.mark.parametrize(
    "method",
    [
        "rlbfgs",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ON_DEVICE if name != "rlbfgs"),
    ],
)
def test_the_minimum_of_numpy_in_the_library_of_the_start(method, wrap):
    manifold = go.GeneralizedStiefel(DIAGONAL, P)
    X0 = manifold.random_point(0)
    options: dict[str, Any] = {"method": method, "tol": 1e-6, "max_iterations": 1000}
    ours = go.minimize(problem(wrap), wrap(X0), **options)
    theirs = go.minimize(problem(np.asarray), X0, **options)
    assert ours.success and theirs.success
    assert library(ours.x) == library(wrap(X0)) and str(ours.x.dtype) == str(wrap(X0).dtype)
    assert ours.fun == pytest.approx(theirs.fun, abs=1e-9)
    assert manifold.feasibility(on_host(ours.x)) <= 1e-11


@pytest.mark.slow
def test_iterates_are_those_of_numpy(wrap):
    """Before rounding has grown: 10 iterations, in which both choose the same steps."""
    X0 = go.GeneralizedStiefel(DIAGONAL, P).random_point(1)
    for solver in (rgd, rlbfgs):
        ours = solver(problem(wrap), wrap(X0), max_iterations=10, tol=0.0, keep_points=True)
        theirs = solver(problem(np.asarray), X0, max_iterations=10, tol=0.0, keep_points=True)
        assert ours.trace.points is not None and theirs.trace.points is not None
        for X, Y in zip(ours.trace.points, theirs.trace.points, strict=True):
            assert np.abs(on_host(X) - Y).max() <= 1e-10


@pytest.mark.slow
def test_single_precision(wrap):
    """A tolerance within reach is a success; one out of reach gets a status and a hint."""
    X0 = go.GeneralizedStiefel(DIAGONAL, P).random_point(0).astype(np.float32)
    result = rlbfgs(problem(wrap, np.float32), wrap(X0), tol=1e-3)
    assert result.success and "float32" in str(result.x.dtype)
    result = rlbfgs(problem(wrap, np.float32), wrap(X0), tol=1e-12, max_iterations=200, max_time=20)
    assert not result.success and "float32" in str(result.x.dtype)
    assert "In single precision a gradient norm below about" in result.message
    assert "double precision" in result.message
    assert result.gradient_norm < 1e-3


def test_a_start_on_the_device_for_a_solver_of_numpy(wrap):
    """The message names those that stay."""
    f, X0 = problem(wrap), wrap(go.GeneralizedStiefel(DIAGONAL, P).random_point(0))
    for method in ("odf-lbfgs-scipy", "cdf-tr-scipy", "rgd-paper"):
        with pytest.raises(
            ValueError, match=r"x0: need a NumPy array, as .*copies.*'rgd'.*'odf-lbfgs'"
        ):
            go.minimize(f, X0, method=method)
    with pytest.raises(ValueError, match=r"x0: need a NumPy array.*on_device"):
        baselines.alm(f, X0)
    with pytest.raises(ValueError, match=r"x0: need a NumPy array"):
        rgd(f, X0, metric=DIAGONAL)


def test_libraries_are_not_mixed(wrap):
    manifold = go.Stiefel(N, P)
    f = go.Problem(manifold, cost=lambda X: 1.0, euclidean_gradient=lambda X: np.ones((N, P)))
    with pytest.raises(ValueError, match=r"euclidean_gradient: need an array where X is, .*numpy"):
        rgd(f, wrap(manifold.random_point(0)))


def test_automatic_differentiation_stays_on_the_device():
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    manifold = go.Stiefel(N, P)
    with jax.enable_x64(True):
        w = jax.numpy.asarray(WEIGHTS)[:, None]
        f = go.Problem(manifold, cost=lambda X: (X * (w * X)).sum(), autodiff="jax")
        X0 = jax.numpy.asarray(manifold.random_point(0))
        result = rlbfgs(f, X0, tol=1e-6)
        assert result.success and isinstance(result.x, jax.Array)
        assert result.fun == pytest.approx(WEIGHTS[:P].sum(), abs=1e-9)


def test_a_function_is_compiled_once_for_each_shape():
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    traced = []

    class Owner:
        factor = np.array([2.0, 3.0], np.float32)

    @compiled
    def scaled(owner: Owner, X: Any, t: float) -> tuple[Any, Any]:
        traced.append(X.shape)
        return owner.factor * X * t, (X * X).sum()

    owner, X = Owner(), jax.numpy.ones((3, 2))
    for t in (1.0, 2.0, 3.0):
        Y, square = scaled(owner, X, t)
        np.testing.assert_allclose(Y, t * np.array([[2.0, 3.0]] * 3))
        assert float(square) == 6
    assert traced == [(3, 2)]
    scaled(owner, jax.numpy.ones((5, 2)), 1.0)
    assert traced == [(3, 2), (5, 2)]
    scaled(Owner(), X, 1.0)
    assert len(traced) == 3  # the programs belong to their owner
    assert not compiles(np.ones(2)) and compiles(X)
    scaled(owner, np.ones((3, 2)), 1.0)
    assert len(traced) == 4  # NumPy runs it as it is, each time


@pytest.mark.parametrize("dtype", [float, complex])
def test_a_stack_has_the_products_and_combinations_of_its_arrays(dtype, wrap):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((4, 3)) + 0j for _ in range(4)]
    if dtype is complex:
        arrays = [A + 1j * rng.standard_normal((4, 3)) for A in arrays]
    arrays = [A.astype(dtype) if dtype is complex else A.real for A in arrays]
    gram = np.array([[np.vdot(A, B).real for B in arrays] for A in arrays])
    for put in (np.asarray, wrap):
        stack = Stack.like(6, put(arrays[0]))
        for i, A in enumerate(arrays):
            stack.put(i, put(A), put(A))
            stack.put(i, put(3 * A), put(2 * A))
        np.testing.assert_allclose(stack.products(4, 1, 3), gram[:, 1:3], rtol=1e-13)
        np.testing.assert_allclose(stack.against(3, put(arrays[3])), gram[:3, 3], rtol=1e-13)
        c = np.array([1.0, -2.0, 0.5])
        expected = arrays[0] - 2 * arrays[1] + 0.5 * arrays[2]
        np.testing.assert_allclose(on_host(stack.combined(c)), expected, rtol=1e-13)


def test_what_is_remembered_of_an_array(wrap):
    """The same object, unchanged."""
    cache, X, built = ContentCache(), wrap(np.ones(3)), []

    def build(X: Any) -> int:
        built.append(X)
        return len(built)

    assert [cache.get(X, build), cache.get(X, build), cache.get(kept(X) + 0, build)] == [1, 1, 2]
    Y = wrap(np.ones(3))
    assert cache.get(Y, build) == 3
    if not compiles(Y):
        Y += 1.0
        assert cache.get(Y, build) == 4


def test_a_symplectic_layout_in_pairs_is_that_in_halves_with_rows_exchanged():
    """phi(S X) = S phi(X) with S the exchange, and so for points, projections and retractions."""
    halves, pairs = go.SymplecticStiefel(8, 4), go.SymplecticStiefel(8, 4, rows="pairs")
    order = np.arange(8).reshape(2, 4).T.ravel()
    X, D = halves.random_point(0), halves.random_ambient(1)
    np.testing.assert_array_equal(pairs.phi(X[order]), halves.phi(X)[order])
    np.testing.assert_array_equal(pairs.psi(X[:4]), halves.psi(X[:4]))
    strict = pytest.importorskip("array_api_strict")
    in_strict = pairs.phi(strict.asarray(X[order]))
    np.testing.assert_array_equal(np.asarray(in_strict), halves.phi(X)[order])
    Z = halves.project(X, D)
    np.testing.assert_allclose(pairs.project(X[order], D[order]), Z[order], atol=1e-12)
    moved = pairs.retract(X[order], Z[order] / 10)
    np.testing.assert_allclose(moved, halves.retract(X, Z / 10)[order], atol=1e-12)
    Y = pairs.random_point(2)
    assert pairs.feasibility(Y) <= 1e-12 * pairs.scale(Y)
    with pytest.raises(ValueError, match="rows: need one of 'halves', 'pairs'"):
        go.SymplecticStiefel(8, 4, rows="columns")


@pytest.mark.slow
def test_random_points_on_a_device():
    """On M, and the same for any number of devices, as each block of rows has its seed."""
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    device = jax.devices()[0]
    for manifold in (go.Stiefel(N, P), go.SymplecticStiefel(12, 4, rows="pairs")):
        X = manifold.random_point(3, device=device)
        assert isinstance(X, jax.Array) and X.devices() == {device}
        assert manifold.feasibility(X) <= 1e-5 * manifold.scale(X)
        assert np.abs(X - manifold.random_point(3, device=device)).max() == 0
        assert np.abs(X - manifold.random_point(4, device=device)).max() > 0.01
    with pytest.raises(ValueError, match=r"device: need a jax.Device or"):
        go.Stiefel(N, P).random_point(0, device="cpu:0")


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_several_inner_products_in_one_pass(dtype, wrap):
    """Those of `inner`, also where a sum of float32 in sequence would stagnate."""
    rng = np.random.default_rng(0)
    U, V = (rng.standard_normal((4000, 5)) + 3 for _ in range(2))
    if dtype is complex:
        U, V = U + 1j * V, V - 2j
    U, V = U.astype(dtype), V.astype(dtype)
    found = inners((wrap(U), wrap(V)), (wrap(V), wrap(V)))
    expected = [np.vdot(A.astype(complex), V.astype(complex)).real for A in (U, V)]
    unit = np.finfo(dtype).eps
    np.testing.assert_allclose([number(value) for value in found], expected, rtol=100 * unit)


@pytest.mark.parametrize(("method", "most"), [("rgd", 7), ("rlbfgs", 6 + 2 * 3)])
def test_arrays_that_are_kept_while_the_cost_is_evaluated(method, most):
    """The start, the last X, G and gradient, the trial; and X and G of the best, or Z and pairs."""
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    with jax.enable_x64(True):
        w = jax.numpy.asarray(WEIGHTS[:, None])
        sizes: list[int] = []

        def both(X: Any) -> tuple[Any, Any]:
            arrays = [A for A in jax.live_arrays() if A.shape[-2:] == (N, P) and id(A) not in old]
            sizes.append(sum(A.size // (N * P) for A in arrays))
            return (X * (w * X)).sum() / 2, w * X

        start = jax.numpy.asarray(go.GeneralizedStiefel(DIAGONAL, P).random_point(0))
        options = {"memory": 3} if method == "rlbfgs" else {}
        old = {id(A) for A in jax.live_arrays()} - {id(start)}
        f = go.Problem(go.GeneralizedStiefel(DIAGONAL, P), cost_and_gradient=both)
        go.minimize(f, start, method=method, tol=0.0, max_iterations=12, **options)
    assert 5 < max(sizes) <= most
