"""`Task`: data in three parts, a model and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import fit
from genorth.linalg.arrays import Array

_VALIDATION, _HELD_OUT = 0.2, 0.3  # of the samples


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
