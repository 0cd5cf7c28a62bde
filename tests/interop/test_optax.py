"""Dissolved losses and gradient transformations for JAX and Optax."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.geometry.field import Field
from genorth.interop.steps import muon_direction, pogo_step, stepped
from support.layer_manifolds import KINDS, MANIFOLDS, distance, near, refuses, target, with_momentum

jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
optax = pytest.importorskip("optax", reason="the extra 'optax' is not installed")

import jax.numpy as jnp  # noqa: E402  needs jax

from genorth.interop.optax import (  # noqa: E402
    dissolve,
    finish,
    landing,
    muon,
    pogo,
    riemannian,
    subspace_descent,
)

EPS = 2.0**-52


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _distance(T: Any) -> Any:
    return lambda X: jnp.sum(jnp.abs(X - T) ** 2) / 2


def _steps(optimizer: Any, loss: Any, params: Any, count: int) -> Any:
    """The parameters after some steps, compiled."""

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        grads = jax.tree.map(jnp.conj, jax.grad(loss)(params))
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    state = optimizer.init(params)
    for _ in range(count):
        params, state = step(params, state)
    return params


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["stiefel", "complex", "generalized", "symplectic", "tensor"])
def test_the_loss_is_the_dissolved_function(name, kind):
    """F11, F17: value and gradient of h."""
    manifold, beta = MANIFOLDS[name], 1.7
    X, T = near(manifold, 0), target(manifold, 1)
    loss = dissolve(_distance(T), manifold, beta, dissolving=kind)
    value, gradient = jax.jit(jax.value_and_grad(loss))(jnp.asarray(X))
    expected, G = KINDS[kind](distance(manifold, T), beta).value_and_gradient(X)
    size = 1e3 * EPS * float(manifold.scale(X)) ** 2
    assert abs(float(value) - expected) <= size * max(1, abs(expected))
    assert np.linalg.norm(np.conj(gradient) - G) <= size * max(1, float(np.linalg.norm(G)))


def test_trees_with_manifolds_at_some_leaves():
    """A prefix covers a subtree; None leaves leaves alone; betas may differ."""
    M, S = go.Stiefel(6, 2), go.SymplecticStiefel(4, 2)
    params = {
        "layer": {"kernel": jnp.asarray(near(M, 0)), "bias": jnp.arange(3.0)},
        "heads": jnp.stack([near(S, k).T for k in range(3)]),
        "free": [jnp.ones(2), jnp.zeros(1)],
    }
    manifolds = {"layer": {"kernel": M, "bias": None}, "heads": S, "free": None}
    betas = {"layer": {"kernel": 2.0, "bias": None}, "heads": 6.0, "free": None}

    def loss(params: Any, factor: float, *, shift: float = 0.0) -> Any:
        return factor * sum(jnp.sum(leaf) for leaf in jax.tree.leaves(params)) + shift, "aux"

    h = dissolve(loss, manifolds, betas, has_aux=True)
    value, aux = h(params, 2.0, shift=0.5)
    kernel, heads = params["layer"]["kernel"], [head.T for head in params["heads"]]
    seen = M.dissolve(kernel).sum() + sum(S.dissolve(X).sum() for X in heads)
    expected = 2.0 * (seen + 3.0 + 2.0) + 0.5
    expected += 1.0 * M.feasibility(kernel) ** 2 + 3.0 * sum(S.feasibility(X) ** 2 for X in heads)
    assert aux == "aux"
    assert float(value) == pytest.approx(float(expected), rel=1e-12)
    ends = finish(h.params(params), manifolds)
    assert jax.tree.structure(ends) == jax.tree.structure(params)
    assert np.array_equal(ends["layer"]["bias"], params["layer"]["bias"])
    assert M.feasibility(ends["layer"]["kernel"]) <= 1e-12
    assert max(float(S.feasibility(X.T)) for X in ends["heads"]) <= 1e-12


def test_many_small_matrices_in_one_call():
    """Mapped over, or along an axis in front: the same."""
    S = go.SymplecticStiefel(16, 4)
    rng = np.random.default_rng(0)
    X = jnp.asarray(S.random_point(0) + 0.01 * rng.standard_normal((1000, 16, 4)))
    h = dissolve(lambda X: jnp.sum(X**4), S, 3.0)
    together = jax.jit(jax.grad(h))(X)
    mapped = jax.jit(jax.vmap(jax.grad(h)))(X)
    alone = jax.grad(h)(X[17])
    assert together.shape == X.shape
    assert np.linalg.norm(together - mapped) <= 1e-12 * np.linalg.norm(mapped)
    assert np.linalg.norm(together[17] - alone) <= 1e-12 * np.linalg.norm(alone)


_SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np, optax
import genorth as go
from genorth.interop.optax import dissolve, finish, riemannian
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)
rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows", None))
M = go.GeneralizedStiefel(np.linspace(1, 2, 64), 4)
start, T = M.random_point(0), M.random_ambient(1)
loss = lambda X: jnp.sum((X - T) ** 2)

def run(X, optimizer, f):
    state = optimizer.init(X)
    @jax.jit
    def step(X, state):
        updates, state = optimizer.update(jax.grad(f)(X), state, X)
        return optax.apply_updates(X, updates), state
    for _ in range(3):
        X, state = step(X, state)
    return X

for optimizer, f in (
    (optax.sgd(1e-2), dissolve(loss, M, 5.0)),
    (optax.adam(1e-2), dissolve(loss, M, 5.0, dissolving="orthogonal")),
    (riemannian(optax.sgd(1e-2, momentum=0.9), M), loss),
):
    X = run(jax.device_put(jnp.asarray(start), rows), optimizer, f)
    assert len(X.sharding.device_set) == 4 and not X.sharding.is_fully_replicated, X.sharding
    assert np.linalg.norm(X - run(jnp.asarray(start), optimizer, f)) < 1e-12
    assert finish(X, M).sharding == X.sharding
print("agree")
"""


