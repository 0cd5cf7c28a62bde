"""Full-batch SGD on the dissolved loss: PyTorch, Optax and our own gradient take the same steps."""

from typing import Any

import numpy as np
import pytest

import genorth as go
from support.layer_manifolds import KINDS

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
optax = pytest.importorskip("optax", reason="the extra 'optax' is not installed")

import genorth.interop.optax as gx  # noqa: E402  needs optax
import genorth.interop.torch as gt  # noqa: E402  needs torch

STEPS, RATE, BETA = 50, 2e-3, 8.0


def _ours(kind: str, M: Any, A: Any, X: Any) -> Any:
    problem = go.Problem(
        M, cost=lambda X: float(np.vdot(X, A @ X)), euclidean_gradient=lambda X: 2 * A @ X
    )
    h = KINDS[kind](problem, BETA)
    for _ in range(STEPS):
        X = X - RATE * h.gradient(X)
    return X


def _torch(kind: str, M: Any, A: Any, X: Any) -> Any:
    layer = torch.nn.Linear(X.shape[1], X.shape[0], bias=False).double()
    gt.constrain(layer, "weight", M, dissolving=kind, beta=BETA, start=X)
    A, original = torch.as_tensor(A), layer.parametrizations.weight.original
    optimizer = torch.optim.SGD(layer.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        W = layer.weight
        ((W * (A @ W)).sum() + gt.penalty(layer)).backward()
        optimizer.step()
    return original.detach().numpy()


def _optax(kind: str, M: Any, A: Any, X: Any) -> Any:
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    loss = gx.dissolve(lambda X: (X * (A @ X)).sum(), M, BETA, dissolving=kind)
    optimizer, X = optax.sgd(RATE), jax.numpy.asarray(X)
    state, gradient = optimizer.init(X), jax.jit(jax.grad(loss))
    for _ in range(STEPS):
        updates, state = optimizer.update(gradient(X), state, X)
        X = optax.apply_updates(X, updates)
    jax.config.update("jax_enable_x64", before)
    return np.asarray(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["stiefel", "symplectic"])
def test_the_same_iterates(name, kind):
    M = go.Stiefel(30, 4) if name == "stiefel" else go.SymplecticStiefel(30, 4)
    A = np.random.default_rng(0).standard_normal((30, 30)) / 30**0.5
    A, X = A + A.T, M.random_point(1)
    ends = [run(kind, M, A, X) for run in (_ours, _torch, _optax)]
    assert np.linalg.norm(ends[0] - X) > 1e-2
    assert max(np.linalg.norm(end - ends[0]) for end in ends[1:]) <= 1e-10
