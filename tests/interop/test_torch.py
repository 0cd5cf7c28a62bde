"""Constrained layers of PyTorch: what the layer sees, derivatives, shapes, copies, the end."""

import copy
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from support.layer_manifolds import KINDS, MANIFOLDS, distance, near, refuses, target

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

from genorth.interop.torch import (  # noqa: E402  needs torch
    Landing,
    RiemannianAdam,
    RiemannianSGD,
    constrain,
    feasibility,
    finish,
    penalty,
    place,
)

Array = Any
EPS = 2.0**-52


class Weight(torch.nn.Module):
    """A model that is one weight, with the loss |W - T|^2/2."""

    def __init__(self, W: Array, T: Array | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.as_tensor(W))
        self.T = None if T is None else torch.as_tensor(T)

    def forward(self) -> Array:
        assert self.T is not None
        return (self.weight - self.T).abs().square().sum() / 2


def off(model: Any, X: Array) -> Any:
    """The X of a dissolved weight, set to a point off M."""
    original = model.parametrizations.weight.original
    with torch.no_grad():
        original.copy_(torch.as_tensor(X))
    return original


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MANIFOLDS)
@given(seed=st.integers(0, 2**20))
def test_loss_and_penalty_are_the_dissolved_function(name, kind, seed):
    """F11, F17: value and gradient of h, which genorth has by formulas of its own."""
    manifold, beta = MANIFOLDS[name], 1.7
    X, T = near(manifold, seed), target(manifold, seed + 1)
    model = Weight(manifold.random_point(seed), T)
    constrain(model, "weight", manifold, dissolving=kind, beta=beta)
    original = off(model, X)
    value = model() + penalty(model)
    value.backward()
    h = KINDS[kind](distance(manifold, T), beta)
    expected, gradient = h.value_and_gradient(X)
    size = 1e3 * EPS * float(manifold.scale(X)) ** 2
    assert abs(value.item() - expected) <= size * max(1, abs(expected))
    defect = np.linalg.norm(original.grad.numpy() - gradient)
    assert defect <= size * max(1, float(np.linalg.norm(gradient)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_first_and_second_derivatives(name, kind):
    manifold = MANIFOLDS[name]
    model = Weight(manifold.random_point(0))
    constrain(model, "weight", manifold, dissolving=kind)
    weight = model.parametrizations.weight[0]
    X = torch.as_tensor(near(manifold, 1)).requires_grad_(True)
    assert torch.autograd.gradcheck(weight, (X,))
    assert torch.autograd.gradcheck(weight.penalty, (X,))
    if name in ("stiefel", "symplectic"):
        assert torch.autograd.gradgradcheck(weight, (X,))
        assert torch.autograd.gradgradcheck(weight.penalty, (X,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_passes_in_any_order_give_the_same_gradient(name, kind):
    """One backward pass or several, copies in between, as torch's own parametrisations allow."""
    manifold = MANIFOLDS[name]
    model = Weight(manifold.random_point(0), target(manifold, 1))
    constrain(model, "weight", manifold, dissolving=kind)
    original = off(model, near(manifold, 2))

    def gradient(*orders: Any) -> Any:
        original.grad = None
        for order in orders:
            order()
        return original.grad.clone()

    def kept_apart() -> None:
        loss, extra = model(), penalty(model)
        loss.backward()
        extra.backward()

    once = gradient(lambda: (model() + penalty(model)).backward())
    tolerance = 1e3 * EPS * float(once.abs().max()) * float(manifold.scale(near(manifold, 2))) ** 2
    for orders in (
        (lambda: model().backward(), lambda: penalty(model).backward()),
        (lambda: penalty(model).backward(), lambda: model().backward()),
        (model, lambda: copy.deepcopy(model), lambda: (penalty(model) + model()).backward()),
        (kept_apart,),
    ):
        assert torch.dist(gradient(*orders), once) <= tolerance


@pytest.mark.parametrize("kind", KINDS)
def test_two_forwards_and_two_backwards(kind):
    """The loop of an adversarial network: both outputs first, then both backward passes."""
    model, manifold = torch.nn.Linear(8, 3, dtype=torch.float64), go.Stiefel(8, 3)
    constrain(model, "weight", manifold, dissolving=kind)
    original = off(model, near(manifold, 2).T)
    first, second = torch.ones(2, 8, dtype=torch.float64), torch.eye(8, dtype=torch.float64)
    real, fake = model(first).square().sum(), model(second).square().sum()
    real.backward()
    fake.backward()
    apart, original.grad = original.grad.clone(), None
    (model(first).square().sum() + model(second).square().sum()).backward()
    assert torch.dist(apart, original.grad) <= 1e3 * EPS * original.grad.norm()


def _double(model, Y):
    model.double()
    model.parametrizations.weight.original.data.copy_(Y)


def _from_vector(model, Y):
    others = torch.nn.utils.parameters_to_vector(model.parameters())[Y.numel() :]
    vector = torch.cat([Y.flatten().to(others.dtype), others])
    torch.nn.utils.vector_to_parameters(vector, model.parameters())


#: Ways to change a weight that its version counter does not see.
CHANGES = {
    "data": lambda model, Y: setattr(model.parametrizations.weight.original, "data", Y.clone()),
    "data in place": lambda model, Y: model.parametrizations.weight.original.data.copy_(Y),
    "vector": _from_vector,
    "double": _double,
    "to": lambda model, Y: (
        model.to(torch.float64),
        model.parametrizations.weight.original.data.copy_(Y),
    ),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_layer_sees_its_weight_and_no_earlier_one(kind, how):
    manifold = go.Stiefel(6, 2)
    dtype = torch.float32 if how in ("double", "to") else torch.float64
    model = Weight(manifold.random_point(0)).to(dtype)
    constrain(model, "weight", manifold, dissolving=kind)
    before = model.weight.detach().clone(), penalty(model).item()
    Y = torch.as_tensor(near(manifold, 2))
    CHANGES[how](model, Y)
    h = KINDS[kind](distance(manifold, 0 * Y.numpy()), 1.0)
    seen = h.point(Y.numpy()).Y
    assert np.linalg.norm(model.weight.detach().numpy() - seen) <= 1e3 * EPS
    assert penalty(model).item() == pytest.approx(h.point(Y.numpy()).penalty / 2, rel=1e-10)
    assert torch.dist(model.weight.detach(), before[0].double()) > 1e-3
    assert penalty(model).item() != before[1]


@pytest.mark.parametrize("kind", KINDS)
def test_less_precision_after_the_fact_is_an_error(kind):
    model = Weight(go.Stiefel(6, 2).random_point(0), np.zeros((6, 2)))
    constrain(model, "weight", go.Stiefel(6, 2), dissolving=kind)
    model()
    model.half()
    with pytest.raises(ValueError, match="single or double precision"):
        model()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_functional_derivatives(name, kind):
    """torch.func sees a function of the weight, as torch.autograd does."""
    manifold = MANIFOLDS[name]
    model = Weight(manifold.random_point(0))
    constrain(model, "weight", manifold, dissolving=kind)
    weight, X = model.parametrizations.weight[0], torch.as_tensor(near(manifold, 1))

    def total(X: Any) -> Any:
        return weight(X).abs().square().sum() + weight.penalty(X)

    leaf = X.clone().requires_grad_(True)
    total(leaf).backward()
    gap = torch.dist(torch.func.grad(total)(X), leaf.grad)
    assert gap <= 1e3 * EPS * float(manifold.scale(X.numpy())) ** 2 * float(leaf.grad.norm())


def test_a_weight_that_is_assigned_is_restored():
    layer = torch.nn.Linear(6, 3).double()
    constrain(layer, "weight", go.Stiefel(6, 3))
    W = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    layer.weight = W
    assert feasibility(layer)["weight"] <= 1e-12
    U, _, Vh = torch.linalg.svd(W, full_matrices=False)  # the nearest point
    assert torch.dist(layer.weight, U @ Vh) <= 1e-10


def test_autocast_leaves_the_weight_in_single_precision():
    layer = constrain(torch.nn.Linear(6, 3), "weight", go.Stiefel(6, 3))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer.weight.dtype is torch.float32
        assert torch.equal(layer.weight, layer.weight.float())
        assert penalty(layer).dtype is torch.float32
    assert feasibility(layer)["weight"] <= 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("layer", "manifold", "matrix"),
    [
        (lambda: torch.nn.Linear(8, 4), go.Stiefel(8, 4), lambda W: W.mT),
        (lambda: torch.nn.Linear(4, 8), go.Stiefel(8, 4), lambda W: W),
        (lambda: torch.nn.Conv2d(2, 5, 3), go.Stiefel(18, 5), lambda W: W.flatten(1).mT),
        (lambda: torch.nn.Conv2d(1, 12, 3), go.Stiefel(12, 9), lambda W: W.flatten(1)),
        (lambda: torch.nn.Bilinear(8, 4, 3), go.SymplecticStiefel(8, 4), lambda W: W),
        (lambda: torch.nn.Bilinear(4, 8, 3), go.SymplecticStiefel(8, 4), lambda W: W.mT),
    ],
    ids=["transposed", "as it is", "convolution", "tall convolution", "heads", "turned heads"],
)
def test_weights_that_hold_points(layer, manifold, matrix, kind):
    """Each matrix alone is what `dissolve` (or Newton's map) makes of it, and the penalty adds."""
    torch.manual_seed(0)
    model = layer().double()
    shape = tuple(matrix(model.weight).shape)
    heads = shape[:-2]
    points = [manifold.random_point(k) for k in range(int(np.prod(heads)))]
    start = np.stack(points).reshape(shape) if heads else points[0]
    constrain(model, "weight", manifold, start=start, dissolving=kind, beta=3.0)
    original = model.parametrizations.weight.original
    with torch.no_grad():
        original += 0.01 * torch.randn_like(original)
    X = matrix(original.detach()).numpy().reshape(-1, *manifold.shape)
    seen = matrix(model.weight.detach()).numpy().reshape(X.shape)
    total = 0.0
    for one, image in zip(X, seen, strict=True):
        R = manifold.constraint(one) if kind == "oblique" else manifold.newton_step(one)
        expected = manifold.dissolve(one) if kind == "oblique" else one - R
        assert np.linalg.norm(image - expected) <= 1e-13 * np.linalg.norm(one) ** 3
        total += 1.5 * float(np.linalg.norm(R)) ** 2
    assert abs(penalty(model).item() - total) <= 1e-12
    finish(model)
    assert tuple(model.weight.shape) == tuple(original.shape)


def test_a_square_weight_is_transposed_on_request():
    manifold = go.SymplecticStiefel(4, 4)
    X = manifold.random_point(0)
    for turned in (False, True):
        layer = place(
            torch.nn.Linear(4, 4).double(), "weight", manifold, start=X, transposed=turned
        )
        W = layer.weight.detach().numpy()
        assert np.linalg.norm((W.T if turned else W) - X) <= 1e-12 * np.linalg.norm(X)


def test_layers_have_their_own_beta():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.Linear(3, 6)).double()
    for layer, beta in zip(model, (2.0, 5.0), strict=True):
        constrain(layer, "weight", go.Stiefel(6, 3), beta=beta)
        with torch.no_grad():
            layer.parametrizations.weight.original += 0.1
    alone = [penalty(layer).item() for layer in model]
    first, second = (layer.parametrizations.weight.original.detach() for layer in model)
    violations = [float(go.Stiefel(6, 3).feasibility(W)) for W in (first.mT, second)]
    assert alone == pytest.approx([1.0 * violations[0] ** 2, 2.5 * violations[1] ** 2], rel=1e-12)
    assert penalty(model).item() == pytest.approx(sum(alone), rel=1e-12)


def _network(dtype: Any, kind: str | None) -> Any:
    """Two constrained layers and a free one; `kind` None: on the manifold."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4), torch.nn.Linear(4, 2)
    ).to(dtype)
    symplectic = go.SymplecticStiefel(8, 4)
    for layer, manifold, start in (
        (model[0], go.Stiefel(12, 8), None),
        (model[2], symplectic, symplectic.random_point(1)),
    ):
        if kind is None:
            place(layer, "weight", manifold, start=start)
        else:
            constrain(layer, "weight", manifold, start=start, dissolving=kind, beta=10.0)
    return model


def _data(dtype: Any) -> tuple[Any, Any]:
    draw = torch.Generator().manual_seed(1)
    return (torch.randn(64, k, generator=draw).to(dtype) for k in (12, 2))  # type: ignore[return-value]


def _train(model: Any, optimizer: Any, steps: int, first: int = 0) -> float:
    x, y = _data(next(model.parameters()).dtype)
    dissolved = any("original" in name for name, _ in model.named_parameters())
    for step in range(first, first + steps):
        batch = slice(16 * (step % 4), 16 * (step % 4) + 16)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x[batch]), y[batch])
        (loss + penalty(model) if dissolved else loss).backward()
        optimizer.step()
    return torch.nn.functional.mse_loss(model(x), y).item()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-6), ("float64", 1e-12)])
def test_finish_restores_and_keeps_the_loss(kind, dtype, bound):
    model = _network(getattr(torch, dtype), kind)
    keys = set(_network(torch.float64, None).state_dict())
    before = _train(model, torch.optim.Adam(model.parameters(), lr=1e-3), 60)
    assert max(feasibility(model).values()) > 0
    assert finish(model) is model
    after = _train(model, torch.optim.SGD(model.parameters(), lr=0.0), 0)
    assert abs(after - before) <= 1e-4 * before
    assert set(model.state_dict()) == keys
    for manifold, layer in ((go.Stiefel(12, 8), model[0]), (go.SymplecticStiefel(8, 4), model[2])):
        assert manifold.feasibility(layer.weight.mT.detach().double().numpy()) <= bound
    constrain(model[0], "weight", go.Stiefel(12, 8))  # free to be constrained again


def test_finish_leaves_a_model_alone_that_it_cannot_restore():
    model = _network(torch.float64, "oblique")
    off_manifold = model[2].parametrizations.weight.original
    with torch.no_grad():
        off_manifold.zero_()
    with pytest.raises(ValueError, match="phi"):
        finish(model)
    assert "0.parametrizations.weight.original" in model.state_dict()


OPTIMIZERS = {
    "dissolved, Adam": ("oblique", lambda p: torch.optim.Adam(p, lr=1e-2)),
    "dissolved, SGD": ("orthogonal", lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9)),
    "Riemannian SGD": (None, lambda p: RiemannianSGD(p, lr=1e-2, momentum=0.9, nesterov=True)),
    "Riemannian Adam": (None, lambda p: RiemannianAdam(p, lr=1e-2)),
    "landing": (None, lambda p: Landing(p, lr=1e-2, momentum=0.9)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_resumed_from_states_repeats_bit_for_bit(name):
    kind, make = OPTIMIZERS[name]
    model = _network(torch.float32, kind)
    optimizer = make(model.parameters())
    _train(model, optimizer, 7)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    _train(model, optimizer, 7, first=7)

    file.seek(0)
    states = torch.load(file, weights_only=True)
    resumed = _network(torch.float32, kind)
    resumed.load_state_dict(states["model"])
    again = make(resumed.parameters())
    again.load_state_dict(states["optimizer"])
    _train(resumed, again, 7, first=7)
    for key, value in model.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key


@pytest.mark.parametrize(
    ("kind", "how"),
    [*((kind, "deepcopy") for kind in (*KINDS, None)), (None, "pickle")],  # as PyTorch has it
)
def test_copies_go_their_own_way_on_the_same_manifold(kind, how):
    model = _network(torch.float64, kind)
    if how == "deepcopy":
        other = copy.deepcopy(model)
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    assert feasibility(other) == feasibility(model)
    before = copy.deepcopy(model.state_dict())
    make = torch.optim.SGD if kind else RiemannianSGD
    _train(other, make(other.parameters(), lr=0.05), 5)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    first, second = next(model.parameters()), next(other.parameters())
    assert torch.dist(first, second) > 1e-3
    if kind is None:
        assert max(feasibility(other).values()) <= 1e-12


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # of the compiler
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_layers_agree(kind):
    """Python 3.11 breaks the graph at cached properties, which "orthogonal" has."""
    model = _network(torch.float64, kind)
    x, y = _data(torch.float64)

    def loss() -> Any:
        return torch.nn.functional.mse_loss(model(x), y) + penalty(model)

    def gradients(function: Any) -> list[Any]:
        model.zero_grad()
        value = function()
        value.backward()
        return [value.detach(), *(W.grad.clone() for W in model.parameters())]

    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=kind == "oblique")
    for plain, fast in zip(gradients(loss), gradients(compiled), strict=True):
        assert torch.dist(plain, fast) <= 1e-12 * max(1.0, float(plain.norm()))


@pytest.mark.parametrize("function", [constrain, place])
def test_a_weight_that_does_not_fit_is_refused(function):
    M, layer = go.Stiefel(6, 3), torch.nn.Linear(6, 3)
    refuses(lambda: function(torch.nn.Linear(7, 3), "weight", M), "weight", "(6, 3)", "(3, 7)")
    refuses(lambda: function(layer, "wait", M), "name", "'weight'")
    refuses(lambda: function(layer, "weight", "Stiefel"), "manifold", "str")
    refuses(lambda: function("layer", "weight", M), "module", "str")
    refuses(lambda: function(layer, "weight", go.Stiefel(6, 3, complex)), "weight", "complex")
    refuses(lambda: function(layer, "weight", M, start=np.eye(3)), "start", "(6, 3)")
    for dtype in ("float16", "bfloat16"):
        low = torch.nn.Linear(6, 3).to(getattr(torch, dtype))
        if function is constrain:  # a placed weight has a master in single precision
            refuses(lambda low=low: constrain(low, "weight", M), "weight", dtype)
        refuses(lambda low=low: M.dissolve(low.weight.mT), "X", dtype)
    whole = torch.nn.Module()
    whole.weight = torch.nn.Parameter(torch.ones(6, 3, dtype=torch.int64), requires_grad=False)
    refuses(lambda: function(whole, "weight", M), "weight", "int64")
    for first in (constrain, place):
        taken = first(torch.nn.Linear(6, 3), "weight", M)
        refuses(lambda taken=taken: function(taken, "weight", M), "weight", "finish(module)")


def test_bad_arguments_are_refused():
    M, layer = go.Stiefel(6, 3), torch.nn.Linear(6, 3)
    refuses(lambda: place(layer, "weight", M, transposed=False), "weight", "(3, 6)")
    for beta in (0.0, -1.0, float("nan"), float("inf"), "1", None):
        refuses(lambda beta=beta: constrain(layer, "weight", M, beta=beta), "beta", "> 0")
    one_of = "'oblique', 'orthogonal'"
    refuses(lambda: constrain(layer, "weight", M, dissolving="skew"), "dissolving", one_of)
    assert "weight" in layer.state_dict()
    refuses(lambda: penalty(layer), "model", "constrain")
    refuses(lambda: penalty("model"), "model", "str")


def test_a_dissolved_weight_is_not_on_the_manifold():
    layer = constrain(torch.nn.Linear(6, 3), "weight", go.Stiefel(6, 3))
    for optimizer in (RiemannianSGD, RiemannianAdam, Landing):
        refuses(lambda make=optimizer: make(layer.parameters()), "params", "dissolved")
    torch.optim.Adam(layer.parameters())


def test_a_weight_too_far_from_the_manifold_needs_a_start():
    M = go.SymplecticStiefel(4, 2)
    layer = torch.nn.Linear(2, 4)
    with torch.no_grad():
        layer.weight.zero_()
    with pytest.raises(ValueError, match="start="):
        constrain(layer, "weight", M)
    constrain(layer, "weight", M, start=M.random_point(0))
    assert feasibility(layer)["weight"] <= 1e-6


# ---------------------------------------------------------------------- what is loaded


@pytest.mark.parametrize("assign", [False, True])
def test_a_placed_weight_that_is_loaded_stays_on_its_manifold(assign):
    torch.manual_seed(0)
    model = _network(torch.float64, None)
    saved = copy.deepcopy(model.state_dict())
    _train(model, RiemannianSGD(model.parameters(), lr=0.05), 3)
    model.load_state_dict(saved, assign=assign)
    assert all(torch.equal(value, saved[key]) for key, value in model.state_dict().items())
    assert feasibility(model)
    _train(model, RiemannianSGD(model.parameters(), lr=0.05), 50)
    assert max(feasibility(model).values()) <= 1e-12
    assert feasibility(finish(model)) == {}
    model.load_state_dict(saved, assign=assign)
    assert feasibility(model) == {}


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("where", ["itself", "a copy"])
def test_a_checkpoint_off_the_manifold_is_restored(where, assign):
    M = go.Stiefel(8, 3)
    model = place(torch.nn.Linear(8, 3), "weight", M)
    model = copy.deepcopy(model) if where == "a copy" else model
    saved = {key: 5 * torch.randn_like(value) for key, value in model.state_dict().items()}
    model.load_state_dict(saved, assign=assign)
    assert max(feasibility(model).values()) <= 1e-5
    optimizer = RiemannianSGD(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.eye(8)).square().sum().backward()
        optimizer.step()
    assert max(feasibility(model).values()) <= 1e-5


def test_a_checkpoint_that_cannot_be_restored_is_an_error():
    model = place(torch.nn.Linear(8, 3), "weight", go.Stiefel(8, 3))
    zeros = {key: 0 * value for key, value in model.state_dict().items()}
    with pytest.raises(go.NotRestorableError):
        model.load_state_dict(zeros)
    nans = {key: torch.nan * value for key, value in model.state_dict().items()}
    with pytest.raises(ValueError, match="weight: need finite entries"):
        model.load_state_dict(nans)


def test_a_dissolved_weight_that_is_loaded_is_known_to_be_dissolved():
    model = constrain(torch.nn.Linear(8, 3), "weight", go.Stiefel(8, 3))
    model.load_state_dict(model.state_dict(), assign=True)
    with pytest.raises(ValueError, match="dissolved weight"):
        RiemannianSGD(model.parameters())