def test_rows_may_be_sharded():
    done = subprocess.run([sys.executable, "-c", _SHARDED], capture_output=True, text=True)
    assert done.stdout.strip() == "agree", done.stderr


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("name", ["complex", "symplectic"])
def test_momentum_is_transported_by_projection(name, nesterov):
    M, lr, momentum = MANIFOLDS[name], 1e-2, 0.8
    X, T = M.random_point(0), target(M, 1)
    optimizer = riemannian(optax.sgd(lr, momentum, nesterov), M)
    ours = _steps(optimizer, _distance(T), jnp.asarray(X), 3)
    X = with_momentum(M, X, T, lr, momentum, nesterov)
    assert np.linalg.norm(ours - X) <= 1e4 * EPS * float(M.scale(X)) ** 2


def test_the_step_of_adam_is_projected_before_it_is_retracted():
    M, lr = MANIFOLDS["symplectic"], 1e-2
    X, T = M.random_point(0), target(M, 1)
    ours = _steps(riemannian(optax.adam(lr, eps=0.1), M), _distance(T), jnp.asarray(X), 1)
    G = M.gradient(X, X - T)
    expected = M.retract(X, M.project(X, -lr * G / (np.abs(G) + 0.1)))
    assert np.linalg.norm(ours - expected) <= 1e4 * EPS * float(M.scale(X)) ** 2


def test_landing_counts_the_steps_of_a_schedule():
    M = MANIFOLDS["stiefel"]
    X, T = M.random_point(0), target(M, 1)
    late = landing(lambda count: jnp.where(count == 1, 1e-2, 0.0), M)
    ends = [_steps(late, _distance(T), jnp.asarray(X), count) for count in (1, 2, 3)]
    one = _steps(landing(1e-2, M), _distance(T), jnp.asarray(X), 1)
    assert np.array_equal(ends[0], X)
    assert np.linalg.norm(ends[1] - one) <= 1e-14 < np.linalg.norm(one - X)
    assert np.array_equal(ends[2], ends[1])


@pytest.mark.parametrize("kind", ["polar", "exp", "normal"])
def test_every_retraction_stays_on_the_manifold(kind):
    M = MANIFOLDS["generalized"]
    T = target(M, 1)
    optimizer = riemannian(optax.adam(1e-2), M, retraction=kind)
    X = _steps(optimizer, _distance(T), jnp.asarray(M.random_point(0)), 3)
    assert M.feasibility(X) <= 1e3 * EPS


