"""What pymanopt sees of a manifold and of a problem, and what we see of one of pymanopt's."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pymanopt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymanopt.manifolds.manifold import Manifold, RiemannianSubmanifold

import genorth as go
import genorth.testing as gt
from genorth.interop.pymanopt import PymanoptManifold, from_pymanopt, to_pymanopt
from support.known_minima import known_minima
from support.norms import EPS, Matrix, norm
from support.problems import smooth

METHODS = [
    name
    for name, value in vars(Manifold).items()
    if inspect.isfunction(value) and not name.startswith("_")
]
#: The decorators of pymanopt whose library is installed (numpy needs none, and differentiates
#: nothing).
BACKENDS = [
    name
    for name, module in {"autograd": "autograd", "jax": "jax", "pytorch": "torch"}.items()
    if find_spec(module)
]


def _unit(manifold: go.GenOrthManifold, X: Matrix) -> float:
    """Roundoff in what is computed at X from vectors of norm one."""
    P = np.asarray(manifold.phi(X))
    return 1e3 * EPS * X.size * float(np.linalg.cond(P).max()) ** 2 * max(1.0, norm(P))


def test_it_is_one_of_pymanopts_manifolds_with_its_names():
    manifold = go.SymplecticStiefel(8, 4)
    W = PymanoptManifold(manifold)
    assert isinstance(W, RiemannianSubmanifold)
    assert (
        W.dim == manifold.dim
        and W.num_values == 1
        and W.point_layout == 1
        and str(W) == "SymplecticStiefel(8, 4)"
    )
    for name in METHODS:
        ours, theirs = (
            inspect.signature(getattr(cls, name)) for cls in (PymanoptManifold, Manifold)
        )
        assert list(ours.parameters) == list(theirs.parameters), name


def test_what_does_not_exist_is_refused_in_pymanopts_way():
    W = PymanoptManifold(go.Stiefel(5, 2), rng=0)
    X = W.random_point()
    with pytest.raises(
        NotImplementedError, match="'PymanoptManifold' provides no implementation for 'exp'"
    ):
        W.exp(X, X)


@pytest.mark.parametrize("metric", [None, np.arange(1.0, 9.0)])
def test_log_inverts_cayley_and_dist_is_its_length(metric):
    W = PymanoptManifold(go.SymplecticStiefel(8, 4), "cayley", rng=0, metric=metric)
    X = W.random_point()
    Z = 0.3 * W.random_tangent_vector(X)
    Y = W.retraction(X, Z)
    np.testing.assert_allclose(W.log(X, Y), Z, atol=1e-13)
    assert W.dist(X, Y) == pytest.approx(0.3, rel=1e-12)


def test_the_scale_of_the_stiefel_manifold_is_pymanopts():
    ours, theirs = PymanoptManifold(go.Stiefel(9, 4)), pymanopt.manifolds.Stiefel(9, 4)
    assert ours.typical_dist == pytest.approx(theirs.typical_dist, rel=1e-14)


@given(gt.manifolds(max_condition=1e3), gt.seeds())
def test_the_methods_are_the_geometry(manifold, seed):
    W = PymanoptManifold(manifold, "exp", rng=seed)
    X, unit = W.random_point(), _unit(manifold, W.random_point())
    unit = max(unit, _unit(manifold, X))
    assert manifold.feasibility(X) <= unit * manifold.scale(X)
    Y = manifold.random_point(seed + 1)
    U, V = W.random_tangent_vector(X), W.random_tangent_vector(X)
    if manifold.dim > 0:
        assert W.norm(X, U) == pytest.approx(1, rel=1e-12)
    if manifold.dim > 1:  # on a curve there are but two of them
        assert not np.array_equal(U, V)
    assert W.inner_product(X, U, V) == pytest.approx(np.vdot(U, V).real, abs=unit)
    assert W.norm(X, U - V) == pytest.approx(norm(U - V), abs=unit)
    D = manifold.random_ambient(seed)
    np.testing.assert_array_equal(W.projection(X, D), manifold.project(X, D))
    np.testing.assert_array_equal(W.to_tangent_space(X, D), manifold.project(X, D))
    np.testing.assert_array_equal(W.euclidean_to_riemannian_gradient(X, D), manifold.gradient(X, D))
    np.testing.assert_array_equal(W.transport(X, Y, U), manifold.project(Y, U))
    np.testing.assert_array_equal(W.retraction(X, 1e-3 * U), manifold.retract(X, 1e-3 * U, "exp"))
    zero = W.zero_vector(X)
    assert zero.dtype == X.dtype and zero.shape == X.shape and not zero.any()


@given(gt.manifolds(max_condition=1e3), gt.seeds())
def test_the_hessian_is_that_of_pymanopts_formula_with_our_weingarten_map(manifold, seed):
    """Hess f = P(ehess) + W(Z, N), N the normal part of the gradient.

    Two ways to the same vector.
    """
    W = PymanoptManifold(manifold, rng=seed)
    X = W.random_point()
    Z, rng = W.random_tangent_vector(X), np.random.default_rng(seed)
    G, H = manifold.random_ambient(rng), manifold.random_ambient(rng)
    ours = W.euclidean_to_riemannian_hessian(X, G, H, Z)
    theirs = RiemannianSubmanifold.euclidean_to_riemannian_hessian(W, X, G, H, Z)
    scale = norm(G) * max(1.0, norm(np.asarray(manifold.phi(Z)))) + norm(H)
    assert norm(ours - theirs) <= _unit(manifold, X) * scale


@pytest.mark.parametrize("blocks", [1, 3])
@given(n=st.integers(2, 8), p=st.integers(1, 5), seed=gt.seeds())
def test_the_stiefel_manifold_is_pymanopts(blocks, n, p, seed):
    """Real points, one block or several: every method gives what pymanopt's own class gives."""
    p = min(n, p)
    manifold = go.Stiefel(n, p) if blocks == 1 else go.TensorStiefel(n, p, blocks, np.eye(blocks))
    ours, theirs = (
        PymanoptManifold(manifold, "polar", seed),
        pymanopt.manifolds.Stiefel(n, p, k=blocks, retraction="polar"),
    )
    assert ours.dim == theirs.dim
    X = ours.random_point()
    if ours.dim == 0:
        return
    U, V = ours.random_tangent_vector(X), ours.random_tangent_vector(X)
    rng = np.random.default_rng(seed)
    G, H = rng.standard_normal((2, *X.shape))
    N = G - theirs.projection(X, G)
    for name, arguments in {
        "inner_product": (U, V),
        "norm": (U,),
        "projection": (G,),
        "retraction": (U,),
        "weingarten": (U, N),
        "euclidean_to_riemannian_gradient": (G,),
        "euclidean_to_riemannian_hessian": (G, H, U),
    }.items():
        expected = getattr(theirs, name)(X, *arguments)
        size = max(1.0, *map(norm, arguments)) ** len(arguments)
        assert np.allclose(
            getattr(ours, name)(X, *arguments), expected, rtol=0, atol=1e-14 * X.size * size
        ), name


