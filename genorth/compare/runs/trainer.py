"""`Trainer`: makes the runs of `train`, as `Bench` makes those of `run`.

The clock stands while losses and |C| are measured, which happens after each epoch.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

import attrs

from genorth.compare.runs.definition import probed
from genorth.compare.runs.machine import interrupted
from genorth.compare.runs.maker import Attempt, Maker, Prepared, told
from genorth.compare.runs.record import ENDINGS, TRAINED, Record
from genorth.compare.runs.schedule import Place
from genorth.compare.runs.spec import Task
from genorth.compare.runs.training import Learner
from genorth.errors import NotRestorableError
from genorth.solve.clock import Clock, moment
from genorth.solve.result import Status, Trace


class Trainer(Maker):
    """Holds one training at a time, from which all methods start.

    `max_iterations` of its setup is the number of epochs.
    """

    _made: Any = None

    def _making(self, place: Place) -> Iterator[Prepared]:
        """The data and the model."""
        self._made = None
        training = self._setup.instances[place[0]]
        self._made = training.make(place[1])
        yield Prepared(training.size, probed(self._made))

    def _fresh(self) -> None:
        """It counts epochs, not evaluations."""

    def _load(self, task: Task) -> None:
        for module in self._setup.solvers[task.solver].modules:
            importlib.import_module(module)

    def _run(self, attempt: Attempt) -> Record:
        setup, task = self._setup, attempt.task
        method, options = setup.solvers[task.solver], setup.instances[task.instance].options
        rate = float(options[task.solver]["rate"])
        with interrupted(setup.preparation):
            _warm_up(method.start(self._made, rate))
            learner = method.start(self._made, rate)
        attempt.begin()
        with interrupted(setup.patience):
            run = _Run(learner, attempt.clock, task.tolerance, setup.time_limit)
            return run.record(setup.max_iterations or 1, attempt.fields)


def _warm_up(learner: Learner) -> None:
    """One step of a model that is thrown away: what a library makes once is on nobody's clock."""
    for batch in learner.batches():
        learner.step(batch)
        return


@attrs.define
class _Run:
    """One model, from its first step to its record."""

    learner: Learner
    clock: Clock
    tolerance: float
    time_limit: float
    trace: Trace = attrs.field(factory=Trace)
    steps: int = 0

    def record(self, epochs: int, fields: dict[str, Any]) -> Record:
        """Train for so many epochs."""
        with self.clock:
            status, message = self._trained(epochs)
        validation = held_out = feasibility = math.nan
        if status in (TRAINED, Status.TIME_LIMIT.name):
            validation, held_out = self.learner.losses()
            feasibility = self.learner.feasibility()
        if status == TRAINED and not math.isfinite(validation + held_out):
            status, message = Status.NOT_FINITE.name, f"The loss is {held_out} on the manifold."
        elif status == TRAINED and not feasibility <= self.tolerance:
            status = Status.NOT_FEASIBLE.name
            message = f"|C| is {feasibility:.2g} at the end, not {self.tolerance:g}."
        passes = max(self.trace.evaluations, default=0)
        return Record(
            status=status,
            message=message,
            success=status == TRAINED,
            fun=held_out,
            validation=validation if math.isfinite(validation) else None,
            nit=self.steps,
            feasibility=feasibility,
            time=self.clock.seconds[0],
            cpu=self.clock.seconds[1],
            nfev=passes,
            njev=passes,
            trace=self.trace,
            **fields,
        )

    def _trained(self, epochs: int) -> tuple[str, str]:
        """How it ended, and a sentence."""
        self._measured(0)
        for epoch in range(1, epochs + 1):
            if said := self._epoch(epoch):
                return Status.NOT_FINITE.name, said
            if self.clock.elapsed()[0] > self.time_limit:
                said = f"{epoch} of {epochs} epochs took longer than {self.time_limit:g} s."
                return Status.TIME_LIMIT.name, said
        try:
            self.learner.finish()
        except NotRestorableError as error:
            return Status.DIVERGED.name, f"{ENDINGS[Status.DIVERGED.name]} {error}"
        return TRAINED, ENDINGS[TRAINED]

    def _epoch(self, epoch: int) -> str:
        """One pass over the data and a line of the trace; says so if the loss is not finite."""
        try:
            for batch in self.learner.batches():
                self.learner.step(batch)
                self.steps += 1
        except Exception as error:  # as weights are refused that are not finite
            if math.isfinite(self._measured(epoch)):
                raise
            return f"The held-out loss is not finite after {self.steps} steps. {told(error)}"
        loss = self._measured(epoch)
        return "" if math.isfinite(loss) else f"The held-out loss is {loss} after epoch {epoch}."

    def _measured(self, epoch: int) -> float:
        """Add a line to the trace, off the clock; returns the held-out loss.

        It is NaN where it cannot be computed; but not at the start, where this is a mistake.
        """
        seconds, begin = self.clock.elapsed()[0], moment()
        held_out = feasibility = math.nan
        try:
            with suppress(Exception) if epoch else nullcontext():
                held_out, feasibility = self.learner.losses()[1], self.learner.feasibility()
        finally:
            Clock.measured(begin)
        self.trace.append(seconds, held_out, math.nan, feasibility, epoch)
        return held_out