def test_parameters_without_a_manifold_are_updated_as_by_optax():
    M = MANIFOLDS["stiefel"]
    params = {"X": jnp.asarray(M.random_point(0)), "b": jnp.linspace(0.0, 1.0, 5)}
    manifolds = {"X": M, "b": None}

    def loss(params: Any) -> Any:
        return jnp.sum(params["X"] ** 3) + jnp.sum(jnp.cos(params["b"]))

    plain = lambda params: jnp.sum(jnp.cos(params))  # noqa: E731
    for ours, theirs in (
        (riemannian(optax.adam(0.1), manifolds), optax.adam(0.1)),
        (landing(0.1, manifolds, momentum=0.9), optax.sgd(0.1, 0.9)),
    ):
        end = _steps(ours, loss, params, 4)["b"]
        assert np.allclose(end, _steps(theirs, plain, params["b"], 4), rtol=1e-14)


@pytest.mark.parametrize("name", ["complex", "symplectic", "bilinear"])
def test_landing_follows_the_field_and_stays_in_the_tube(name):
    M = MANIFOLDS[name]
    X, T = near(M, 0, 0.01), target(M, 1)
    ahead = Field(M).direction(M.anywhere(X), X - T, 2.0)
    one = _steps(landing(1e-4, M, attraction=2.0), _distance(T), jnp.asarray(X), 1)
    assert np.linalg.norm(one - (X - 1e-4 * ahead.D)) <= 1e3 * EPS * float(M.scale(X)) ** 2
    schedule = optax.constant_schedule(1e3)
    far = _steps(landing(schedule, M, tube=0.3), _distance(T), jnp.asarray(X), 3)
    assert M.feasibility(np.asarray(far)) <= 0.3 * (1 + 1e-9)


METHODS: dict[str, tuple[Any, Any]] = {
    "pogo": (
        lambda M: pogo(0.01, M, momentum=0.5),
        lambda M, X, V: pogo_step(Field(M), X, V, 0.01, 0.5, 0.5),
    ),
    "muon": (
        lambda M: muon(0.01, M, momentum=0.5, retraction="normal"),
        lambda M, X, V: stepped(M, X, -0.01 * muon_direction(M, X, V, 5, "normal"), "normal"),
    ),
}


@pytest.mark.parametrize("name", ["complex", "symplectic", "bilinear", "generalized"])
@pytest.mark.parametrize("method", METHODS)
def test_three_steps_in_jax_are_those_in_numpy(method, name):
    M, (make, step) = MANIFOLDS[name], METHODS[method]
    X, T = M.random_point(0), target(M, 1)
    ours = _steps(make(M), _distance(T), jnp.asarray(X), 3)
    V = 0.0
    for _ in range(3):
        V = 0.5 * V + X - T
        X = step(M, X, V)
    assert np.linalg.norm(ours - X) <= 1e4 * EPS * float(M.scale(X)) ** 2


@pytest.mark.parametrize(("name", "rank"), [("symplectic", 3), ("generalized", 2), ("tensor", 4)])
def test_descent_in_random_submanifolds(name, rank):
    M, T = MANIFOLDS[name], target(MANIFOLDS[name], 1)
    X = jnp.asarray(M.random_point(0))
    optimizer = subspace_descent(0.01, {"first": M, "second": M}, rank=rank)
    loss = lambda both: sum(map(_distance(T), both.values()))  # noqa: E731
    ends = _steps(optimizer, loss, {"first": X, "second": X}, 20)
    again = _steps(optimizer, loss, {"first": X, "second": X}, 20)
    assert np.array_equal(ends["first"], again["first"])
    assert not np.allclose(ends["first"], ends["second"])
    for Y in ends.values():
        assert M.feasibility(np.asarray(Y)) <= 1e-10
        assert _distance(T)(Y) < _distance(T)(X)


def test_states_can_be_saved_and_resumed():
    M = MANIFOLDS["symplectic"]
    params, T = jnp.asarray(M.random_point(0)), target(M, 1)
    for optimizer in (
        riemannian(optax.adam(1e-2), M),
        landing(1e-3, M, momentum=0.9),
        subspace_descent(1e-3, M, rank=3, momentum=0.9),
    ):
        update = jax.jit(optimizer.update)
        grad = jax.jit(jax.grad(_distance(T)))
        X, state = params, optimizer.init(params)
        for k in range(4):
            if k == 2:
                leaves, form = jax.tree.flatten((X, state))
                saved = [np.asarray(leaf) for leaf in leaves]
            U, state = update(grad(X), state, X)
            X = optax.apply_updates(X, U)
        Y, state = jax.tree.unflatten(form, map(jnp.asarray, saved))
        for _ in range(2):
            U, state = update(grad(Y), state, Y)
            Y = optax.apply_updates(Y, U)
        assert np.array_equal(X, Y)


