"""`Book`: which runs of a comparison are to be made, and which are finished."""

from __future__ import annotations

import os
from typing import Any

import attrs

from genorth.compare.execute import Setup, Task
from genorth.compare.progress import Progress
from genorth.compare.record import OUT_OF_TIME, Record, Records
from genorth.compare.store import Store


class Book:
    """Which runs are to be made and which are finished."""

    def __init__(
        self, setup: Setup, tasks: list[Task], store: Store | None, progress: Progress, retry: bool
    ) -> None:
        self._setup, self._tasks, self._store, self._progress = setup, tasks, store, progress
        known = [] if store is None else store.records.values()
        again = ("RAISED", "HUNG") if retry else ()
        self._finished: dict[tuple[Any, ...], Record] = {}
        self._endless: dict[tuple[Any, ...], list[Record]] = {}
        for record in known:
            if record.status not in again:
                self._take(record)
        self.missing = [task for task in tasks if setup.key(task) not in self._finished]

    def _take(self, record: Record) -> None:
        self._finished[record.key] = record
        if record.status in OUT_OF_TIME:
            self._endless.setdefault(record.key[:-1], []).append(record)

    def carried(self, task: Task) -> Record | None:
        """The record of a looser tolerance that the time limit ended, for this tolerance.

        None where there is none.
        """
        *run, tolerance = self._setup.key(task)
        looser = [
            record for record in self._endless.get(tuple(run), []) if record.tolerance > tolerance
        ]
        if not looser:
            return None
        first = max(looser, key=lambda record: record.tolerance)
        told = f"{first.message} (Not run again: the run to {first.tolerance:g} ended so.)"
        return attrs.evolve(first, tolerance=tolerance, message=told)

    def begin(self, task: Task) -> None:
        """The run begins."""
        self._progress.begin(
            self._setup.instances[task.instance], task.seed, task.solver, task.tolerance
        )

    def finish(self, record: Record) -> None:
        """The run is finished: to disk first."""
        if self._store is not None:
            self._store.append(record)
        self._take(record)
        self._progress.finish(record)

    def records(self, settings: dict[str, Any]) -> Records:
        """Those of the tasks that are finished, in the order of the tasks."""
        keys = map(self._setup.key, self._tasks)
        return Records((self._finished[key] for key in keys if key in self._finished), settings)

    def note(self, out: Any) -> str:
        """What someone who interrupts a comparison wants to know."""
        finished = sum(self._setup.key(task) in self._finished for task in self._tasks)
        kept = (
            f"kept in {os.fspath(out)}: the same call goes on from there."
            if out is not None
            else "in the attribute `records` of this exception; with out= they are kept, and the call can go on."
        )
        return f"Interrupted: {finished} of {len(self._tasks)} runs are finished, and {kept}"