def test_draws_come_from_the_generator_and_nothing_touches_the_global_one():
    manifold = go.HyperbolicStiefel(np.array([1.0, 1.0, -1.0]), 2)
    before = np.random.get_state()[1].copy()  # noqa: NPY002  # that this state is left alone is what is tested
    first, again = (
        PymanoptManifold(manifold, rng=3),
        PymanoptManifold(manifold, rng=np.random.default_rng(3)),
    )
    X = first.random_point()
    np.testing.assert_array_equal(X, again.random_point())
    np.testing.assert_array_equal(first.random_tangent_vector(X), again.random_tangent_vector(X))
    assert not np.array_equal(X, first.random_point())
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("kind", "inside", "outside"), [("cayley", 1.9, 2.0), ("polar", 0.9, 1.1), ("exp", 9.0, 1e9)]
)
def test_a_step_outside_the_domain_goes_along_exp(kind, inside, outside):
    """On x^2 - y^2 = 1 Cayley has a pole at |Z| = 2, polar ends at 1, exp(1e9) overflows."""
    manifold = go.HyperbolicStiefel(np.array([1.0, -1.0]), 1)
    W = PymanoptManifold(manifold, kind)
    X, Z = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    np.testing.assert_array_equal(
        W.retraction(X, inside * Z), manifold.retract(X, inside * Z, kind)
    )
    assert W.outside == 0
    t = min(outside, 10.0)  # as far as exp goes
    np.testing.assert_allclose(
        W.retraction(X, outside * Z), [[np.cosh(t)], [np.sinh(t)]], rtol=1e-12
    )
    assert W.outside == 1


