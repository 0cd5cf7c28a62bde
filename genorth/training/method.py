"""What `train` compares: `Training`, `Method`, and what a method makes of them, a `Learner`.

Nothing here knows PyTorch or JAX.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import attrs

from genorth.compare.runs.record import About
from genorth.solve.solver import OTHER


class Learner(Protocol):
    """A model in training, with its data."""

    def batches(self) -> Iterable[Any]:
        """The training data in minibatches: one pass, in the order of the seed."""

    def step(self, batch: Any) -> None:
        """One step of the optimiser."""

    def losses(self) -> tuple[float, float]:
        """The loss on the validation data and on the held-out data."""

    def feasibility(self) -> float:
        """|C| of all constrained weights together, as the layers see them."""

    def finish(self) -> None:
        """Restore the weights to their manifolds."""


@attrs.frozen
class Training:
    """Something to be trained, made from a seed.

    For `jobs > 1` everything in it must be picklable, as for `genorth.compare.run`.

    Args:
        problem: Its name.
        size: The shapes of the constrained weights, as tables show them.
        make: `make(seed)` returns what a method starts from: data and a model, whose first weights
            and order of minibatches depend on the seed. It is an attrs class; its arrays tell
            whether a record still stands for it.
        options: Method and step size by name of solver; `train` fills them in.
    """

    problem: str
    size: str
    make: Callable[[int], Any] = attrs.field(repr=False)
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @property
    def name(self) -> str:
        """Problem and size."""
        return f"{self.problem} {self.size}"


@attrs.frozen(kw_only=True)
class Method:
    """A way to train, which describes itself.

    Args:
        name: The name in tables.
        family: "penalty", "Riemannian", "infeasible" or "other".
        start: `start(made, rate)` returns a `Learner` with this step size.
        algorithm: "adam" or "sgd", or a word of its own.
        variant: How it differs from others of the same algorithm.
        label: How legends call it; the name by default.
        cites: Keys of the bibliography.
        only: The problems on which it runs; None for all.
        modules: Modules that it imports when it first runs; they are loaded beforehand, so that
            their threads are limited too.
        free: Whether it has no constraint, so that |C| does not matter at the end.
    """

    name: str
    family: str = OTHER
    start: Callable[..., Learner] = attrs.field(repr=False)
    algorithm: str = ""
    variant: str = ""
    label: str = attrs.Factory(lambda self: self.name, takes_self=True)
    cites: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    modules: tuple[str, ...] = ()
    free: bool = False

    def load(self) -> None:
        """Import the modules."""
        for module in self.modules:
            importlib.import_module(module)

    @property
    def about(self) -> About:
        """What records say of it, whatever its step size."""
        return About(
            label=self.label,
            family=self.family,
            algorithm=self.algorithm,
            variant=self.variant,
            cites=self.cites,
        )
