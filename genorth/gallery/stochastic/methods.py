"""The ways to train: genorth's, those of geoopt, geotorch and PyTorch, and published formulas.

The weights on manifolds are held and stepped by a method; all other weights are trained by AdamW
with one step size, whatever the method. Imports PyTorch.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import torch
from torch.nn.utils import parametrizations

from genorth.gallery.stochastic.tasks import SUBJECTS, Spot, Task
from genorth.interop.fit import fit
from genorth.interop.torch import SubspaceDescent, constrain, finish, penalty, place
from genorth.optional import installed
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from genorth.training import Method

#: All step sizes are multiplied by this after each epoch, so that the last iterate is a good one.
DECAY = 0.7


class TorchLearner:
    """A model of PyTorch with an optimiser.

    Args:
        task: The task.
        model: The model, constrained.
        *optimizers: Those of the weights; none to measure only.
        penalty: `penalty(model)` is added to the loss; None where there is none.
        finish: `finish(model)` restores the weights; None where they are restored as they are.
    """

    def __init__(
        self,
        task: Task,
        model: Any,
        *optimizers: Any,
        penalty: Callable[[Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        self._task, self._model = task, model
        self._optimizers, self._penalty, self._finish = optimizers, penalty, finish
        schedule = torch.optim.lr_scheduler.ExponentialLR
        self._schedules = [schedule(each, DECAY) for each in optimizers]
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
        for schedule in self._schedules:
            schedule.step()

    def step(self, batch: Any) -> None:
        """Forward, backward, and one step."""
        self._model.zero_grad()
        loss = self._task.loss(self._model, batch)
        (loss if self._penalty is None else loss + self._penalty(self._model)).backward()
        for optimizer in self._optimizers:
            optimizer.step()

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


def _geotorch(task: Task, layer: Any, spot: Spot) -> None:  # noqa: ARG001
    """geotorch's: an exponential at a base point."""
    import geotorch

    W = layer.weight.detach().clone()
    geotorch.orthogonal(layer, "weight")
    layer.weight = W


def _geoopt(task: Task, layer: Any, spot: Spot) -> None:  # noqa: ARG001
    """A point of geoopt's Stiefel manifold with the Euclidean metric."""
    import geoopt

    layer.weight = geoopt.ManifoldParameter(layer.weight.data, geoopt.EuclideanStiefel())


def _free(task: Task, layer: Any, spot: Spot) -> None:
    """As it is."""


# ---------------------------------------------------------------------- published formulas


def pogo_step(X: Any, V: Any, lr: float) -> Any:
    """POGO as published [javaloy2026embarrassingly], on the Stiefel manifold.

    Y = X - lr (V X^T - X V^T)/2 X,  X <- Y + (Y - Y Y^T Y)/2
    """
    Y = X - lr / 2 * (V @ (X.mT @ X) - X @ (V.mT @ X))
    return Y + (Y - Y @ (Y.mT @ Y)) / 2


def spel_step(X: Any, V: Any, lr: float) -> Any:
    """SPEL as published [yang2026manifold], on the Stiefel manifold.

    X <- msign(X - lr msign(V - X (X^T V + V^T X)/2)), msign(G) the polar factor of G
    """
    return _polar(X - lr * _polar(V - X @ (X.mT @ V + V.mT @ X) / 2))


def _polar(G: Any) -> Any:
    U, _, V = torch.linalg.svd(G, full_matrices=False)
    return U @ V


