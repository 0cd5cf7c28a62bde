"""The figures of constrained layers: a step, many small matrices, the end of training.

Needs PyTorch and Optax. Run as `python benchmarks/stochastic.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from _timing import Figure, main, medians

import genorth as go
from genorth.interop.optax import dissolve
from genorth.interop.torch import RiemannianSGD as SGD
from genorth.interop.torch import constrain, feasibility, finish, penalty, place

_WIDE = (30000, 50)
_MANY, _SMALL = 1000, (16, 4)


def _step(layer: Any, optimizer: Any, samples: int) -> Callable[[], object]:
    """Forward, backward and one step, with the penalty of dissolved weights."""
    draw = torch.Generator().manual_seed(0)
    x, y = (torch.randn(samples, k, generator=draw) for k in _WIDE)
    dissolved = hasattr(layer, "parametrizations")

    def step() -> object:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x), y)
        (loss + penalty(layer) if dissolved else loss).backward()
        return optimizer.step()

    return step


def _layers() -> dict[str, Any]:
    """The free layer and those with a weight on the Stiefel manifold, with their optimisers."""
    M, layers = go.Stiefel(*_WIDE), {}
    for name in ("free", "oblique", "orthogonal", "on M"):
        torch.manual_seed(0)
        layer = torch.nn.Linear(*_WIDE)
        if name == "on M":
            place(layer, "weight", M)
        elif name != "free":
            constrain(layer, "weight", M, dissolving=name)
        make = SGD if name == "on M" else torch.optim.SGD
        layers[name] = layer, make(layer.parameters(), lr=1e-3)
    return layers


def wide() -> list[Figure]:
    """A layer with a point of Stiefel(30000, 50), against the free layer."""
    layers, figures = _layers(), []
    for samples in (128, 256):
        steps = {name: _step(*pair, samples) for name, pair in layers.items()}
        times = dict(zip(steps, medians(*(partial(_same, f) for f in steps.values())), strict=True))
        for name in ("oblique", "orthogonal", "on M"):
            what = f"a step at {_WIDE}, {samples} samples, {name} / free layer"
            bound = 3.0 if name == "oblique" else None
            figures.append(Figure(what, times[name] / times["free"], bound))
        what = f"a step at {_WIDE}, {samples} samples, oblique"
        figures.append(Figure(what, times["oblique"], 0.5, unit="s"))
    return figures


def _same(call: Callable[[], object]) -> Callable[[], object]:
    return call


def many() -> list[Figure]:
    """1000 symplectic matrices in one call of JAX, against the same products alone."""
    M, rng = go.SymplecticStiefel(*_SMALL), np.random.default_rng(0)
    X, G = rng.standard_normal((2, _MANY, *_SMALL)).astype(np.float32)
    X, G = jnp.asarray(M.random_point(0).astype(np.float32) + 0.01 * X), jnp.asarray(G)
    P = jax.vmap(M.phi)(X)

    def two(X: Any, P: Any) -> Any:
        return X @ (X.mT @ P)

    def five(X: Any, P: Any, G: Any) -> Any:
        S = X.mT @ P
        return X @ S, G @ S, P @ (X.mT @ G)

    h = dissolve(lambda X, G: jnp.sum(X * G), M, 2.0)
    pairs = {
        "A": (jax.jit(jax.vmap(M.dissolve)), (X,), jax.jit(two), (X, P)),
        "h and grad h": (jax.jit(jax.value_and_grad(h)), (X, G), jax.jit(five), (X, P, G)),
    }
    figures = []
    for name, (ours, ins, bare, others) in pairs.items():
        sides = [
            partial(lambda f, a: jax.block_until_ready(f(*a)), *side)
            for side in ((ours, ins), (bare, others))
        ]
        above, below = medians(*(partial(_same, side) for side in sides))
        what = f"{name} of {_MANY} symplectic {_SMALL} / products alone, JAX"
        figures.append(Figure(what, above / below, 1.5))
    return figures


class _Many(torch.nn.Module):
    """1000 dissolved weights in one."""

    def __init__(self, points: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.as_tensor(points))


def many_in_torch() -> list[Figure]:
    """1000 symplectic matrices in one call of PyTorch, eager, against the same products alone."""
    M, rng = go.SymplecticStiefel(*_SMALL), np.random.default_rng(0)
    noise, G = torch.as_tensor(rng.standard_normal((2, _MANY, *_SMALL)).astype(np.float32))
    model = _Many(np.tile(M.random_point(0).astype(np.float32), (_MANY, 1, 1)))
    constrain(model, "weight", M, beta=2.0)
    entry = model.parametrizations.weight
    with torch.no_grad():
        entry.original += 0.01 * noise
    X = entry.original.detach()
    P = entry[0].fit.manifold.phi(X)

    def two() -> Any:
        return X @ (X.mT @ P)

    def five() -> Any:
        S = X.mT @ P
        return X @ S, G @ S, P @ (X.mT @ G)

    def seen() -> Any:
        with torch.no_grad():
            return entry[0](X)

    def both() -> None:
        model.zero_grad()
        ((model.weight * G).sum() + penalty(model)).backward()

    figures = []
    for name, ours, bare in (("A", seen, two), ("h and grad h", both, five)):
        above, below = medians(*(partial(_same, side) for side in (ours, bare)))
        what = f"{name} of {_MANY} symplectic {_SMALL} / products alone, PyTorch"
        figures.append(Figure(what, above / below, 1.5))
    return figures


def ends() -> list[Figure]:
    """|C| and the change of the loss by `finish`, after a short training."""
    figures = []
    for dtype, bound in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(200, 20), torch.nn.Linear(20, 5)).to(dtype)
        M = go.Stiefel(200, 20)
        constrain(model[0], "weight", M)
        x, y = (torch.randn(500, k, dtype=dtype) for k in (200, 5))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(300):
            optimizer.zero_grad()
            (torch.nn.functional.mse_loss(model(x), y) + penalty(model)).backward()
            optimizer.step()
        before, violation = torch.nn.functional.mse_loss(model(x), y).item(), feasibility(model)
        finish(model)
        after = torch.nn.functional.mse_loss(model(x), y).item()
        end = float(M.feasibility(model[0].weight.detach().double().mT))
        name = str(dtype).removeprefix("torch.")
        figures += [
            Figure(f"|C| before finish, {name}", max(violation.values()), unit=""),
            Figure(f"|C| after finish, {name}", end, bound, unit=""),
            Figure(f"change of the loss, {name}", abs(after - before) / before, 1e-4, unit=""),
        ]
    return figures


FIGURES = {
    "a wide layer": wide,
    "many matrices in JAX": many,
    "many matrices in PyTorch": many_in_torch,
    "the end of training": ends,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main("stochastic", FIGURES))
