"""The ways to train: dissolved, on the manifold, landing, and those of geoopt and of PyTorch.

Imports PyTorch.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.utils import parametrizations, parametrize

from genorth.gallery.stochastic.tasks import Spot, Task
from genorth.interop.fit import fit
from genorth.interop.torch import constrain, finish, penalty, place
from genorth.optional import installed
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from genorth.training import Method

#: All step sizes are multiplied by this after each epoch, so that the last iterate is a good one.
DECAY = 0.7
#: What the optimisers have beside the step size, whichever package they are from.
_SETTINGS: dict[str, dict[str, Any]] = {"Adam": {}, "SGD": {"momentum": 0.9}}
#: The step size of weights on no manifold, the same in all rows: it has the least validation loss,
#: by Adam and by SGD, where the weights on manifolds stay as they are at the start.
_FREE = 0.3
_ADAM = ("becigneul2019riemannian",)


class Transposed(torch.nn.Module):  # type: ignore[misc]
    """The parametrisation X -> X^T, which is its own inverse.

    A layer holds the transpose of a point with orthonormal columns.
    """

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """X^T."""
        return X.mT

    right_inverse = forward


class TorchLearner:
    """A model of PyTorch with an optimiser.

    Args:
        task: The task.
        model: The model, constrained.
        optimizer: The optimiser; None to measure only.
        penalty: `penalty(model)` is added to the loss; None where there is none.
        finish: `finish(model)` restores the weights; None where they are restored as they are.
    """

    def __init__(
        self,
        task: Task,
        model: Any,
        optimizer: Any,
        penalty: Callable[[Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        self._task, self._model = task, model
        self._optimizer, self._penalty, self._finish = optimizer, penalty, finish
        schedules = torch.optim.lr_scheduler
        self._schedule = optimizer and schedules.ExponentialLR(optimizer, DECAY)
        self._order = torch.Generator().manual_seed(task.seed)
        self._train, self._validation, self._held_out = (
            torch.as_tensor(rows, dtype=getattr(torch, task.dtype))
            for rows in (task.train, task.validation, task.held_out)
        )

    def batches(self) -> Iterator[Any]:
        """The training data in minibatches, the last of which may be smaller."""
        order = torch.randperm(len(self._train), generator=self._order)
        for rows in order.split(self._task.batch):
            yield self._train[rows]
        if self._schedule is not None:
            self._schedule.step()

    def step(self, batch: Any) -> None:
        """Forward, backward, and one step."""
        self._optimizer.zero_grad()
        loss = self._task.loss(self._model, batch)
        (loss if self._penalty is None else loss + self._penalty(self._model)).backward()
        self._optimizer.step()

    def losses(self) -> tuple[float, float]:
        """The loss on the validation data and on the held-out data."""
        with torch.no_grad():
            validation, held_out = (
                float(self._task.loss(self._model, rows))
                for rows in (self._validation, self._held_out)
            )
        return validation, held_out

    def feasibility(self) -> float:
        """|C| of all constrained weights together, in double precision, as the layers see them."""
        squares = 0.0
        with torch.no_grad():
            for spot in self._task.spots:
                W = self._model.get_submodule(spot.path).weight.detach().double().numpy()
                how = fit(spot.manifold, W.shape, "weight")
                squares += float(how.manifold.feasibility(how.point(W))) ** 2
        return math.sqrt(squares)

    def finish(self) -> None:
        """Restore the weights to their manifolds."""
        if self._finish is not None:
            self._finish(self._model)


# ---------------------------------------------------------------------- how a layer is held


def _dissolved(task: Task, layer: Any, spot: Spot, *, dissolving: str) -> None:
    constrain(layer, "weight", spot.manifold, beta=task.beta, dissolving=dissolving)


def _placed(task: Task, layer: Any, spot: Spot) -> None:  # noqa: ARG001  as all of them
    place(layer, "weight", spot.manifold)


def _orthogonal(task: Task, layer: Any, spot: Spot) -> None:  # noqa: ARG001
    """PyTorch's own parametrisation: Householder reflections, an exponential if n = p."""
    parametrizations.orthogonal(layer)


