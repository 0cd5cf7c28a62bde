"""Problem: what callables are handed and may return; derivatives from JAX and PyTorch."""

import builtins
import importlib.util
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import genorth as go
from support.problems import Matrix, spd, trace

M = go.Stiefel(6, 2)
A = spd(6, 10, 0)


def test_an_array_changed_in_place_is_a_new_point():
    problem, X = trace(M, A), M.random_point(0)
    before = problem.cost(X)
    X *= 2
    assert problem.cost(X) == pytest.approx(4 * before, rel=1e-14)
    assert problem.counts.nfev == problem.counts.njev == 2


@pytest.mark.parametrize("which", ["cost", "gradient", "hessian", "fused", "phi", "ambient"])
def test_what_a_callable_is_handed_is_read_only(which):
    """A write raises in the user's own line; without it, a changed X was a false success."""

    def writes(X: Matrix, *more: Matrix) -> Any:
        (more[0] if which == "hessian" else X)[0] = 0.0
        return 0.0

    X = M.random_point(0)
    before = X.copy()
    fine = {"cost": lambda X: 0.0, "euclidean_gradient": lambda X: X}
    one = {"psi": lambda T: T, "companion": [1.0, 1.0]}
    calls: dict[str, Any] = {
        "cost": lambda: go.Problem(M, writes).cost(X),
        "gradient": lambda: go.Problem(M, fine["cost"], writes).euclidean_gradient(X),
        "hessian": lambda: go.Problem(M, **fine, euclidean_hessian=writes).euclidean_hessian(X, X),
        "fused": lambda: go.Problem(M, cost_and_gradient=writes).cost_and_gradient(X),
        "phi": lambda: go.from_maps((6, 2), writes, **one).gram(X),
        "ambient": lambda: go.from_maps((6, 2), lambda X: X, ambient=writes, **one).ambient(X),
    }
    with pytest.raises(ValueError, match="read-only"):
        calls[which]()
    assert np.array_equal(X, before) and X.flags.writeable


def test_a_gradient_that_is_its_argument_is_copied():
    """With the projector onto F, too, when that returns its argument."""
    whole = go.from_maps((6, 2), lambda X: X, lambda T: T, ambient=lambda Y: Y)
    for manifold in (M, whole):
        problem, X = go.Problem(manifold, lambda X: 0.0, lambda X: X), M.random_point(0)
        G = problem.evaluate_gradient(X)
        assert not np.shares_memory(G, X) and G.flags.writeable


BAD_ARRAYS: list[tuple[str, Any, str]] = [
    ("a list", lambda X: X.tolist(), "a list. Return a plain array"),
    ("a tuple", lambda X: tuple(X), "a tuple"),
    ("a matrix", lambda X: np.asmatrix(X), "a matrix"),
    ("a masked array", lambda X: np.ma.masked_array(X), "a MaskedArray"),
    ("long double", lambda X: X.astype(np.longdouble), "dtype float128"),
    ("half", lambda X: X.astype(np.float16), "dtype float16"),
    ("objects", lambda X: X.astype(object), "dtype object"),
    ("complex", lambda X: X + 0j, "dtype complex128"),
    ("a sparse matrix", lambda X: scipy.sparse.csr_array(X), "a csr_array"),
    ("a number", lambda X: 1.0, "a float"),
    ("nothing", lambda X: None, "a NoneType"),
    ("another shape", lambda X: X.T, "shape (2, 6)"),
]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # NumPy's, of np.matrix
@pytest.mark.parametrize(
    ("bad", "measured"), [case[1:] for case in BAD_ARRAYS], ids=[case[0] for case in BAD_ARRAYS]
)
def test_what_is_no_array_is_named(bad, measured):
    """From a derivative, from phi, from psi: the same refusal, which names the function."""
    X = M.random_point(0)

    def one(X: Matrix) -> Matrix:
        return X

    def fused(X: Matrix) -> tuple[float, Any]:
        return 0.0, bad(X)

    class Mine(go.GenOrthManifold):
        shape = (6, 2)

        def phi(self, X: Matrix) -> Matrix:
            return bad(X)

        def psi(self, T: Matrix) -> Matrix:
            return T

    for name, call in (
        ("euclidean_gradient", lambda: go.Problem(M, lambda X: 0.0, bad).euclidean_gradient(X)),
        ("cost_and_gradient", lambda: go.Problem(M, cost_and_gradient=fused).cost(X)),
        ("phi", lambda: go.from_maps((6, 2), bad, one).gram(X)),
        ("phi", lambda: Mine().gram(X)),
    ):
        with pytest.raises(ValueError, match=rf"^{name}: need ") as caught:
            call()
        assert measured in str(caught.value), caught.value
    if measured != "shape (2, 6)":  # T is square
        with pytest.raises(ValueError, match=r"^psi: need "):
            go.from_maps((6, 2), one, bad).symmetrize(np.eye(2))


def test_a_map_that_is_not_finite_is_named():
    X = M.random_point(0)
    nan = go.from_maps((6, 2), lambda X: X * np.nan, lambda T: T, companion=[1.0, 1.0])
    for call in (nan.gram, nan.constraint, nan.dissolve, lambda X: nan.project(X, X)):
        with pytest.raises(ValueError, match=r"^phi\(X\): need finite entries"):
            call(X)
    with pytest.raises(ValueError, match=r"^phi\(x0\): need finite entries"):
        go.Problem(nan, lambda X: 0.0).start(X)
    nan = go.from_maps((6, 2), lambda X: X, lambda T: T / 0.0, companion=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"^psi\(X\^T X\)"), np.errstate(all="ignore"):
        nan.constraint_differential(X, X)


