"""Riemannian optimisers and landing for PyTorch, and PyTorch's own for all other parameters."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.geometry.field import Field
from genorth.geometry.newton import anywhere
from genorth.geometry.retractions import RETRACTIONS
from support.layer_manifolds import MANIFOLDS, near, refuses, target, with_momentum

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

from genorth.interop.torch import (  # noqa: E402  needs torch
    Landing,
    RiemannianAdam,
    RiemannianSGD,
    feasibility,
    finish,
    place,
)

EPS = 2.0**-52
ON_M = {
    "SGD": lambda p, **kw: RiemannianSGD(p, lr=0.02, **kw),
    "momentum": lambda p, **kw: RiemannianSGD(p, lr=0.01, momentum=0.8, **kw),
    "Nesterov": lambda p, **kw: RiemannianSGD(p, lr=0.01, momentum=0.8, nesterov=True, **kw),
    "Adam": lambda p, **kw: RiemannianAdam(p, lr=0.01, **kw),
}


class Weight(torch.nn.Module):
    """A weight with the loss |W - T|^2/2."""

    def __init__(self, manifold: Any, seed: int = 0, dtype: Any = None) -> None:
        super().__init__()
        X, T = manifold.random_point(seed), target(manifold, seed + 1)
        self.weight = torch.nn.Parameter(torch.as_tensor(X).to(dtype))
        self.T = torch.as_tensor(T).to(self.weight.dtype)
        place(self, "weight", manifold)

    def forward(self) -> Any:
        return (self.weight - self.T).abs().square().sum() / 2

    def step(self, optimizer: Any) -> float:
        optimizer.zero_grad()
        loss = self()
        loss.backward()
        optimizer.step()
        return loss.item()

    @property
    def X(self) -> Any:
        return self.weight.detach().numpy().copy()

    @property
    def G(self) -> Any:
        return self.X - self.T.numpy()


@pytest.mark.parametrize("kind", RETRACTIONS)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_one_step_of_sgd_is_a_retraction(name, kind):
    M = MANIFOLDS[name]
    model = Weight(M)
    Z = -1e-2 * M.gradient(model.X, model.G)
    expected = M.retract(model.X, Z, kind)
    model.step(RiemannianSGD(model.parameters(), lr=1e-2, retraction=kind))
    size = float(M.scale(expected))
    assert np.linalg.norm(model.X - expected) <= 1e3 * EPS * size**2
    assert M.feasibility(model.X) <= 100 * EPS * size


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("name", ["generalized", "symplectic", "complex"])
@given(seed=st.integers(0, 2**20), momentum=st.floats(0.1, 0.95))
def test_momentum_is_transported_by_projection(name, nesterov, seed, momentum):
    M, lr = MANIFOLDS[name], 1e-2
    model = Weight(M, seed)
    optimizer = RiemannianSGD(model.parameters(), lr=lr, momentum=momentum, nesterov=nesterov)
    X = with_momentum(M, model.X, model.T.numpy(), lr, momentum, nesterov)
    for _ in range(3):
        model.step(optimizer)
    assert np.linalg.norm(model.X - X) <= 1e4 * EPS * float(M.scale(X)) ** 2


@pytest.mark.parametrize("name", ["stiefel", "symplectic", "complex", "tensor"])
def test_adam_has_one_second_moment_for_each_matrix(name):
    M, lr, (b1, b2), eps = MANIFOLDS[name], 1e-2, (0.8, 0.9), 1e-8
    model = Weight(M)
    optimizer = RiemannianAdam(model.parameters(), lr=lr, betas=(b1, b2), eps=eps)
    X, m, v = model.X, 0.0, 0.0
    for t in range(1, 4):
        G = M.gradient(X, X - model.T.numpy())
        m = b1 * m + (1 - b1) * G
        v = b2 * v + (1 - b2) * np.mean(np.abs(G) ** 2, axis=(-2, -1), keepdims=True)
        D = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps)
        Y = M.dissolve(M.retract(X, -lr * D))
        X, m = Y, M.project(Y, m)
        model.step(optimizer)
    assert np.linalg.norm(model.X - X) <= 1e4 * EPS * float(M.scale(X)) ** 2


@pytest.mark.parametrize("name", MANIFOLDS)
def test_one_step_of_landing_follows_the_field(name):
    """F21, off M: the tangent part leaves C as it is to first order, the normal part lowers it."""
    M, lr = MANIFOLDS[name], 1e-4
    model = Weight(M)
    X = near(M, 3, 0.01)
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(X))
    ahead = Field(M).direction(anywhere(M, X), model.G, 2.0)
    model.step(Landing(model.parameters(), lr=lr, attraction=2.0))
    assert np.linalg.norm(model.X - (X - lr * ahead.D)) <= 1e3 * EPS * float(M.scale(X)) ** 2
    assert M.feasibility(model.X) < M.feasibility(X)


@pytest.mark.parametrize("optimizer", ON_M)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_the_loss_falls_on_the_manifold(name, optimizer):
    M = MANIFOLDS[name]
    model = Weight(M)
    make = ON_M[optimizer](model.parameters(), retraction="polar" if M.definite else "cayley")
    losses = [model.step(make) for _ in range(100)]
    assert losses[-1] < losses[0]
    assert feasibility(model)["weight"] <= 1e-12 * float(M.scale(model.X))


def test_rounding_does_not_add_up_in_single_precision():
    M = go.Stiefel(40, 10)
    model = Weight(M, dtype=torch.float32)
    optimizer = RiemannianSGD(model.parameters(), lr=0.3)
    for _ in range(1000):
        model.step(optimizer)
    assert feasibility(model)["weight"] <= 10 * 2.0**-23 * 10**0.5


@pytest.mark.parametrize("name", MANIFOLDS)
def test_landing_stays_in_the_tube_and_comes_down(name):
    """However long the step; with a short one it ends near M, and `finish` on M."""
    M = MANIFOLDS[name]
    model = Weight(M)
    long = Landing(model.parameters(), lr=1e3, tube=0.3)
    for _ in range(10):
        model.step(long)
        X = model.X.reshape(-1, *M.shape[-2:])
        one = go.Stiefel(8, 4) if name == "tensor" else M
        assert all(one.feasibility(block) <= 0.3 * (1 + 1e-9) for block in X)
    short = Landing(model.parameters(), lr=2e-3, momentum=0.5, attraction=2.0)
    losses = [model.step(short) for _ in range(300)]
    assert losses[-1] < losses[0]
    assert feasibility(model)["weight"] < 0.1
    finish(model)
    assert M.feasibility(model.X) <= 1e-12 * float(M.scale(model.X))


def test_a_step_outside_the_domain_is_halved():
    """Cayley's transform has poles where the form is indefinite."""
    M = MANIFOLDS["indefinite"]
    for lr in np.geomspace(1, 1e3, 7):
        model = Weight(M)
        model.step(RiemannianSGD(model.parameters(), lr=float(lr), retraction="polar"))
        X = model.X
        assert np.isfinite(X).all()
        assert M.feasibility(X) <= 1e-9 * float(M.scale(X))


