"""Layers people use, adapters and symplectic layers of PyTorch; several processes."""

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import genorth as go
from support.layer_manifolds import MANIFOLDS, refuses

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

from genorth.interop.torch import (  # noqa: E402  needs torch
    Coordinates,
    HamiltonianStep,
    Muon,
    Pogo,
    RiemannianAdam,
    RiemannianSGD,
    adapt,
    constrain,
    feasibility,
    finish,
    merge,
    penalty,
    place,
)

#: A layer, its input, its weight and the manifold of each matrix in it.
LAYERS: dict[str, tuple[Any, tuple[int, ...], str, Any, int]] = {
    "Linear": (lambda **k: torch.nn.Linear(8, 4, **k), (3, 8), "weight", go.Stiefel(8, 4), 1),
    "Conv1d": (
        lambda **k: torch.nn.Conv1d(3, 4, 3, **k),
        (2, 3, 9),
        "weight",
        go.Stiefel(9, 4),
        1,
    ),
    "Conv2d": (
        lambda **k: torch.nn.Conv2d(2, 5, 3, **k),
        (1, 2, 6, 6),
        "weight",
        go.Stiefel(18, 5),
        1,
    ),
    "RNNCell": (lambda **k: torch.nn.RNNCell(3, 6, **k), (2, 3), "weight_hh", go.Stiefel(6, 6), 1),
    "LSTMCell": (
        lambda **k: torch.nn.LSTMCell(3, 6, **k),
        (2, 3),
        "weight_hh",
        go.Stiefel(6, 6),
        4,
    ),
    "GRUCell": (lambda **k: torch.nn.GRUCell(3, 6, **k), (2, 3), "weight_hh", go.Stiefel(6, 6), 3),
    "attention": (
        lambda **k: torch.nn.MultiheadAttention(8, 2, batch_first=True, **k),
        (2, 5, 8),
        "in_proj_weight",
        go.Stiefel(8, 8),
        3,
    ),
}