@pytest.mark.parametrize("name", ["project", "dim", "theta_solver", "retract", "_check"])
def test_what_is_derived_cannot_be_overridden(name):
    with pytest.raises(TypeError, match=rf"Mine.{name}: .*derived"):
        type("Mine", (go.Stiefel,), {name: lambda self, *arguments: None})
    mixin = type("Mixin", (), {name: None})
    with pytest.raises(TypeError, match=rf"Mine.{name}: "):
        type("Mine", (mixin, go.Stiefel), {})


def test_what_is_data_can_be_given():
    """phi, psi, shape, facts, and names of one's own."""

    class Mine(go.GenOrthManifold):
        definite = True
        shape = (6, 2)

        def phi(self, X: Matrix) -> Matrix:
            """Mine."""
            return 2 * X

        def psi(self, T: Matrix) -> Matrix:
            return T

        def extra(self) -> int:
            return 7

    assert Mine().extra() == 7 and go.check_assumptions(Mine(), rng=0).passed
    assert Mine.phi.__doc__ == "Mine."


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1), (2,)])
def test_an_array_of_jax_is_no_real_number(shape):
    """What float(f) cannot convert is let through only where JAX traces a scalar."""
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(ValueError, match=r"^cost: need cost to return a real number"):
        go.Problem(M, lambda X: jnp.ones(shape)).cost(M.random_point(0))


@pytest.mark.parametrize(
    "value", [3, np.float32(3), np.int64(3), np.array(3.0), np.full(1, 3.0), np.full((1, 1), 3.0)]
)
def test_any_real_scalar_is_a_cost(value):
    cost = go.Problem(M, lambda X: value).cost(M.random_point(0))
    assert type(cost) is float and cost == 3.0


def test_missing_derivatives_name_what_to_pass():
    problem = go.Problem(M, lambda X: 0.0)
    with pytest.raises(ValueError, match=r"^euclidean_gradient: .*genorth\[jax\]"):
        problem.euclidean_gradient(M.random_point(0))
    with pytest.raises(ValueError, match=r"^euclidean_gradient: "):  # of which differences are made
        problem.euclidean_hessian(M.random_point(0), M.random_point(1))


def _by_library(library: str, manifold: go.GenOrthManifold, B: Matrix) -> go.Problem:
    """f(X) = (Re<X, BX>)^2 in the functions of the library."""
    if library == "jax":
        jnp = pytest.importorskip("jax.numpy")
        return go.Problem(manifold, lambda X: jnp.real(jnp.vdot(X, B @ X)) ** 2, autodiff="jax")
    torch = pytest.importorskip("torch")
    T = torch.tensor(B)
    return go.Problem(
        manifold, lambda X: torch.real((X.conj() * (T @ X)).sum()) ** 2, autodiff="torch"
    )


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_derivatives_by_automatic_differentiation(library, dtype):
    manifold = go.Stiefel(6, 2, dtype)
    B, X, Z = (
        manifold.random_ambient(0) @ manifold.random_ambient(1).conj().T,
        *map(manifold.random_ambient, (2, 3)),
    )
    B = B + B.conj().T
    problem = _by_library(library, manifold, B)
    value, BX, BZ = np.vdot(X, B @ X).real, B @ X, B @ Z
    rounding = {
        "rtol": 0,
        "atol": 1e3 * np.finfo(float).eps * np.linalg.norm(B) ** 2 * np.linalg.norm(X) ** 3,
    }
    np.testing.assert_allclose(problem.cost(X), value**2, **rounding)
    np.testing.assert_allclose(problem.euclidean_gradient(X), 4 * value * BX, **rounding)
    expected = 4 * value * BZ + 8 * np.vdot(BX, Z).real * BX
    np.testing.assert_allclose(problem.euclidean_hessian(X, Z), expected, **rounding)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_given_derivatives_are_used_and_a_given_gradient_is_differentiated(library):
    pytest.importorskip(library)
    X, Z = M.random_point(0), M.random_ambient(1)
    for hessian, factor in ((None, 1.5), (lambda X, Z: 5 * Z, 5.0)):
        problem = go.Problem(
            M, lambda X: (X * X).sum() / 2, lambda X: 1.5 * X, hessian, autodiff=library
        )
        np.testing.assert_allclose(problem.euclidean_gradient(X), 1.5 * X, rtol=1e-15)
        np.testing.assert_allclose(problem.euclidean_hessian(X, Z), factor * Z, rtol=1e-15)
        np.testing.assert_allclose(problem.cost_and_gradient(Z)[1], 1.5 * Z, rtol=1e-15)


def test_a_missing_library_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_torch(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    monkeypatch.setattr(importlib, "import_module", lambda name: without_torch(name))
    with pytest.raises(ImportError, match=r"genorth\[torch\]"):
        go.Problem(M, np.sum, autodiff="torch")


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_autodiff_takes_a_cost_with_one_entry(library):
    pytest.importorskip(library)
    problem = go.Problem(go.Stiefel(4, 1), lambda X: X.T @ X, autodiff=library)
    X = problem.manifold.random_point(0)
    f, G = problem.cost_and_gradient(X)
    assert f == pytest.approx(1.0)
    np.testing.assert_allclose(G, 2 * X)
    np.testing.assert_allclose(problem.euclidean_hessian(X, X), 2 * X)


@pytest.mark.parametrize("cut", [lambda f: f.item(), lambda f: f.detach().numpy()])
def test_a_cost_that_torch_cannot_follow_is_named(cut):
    pytest.importorskip("torch")
    problem = go.Problem(go.Stiefel(4, 1), lambda X: cut((X * X).sum()), autodiff="torch")
    with pytest.raises(ValueError, match="return the tensor"):
        go.minimize(problem, rng=0)