class Published(torch.optim.Optimizer):  # type: ignore[misc]
    """V <- momentum V + grad f(X), and a step of a formula along V.

    Args:
        params: Points X with orthonormal columns.
        lr: The step size.
        momentum: Of the Euclidean gradient.
        formula: `formula(X, V, lr)` returns the next X.
    """

    def __init__(
        self, params: Any, lr: float, momentum: float, formula: Callable[[Any, Any, float], Any]
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self._formula = formula

    @torch.no_grad()  # type: ignore[untyped-decorator,unused-ignore]
    def step(self, closure: None = None) -> None:  # noqa: ARG002
        """One step."""
        for group in self.param_groups:
            for X in group["params"]:
                V = self.state[X].get("V", 0) * group["momentum"] + X.grad
                self.state[X]["V"] = V
                X.copy_(self._formula(X, V, group["lr"]))


def half_subspaces(params: Any, lr: float, **settings: Any) -> Any:
    """`SubspaceDescent` with r = p/2, about as [han2025efficient] have it."""
    groups = [{"params": [X], "rank": X.shape[-1] // 2} for X in params]
    return SubspaceDescent(groups, lr=lr, **settings)


# ---------------------------------------------------------------------- the rows


@attrs.frozen(kw_only=True)
class Row:
    """A way to train: how a weight is held, by which optimiser it is stepped, how it ends.

    Args:
        family: As for `Method`.
        make: Module and name of the optimiser.
        settings: What it has beside the step size.
        hold: Holds a layer to its manifold.
        penalised: Whether genorth's penalty is added to the loss.
        finished: Whether genorth restores the weights at the end.
        on: "all" manifolds, "stiefel", or "free", without a constraint.
        package: What it needs beside PyTorch.
        cites: Keys of the bibliography.
    """

    family: str = OTHER
    make: tuple[str, str]
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    hold: Callable[[Task, Any, Spot], None] = _placed
    penalised: bool = False
    finished: bool = True
    on: str = "all"
    package: str = "torch"
    cites: tuple[str, ...] = ()

    def start(self, task: Task, rate: float) -> TorchLearner:
        """A model with its optimisers; the step size is that of the constrained weights."""
        model, held = task.model(), list[Any]()
        with torch.random.fork_rng(devices=[]):  # PyTorch's parametrisation draws a basis
            torch.manual_seed(task.seed)
            for spot in task.spots:
                layer = model.get_submodule(spot.path)
                self.hold(task, layer, spot)
                inside = getattr(layer, "parametrizations", None)
                held += inside.weight.parameters() if inside else [layer.weight]
        make = getattr(importlib.import_module(self.make[0]), self.make[1])
        known = set(map(id, held))
        others = [W for W in model.parameters() if id(W) not in known]
        optimizers = [make(held, lr=rate, **self.settings)]
        optimizers += [torch.optim.AdamW(others, lr=task.free)] if others else []
        return TorchLearner(
            task,
            model,
            *optimizers,
            penalty=penalty if self.penalised else None,
            finish=finish if self.finished else None,
        )


_OURS, _HERE = "genorth.interop.torch", "genorth.gallery.stochastic.methods"
_ADAMW: dict[str, Any] = {"make": ("torch.optim", "AdamW"), "settings": {"weight_decay": 0.0}}
_MOMENTUM = {"momentum": 0.9}
_PENALTY: dict[str, Any] = {"family": PENALTY, **_ADAMW, "penalised": True}
_THEIRS: dict[str, Any] = {"on": "stiefel", "finished": False}
_POGO = ("javaloy2026embarrassingly",)
_FREE: dict[str, Any] = {"hold": _free, "finished": False, "on": "free"}
#: The rows by name.
ROWS = {
    "RiemannianSGD": Row(family=RIEMANNIAN, make=(_OURS, "RiemannianSGD"), settings=_MOMENTUM),
    "RiemannianAdam": Row(
        family=RIEMANNIAN, make=(_OURS, "RiemannianAdam"), cites=("becigneul2019riemannian",)
    ),
    "Muon": Row(family=RIEMANNIAN, make=(_OURS, "Muon"), settings={"momentum": 0.95}),
    "SubspaceDescent": Row(
        family=RIEMANNIAN,
        make=(_HERE, "half_subspaces"),
        settings=_MOMENTUM,
        cites=("han2025efficient",),
    ),
    "Landing": Row(
        family=INFEASIBLE,
        make=(_OURS, "Landing"),
        settings=_MOMENTUM,
        cites=("ablin2022fast",),
    ),
    "Pogo": Row(family=INFEASIBLE, make=(_OURS, "Pogo"), settings=_MOMENTUM, cites=_POGO),
    "oblique, AdamW": Row(hold=partial(_dissolved, dissolving="oblique"), **_PENALTY),
    "orthogonal, AdamW": Row(hold=partial(_dissolved, dissolving="orthogonal"), **_PENALTY),
    "geoopt, Adam": Row(
        family=RIEMANNIAN,
        make=("geoopt.optim", "RiemannianAdam"),
        hold=_geoopt,
        package="geoopt",
        cites=("becigneul2019riemannian",),
        **_THEIRS,
    ),
    "geotorch, AdamW": Row(hold=_geotorch, package="geotorch", **_ADAMW, **_THEIRS),
    "torch orthogonal, AdamW": Row(hold=_orthogonal, **_ADAMW, **_THEIRS),
    "POGO as published": Row(
        family=INFEASIBLE,
        make=(_HERE, "Published"),
        settings={"formula": pogo_step, **_MOMENTUM},
        on="stiefel",
        cites=_POGO,
    ),
    "SPEL as published": Row(
        family=RIEMANNIAN,
        make=(_HERE, "Published"),
        settings={"formula": spel_step, "momentum": 0.95},
        on="stiefel",
        cites=("yang2026manifold",),
    ),
    "no constraint, AdamW": Row(make=("torch.optim", "AdamW"), **_FREE),
    "no constraint, Muon": Row(make=("torch.optim", "Muon"), **_FREE),
}


def methods() -> list[Method]:
    """All rows whose package is installed."""
    return [
        Method(
            name=name,
            family=row.family,
            start=row.start,
            algorithm=row.make[1].lower(),
            variant=name,
            cites=row.cites,
            only=tuple(x for x, subject in SUBJECTS.items() if row.on in subject.kinds),
            free=row.on == "free",
            modules=("torch", _OURS),
        )
        for name, row in ROWS.items()
        if installed(row.package)
    ]


def left_out() -> list[str]:
    """Which rows are not run, and why, a sentence each."""
    return [
        *(
            f"{name}: needs {row.package}: pip install {row.package}."
            for name, row in ROWS.items()
            if not installed(row.package)
        ),
        *(
            f"{', '.join(name for name, row in ROWS.items() if row.on == on)}: {reason}."
            for on, reason in _REASONS.items()
        ),
    ]


_REASONS = {
    "stiefel": "only where the manifold is the Stiefel manifold",
    "free": "only where the loss is bounded without the constraint",
}