USUAL: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "SGD": (RiemannianSGD, torch.optim.SGD, {"weight_decay": 0.01}),
    "momentum": (
        RiemannianSGD,
        torch.optim.SGD,
        {"momentum": 0.9, "dampening": 0.1, "maximize": True},
    ),
    "Nesterov": (RiemannianSGD, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (RiemannianAdam, torch.optim.Adam, {"betas": (0.8, 0.9), "weight_decay": 0.01}),
    "landing": (Landing, torch.optim.SGD, {"momentum": 0.9}),
}


@pytest.mark.parametrize("complex_too", [False, True])
@pytest.mark.parametrize("name", USUAL)
def test_untagged_parameters_are_updated_as_by_pytorch(name, complex_too):
    runs = []
    *both, options = USUAL[name]
    for make in both:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        if complex_too:
            model.register_parameter("z", torch.nn.Parameter(torch.randn(3, dtype=torch.cfloat)))
        optimizer = make(model.parameters(), lr=0.1, **options)
        x = torch.randn(10, 5)
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            if complex_too:
                loss = loss + (model.z - 1j).abs().square().sum()
            loss.backward()
            optimizer.step()
        runs.append(list(model.parameters()))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*runs, strict=True))


def test_a_closure_is_evaluated_with_gradients():
    model = Weight(MANIFOLDS["stiefel"])
    optimizer = RiemannianSGD(model.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() > model().item()


def test_schedulers_and_groups():
    first, second = Weight(MANIFOLDS["stiefel"]), Weight(MANIFOLDS["symplectic"])
    groups = [
        {"params": first.parameters(), "lr": 0.0},
        {"params": second.parameters(), "retraction": "exp"},
    ]
    optimizer = RiemannianSGD(groups, lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    X, Y = first.X, second.X
    optimizer.zero_grad()
    (first() + second()).backward()
    optimizer.step()
    scheduler.step()
    assert np.linalg.norm(first.X - X) <= 1e-14 < np.linalg.norm(second.X - Y)
    assert [group["lr"] for group in optimizer.param_groups] == [0.0, 0.05]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda p: RiemannianSGD(p, lr=-1.0), "lr"),
        (lambda p: RiemannianSGD(p, momentum=-0.1), "momentum"),
        (lambda p: RiemannianSGD(p, nesterov=True), "nesterov"),
        (lambda p: RiemannianSGD(p, retraction="newton"), "retraction"),
        (lambda p: RiemannianAdam(p, betas=(0.9, 1.0)), "betas"),
        (lambda p: RiemannianAdam(p, eps=-1e-8), "eps"),
        (lambda p: Landing(p, attraction=-1.0), "attraction"),
        (lambda p: Landing(p, tube=0.0), "tube"),
    ],
)
def test_settings_out_of_range(make, name):
    refuses(lambda: make(Weight(MANIFOLDS["stiefel"]).parameters()), name)
