"""`Futures`: the runs of a comparison by someone else's executor, on this machine or on others.

A task is one place: all solvers and tolerances on one problem from one start, so that a row of a
table is measured on one host. The executor's worker makes these runs in a process of its own, as
`Workers` does, and kills it where a solver hangs; a solver that crashes takes nothing else along.
"""

from __future__ import annotations

import pickle
import platform
import threading
import uuid
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import Any, NoReturn

import attrs

import genorth
from genorth.compare.runs.bench import Prepared, told
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.schedule import ATTEMPTS, Schedule
from genorth.compare.runs.spec import Place, Setup, Task
from genorth.compare.runs.workers import NotLoadedError, Worker, Workers, cloud_dumps, pickled
from genorth.errors import refuse, require

_POLL = 1.0  # seconds between two looks at futures that do not call back, as those of submitit
_LENGTH = 400  # characters of what an executor says of a lost task, which may be a whole log
_NEED = "what can be pickled, for an executor"


class Futures:
    """Makes runs by `executor.submit(function, *arguments)`.

    A place whose worker is lost is sent again as a whole, for one host to make all of it, at most
    three times. Where the executor takes no more tasks, its exception ends the comparison.

    Args:
        setup: What all runs share.
        executor: Its futures have done(), result() and cancel().
    """

    def __init__(self, setup: Setup, executor: Any) -> None:
        self._setup, self._executor = setup, executor
        alone = (attrs.evolve(setup, cases=(each,)) for each in setup.cases)
        self._payloads = [pickled(one, cloud_dumps, _NEED) for one in alone]
        self._sweep = uuid.uuid4().hex
        self._underway: list[tuple[Any, _Sent]] = []
        self._news = threading.Event()

    def __enter__(self) -> Futures:
        return self

    def __exit__(self, *_: object) -> None:
        for future, _sent in self._underway:
            with suppress(Exception):
                future.cancel()
        self._underway.clear()

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places, in a process on this machine.

        It takes an evaluation each; a job in the queue of a cluster would take longer.
        """
        if not (wanted := list(places)):
            return {}
        with Workers(self._setup, pickled(self._setup, cloud_dumps, _NEED)) as workers:
            return workers.prepare(wanted)

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        places: dict[Place, list[Task]] = {}
        for task in schedule.missing:
            if record := schedule.spared(task):
                schedule.finish(task, record)
            else:
                places.setdefault(task.place, []).append(task)
        self._send([_Sent(tuple(tasks)) for tasks in places.values()], schedule)
        while self._underway:
            again = [sent for future, sent in self._done() if self._lost(future, sent, schedule)]
            self._send([attrs.evolve(sent, attempt=sent.attempt + 1) for sent in again], schedule)

    def _send(self, all_sent: list[_Sent], schedule: Schedule) -> None:
        # submitit makes one array of Slurm of the jobs that are submitted within its batch()
        batch = getattr(self._executor, "batch", nullcontext) if all_sent else nullcontext
        light = attrs.evolve(self._setup, cases=(), solvers={}, about={}, processes=1)
        with batch():
            for sent in all_sent:
                # its one problem has the index 0
                fields = {attrs.evolve(t, case=0): schedule.fields(t) for t in sent.tasks}
                payload = self._payloads[sent.tasks[0].case]
                key = self._sweep, sent.attempt
                future = self._executor.submit(
                    run_place, key, genorth.__version__, light, payload, fields
                )
                self._underway.append((future, sent))
        for future, _sent in self._underway[len(self._underway) - len(all_sent) :]:
            good = all(callable(getattr(future, name, None)) for name in ("done", "result"))
            need = "submit() to return futures, with done() and result()"
            require(good, "executor", need, type(future).__name__)
            if call_back := getattr(future, "add_done_callback", None):
                call_back(lambda _: self._news.set())

    def _done(self) -> list[tuple[Any, _Sent]]:
        """The futures that are finished, after the first of them is."""
        while True:
            self._news.clear()
            if done := [pair for pair in self._underway if pair[0].done()]:
                self._underway = [pair for pair in self._underway if pair not in done]
                return done
            self._news.wait(_POLL)

    def _lost(self, future: Any, sent: _Sent, schedule: Schedule) -> bool:
        """Finish what has come back; True if nothing has, and the place is to be sent again."""
        by = {"executor": type(self._executor).__name__}
        try:
            made: Made = future.result()
        except (ImportError, AttributeError, pickle.PickleError) as error:
            _refuse_workers(f"a worker without it: {_short(error)}")
        except Exception as error:
            if sent.attempt < ATTEMPTS:
                return True
            for task in sent.tasks:
                said = f"Its worker was lost {sent.attempt} times, at last by {_short(error)}"
                fields = schedule.fields(task) | {"environment": by}
                schedule.finish(task, self._setup.maker.kind.failed("RAISED", said, fields))
            return False
        if made.reason:
            _refuse_workers(f"on {made.host}: {made.reason}")
        for task, record in zip(sent.tasks, made.records, strict=True):
            environment = record.environment | by
            environment.pop("processes", None)  # how many there are, the executor knows
            schedule.finish(task, attrs.evolve(record, environment=environment))
        return False


@attrs.frozen
class _Sent:
    """The missing runs of a place, sent for the first time or again."""

    tasks: tuple[Task, ...]
    attempt: int = 1


def _short(error: BaseException) -> str:
    text = told(error)
    half = _LENGTH // 2
    return text if len(text) <= _LENGTH else f"{text[:half]} ... {text[-half:]}"


def _refuse_workers(got: str) -> NoReturn:
    refuse(
        "executor",
        f"workers with genorth {genorth.__version__} and the code of all problems and solvers",
        got,
        None,
        "Install the modules where the workers run, or define what they hold in the script itself "
        "and install cloudpickle on both sides.",
    )


# ---------------------------------------------------------------------- on the worker


@attrs.frozen
class Made:
    """What a worker made of a place: the records in the order of the tasks, or why it cannot."""

    host: str
    records: tuple[Outcome, ...] = ()
    reason: str = ""


def run_place(
    key: tuple[str, int],  # noqa: ARG001  dask takes calls with equal arguments for one
    version: str,
    setup: Setup,
    payload: bytes,
    fields: dict[Task, dict[str, Any]],
) -> Made:
    """Make the runs of a place; what the executor's workers call.

    Args:
        key: A name of the comparison, and how often the place was sent.
        version: The version of genorth that sent it.
        setup: What all runs share, without the problem and the solvers.
        payload: The same with them, pickled.
        fields: The tasks, each with what its record begins with.
    """
    host = platform.node()
    if version != genorth.__version__:
        return Made(host, reason=f"genorth {genorth.__version__}")
    schedule, worker = Schedule(setup.maker.kind, fields), Worker(setup, payload)
    try:
        schedule.work(fields, worker.record)
    except NotLoadedError as error:
        return Made(host, reason=str(error))
    finally:
        worker.close()
    return Made(host, tuple(schedule.records({})))
