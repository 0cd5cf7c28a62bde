"""`Task`: data in three parts, a model and its loss; `TorchLearner`, which trains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import fit
from genorth.linalg.arrays import Array

_VALIDATION, _HELD_OUT = 0.2, 0.3  # of the samples
#: All step sizes are multiplied by this after each epoch, so that the last iterate is a good one.
DECAY = 0.7


@attrs.frozen
class Spot:
    """A constrained weight: `model.get_submodule(path).weight` holds a point of the manifold."""

    path: str
    manifold: GenOrthManifold
    #: The first point.
    start: Array = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False)
class Task:
    """What all methods start from; one sample is one row.

    Args:
        train: The training data.
        validation: The data that step sizes are chosen by.
        held_out: The data whose loss is reported.
        build: `build()` returns a module of PyTorch, with the global random state of PyTorch.
        spots: Its constrained weights.
        loss: `loss(model, rows)` returns the mean loss of some samples.
        dtype: "float32" or "float64".
        batch: Samples of a minibatch.
        seed: Of the first weights and of the order of the minibatches.
        beta: The penalty parameter.
    """

    train: Array = attrs.field(repr=False)
    validation: Array = attrs.field(repr=False)
    held_out: Array = attrs.field(repr=False)
    build: Callable[[], Any]
    spots: tuple[Spot, ...]
    loss: Callable[[Any, Any], Any]
    dtype: str = "float64"
    batch: int = 32
    seed: int = 0
    beta: float = 1.0

    def model(self) -> Any:
        """The model with its first weights, the same ones for the same seed."""
        import torch

        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            model = self.build().to(getattr(torch, self.dtype))
            for spot in self.spots:
                W = model.get_submodule(spot.path).weight
                how = fit(spot.manifold, W.shape, "weight")
                W.copy_(torch.as_tensor(how.array(spot.start).copy()))
        return model


def split(rows: Array) -> dict[str, Array]:
    """The samples in three parts, always the same ones: half of them are trained on."""
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    first, second = (round(share * len(rows)) for share in (_VALIDATION, _VALIDATION + _HELD_OUT))
    return {
        "validation": rows[:first],
        "held_out": rows[first:second],
        "train": rows[second:],
    }


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
        import torch

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
        import torch

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
        import torch

        with torch.no_grad():
            validation, held_out = (
                float(self._task.loss(self._model, rows))
                for rows in (self._validation, self._held_out)
            )
        return validation, held_out

    def feasibility(self) -> float:
        """|C| of all constrained weights together, in double precision, as the layers see them."""
        import torch

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
