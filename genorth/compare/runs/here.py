"""`Here`: makes the runs of a comparison in this process, one after the other."""

from __future__ import annotations

import faulthandler
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from genorth.compare.runs.maker import Prepared
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.schedule import ATTEMPTS, KEY, Schedule
from genorth.compare.runs.spec import Place, Setup, Task


class Here(ExitStack):
    """Makes all runs in this process.

    Where there is a folder, a run or a preparation in which the process crashes, or is killed three
    times, becomes a record when the comparison is called again.

    Args:
        setup: What all runs share.
        folder: Where records are kept, if anywhere.
    """

    def __init__(self, setup: Setup, folder: Path | None) -> None:
        super().__init__()
        self._setup, self._maker = setup, setup.maker(setup, (KeyboardInterrupt,))
        self._notes = None if folder is None else _Notes(folder)
        if self._notes is not None:
            self.enter_context(self._notes.crashes())

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
        with self._underway([fields[name] for name in KEY]) as reason:
            if reason:
                return kind.failed("RAISED", reason, fields)
            return self._maker.record(task, fields, begin)

    def _prepared(self, place: Place) -> Prepared:
        if self._maker.at == place:
            return self._maker.prepare(place)
        instance, seed = self._setup.instances[place[0]], place[1]
        with self._underway([instance.problem, instance.size, seed]) as reason:
            return Prepared(reason=reason) if reason else self._maker.prepare(place)

    def _underway(self, key: list[Any]) -> Any:
        return nullcontext("") if self._notes is None else self._notes.underway(key)


class _Notes:
    """Notes in a folder what is underway, for a later call to find where a process ended."""

    def __init__(self, folder: Path) -> None:
        self._file, self._crash = folder / ".underway.json", folder / ".crash.txt"
        self._key, self._times, self._reason = list[Any](), 0, ""
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._file.read_text(encoding="utf-8"))
            self._key, self._times = list(found["key"]), int(found["times"])
            crash = self._crash.read_text(encoding="utf-8", errors="replace")
            self._reason = crash.partition("\n")[0]

    @contextmanager
    def crashes(self) -> Iterator[None]:
        """Have the reason of a crash written to the folder, unless someone else asked for it."""
        if faulthandler.is_enabled():
            yield
            return
        with self._crash.open("w", encoding="utf-8") as file:
            faulthandler.enable(file, all_threads=False)
            try:
                yield
            finally:
                faulthandler.disable()
                self._crash.unlink(missing_ok=True)

    @contextmanager
    def underway(self, key: list[Any]) -> Iterator[str]:
        """Note that this is underway; gives the reason not to try it again, if there is one."""
        times = self._times if key == self._key else 0
        if times and (self._reason or times >= ATTEMPTS):
            what = self._reason or f"The process was killed {times} times during it"
            yield f"{what.rstrip('.')}. retry=True tries it again."
            return
        self._file.write_text(json.dumps({"key": key, "times": times + 1}), encoding="utf-8")
        try:
            yield ""
        finally:
            self._file.unlink(missing_ok=True)
