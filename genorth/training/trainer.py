"""`Trainer`: makes the runs of `train`, and `TrainingRecord`, what they leave behind.

The clock stands while losses and |C| are measured, which happens after each epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import attrs

from genorth.compare.runs.bench import Maker, Prepared, told
from genorth.compare.runs.definition import probed
from genorth.compare.runs.record import ENDINGS, WHOLE, Column, Outcome, shared
from genorth.compare.runs.spec import Place, Task
from genorth.errors import NotRestorableError
from genorth.machine import interrupted
from genorth.solve.clock import Clock, moment
from genorth.training.method import Learner

#: |C| above which the loss of an iterate, of a method with a constraint, says nothing.
NEAR = 1e-2


def _curve() -> dict[str, list[float]]:
    return {"time": [], "cpu": [], "held_out": [], "feasibility": []}


@attrs.frozen(kw_only=True)
class TrainingRecord(Outcome):
    """One run: a method with a step size, on a training, from the weights of a seed.

    Its losses are measured at the end, with the weights on their manifolds; NaN where it did not
    get that far.
    """

    #: The loss on the validation data, and on the held-out data.
    validation: float = math.nan
    held_out: float = math.nan
    #: Steps of the optimiser.
    steps: int = 0
    #: Seconds of wall and CPU time, held-out loss and |C| at the start and after each epoch.
    curve: dict[str, list[float]] = attrs.field(factory=_curve, repr=False)

    endings = ENDINGS | {
        "TRAINED": "All epochs are done, and the weights are on their manifolds.",
    }
    done = "TRAINED"
    figure = "held_out"
    columns = (
        *shared("problem", "size", "seed", "solver", "label", "family", "algorithm", "variant"),
        Column("method"),
        Column("rate"),
        *shared("tolerance", "status", "success", "feasibility", "time", "cpu"),
        Column("validation"),
        Column("held_out"),
        Column("steps"),
        *shared("message"),
    )
    rules = {  # noqa: RUF012  a constant, as the base class says
        "steps": WHOLE,
        "curve": (
            "time, cpu, held_out and feasibility of one length",
            lambda curve: (
                curve.keys() == _curve().keys() and len(set(map(len, curve.values()))) == 1
            ),
        ),
    }

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.definition["options"]["method"])

    @property
    def rate(self) -> float:
        """The step size."""
        return float(self.definition["options"]["rate"])

    def loss_within(self, seconds: float) -> float:
        """The held-out loss after the last epoch within so many seconds of CPU time.

        Epochs that ended with |C| > 0.01 do not count, but for methods without a constraint; the
        start does.
        """
        if not self.success:
            return math.inf
        near = math.inf if self.feasibility > self.tolerance else NEAR
        ends = zip(*(self.curve[name] for name in ("cpu", "feasibility", "held_out")), strict=True)
        counted = [loss for cpu, far, loss in ends if cpu <= seconds and far <= near]
        return (counted or self.curve["held_out"][:1])[-1]

    @property
    def progress(self) -> str:
        """Steps and held-out loss."""
        return f"{self.steps} steps, loss {self.held_out:.4g}"


class Trainer(Maker):
    """Holds one training at a time, from which all methods start."""

    kind = TrainingRecord
    _made: Any = None

    def _making(self, place: Place) -> Iterator[Prepared]:
        """The data and the model."""
        self._made = None
        training = self._setup.cases[place[0]]
        self._made = training.make(place[1])
        yield Prepared(training.size, probed(self._made))

    def _run(
        self,
        task: Task,
        fields: dict[str, Any],
        begin: Callable[[], None],
        clock: Clock,
        fresh: None,  # noqa: ARG002  a model is made with its optimiser
    ) -> TrainingRecord:
        setup, method = self._setup, self._setup.solvers[task.solver]
        rate = float(setup.cases[task.case].options[task.solver]["rate"])
        with interrupted(setup.preparation):
            _warm_up(method.start(self._made, rate))
            learner = method.start(self._made, rate)
        begin()
        with interrupted(setup.patience):
            run = _Run(learner, clock, int(setup.budget["epochs"] or 1), setup.max_time)
            return run.record(math.inf if method.free else task.tolerance, fields)


def _warm_up(learner: Learner) -> None:
    """Measure and train a model that is thrown away, so that nobody's clock has the first calls.

    A loss that cannot be computed at the start is a mistake, and raises here.
    """
    learner.losses()
    for batch in learner.batches():
        learner.step(batch)
        return


@attrs.define
class _Run:
    """One model, from its first step to its record."""

    learner: Learner
    clock: Clock
    epochs: int
    max_time: float
    curve: dict[str, list[float]] = attrs.field(factory=_curve)
    steps: int = 0

    def record(self, tolerance: float, fields: dict[str, Any]) -> TrainingRecord:
        """Train, measure, and check |C| at the end."""
        with self.clock:
            status, message = self._trained()
        validation = held_out = feasibility = math.nan
        if status in ("TRAINED", "TIME_LIMIT"):
            validation, held_out = self.learner.losses()
            feasibility = self.learner.feasibility()
        if status == "TRAINED" and not math.isfinite(validation + held_out):
            status, message = "NOT_FINITE", f"The loss is {held_out} on the manifold."
        elif status == "TRAINED" and not feasibility <= tolerance:
            status, message = "NOT_FEASIBLE", f"|C| is {feasibility:.2g}, not {tolerance:g}."
        wall, cpu = self.clock.seconds
        return TrainingRecord(
            status=status,
            message=message,
            success=status == "TRAINED",
            validation=validation,
            held_out=held_out,
            feasibility=feasibility,
            steps=self.steps,
            time=wall,
            cpu=cpu,
            curve=self.curve,
            **fields,
        )

    def _trained(self) -> tuple[str, str]:
        """How it ended, and a sentence."""
        self._measured()
        for epoch in range(1, self.epochs + 1):
            if said := self._epoch(epoch):
                return "NOT_FINITE", said
            if self.clock.elapsed()[0] > self.max_time:
                said = f"{epoch} of {self.epochs} epochs took longer than {self.max_time:g} s."
                return "TIME_LIMIT", said
        try:
            self.learner.finish()
        except NotRestorableError as error:
            return "DIVERGED", f"{ENDINGS['DIVERGED']} {error}"
        return "TRAINED", TrainingRecord.endings["TRAINED"]

    def _epoch(self, epoch: int) -> str:
        """One pass over the data and a point of the curve; says so if the loss is not finite."""
        try:
            for batch in self.learner.batches():
                self.learner.step(batch)
                self.steps += 1
        except Exception as error:  # as weights are refused that are not finite
            if math.isfinite(self._measured()):
                raise
            return f"The held-out loss is not finite after {self.steps} steps. {told(error)}"
        loss = self._measured()
        return "" if math.isfinite(loss) else f"The held-out loss is {loss} after epoch {epoch}."

    def _measured(self) -> float:
        """Add a point to the curve, off the clock; returns the held-out loss, NaN if it raises."""
        (seconds, cpu), begin = self.clock.elapsed(), moment()
        held_out = feasibility = math.nan
        with suppress(Exception):
            held_out, feasibility = self.learner.losses()[1], self.learner.feasibility()
        Clock.measured(begin)
        point = {"time": seconds, "cpu": cpu, "held_out": held_out, "feasibility": feasibility}
        for name, value in point.items():
            self.curve[name].append(value)
        return held_out