def _geoopt(task: Task, layer: Any, spot: Spot) -> None:  # noqa: ARG001
    """A point of geoopt's Stiefel manifold with the Euclidean metric."""
    import geoopt

    parametrize.register_parametrization(layer, "weight", Transposed())
    points = layer.parametrizations.weight
    points.original = geoopt.ManifoldParameter(points.original.data, geoopt.EuclideanStiefel())


def start(
    task: Task,
    rate: float,
    *,
    hold: Callable[[Task, Any, Spot], None],
    module: str,
    optimizer: str,
    kind: str = "{}",
    penalised: bool = False,
    finished: bool = True,
) -> TorchLearner:
    """A model with its optimiser; the step size is that of the constrained weights.

    Args:
        task: The task.
        rate: The step size.
        hold: Holds a layer to its manifold.
        module: The module of the optimiser.
        optimizer: "Adam" or "SGD".
        kind: The name of the optimiser there: "Riemannian{}".
        penalised: Whether genorth's penalty is added to the loss.
        finished: Whether genorth restores the weights at the end.
    """
    model, constrained = task.model(), list[Any]()
    with torch.random.fork_rng(devices=[]):  # PyTorch's parametrisation draws the rest of a basis
        torch.manual_seed(task.seed)
        for spot in task.spots:
            layer = model.get_submodule(spot.path)
            hold(task, layer, spot)
            held = getattr(layer, "parametrizations", None)
            constrained += held.weight.parameters() if held else [layer.weight]
    known = set(map(id, constrained))
    free = [W for W in model.parameters() if id(W) not in known]
    groups = [{"params": constrained, "lr": rate}]
    groups += [{"params": free, "lr": _FREE}] if free else []
    make = getattr(importlib.import_module(module), kind.format(optimizer))
    made = make(groups, lr=rate, **_SETTINGS[optimizer])
    return TorchLearner(
        task, model, made, penalty if penalised else None, finish if finished else None
    )


# ---------------------------------------------------------------------- the rows


def methods(stiefel: tuple[str, ...]) -> list[Method]:
    """All methods whose package is installed.

    Args:
        stiefel: The trainings on the Stiefel manifold, where geoopt and PyTorch's own
            parametrisation run too.
    """
    ours = {"hold": _placed, "module": "genorth.interop.torch"}
    theirs = {"finished": False, "only": stiefel}
    found = []
    for dissolving in ("oblique", "orthogonal"):
        hold = partial(_dissolved, dissolving=dissolving)
        how = {"hold": hold, "module": "torch.optim", "penalised": True}
        found += _both(f"penalty {dissolving}", PENALTY, **how)
    found += _both("Riemannian", RIEMANNIAN, kind="Riemannian{}", cites=_ADAM, **ours)
    found.append(
        _method("landing", INFEASIBLE, "SGD", kind="Landing", cites=("ablin2022fast",), **ours)
    )
    found += _both("torch orthogonal", OTHER, hold=_orthogonal, module="torch.optim", **theirs)
    if installed("geoopt"):
        how = {"hold": _geoopt, "module": "geoopt.optim", "kind": "Riemannian{}"}
        found += _both("geoopt", RIEMANNIAN, cites=_ADAM, **how, **theirs)
    return found


def _both(name: str, family: str, **more: Any) -> list[Method]:
    return [_method(name, family, optimizer, **more) for optimizer in _SETTINGS]


def _method(
    name: str, family: str, optimizer: str, *, cites: Any = (), only: Any = None, **how: Any
) -> Method:
    return Method(
        name=f"{name}, {optimizer}",
        family=family,
        start=partial(start, optimizer=optimizer, **how),
        algorithm=optimizer.lower(),
        variant=name,
        cites=cites,
        only=only,
        modules=("torch", "genorth.interop.torch"),
    )
