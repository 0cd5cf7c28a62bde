"""Riemannian optimisers and landing for PyTorch, and PyTorch's own for all other parameters."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.geometry.field import Field
from genorth.geometry.retractions import RETRACTIONS
from genorth.interop.steps import pogo_step
from support.layer_manifolds import MANIFOLDS, near, refuses, target, with_momentum

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

from genorth.gallery.stochastic import methods as published  # noqa: E402  needs torch
from genorth.interop.torch import (  # noqa: E402
    Landing,
    Muon,
    Pogo,
    RiemannianAdam,
    RiemannianSGD,
    SubspaceDescent,
    clip_grad_norm_,
    feasibility,
    finish,
    place,
)

EPS = 2.0**-52


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
    ahead = Field(M).direction(M.anywhere(X), model.G, 2.0)
    model.step(Landing(model.parameters(), lr=lr, attraction=2.0))
    assert np.linalg.norm(model.X - (X - lr * ahead.D)) <= 1e3 * EPS * float(M.scale(X)) ** 2
    assert M.feasibility(model.X) < M.feasibility(X)


def _landing(X: Any, V: Any, lr: float, step: int) -> Any:
    """Relative gradient and the gradient of |X^T X - I|^2/4, as published."""
    return X - lr * ((V @ X.T - X @ V.T) @ X / 2 + X @ (X.T @ X - np.eye(X.shape[1])))


def _by_tensors(formula: Any) -> Any:
    """A formula of `genorth train`."""
    return lambda X, V, lr, step: formula(torch.as_tensor(X), torch.as_tensor(V), lr).numpy()


def _rsdm(X: Any, V: Any, lr: float, step: int) -> Any:
    """X + P^T (Y - I) P X, Y = Cayley of the gradient in O(r), P of orthonormal rows."""
    generator = torch.Generator().manual_seed(hash((0, 1, step)))
    B = torch.randn((*X.shape[:-1], 3), generator=generator, dtype=torch.float64).numpy()
    P = np.linalg.qr(B)[0].T
    T = P @ V @ X.T @ P.T
    K, eye = lr * (T - T.T) / 2, np.eye(3)
    Y = np.linalg.solve(eye + K / 2, eye - K / 2)
    return X + P.T @ (Y - eye) @ P @ X


def _spel_by_muon(p: Any, **more: Any) -> Any:
    return Muon(p, steps=None, retraction="normal", **more)


#: The published steps on the Stiefel manifold, from X and the momentum of the gradients.
PUBLISHED: dict[str, tuple[Any, Any]] = {
    "landing": (_landing, lambda p, **more: Landing(p, tube=1e3, **more)),
    "POGO": (_by_tensors(published.pogo_step), lambda p, **more: Pogo(p, **more)),
    "SPEL": (
        _by_tensors(published.spel_step),
        lambda p, **more: Muon(p, steps=None, retraction="normal", **more),
    ),
    "RSDM": (_rsdm, lambda p, **more: SubspaceDescent(p, rank=3, **more)),
}


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("name", PUBLISHED)
def test_twenty_steps_are_the_published_ones(name, momentum):
    formula, make = PUBLISHED[name]
    model = Weight(MANIFOLDS["stiefel"])
    optimizer = make(model.parameters(), lr=0.05, momentum=momentum)
    X, V = model.X, 0.0
    for step in range(1, 21):
        V = momentum * V + X - model.T.numpy()
        X = formula(X, V, 0.05, step)
        model.step(optimizer)
    assert np.linalg.norm(model.X - X) <= 1e-10


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
    "pogo": (Pogo, torch.optim.SGD, {"momentum": 0.9}),
    "muon": (Muon, torch.optim.SGD, {"momentum": 0.8}),
    "subspace": (SubspaceDescent, torch.optim.SGD, {"weight_decay": 0.1}),
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


#: Every optimiser, with what it keeps between steps.
MAKERS: dict[str, Any] = {
    "RiemannianSGD": lambda p: RiemannianSGD(p, lr=0.01, momentum=0.9),
    "RiemannianAdam": lambda p: RiemannianAdam(p, lr=0.01),
    "Landing": lambda p: Landing(p, lr=0.01, momentum=0.9, nesterov=True),
    "Pogo": lambda p: Pogo(p, lr=0.01, momentum=0.9, dampening=0.1),
    "Muon": lambda p: Muon(p, lr=0.01, retraction="auto"),
    "SubspaceDescent": lambda p: SubspaceDescent(p, lr=0.01, momentum=0.9, rank=3),
}


def _trained(models: list[Any], optimizer: Any, steps: int = 4) -> list[Any]:
    for _ in range(steps):
        optimizer.zero_grad()
        sum(model() for model in models).backward()
        optimizer.step()
    return [model.X for model in models]


@pytest.mark.parametrize("name", ["stiefel", "symplectic", "complex"])
@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker != "SubspaceDescent"])
def test_equal_weights_are_updated_together(maker, name, monkeypatch):
    """By one call for all, as each alone; manifolds of equal data are equal."""
    models = [Weight(MANIFOLDS[name], seed) for seed in range(5)]
    alone = [
        _trained([model], MAKERS[maker](model.parameters()))[0]
        for model in (Weight(MANIFOLDS[name], seed) for seed in range(5))
    ]
    optimizer = MAKERS[maker]([W for model in models for W in model.parameters()])
    calls, end = [], optimizer._end
    monkeypatch.setattr(optimizer, "_end", lambda *args: (calls.append(args), end(*args))[1])
    together = _trained(models, optimizer)
    assert len(calls) == 4
    for ours, theirs in zip(together, alone, strict=True):
        assert np.linalg.norm(ours - theirs) <= 1e-11 * float(MANIFOLDS[name].scale(theirs))


def test_only_equal_manifolds_are_stacked():
    A = np.diag(np.linspace(1, 2, 8))
    manifolds = [go.Stiefel(8, 4), go.Stiefel(8, 4), go.GeneralizedStiefel(A, 4), go.Stiefel(8, 3)]
    models = [Weight(M) for M in manifolds]
    optimizer = Pogo([model.weight for model in models], lr=0.1)
    assert [len(alike) for _, alike in optimizer._alike([m.weight for m in models])] == [2, 1, 1]
    _trained(models, optimizer)
    assert all(feasibility(model)["weight"] <= 0.2 for model in models)


@pytest.mark.parametrize("maker", MAKERS)
def test_training_resumes_where_it_was_saved(maker):
    M = MANIFOLDS["symplectic"]
    model = Weight(M)
    optimizer = MAKERS[maker](model.parameters())
    _trained([model], optimizer)
    other = Weight(M)
    resumed = MAKERS[maker](other.parameters())
    other.load_state_dict(model.state_dict())
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert np.array_equal(*(_trained([m], o)[0] for m, o in ((model, optimizer), (other, resumed))))


def test_states_move_between_pytorch_and_ours():
    """The momentum has the shape of the weight, so `torch.optim.SGD` reads it and writes it."""
    layer = place(torch.nn.Linear(8, 3, bias=False), "weight", go.Stiefel(8, 3))
    layer(torch.eye(8)).sum().backward()
    ours, theirs = (make(layer.parameters(), lr=0.1, momentum=0.9) for make in USUAL["pogo"][:2])
    ours.step()
    assert ours.state[layer.weight]["momentum_buffer"].shape == layer.weight.shape
    theirs.load_state_dict(
        ours.state_dict() | {"param_groups": theirs.state_dict()["param_groups"]}
    )
    theirs.step()
    ours.load_state_dict(theirs.state_dict() | {"param_groups": ours.state_dict()["param_groups"]})
    ours.step()
    expected = torch.ones(3, 8) * (1 + 0.9 + 0.81)
    assert torch.allclose(ours.state[layer.weight]["momentum_buffer"], expected)


@pytest.mark.filterwarnings("ignore")  # of the compiler
@pytest.mark.parametrize("maker", ["Pogo", "Landing", "Muon"])
def test_a_compiled_step_agrees(maker):
    M = MANIFOLDS["stiefel"]
    plain, fast = Weight(M), Weight(M)
    expected = _trained([plain], MAKERS[maker](plain.parameters()), 2)
    optimizer = MAKERS[maker](fast.parameters())
    step = torch.compile(optimizer.step, backend="eager")
    for _ in range(2):
        optimizer.zero_grad()
        fast().backward()
        step()
    assert np.linalg.norm(fast.X - expected[0]) <= 1e-11


def test_gradients_are_clipped_in_the_riemannian_norm():
    first, second = Weight(MANIFOLDS["symplectic"]), torch.nn.Linear(2, 1, dtype=torch.float64)
    (first() + second(torch.ones(2, dtype=torch.float64)).sum()).backward()
    parameters = [*first.parameters(), *second.parameters()]
    M = MANIFOLDS["symplectic"]
    size = np.hypot(np.linalg.norm(M.gradient(first.X, first.G)), 3**0.5)
    assert clip_grad_norm_(parameters, 1e6).item() == pytest.approx(size, rel=1e-12)
    clip_grad_norm_(parameters, 0.5)
    clipped = first.weight.grad.numpy()
    assert np.linalg.norm(clipped - 0.5 / size * first.G) <= 1e-5 * np.linalg.norm(clipped)
    assert clip_grad_norm_(parameters, 1.0).item() == pytest.approx(0.5, rel=1e-5)
    refuses(lambda: clip_grad_norm_(parameters, 0.0), "max_norm", "> 0")


@pytest.mark.parametrize(("nesterov", "dampening"), [(True, 0.0), (False, 0.25)])
def test_settings_of_sgd_on_the_manifold(nesterov, dampening):
    """Weight decay adds to the gradient; on M it is that of |X|^2/2."""
    M, V = MANIFOLDS["symplectic"], None
    model = Weight(M)
    settings = {"momentum": 0.5, "dampening": dampening, "nesterov": nesterov}
    optimizer = Pogo(model.parameters(), 0.01, weight_decay=0.1, maximize=True, **settings)
    X, T = model.X, model.T.numpy()
    for _ in range(3):
        G = T - X + 0.1 * X
        V = G if V is None else 0.5 * V + (1 - dampening) * G
        X = pogo_step(Field(M), X, G + 0.5 * V if nesterov else V, 0.01, 0.5, 0.5)
        model.step(optimizer)
    assert np.linalg.norm(model.X - X) <= 1e4 * EPS * float(M.scale(X)) ** 2


@pytest.mark.parametrize("maker", MAKERS)
def test_a_zero_gradient_moves_nothing(maker):
    model = Weight(MANIFOLDS["generalized"])
    X, optimizer = model.X, MAKERS[maker](model.parameters())
    model.weight.grad = torch.zeros_like(model.weight)
    optimizer.step()
    assert np.linalg.norm(model.X - X) <= 1e-12


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
        (lambda p: Pogo(p, tube=-0.1), "tube"),
        (lambda p: Muon(p, steps=0), "steps"),
        (lambda p: Muon(p, retraction="newton"), "retraction"),
        (lambda p: SubspaceDescent(p, rank=9), "rank"),
    ],
)
def test_settings_out_of_range(make, name):
    refuses(lambda: make(Weight(MANIFOLDS["stiefel"]).parameters()), name)