def test_bad_arguments_are_refused():
    M, X = go.Stiefel(6, 3), jnp.zeros((6, 3))
    loss = _distance(0.0)
    for beta in (0.0, -1.0, float("nan"), "1"):
        refuses(lambda b=beta: dissolve(loss, M, b), "beta", "> 0")
    refuses(lambda: dissolve(loss, {"X": "Stiefel"}), "manifolds", "str")
    refuses(lambda: dissolve(loss, {"X": None}), "manifolds", "none")
    refuses(lambda: dissolve("loss", M), "loss", "str")
    refuses(lambda: dissolve(loss, M, dissolving="skew"), "dissolving", "'oblique'")
    refuses(lambda: dissolve(loss, M)(jnp.zeros((7, 3))), "params", "(6, 3)", "(7, 3)")
    refuses(lambda: dissolve(loss, M)(jnp.zeros((6, 3), jnp.bfloat16)), "params", "bfloat16")
    refuses(lambda: dissolve(loss, M)(jnp.zeros((6, 3), int)), "params", "int")
    refuses(lambda: dissolve(loss, M)(jnp.zeros((6, 3), complex)), "params", "real")
    refuses(lambda: dissolve(loss, go.Stiefel(6, 3, complex))(X), "params", "complex")
    refuses(lambda: dissolve(loss, M)("X"), "params", "str")
    refuses(lambda: riemannian("sgd", M), "optimizer", "str")
    refuses(lambda: riemannian(optax.sgd(0.1), M, retraction="skew"), "retraction", "'polar'")
    refuses(lambda: landing(-0.1, M), "learning_rate", ">= 0")
    refuses(lambda: landing(0.1, M, attraction=0.0), "attraction", "> 0")
    refuses(lambda: pogo(0.1, M, tube=0.0), "tube", "> 0")
    refuses(lambda: muon(0.1, M, steps=0), "steps", "> 0")
    refuses(lambda: muon(0.1, M, retraction="skew"), "retraction", "'polar'")
    wide = subspace_descent(0.1, M, rank=7)
    refuses(lambda: wide.update(X, wide.init(X), X), "rank", "n = 6")
    optimizer = riemannian(optax.sgd(0.1), M)
    refuses(lambda: optimizer.update(X, optimizer.init(X)), "params", "None")


def _plateau():
    return optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau(patience=2))


EXTRA = {"lbfgs": optax.lbfgs, "polyak": lambda: optax.polyak_sgd(0.5), "plateau": _plateau}


@pytest.mark.parametrize("name", EXTRA)
@pytest.mark.parametrize("family", ["stiefel", "symplectic"])
def test_optimisers_with_further_arguments(family, name):
    """They descend on M, with what `update` is given besides the gradient."""
    manifold = MANIFOLDS[family]
    loss = _distance(manifold.random_point(1))
    optimizer = riemannian(EXTRA[name](), manifold)
    params = jnp.asarray(manifold.restore(manifold.random_point(1) + 0.1 * target(manifold, 2)))
    first, state = float(loss(params)), optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grad = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(
            grad, state, params, value=value, grad=grad, value_fn=loss
        )
        return optax.apply_updates(params, updates), state

    for _ in range(60):
        params, state = step(params, state)
    assert float(manifold.feasibility(np.asarray(params))) <= 1e-11
    assert float(loss(params)) <= 1e-2 * first


def test_the_search_of_lbfgs_follows_the_manifold():
    """Of an eigenvalue problem, where the loss falls without bound off M."""
    A = np.diag(np.arange(1.0, 9.0))
    manifold, best = go.Stiefel(8, 2), -(64.0 + 49.0) / 2
    params = jnp.asarray(manifold.random_point(0))

    def loss(X):
        return -jnp.sum((A @ X) ** 2) / 2

    optimizer = riemannian(optax.lbfgs(), manifold)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grad = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(
            grad, state, params, value=value, grad=grad, value_fn=loss
        )
        return optax.apply_updates(params, updates), state

    for _ in range(60):
        params, state = step(params, state)
    assert float(loss(params)) == pytest.approx(best, rel=1e-9)


def test_a_complex_point_is_restored():
    manifold = go.Stiefel(5, 2, complex)
    X = manifold.random_point(0)
    ends = finish({"W": jnp.asarray(1.01 * X)}, {"W": manifold})
    assert np.linalg.norm(np.asarray(ends["W"]) - X) <= 1e-6 * np.linalg.norm(X)
