"""Something small to train, without PyTorch, and learners that end well, badly, or not at all.

All picklable, for worker processes.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np

from genorth.errors import NotRestorableError
from genorth.training import Method, Training

BATCHES = 3


@attrs.frozen(eq=False)
class Data:
    """Numbers, whose mean is to be learned."""

    train: Any
    validation: Any
    held_out: Any
    seed: int


def numbers(seed: int, shift: float = 0.0) -> Data:
    rows = np.random.default_rng(3).standard_normal((3, 4 * BATCHES)) + 1.0
    return Data(rows[0] + shift, rows[1], rows[2], seed)


class Mean:
    """w <- w - rate (w - mean of the batch), from w = seed; |C| is 1 until it is finished.

    Args:
        data: The numbers.
        rate: The step size; beyond 2 it diverges.
        pause: Seconds that each measuring takes.
        wait: Seconds that each step takes.
        fault: What goes wrong.
    """

    def __init__(
        self, data: Data, rate: float, pause: float = 0.0, wait: float = 0.0, fault: str = ""
    ) -> None:
        self.data, self.rate, self.w, self.violation = data, rate, float(data.seed), 1.0
        self.pause, self.wait, self.fault, self.steps = pause, wait, fault, 0

    def batches(self) -> Iterator[Any]:
        yield from np.split(self.data.train, BATCHES)

    def step(self, batch: Any) -> None:
        time.sleep(self.wait)
        self.steps += 1
        if self.steps > BATCHES + 1:
            if self.fault == "nan":
                self.w = float("nan")
            if self.fault in ("nan", "raises"):
                raise ZeroDivisionError("no such step")
            if self.fault == "infinite":
                self.w = float("inf")
                return
        self.w -= self.rate * (self.w - batch.mean())

    def losses(self) -> tuple[float, float]:
        time.sleep(self.pause)
        if self.fault == "unmeasurable":
            raise ZeroDivisionError("no such loss")
        return loss(self.data.validation, self.w), loss(self.data.held_out, self.w)

    def feasibility(self) -> float:
        return self.violation

    def finish(self) -> None:
        if self.fault == "far":
            raise NotRestorableError("X: too far")
        self.violation = 1.0 if self.fault == "infeasible" else 0.0


def loss(rows: Any, w: float) -> float:
    return float(np.mean((rows - w) ** 2)) / 2


def training(**more: Any) -> Training:
    return Training("mean", "(1,1)", partial(numbers, **more))


def method(name: str = "plain", **more: Any) -> Method:
    start = partial(Mean, **more) if more else Mean
    return Method(name=name, family="penalty", start=start, algorithm="sgd")
