"""The ways to train: dissolved, on the manifold, landing, and those of geoopt and of PyTorch."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from genorth.gallery.stochastic.base import Task, TorchLearner
from genorth.optional import installed
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from genorth.training import Learner, Method

#: What the optimisers have beside the step size, whichever package they are from.
_SETTINGS: dict[str, dict[str, Any]] = {"Adam": {}, "SGD": {"momentum": 0.9}}
#: The step size of weights on no manifold, the same in all rows: it has the least validation loss,
#: by Adam and by SGD, where the weights on manifolds stay as they are at the start.
_FREE = 0.3
_ADAM = ("becigneul2019riemannian",)


def dissolved(task: Task, rate: float, *, dissolving: str, optimizer: str) -> Learner:
    """The constraint dissolved, by an optimiser of PyTorch."""
    from genorth.interop.torch import constrain, finish, penalty

    model = task.model()
    for spot in task.spots:
        layer = model.get_submodule(spot.path)
        constrain(layer, "weight", spot.manifold, beta=task.beta, dissolving=dissolving)
    made = _made("torch.optim", optimizer, task, model, rate)
    return TorchLearner(task, model, made, penalty, finish)


def placed(task: Task, rate: float, *, optimizer: str, kind: str = "Riemannian{}") -> Learner:
    """On the manifold, or landing on it, by an optimiser of genorth."""
    from genorth.interop.torch import finish, place

    model = task.model()
    for spot in task.spots:
        place(model.get_submodule(spot.path), "weight", spot.manifold)
    made = _made("genorth.interop.torch", optimizer, task, model, rate, kind)
    return TorchLearner(task, model, made, finish=finish)


def torch_orthogonal(task: Task, rate: float, *, optimizer: str) -> Learner:
    """PyTorch's own parametrisation: Householder reflections, an exponential if n = p."""
    import torch
    from torch.nn.utils import parametrizations

    model = task.model()
    with torch.random.fork_rng(devices=[]):  # it draws the rest of a basis
        torch.manual_seed(task.seed)
        for spot in task.spots:
            parametrizations.orthogonal(model.get_submodule(spot.path))
    return TorchLearner(task, model, _made("torch.optim", optimizer, task, model, rate))


def geoopt(task: Task, rate: float, *, optimizer: str) -> Learner:
    """An optimiser of geoopt, on its Stiefel manifold with the Euclidean metric."""
    import geoopt
    from torch.nn.utils import parametrize

    from genorth.gallery.stochastic.transposed import Transposed

    model = task.model()
    for spot in task.spots:
        layer = model.get_submodule(spot.path)
        parametrize.register_parametrization(layer, "weight", Transposed())
        points = layer.parametrizations.weight
        points.original = geoopt.ManifoldParameter(points.original.data, geoopt.EuclideanStiefel())
    made = _made("geoopt.optim", optimizer, task, model, rate, "Riemannian{}")
    return TorchLearner(task, model, made)


def _made(
    module: str, optimizer: str, task: Task, model: Any, rate: float, kind: str = "{}"
) -> Any:
    """An optimiser of a module; the step size is that of the constrained weights."""
    constrained: list[Any] = []
    for spot in task.spots:
        layer = model.get_submodule(spot.path)
        held = layer.parametrizations.weight if hasattr(layer, "parametrizations") else None
        constrained += [layer.weight] if held is None else held.parameters()
    known = set(map(id, constrained))
    free = [W for W in model.parameters() if id(W) not in known]
    groups = [{"params": constrained, "lr": rate}]
    groups += [{"params": free, "lr": _FREE}] if free else []
    make = getattr(importlib.import_module(module), kind.format(optimizer))
    return make(groups, lr=rate, **_SETTINGS[optimizer])


# ---------------------------------------------------------------------- the rows


def methods(stiefel: tuple[str, ...]) -> list[Method]:
    """All methods whose package is installed.

    Args:
        stiefel: The trainings on the Stiefel manifold, where geoopt and PyTorch's own
            parametrisation run too.
    """
    landing = partial(placed, kind="Landing")
    found = [
        *_both("penalty oblique", PENALTY, partial(dissolved, dissolving="oblique")),
        *_both("penalty orthogonal", PENALTY, partial(dissolved, dissolving="orthogonal")),
        *_both("Riemannian", RIEMANNIAN, placed, cites=_ADAM),
        _method("landing", INFEASIBLE, landing, "SGD", cites=("ablin2022fast",)),
        *_both("torch orthogonal", OTHER, torch_orthogonal, only=stiefel),
    ]
    if installed("geoopt"):
        found += _both("geoopt", RIEMANNIAN, geoopt, only=stiefel, cites=_ADAM)
    return found


def _both(name: str, family: str, start: Any, **more: Any) -> list[Method]:
    return [_method(name, family, start, optimizer, **more) for optimizer in _SETTINGS]


def _method(name: str, family: str, start: Any, optimizer: str, **more: Any) -> Method:
    return Method(
        name=f"{name}, {optimizer}",
        family=family,
        start=partial(start, optimizer=optimizer),
        algorithm=optimizer.lower(),
        variant=name,
        modules=("torch", "genorth.interop.torch"),
        **more,
    )
