"""`Here`: makes the runs of a comparison in this process, one after the other."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from genorth.compare.runs.maker import Prepared
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.schedule import ATTEMPTS, KEY, Schedule
from genorth.compare.runs.spec import Place, Setup, Task
from genorth.compare.runs.store import Store


class Here:
    """Makes all runs in this process, one after the other.

    Where there is a folder, it notes what is underway: a run or a preparation in which the process
    crashes, or is killed three times, becomes a record when the comparison is called again.
    """

    def __init__(self, setup: Setup, store: Store | None) -> None:
        self._setup, self._store = setup, store
        self._maker = setup.maker(setup, (KeyboardInterrupt,))
        self._crash: IO[str] | None = None

    def __enter__(self) -> Here:
        """Have the reason of a crash written to the folder, unless someone else asked for it."""
        if self._store is not None and not faulthandler.is_enabled():
            self._crash = self._store.crash_file.open("w", encoding="utf-8")
            faulthandler.enable(self._crash, all_threads=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._crash is not None and self._store is not None:
            faulthandler.disable()
            self._crash.close()
            self._store.crash_file.unlink(missing_ok=True)

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places, one at a time."""
        return {place: self._prepared(place) for place in places}

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        schedule.work(schedule.missing, self._run)

    def _run(self, task: Task, fields: dict[str, Any], begin: Callable[[], None]) -> Outcome:
        kind = self._maker.kind
        if reason := self._prepared(task.place).reason:
            return kind.failed("UNPREPARED", reason, fields)
        key = [fields[name] for name in KEY]
        with self._underway(key) as reason:
            if reason:
                return kind.failed("RAISED", reason, fields)
            return self._maker.record(task, fields, begin)

    def _prepared(self, place: Place) -> Prepared:
        if self._maker.at == place:
            return self._maker.prepare(place)
        instance, seed = self._setup.instances[place[0]], place[1]
        with self._underway([instance.problem, instance.size, seed]) as reason:
            return Prepared(reason=reason) if reason else self._maker.prepare(place)

    @contextmanager
    def _underway(self, key: list[Any]) -> Iterator[str]:
        """Note that this is underway; gives the reason not to try it again, if there is one."""
        if self._store is None:
            yield ""
            return
        before = self._store.underway
        if before is not None and before.key == key and (before.crash or before.times >= ATTEMPTS):
            what = before.crash or f"The process was killed {before.times} times during it"
            yield f"{what.rstrip('.')}. retry=True tries it again."
            return
        self._store.begin(key)
        try:
            yield ""
        finally:
            self._store.end()