def test_a_step_that_is_not_finite_is_refused():
    W = PymanoptManifold(go.Stiefel(5, 2), rng=0)
    X = W.random_point()
    with pytest.raises(ValueError, match="Z: need finite entries; got 10 "):
        W.retraction(X, np.full_like(X, np.nan))


@given(gt.manifolds(max_condition=1e3), gt.seeds())
def test_the_mean_of_near_points_is_on_the_manifold_and_symmetric(manifold, seed):
    W = PymanoptManifold(manifold, "exp", rng=seed)
    X = W.random_point()
    P = np.asarray(manifold.phi(X))
    Y = W.retraction(X, W.random_tangent_vector(X) * (0.1 / (norm(X) * max(1.0, norm(P)))))
    mean, unit = W.pair_mean(X, Y), _unit(manifold, X)
    assert manifold.feasibility(mean) <= unit * manifold.scale(mean)
    assert norm(mean - W.pair_mean(Y, X)) <= unit * norm(X)
    assert norm(W.pair_mean(X, X) - X) <= unit * norm(X)
    # Second order: the mean lies in the middle but for the square of the distance.
    assert norm(mean - (X + Y) / 2) <= norm(X) * norm(X - Y) ** 2 * max(1.0, norm(P)) + unit * norm(
        X
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((pymanopt.manifolds.Stiefel(4, 2),), "manifold: need a GenOrthManifold; got Stiefel"),
        (
            (go.Stiefel(4, 2), "qr"),
            "retraction: need one of 'cayley', 'polar', 'exp', 'normal', 'auto'; got 'qr'",
        ),
    ],
)
def test_bad_arguments_of_the_manifold(arguments, message):
    with pytest.raises(ValueError, match=message):
        PymanoptManifold(*arguments)


def _taylor(function: Callable[[float], Matrix], radius: float = 0.1, degree: int = 9) -> Matrix:
    """Taylor coefficients at 0 of a function that is analytic beyond the radius.

    By interpolation on Chebyshev points; the rest is of order (radius/2)^degree, 1e-12, times the
    growth of the function.
    """
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    values = np.array([function(radius * t) for t in nodes])
    scaled = np.linalg.solve(np.vander(nodes, increasing=True), values.reshape(degree + 1, -1))
    return (scaled / radius ** np.arange(degree + 1.0)[:, None]).reshape(values.shape)


@given(gt.manifolds(max_condition=10), st.sampled_from(["cayley", "polar", "exp"]), gt.seeds())
def test_gradient_and_hessian_are_the_first_two_terms_along_the_retraction(manifold, kind, seed):
    """f(c(t)) = f + t <g, Z> + t^2/2 (<Z, hess Z> + <g, c''>) + O(t^3) along c(t) = R(tZ).

    <g, c''> is zero for a second-order retraction; with it the formula holds for the others too.
    """
    problem = to_pymanopt(smooth(manifold, seed), kind, rng=seed)
    W, X = problem.manifold, problem.manifold.random_point()
    # M is curved on the scale of phi
    size = norm(X) * max(1.0, norm(np.asarray(manifold.phi(X))))
    Z = W.random_tangent_vector(X) / size
    curve = _taylor(lambda t: np.asarray(W.retraction(X, t * Z)))
    f = _taylor(lambda t: np.asarray(problem.cost(W.retraction(X, t * Z))))
    assert W.outside == 0
    g, h = problem.riemannian_gradient(X), problem.riemannian_hessian(X, Z)
    second = W.inner_product(X, h, Z) / 2 + W.inner_product(X, g, W.projection(X, curve[2]))
    unit = 1e-6 * (abs(f[0]) + np.abs(f[1:5]).max() + norm(g) * norm(Z))
    assert norm(curve[1] - Z) <= 1e-6 * (norm(X) + norm(Z))
    assert abs(f[1] - W.inner_product(X, g, Z)) <= unit
    assert abs(f[2] - second) <= unit