def _called(layer: Any, x: Any) -> Any:
    if isinstance(layer, torch.nn.modules.rnn.RNNCellBase):
        out = layer(x, layer(x))  # the first state is zero
    else:
        out = layer(x, x, x) if isinstance(layer, torch.nn.MultiheadAttention) else layer(x)
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("how", [constrain, place])
@pytest.mark.parametrize("name", LAYERS)
def test_every_matrix_of_a_layer_is_on_the_manifold(name, how):
    make, shape, weight, manifold, count = LAYERS[name]
    torch.manual_seed(0)
    layer, x = make(dtype=torch.float64), torch.randn(shape, dtype=torch.float64)
    how(layer, weight, manifold)
    optimizer = (
        torch.optim.SGD(layer.parameters(), lr=0.05)
        if how is constrain
        else Pogo(layer.parameters(), lr=0.05)
    )
    start, losses = getattr(layer, weight).detach().clone(), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = (_called(layer, x) - 1).square().mean()
        (loss + penalty(layer) if how is constrain else loss).backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    W = getattr(finish(layer), weight).detach().numpy()
    assert np.linalg.norm(W - start.numpy()) > 1e-4
    for matrix in W.reshape(count, W.shape[0] // count, -1):
        X = matrix if matrix.shape == manifold.shape else matrix.T
        assert manifold.feasibility(X) <= 1e-12


def test_a_recurrent_layer_that_keeps_its_weights_is_placed():
    """`constrain` would not be seen, as the layer keeps a list of its weights."""
    layer, M = torch.nn.LSTM(3, 6), go.Stiefel(6, 6)
    refuses(lambda: constrain(layer, "weight_hh_l0", M), "module", "LSTM", "list")
    place(layer, "weight_hh_l0", M)
    optimizer = RiemannianSGD(layer.parameters(), lr=0.1)
    x = torch.randn(4, 2, 3)
    before = layer(x)[0]
    before.square().sum().backward()
    optimizer.step()
    assert feasibility(layer)["weight_hh_l0"] <= 1e-5
    assert torch.dist(before, layer(x)[0]) > 1e-4


@pytest.mark.parametrize(
    "layer", [torch.nn.Linear(7, 5), torch.nn.Conv2d(2, 4, 3)], ids=["Linear", "Conv2d"]
)
def test_an_adapter_is_a_correction_of_low_rank(layer):
    """It starts at zero, trains U, S and V only, and is merged into the weight."""
    layer = copy.deepcopy(layer)
    W = layer.weight.detach().clone()
    target = W + 0.3 * torch.randn(W.shape, generator=torch.Generator().manual_seed(0))
    adapt(layer, "weight", 2, scale=0.5, rng=0)
    assert torch.equal(layer.weight, W)
    trained = {name for name, parameter in layer.named_parameters() if parameter.requires_grad}
    assert trained == {"bias", *(f"parametrizations.weight.0.{x}" for x in "USV")}
    optimizer = RiemannianAdam([p for p in layer.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (layer.weight - target).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert max(feasibility(layer).values()) <= 1e-5
    seen = layer.weight.detach().clone()
    merge(layer)
    assert torch.equal(layer.weight, seen) and layer.weight.requires_grad
    singular = torch.linalg.svdvals((seen - W).reshape(len(W), -1).double())
    assert singular[2] <= 1e-5 * singular[0]


def test_what_cannot_be_adapted():
    layer = torch.nn.Linear(7, 5)
    refuses(lambda: adapt(layer, "bias", 1), "name", "'bias'")
    refuses(lambda: adapt(layer, "weight", 6), "rank", "5", "6")


@pytest.mark.parametrize("name", ["stiefel", "complex", "generalized", "symplectic", "indefinite"])
def test_the_encoder_inverts_the_decoder(name):
    """phi(X)^T X = I, with T conjugating."""
    layer = Coordinates(MANIFOLDS[name], rng=0).double()
    y = torch.randn(3, 4, dtype=layer.weight.dtype)
    z = layer.decode(y)
    assert torch.dist(layer.encode(z), y) <= 1e-5 * y.norm() * layer.weight.norm() ** 2
    assert torch.dist(layer(z), z) <= 1e-5 * z.norm() * layer.weight.norm() ** 2


def _J(n: int) -> Any:
    return torch.as_tensor(np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(n)))


def test_layers_that_are_symplectic_maps():
    """D^T J D = J for a Hamiltonian step, and X^T J X = J for the decoder."""
    torch.manual_seed(0)
    step = HamiltonianStep(6, 5, h=0.3).double()
    D = torch.autograd.functional.jacobian(step, torch.randn(6, dtype=torch.float64))
    assert torch.dist(D.mT @ _J(3) @ D, _J(3)) <= 1e-13
    assert torch.dist(D, torch.eye(6)) > 1e-2
    X = Coordinates(go.SymplecticStiefel(6, 4), rng=0).weight.detach().double()
    assert torch.dist(X.mT @ _J(3) @ X, _J(2)) <= 1e-5 * X.norm() ** 2
    refuses(lambda: HamiltonianStep(5, 3), "size", "even")


_DISTRIBUTED = """
import sys, torch, torch.distributed as dist
import genorth as go
from genorth.interop.torch import Muon, Pogo, SubspaceDescent, feasibility, place
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank, path = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)

class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(4, 8, 3, dtype=torch.float64))
    def forward(self, x):
        return torch.einsum("bn,knp->bkp", x, self.weight)

def data(step, part=slice(None)):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(6, 8, dtype=torch.float64, generator=generator)[part]

def train(model, make, part):
    optimizer = make(model.parameters())
    for step in range(5):
        optimizer.zero_grad()
        (model(data(step, part)) - 1).square().mean().backward()
        optimizer.step()
    return model

for make in (
    lambda p: Pogo(p, lr=0.1, momentum=0.9),
    lambda p: Muon(p, lr=0.1),
    lambda p: SubspaceDescent(p, lr=0.1, rank=4),
):
    M = go.Stiefel(8, 3)
    alone = train(place(Stack(), "weight", M), make, slice(None)).weight.detach()
    half = slice(3 * rank, 3 * rank + 3)
    wrapped = torch.nn.parallel.DistributedDataParallel(place(Stack(), "weight", M))
    both = train(wrapped, make, half).module.weight.detach()
    assert torch.dist(alone, both) < 1e-12, "DistributedDataParallel"
    if make(alone.new_zeros(1, requires_grad=True) for _ in range(1)).defaults.get("rank"):
        continue  # a process draws for what it holds
    mesh = init_device_mesh("cpu", (2,))
    sharded = fully_shard(Stack(), mesh=mesh)
    place(sharded, "weight", M)
    mine = train(sharded, make, half).weight
    assert feasibility(sharded)["weight"] < 1e-2
    assert torch.dist(alone, mine.full_tensor().detach()) < 1e-12, "fully_shard"

late = fully_shard(place(Stack(), "weight", M), mesh=mesh)  # makes a parameter without the tag
try:
    late(data(0))
    raise AssertionError("a weight off its manifold")
except ValueError as error:
    assert "Call place(...) after fully_shard(...)" in str(error), error

linear = fully_shard(torch.nn.Linear(8, 4), mesh=mesh)
try:
    place(linear, "weight", go.Stiefel(8, 4))
except ValueError as error:
    assert "all rows of each matrix in one process" in str(error), error
    print("agree", flush=True)
dist.destroy_process_group()
"""


def test_a_placed_weight_that_is_replaced_is_refused():
    """Not before a pass, and not where a function is called with other tensors, or after finish."""
    M, x = go.Stiefel(6, 3), torch.randn(2, 6)
    layer = copy.deepcopy(place(torch.nn.Linear(6, 3), "weight", M))
    torch.func.functional_call(layer, {"weight": torch.zeros(3, 6)}, x)
    old, layer.weight = layer.weight, torch.nn.Parameter(torch.zeros(3, 6))
    refuses(lambda: layer(x), "weight", "Stiefel: 6 x 3", "place(...) after fully_shard(...)")
    layer.weight = old
    finish(layer).weight = torch.nn.Parameter(torch.zeros(3, 6))
    assert layer(x).shape == (2, 3)


@pytest.mark.slow
def test_two_processes_agree_with_one(tmp_path):
    """DistributedDataParallel, and weights that are sharded along an axis in front."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _DISTRIBUTED, str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for run in runs:
        out, err = run.communicate(timeout=300)
        assert out.strip().endswith("agree"), err[-3000:]


@pytest.mark.parametrize("make", [Pogo, Muon, RiemannianAdam])
def test_a_weight_of_low_precision_is_the_rounding_of_its_master(make):
    """The same steps as in single precision, also after a checkpoint."""
    torch.manual_seed(0)
    M, x = go.Stiefel(16, 4), torch.randn(32, 16)

    def trained(dtype: Any, resumed: bool) -> Any:
        torch.manual_seed(1)
        layer = place(torch.nn.Linear(16, 4, bias=False, dtype=dtype), "weight", M)
        with torch.no_grad():
            layer.weight.copy_(torch.as_tensor(M.random_point(0).T))
        optimizer = make(layer.parameters(), lr=0.01)
        for step in range(20):
            if resumed and step == 10:
                saved = copy.deepcopy((layer.state_dict(), optimizer.state_dict()))
                layer = place(torch.nn.Linear(16, 4, bias=False, dtype=dtype), "weight", M)
                optimizer = make(layer.parameters(), lr=0.01)
                layer.load_state_dict(saved[0])
                optimizer.load_state_dict(saved[1])
            optimizer.zero_grad()
            (layer(x.to(dtype)).float() - 1).square().mean().backward()
            optimizer.step()
        return layer, optimizer

    layer, optimizer = trained(torch.bfloat16, False)
    master = optimizer.state[layer.weight]["master"]
    assert master.dtype == torch.float32
    assert torch.equal(master.bfloat16(), layer.weight)
    limit = 1e-2 if make is Pogo else 1e-5
    assert M.feasibility(master.double().mT.numpy()) <= limit
    again, other = trained(torch.bfloat16, True)
    assert torch.equal(again.weight, layer.weight)
    assert torch.equal(other.state[again.weight]["master"], master)
    refuses(lambda: constrain(torch.nn.Linear(16, 4, dtype=torch.bfloat16), "weight", M), "weight")
