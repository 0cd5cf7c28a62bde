"""`Maker`: makes runs one place at a time, and says what is known of those that fail.

`Bench` runs solvers; `genorth.training` has a maker of its own.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs

from genorth.compare.runs.machine import (
    PastLimitError,
    contained,
    environment,
    interrupted,
    pinned,
)
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.spec import Place, Setup, Task
from genorth.solve.clock import Clock


@attrs.frozen
class Prepared:
    """A problem that was made, or the reason why not."""

    size: str | None = None
    fingerprint: dict[str, Any] | None = None
    reason: str = ""


@attrs.frozen
class Attempt:
    """A run that is about to be made."""

    task: Task
    #: What the record begins with.
    fields: dict[str, Any]
    #: Is called when the solver is loaded and begins.
    begin: Callable[[], None]
    #: What `Maker._fresh` gave.
    problem: Any
    clock: Clock


class Maker(ABC):
    """Makes the runs of a setup, with what it holds of one place at a time.

    Args:
        setup: What all runs share.
        passed_on: Exceptions that end the comparison.
    """

    def __init__(self, setup: Setup, passed_on: tuple[type[BaseException], ...] = ()) -> None:
        self._setup, self._passed_on = setup, passed_on
        self.at: Place | None = None
        self._prepared = Prepared()

    # ------------------------------------------------------------------ what a maker gives

    #: What a run leaves behind.
    kind: ClassVar[type[Outcome]]

    @abstractmethod
    def _making(self, place: Place) -> Iterator[Prepared]:
        """Make what a place needs, step by step; each step has the time of a preparation."""

    @abstractmethod
    def _fresh(self) -> Any:
        """The problem of a new run, in which it counts its evaluations; None where it does not."""

    @abstractmethod
    def _counted(self, problem: Any) -> dict[str, Any]:
        """The counts of a run that raised or hung, as fields of its record."""

    @abstractmethod
    def _load(self, task: Task) -> None:
        """Import what the solver needs, before the threads of all that is loaded are fixed."""

    @abstractmethod
    def _run(self, attempt: Attempt) -> Outcome:
        """Make the run; may raise anything."""

    # ------------------------------------------------------------------ what follows

    def prepare(self, place: Place) -> Prepared:
        """Make what a place needs; reuses what is there if it is of this place."""
        if self.at == place:
            return self._prepared
        self.at, limit = None, self._setup.preparation
        self._prepared = Prepared(reason=f"It took longer than {limit:g} s.")
        with pinned(self._setup.threads), contained():
            try:
                steps = self._making(place)
                while True:
                    with interrupted(limit):
                        prepared = next(steps, None)
                    if prepared is None:
                        break
                    self._prepared = prepared
            except PastLimitError:
                pass  # a cost that hangs does so again in the runs, whose records say it
            except self._passed_on:
                raise
            except BaseException as error:
                self._prepared = Prepared(reason=told(error))
        self.at = place
        return self._prepared

    def record(self, task: Task, fields: dict[str, Any], begin: Callable[[], None]) -> Outcome:
        """Run a task, which `prepare` has seen.

        Args:
            task: The task.
            fields: What the record begins with.
            begin: Called when the solver is loaded and begins.
        """
        made, setup = self._prepared, self._setup
        fields = fields | {"environment": self._environment}
        fields["definition"] = fields["definition"] | {"problem": made.fingerprint}
        if made.reason:
            return self.kind.failed("UNPREPARED", made.reason, fields)
        problem = self._fresh()
        clock = Clock(problem)
        with contained():
            try:
                with interrupted(setup.preparation):
                    self._load(task)
                with pinned(setup.threads):
                    return self._run(Attempt(task, fields, begin, problem, clock))
            except PastLimitError:
                ending, message = "HUNG", f"max_time was {setup.time_limit:g} s."
            except self._passed_on:
                raise
            except BaseException as error:
                ending, message = "RAISED", told(error)
            return self.kind.failed(ending, message, fields | self._counted(problem), clock.seconds)

    @cached_property
    def _environment(self) -> dict[str, str]:
        with pinned(self._setup.threads):
            return environment(self._setup.processes)


def told(error: BaseException) -> str:
    """Type, message and place of an exception, in one line; its message may raise."""
    try:
        text = " ".join(str(error).split())
    except BaseException as second:
        text = f"(its message raised {type(second).__name__})"
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return message
    last = frames[-1]
    return f"{message} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