def test_a_point_is_evaluated_once_whatever_is_tried_in_between():
    seen: list[tuple[str, bytes]] = []

    def cost(X: Matrix) -> float:
        seen.append(("cost", X.tobytes()))
        return float(np.sum(X**4))

    def gradient(X: Matrix) -> Matrix:
        seen.append(("gradient", X.tobytes()))
        return 4 * X**3

    problem = go.Problem(go.Stiefel(6, 2), cost, gradient, lambda X, Z: 12 * X**2 * Z)
    theirs = to_pymanopt(problem, rng=0)
    W = theirs.manifold
    X, Z = W.random_point(), None
    for _ in range(3):
        theirs.cost(X)
        theirs.riemannian_gradient(X.copy())
        Z = W.random_tangent_vector(X)
        theirs.riemannian_hessian(X, Z)
        theirs.cost(W.retraction(X, Z))  # a trial, after which the solver goes back to X
    assert len(seen) == len(set(seen)) == 5
    assert problem.counts.nfev == 4 and problem.counts.njev == 1 and problem.counts.nhev == 3


def test_a_fused_cost_and_gradient_is_called_once_per_point():
    calls = 0

    def both(X: Matrix) -> tuple[float, Matrix]:
        nonlocal calls
        calls += 1
        return float(np.sum(X**2)) / 2, X

    theirs = to_pymanopt(go.Problem(go.Stiefel(6, 2), cost_and_gradient=both), rng=0)
    X = theirs.manifold.random_point()
    theirs.cost(X), theirs.riemannian_gradient(X), theirs.cost(X)
    assert calls == 1


def test_a_point_that_its_owner_changes_is_a_new_one():
    theirs = to_pymanopt(
        go.Problem(go.Stiefel(6, 2), lambda X: float(X[0, 0]), lambda X: np.eye(6, 2)), rng=0
    )
    X = theirs.manifold.random_point()
    first = theirs.cost(X)
    X *= -1
    assert theirs.cost(X) == -first


def test_derivatives_that_are_missing_stay_missing():
    theirs = to_pymanopt(go.Problem(go.Stiefel(6, 2), lambda X: float(np.sum(X**4))), rng=0)
    X = theirs.manifold.random_point()
    with pytest.raises(NotImplementedError, match="No autodiff support"):
        theirs.riemannian_gradient(X)


def test_only_our_problem_is_converted():
    with pytest.raises(ValueError, match=r"problem: need a genorth\.Problem; got str"):
        to_pymanopt("problem")  # type: ignore[arg-type]


