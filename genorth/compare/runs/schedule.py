"""`Schedule`: which runs are to be made, which are finished, and what defines each of them.

`Here` makes them in this process, one after the other.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from genorth.compare.runs.bench import Prepared
from genorth.compare.runs.definition import changes, described
from genorth.compare.runs.record import OUT_OF_TIME, Outcome, Records
from genorth.compare.runs.spec import KEY, Place, Setup, Task
from genorth.compare.runs.store import Store
from genorth.errors import refuse

#: How often a run is tried that takes its process, or its executor's worker, along each time.
ATTEMPTS = 3
# runs that `retry` makes again
_AGAIN = ("RAISED", "HUNG", "UNPREPARED")
_SHOWN = 3  # changes that a refusal names


class Observer:
    """What a comparison tells of its runs: subclass it, or write a class with these methods.

    They are called one at a time, with several jobs from other threads. This one says nothing.
    """

    def start(self, total: int) -> None:
        """So many runs are to be made; those kept from an earlier call are not among them."""

    def begin(self, problem: str, size: str, seed: int, solver: str, tolerance: float) -> None:
        """A run begins; with several jobs, others may be underway.

        A record carried over from a looser tolerance has no beginning, nor has a run that an
        executor makes elsewhere.
        """

    def finish(self, record: Outcome) -> None:
        """A run is finished, and its record is on disk."""

    def tell(self, doing: str) -> None:
        """What is done now, where no run is made: `report` calls this for each of its parts."""

    def close(self) -> None:
        """Nothing more comes; also after an exception."""


def begun(setup: Setup, tasks: Iterable[Task]) -> list[Task]:
    """The tasks with what their records begin with, but for the fingerprint of the problem."""
    solvers = {name: described(solver) for name, solver in setup.solvers.items()}
    found = []
    for task in tasks:
        case = setup.cases[task.case]
        key = case.problem, str(case.size), task.seed, task.solver, task.tolerance
        options = described(case.options.get(task.solver, {}))
        definition = setup.budgets | {"options": options, "solver": solvers[task.solver]}
        about = {"about": setup.about[task.solver], "definition": definition}
        found.append(attrs.evolve(task, fields=dict(zip(KEY, key, strict=True)) | about))
    return found


class Schedule:
    """Which runs are to be made and which are finished.

    Args:
        kind: What a run leaves behind.
        tasks: All runs of the comparison, by `begun`, tolerances from loose to tight.
        store: Where records are kept, if anywhere.
        progress: Told of each run.
        give_up: A solver that ran out of time from so many starts of a row is not run from others;
            None to run it from all.
    """

    def __init__(
        self,
        kind: type[Outcome],
        tasks: Iterable[Task],
        store: Store | None = None,
        progress: Observer | None = None,
        give_up: int | None = None,
    ) -> None:
        self._kind, self._tasks = kind, list(tasks)
        self._lock = threading.RLock()
        self._store, self._progress = store, progress or Observer()
        self._give_up = give_up
        self._finished: dict[Task, Outcome] = {}
        # of a case and a solver: the runs that ran out of time
        self._late: dict[tuple[int, str], list[Outcome]] = {}
        #: Places whose problem cannot be made, with the reason.
        self.unprepared: dict[Place, str] = {}
        self.missing = self._tasks

    # ------------------------------------------------------------------ what is there already

    def resume(self, executor: Any, retry: bool) -> None:
        """Take over the records of an earlier call that still stand for their runs.

        Raises:
            ValueError: If one of them was made of something else, unless `retry` makes it again.
        """
        kept, stale = dict[Task, Outcome](), list[str]()
        known = {} if self._store is None else self._store.records
        again = (_AGAIN if retry else ()) + (("GIVEN_UP",) if self._give_up is None else ())
        for task in self._tasks:
            record = known.get(task.key)
            if record is None or record.status in again:
                continue
            then = {name: item for name, item in record.definition.items() if name != "problem"}
            if found := list(changes(then, task.fields["definition"])):
                stale += [_of(record, change) for change in found]
            else:
                kept[task] = record
        stale = list(dict.fromkeys([*stale, *self._checked(kept, executor)]))
        if stale and not retry and self._store is not None:
            more = f"; and {len(stale) - _SHOWN} more" if len(stale) > _SHOWN else ""
            refuse(
                "out",
                "a folder whose records were made by the same call",
                f"{self._store.folder}: {'; '.join(stale[:_SHOWN])}{more}",
                None,
                "Choose another folder, or pass retry=True to make these runs again.",
            )
        for task, record in kept.items():
            self._take(task, record)
        self.missing = [task for task in self._tasks if task not in kept]

    def _checked(self, kept: dict[Task, Outcome], executor: Any) -> list[str]:
        """What changed in the problems of these records, which are then kept no longer."""
        traced = {task: r for task, r in kept.items() if r.definition.get("problem")}
        made = executor.prepare(dict.fromkeys(task.place for task in traced))
        stale: list[str] = []
        for task, record in traced.items():
            prepared = made[task.place]
            if prepared.fingerprint is None:
                reason = prepared.reason or "it hangs"
                text = _of(record, f"not compared with its problem, which cannot be made: {reason}")
                warnings.warn(text, stacklevel=5)
            elif found := list(changes(record.definition["problem"], prepared.fingerprint)):
                stale += [_of(record, change) for change in found]
                del kept[task]
        return stale

    # ------------------------------------------------------------------ one run after the other

    def work(
        self,
        tasks: Iterable[Task],
        run: Callable[[Task, Callable[[], None]], Outcome],
    ) -> None:
        """Make these runs one after the other, by `run(task, begin)`.

        Several threads may do so at once, each with its own tasks.
        """
        for task in tasks:
            self.finish(task, self.spared(task) or run(task, partial(self._begin, task)))

    def spared(self, task: Task) -> Outcome | None:
        """The record of a run that need not be made; None if it must.

        A looser tolerance that ran out of time stands for this one, a problem that could not be
        made is not tried again, and a solver is given up that ran out of time from other starts.
        """
        if reason := self.unprepared.get(task.place):
            return self._kind.failed("UNPREPARED", reason, task.fields)
        late = list(self._late.get((task.case, task.solver), []))
        looser = [r for r in late if r.seed == task.seed and r.tolerance > task.tolerance]
        if looser:
            first = max(looser, key=lambda record: record.tolerance)
            said = f"{first.message} (Not run again: the run to {first.tolerance:g} ended so.)"
            return attrs.evolve(first, tolerance=task.tolerance, message=said)
        if self._give_up is None:
            return None
        ran = [r for r in late if r.status != "GIVEN_UP" and r.tolerance >= task.tolerance]
        seeds = sorted({record.seed for record in ran})
        if len(seeds) < self._give_up:
            return None
        least = min(record.time for record in ran), min(record.cpu for record in ran)
        said = f"These are of seeds {', '.join(map(str, seeds))}."
        return self._kind.failed("GIVEN_UP", said, task.fields, least)

    def _begin(self, task: Task) -> None:
        with self._lock:
            self._progress.begin(*task.key)

    def finish(self, task: Task, record: Outcome) -> None:
        """The run is finished: to disk first."""
        with self._lock:
            if self._store is not None:
                self._store.append(record)
            self._take(task, record)
            if record.status == "UNPREPARED":
                said = record.message.removeprefix(record.endings[record.status]).strip()
                self.unprepared.setdefault(task.place, said)
            self._progress.finish(record)

    def _take(self, task: Task, record: Outcome) -> None:
        self._finished[task] = record
        if record.status in OUT_OF_TIME:
            self._late.setdefault((task.case, task.solver), []).append(record)

    def records(self, settings: dict[str, Any]) -> Records:
        """The finished records, in the order of the tasks."""
        found = (self._finished[task] for task in self._tasks if task in self._finished)
        return Records(found, settings)

    def note(self) -> str:
        """What someone who interrupts a comparison wants to know."""
        where = "in the attribute `records` of this exception; with out= the call can be resumed."
        if self._store is not None:
            where = f"kept in {self._store.folder}: the same call resumes there."
        finished = f"{len(self._finished)} of {len(self._tasks)} runs are finished"
        return f"Interrupted: {finished}, and {where}"


def _of(record: Outcome, what: str) -> str:
    return f"{record.solver} on {record.problem} {record.size}, seed {record.seed}: {what}"


# ---------------------------------------------------------------------- in this process


class Here(ExitStack):
    """Makes all runs in this process.

    Where there is a folder, a run or a preparation in which the process ended three times
    becomes a record when the comparison is called again.

    Args:
        setup: What all runs share.
        folder: Where records are kept, if anywhere.
    """

    def __init__(self, setup: Setup, folder: Path | None) -> None:
        super().__init__()
        self._setup, self._maker = setup, setup.maker(setup, (KeyboardInterrupt,))
        self._note = None if folder is None else folder / ".underway.json"
        self._key, self._times = list[Any](), 0
        with suppress(OSError, ValueError, KeyError, TypeError, OverflowError, AttributeError):
            found = json.loads(self._note.read_text(encoding="utf-8"))  # type: ignore[union-attr]
            self._key, self._times = list(found["key"]), int(found["times"])

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places, one at a time."""
        return {place: self._prepared(place) for place in places}

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        schedule.work(schedule.missing, self._run)

    def _run(self, task: Task, begin: Callable[[], None]) -> Outcome:
        kind = self._maker.kind
        if reason := self._prepared(task.place).reason:
            return kind.failed("UNPREPARED", reason, task.fields)
        with self._underway(list(task.key)) as reason:
            if reason:
                return kind.failed("RAISED", reason, task.fields)
            return self._maker.record(task, begin)

    def _prepared(self, place: Place) -> Prepared:
        if self._maker.at == place:
            return self._maker.prepare(place)
        case, seed = self._setup.cases[place[0]], place[1]
        with self._underway([case.problem, case.size, seed]) as reason:
            return Prepared(reason=reason) if reason else self._maker.prepare(place)

    @contextmanager
    def _underway(self, key: list[Any]) -> Iterator[str]:
        """Note in the folder that this is underway; gives the reason not to try it again."""
        times = self._times if key == self._key else 0
        if self._note is None or times >= ATTEMPTS:
            said = f"The process ended {times} times during it. retry=True tries it again."
            yield said if times else ""
            return
        with suppress(OSError):  # a solver has removed the folder: the store makes it again
            self._note.write_text(json.dumps({"key": key, "times": times + 1}), encoding="utf-8")
        try:
            yield ""
        finally:
            self._note.unlink(missing_ok=True)
