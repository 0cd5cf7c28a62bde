"""`Trainer`: makes the runs of `train`, as `Bench` makes those of `run`.

The clock stands while losses and |C| are measured, which happens after each epoch.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cached_property
from typing import Any

import attrs

from genorth.compare.runs.bench import Prepared, told
from genorth.compare.runs.definition import probed
from genorth.compare.runs.machine import (
    PastLimitError,
    contained,
    environment,
    interrupted,
    pinned,
)
from genorth.compare.runs.record import ENDINGS, TRAINED, Record, failed
from genorth.compare.runs.schedule import Place
from genorth.compare.runs.spec import Setup, Task
from genorth.compare.runs.training import Learner
from genorth.errors import NotRestorableError
from genorth.solve.clock import Clock, moment
from genorth.solve.result import Status, Trace


class Trainer:
    """Holds one training at a time, from which all methods start.

    Args:
        setup: What all runs share; `max_iterations` is the number of epochs.
        passed_on: Exceptions that end the comparison.
    """

    def __init__(self, setup: Setup, passed_on: tuple[type[BaseException], ...] = ()) -> None:
        self._setup, self._passed_on = setup, passed_on
        self.at: Place | None = None
        self._made: Any = None
        self._prepared = Prepared()

    def prepare(self, place: Place) -> Prepared:
        """Make the training of a place; reuses the current one if it is of this place."""
        if self.at != place:
            self.at = self._made = None
            training, limit = self._setup.instances[place[0]], self._setup.preparation
            self._prepared = Prepared(reason=f"It took longer than {limit:g} s.")
            with pinned(self._setup.threads), contained():
                try:
                    with interrupted(limit):
                        self._made = training.make(place[1])
                        self._prepared = Prepared(training.size, probed(self._made))
                except PastLimitError:
                    pass
                except self._passed_on:
                    raise
                except BaseException as error:
                    self._prepared = Prepared(reason=told(error))
            self.at = place
        return self._prepared

    def record(self, task: Task, fields: dict[str, Any], begin: Callable[[], None]) -> Record:
        """Train, which `prepare` has seen to.

        Args:
            task: The task.
            fields: What the record begins with.
            begin: Called when the model is there and the first step begins.
        """
        made, setup = self._prepared, self._setup
        fields = fields | {"environment": self._environment}
        fields["definition"] = fields["definition"] | {"problem": made.fingerprint}
        if made.reason:
            return failed("UNPREPARED", made.reason, fields)
        method, options = setup.solvers[task.solver], setup.instances[task.instance].options
        rate = float(options[task.solver]["rate"])
        clock = Clock(None)
        with contained():
            try:
                for module in method.modules:  # before the threads of all that is loaded are fixed
                    importlib.import_module(module)
                with pinned(setup.threads):
                    with interrupted(setup.preparation):
                        _warm_up(method.start(self._made, rate))
                        learner = method.start(self._made, rate)
                    begin()
                    with interrupted(setup.patience):
                        run = _Run(learner, clock, task.tolerance, setup.time_limit)
                        return run.record(setup.max_iterations or 1, fields)
            except PastLimitError:
                message = f"max_time was {setup.time_limit:g} s."
                return failed("HUNG", message, fields, seconds=clock.seconds)
            except self._passed_on:
                raise
            except BaseException as error:
                return failed("RAISED", told(error), fields, seconds=clock.seconds)

    @cached_property
    def _environment(self) -> dict[str, str]:
        with pinned(self._setup.threads):
            return environment(self._setup.processes)


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