def _quartic(backend: str, W: PymanoptManifold) -> pymanopt.Problem:
    """f(X) = sum |X|^4 / 4 + Re<B, X>, in the words of each library; derivatives by the backend."""
    B = W.manifold.random_ambient(1)

    if backend == "autograd":
        import autograd.numpy as anp

        def cost(X: Any) -> Any:
            return anp.sum(anp.abs(X) ** 4) / 4 + anp.sum(anp.real(anp.conj(B) * X))
    elif backend == "jax":
        import jax.numpy as jnp

        def cost(X: Any) -> Any:
            return jnp.sum(jnp.abs(X) ** 4) / 4 + jnp.sum(jnp.real(jnp.conj(B) * X))
    else:
        import torch

        def cost(X: Any) -> Any:
            product = torch.conj(torch.from_numpy(B)) * X
            return torch.sum(torch.abs(X) ** 4) / 4 + torch.sum(
                product.real if product.is_complex() else product
            )

    return pymanopt.Problem(W, getattr(pymanopt.function, backend)(W)(cost))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_of_every_backend_come_over(backend, dtype):
    manifold = go.Stiefel(6, 2, dtype)
    theirs = _quartic(backend, PymanoptManifold(manifold, rng=0))
    ours = from_pymanopt(theirs)
    assert ours.has_gradient and ours.has_hessian and ours.name == "cost"
    X, B = manifold.random_point(0), manifold.random_ambient(1)
    Z = manifold.random_ambient(2)
    f = float(np.sum(np.abs(X) ** 4) / 4 + np.vdot(B, X).real)
    assert ours.cost(X) == pytest.approx(f, rel=1e-13)
    G = np.abs(X) ** 2 * X + B
    H = np.abs(X) ** 2 * Z + 2 * np.real(np.conj(X) * Z) * X
    np.testing.assert_allclose(ours.euclidean_gradient(X), G, atol=1e-13)
    np.testing.assert_allclose(ours.euclidean_hessian(X, Z), H, atol=1e-13)
    assert ours.counts.nfev == ours.counts.njev == ours.counts.nhev == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "manifold",
    [go.Stiefel(6, 2, complex), go.TensorStiefel(5, 2, 3), go.SymplecticStiefel(6, 2)],
    ids=lambda manifold: type(manifold).__name__,
)
def test_pymanopts_own_solver_and_minimize_find_the_same(backend, manifold):
    """Complex and tensor points too: the same Problem object goes to both sides."""
    theirs = _quartic(backend, PymanoptManifold(manifold, rng=0))
    x0 = manifold.random_point(3)
    side = pymanopt.optimizers.TrustRegions(verbosity=0, min_gradient_norm=1e-8).run(
        theirs, initial_point=x0
    )
    result = go.minimize(theirs, side.point + 1e-3 * manifold.random_ambient(0), tol=1e-8)
    assert result.success, result
    assert result.fun == pytest.approx(float(side.cost), rel=1e-12)


def test_a_problem_survives_the_round_trip():
    problem, _ = known_minima()["stiefel"]
    assert from_pymanopt(to_pymanopt(problem)) is problem


def test_derivatives_that_were_given_are_taken():
    W = PymanoptManifold(go.Stiefel(5, 2))
    function = pymanopt.function.numpy(W)
    cost, gradient = function(lambda X: float(np.sum(X**2))), function(lambda X: 2 * X)
    ours = from_pymanopt(pymanopt.Problem(W, cost, euclidean_gradient=gradient))
    assert ours.has_gradient and not ours.has_hessian and ours.manifold is W.manifold
    assert not from_pymanopt(pymanopt.Problem(W, cost)).has_gradient
    with pytest.raises(ValueError, match="problem: need a gradient"):
        go.minimize(pymanopt.Problem(W, cost))


def _on(manifold: Manifold, **derivatives: Any) -> pymanopt.Problem:
    function = pymanopt.function.numpy(manifold)
    return pymanopt.Problem(
        manifold, function(lambda *X: 0.0), **{k: function(v) for k, v in derivatives.items()}
    )


_WRAPPED = PymanoptManifold(go.Stiefel(4, 2))


@pytest.mark.parametrize("convert", [from_pymanopt, go.minimize])
@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            _on(pymanopt.manifolds.Stiefel(4, 2)),
            r"need a problem on a PymanoptManifold; got Stiefel .*Wrap a man",
        ),
        (
            _on(pymanopt.manifolds.Product([_WRAPPED, pymanopt.manifolds.Grassmann(4, 2)])),
            r"a product whose factors are each .* got Grassmann",
        ),
        (
            _on(_WRAPPED, riemannian_gradient=lambda X: X),
            "need euclidean_gradient; got riemannian_gradient alone",
        ),
        (3, "problem: need a .*genorth.Problem"),
    ],
)
def test_what_is_not_supported_is_told(convert, problem, message):
    with pytest.raises(ValueError, match=message):
        convert(problem)


def test_a_subclass_of_pymanopts_problem_is_known_to_minimize():
    class Mine(pymanopt.Problem):
        pass

    function = pymanopt.function.numpy(_WRAPPED)
    cost, gradient = (
        function(lambda X: float(X[0, 0])),
        function(lambda X: np.eye(1, 8).reshape(4, 2)),
    )
    result = go.minimize(Mine(_WRAPPED, cost, euclidean_gradient=gradient), rng=0)
    assert result.success and result.fun == pytest.approx(-1, abs=1e-10)


def test_the_package_of_interfaces_loads_nothing():
    code = "import sys, genorth.interop; print('pymanopt' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        == "False\n"
    )
