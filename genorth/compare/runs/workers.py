"""Runs in other processes: `Workers` has some of its own, `Futures` asks someone else's executor.

Each process of ours has a thread here that asks it for one run after the other, and kills it where
it hangs. The processes are spawned, not forked: a fork would copy a process with BLAS threads in an
unknown state. They end with their parent, however it ends.

A task of an executor is one place: all solvers and tolerances on one problem from one start, so
that a row of a table is measured on one host. The executor's worker makes these runs in a process
of its own, as `Workers` does; a solver that crashes takes nothing else along.

No library does this, as docs/contributing.md explains.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import os
import pickle
import platform
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import groupby
from multiprocessing.connection import Connection, wait
from operator import attrgetter
from typing import Any, NoReturn

import attrs

import genorth
from genorth.compare.runs.bench import Prepared, told
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.schedule import ATTEMPTS, Schedule
from genorth.compare.runs.spec import Place, Setup, Task
from genorth.errors import refuse, require
from genorth.machine import environment, pinned
from genorth.optional import installed

_LATER = 1.0  # seconds that a worker has, after it has interrupted its solver, to send the record
_MAIN = (
    "A script that is run with jobs > 1, or an executor, calls compare.run under "
    "`if __name__ == '__main__':`."
)
_START = 120.0  # seconds in which a process is started and has imported what it needs
_BEGINS = "begins"  # what a worker says of its solver
_LOOK = 1.0  # seconds between two looks at the threads, so that Ctrl-C is noticed on every system
_POLL = 1.0  # seconds between two looks at futures that do not call back, as those of submitit
_LENGTH = 400  # characters of what an executor says of a lost task, which may be a whole log
_context = multiprocessing.get_context("spawn")
_one_at_a_time = threading.Lock()  # where something of the whole process is changed for a moment


class NotLoadedError(RuntimeError):
    """A worker process lacks the code of a problem or a solver."""


class Workers(ExitStack):
    """Makes problems and runs in `setup.processes` processes.

    Tolerances of the same solver on the same problem come one after the other, as a loose one may
    spare the others.

    Args:
        setup: What all runs share.
    """

    def __init__(self, setup: Setup) -> None:
        payload = pickled(setup)
        super().__init__()
        self._workers = [Worker(setup, payload) for _ in range(setup.processes)]
        self._threads = futures.ThreadPoolExecutor(setup.processes)
        self.callback(self._threads.shutdown, cancel_futures=True)
        for worker in self._workers:
            self.callback(worker.close)

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places."""
        made: dict[Place, Prepared] = {}

        def work(worker: Worker, place: Place) -> None:
            made[place] = worker.prepare(place)

        self._share(list(places), lambda place: place, work)
        return made

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        chains = groupby(schedule.missing, attrgetter("place", "solver"))
        self._share(
            [list(tasks) for _, tasks in chains],
            lambda tasks: tasks[0].place,
            lambda worker, tasks: schedule.work(tasks, worker.record),
        )

    def _share(
        self,
        pending: list[Any],
        place_of: Callable[[Any], Place],
        work: Callable[[Worker, Any], None],
    ) -> None:
        """Have the workers do what is pending, each preferably on a problem that it has already."""
        lock = threading.Lock()

        def serve(worker: Worker) -> None:
            while True:
                with lock:
                    if not pending or worker.closed:
                        return
                    near = (n for n, each in enumerate(pending) if place_of(each) == worker.place)
                    item = pending.pop(next(near, 0))
                work(worker, item)

        serving = {self._threads.submit(serve, worker) for worker in self._workers[: len(pending)]}
        while serving:
            done, serving = futures.wait(serving, _LOOK, futures.FIRST_EXCEPTION)
            for each in done:
                each.result()


class _LostError(Exception):
    """A process ended without an answer: how the run ended, why, and how long the solver ran."""


class Worker:
    """Makes problems and runs as a `Maker` does, in a process of its own.

    A process is started when there is work, and again after one that has ended.

    Args:
        setup: What all runs share; its problems and solvers are read from `payload` alone.
        payload: The setup, by `pickled`.
    """

    def __init__(self, setup: Setup, payload: bytes) -> None:
        self._setup, self._payload = setup, payload
        self._process: Any = None
        self.closed = False
        #: Where it is at work, or was last.
        self.place: Place = (-1, -1)

    def prepare(self, place: Place) -> Prepared:
        """Make the problem of a place."""
        self.place = place
        try:  # what is made is evaluated once afterwards
            made: Prepared = self._ask(place, 2 * self._setup.preparation)
        except _LostError as lost:
            return Prepared(reason=lost.args[1])
        return made

    def record(self, task: Task, begin: Callable[[], None]) -> Outcome:
        """Run a task; its arguments are those of `Maker.record`."""
        status, reason, seconds = "UNPREPARED", self.prepare(task.place).reason, math.nan
        try:
            if not reason:
                made: Outcome = self._ask(task, self._setup.preparation, begin)
                return made
        except _LostError as lost:
            status, reason, seconds = lost.args
        with _one_at_a_time, pinned(self._setup.threads):
            fields = task.fields | {"environment": environment(self._setup.processes)}
        return self._setup.maker.kind.failed(status, reason, fields, (seconds, math.nan))

    def _ask(self, what: Place | Task, limit: float, begin: Any = None) -> Any:
        """Have a problem made, or a task run, and wait so many seconds, or as long as a run takes.

        A run has four times the patience, to cover measuring off the clock.
        """
        self._start()
        said, began = f"{self._setup.preparation:g}", math.nan
        with suppress(OSError):  # it has ended: `_hear` finds out why
            self._connection.send(what)
        while wait([self._connection, self._process.sentinel], limit + _LATER):
            answer = self._hear(began)
            if answer != _BEGINS:
                return answer
            said, began = f"{self._setup.max_time:g}", time.monotonic()
            limit = 4 * self._setup.patience
            begin()
        raise self._lost("HUNG", f"Its limit was {said} s; its process was killed.", began)

    def _hear(self, began: float) -> Any:
        try:
            if not self._connection.poll():
                raise EOFError
            return self._connection.recv()
        except Exception:  # EOFError, OSError, or half an answer
            self._process.join()
            said = f"Its process ended with exit code {self._process.exitcode}."
            raise self._lost("RAISED", said, began) from None

    def _lost(self, status: str, reason: str, began: float) -> Exception:
        if self.closed:
            return futures.CancelledError()
        self.kill()
        return _LostError(status, reason, time.monotonic() - began)

    # ------------------------------------------------------------------ the process

    def _start(self) -> None:
        """Start a process, if there is none."""
        with _one_at_a_time, _allowed_children():
            if self.closed:
                raise futures.CancelledError
            if self._process is not None and self._process.is_alive():
                return
            self._connection, theirs = _context.Pipe()
            self._process = _context.Process(
                target=_work, args=(theirs, self._payload), daemon=True
            )
            self._process.start()
            theirs.close()
        try:
            said = self._connection.recv() if self._connection.poll(_START) else "it took too long"
        except (EOFError, OSError):
            error = RuntimeError(f"A worker process ended as it started. {_MAIN}")
            raise futures.CancelledError if self.closed else error from None
        if said:
            raise NotLoadedError(f"A worker process could not start: {said}")

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        """Kill the process, also while another thread waits for its answer; it starts no other."""
        with _one_at_a_time:
            self.closed = True
            self.kill()


def _work(connection: Connection, payload: bytes) -> None:
    """What a worker does: it makes a place or a run, and says `_BEGINS` when the solver begins.

    The first that it says is why it cannot start, or nothing.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers
    _end_with_parent()
    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        try:
            setup = pickle.loads(payload)
            maker = setup.maker(setup)
        except BaseException as error:
            connection.send(told(error))
            return
        connection.send("")
        while True:
            what = connection.recv()
            if isinstance(what, Task):
                connection.send(maker.record(what, lambda: connection.send(_BEGINS)))
            else:
                connection.send(maker.prepare(what))


@contextmanager
def _allowed_children() -> Iterator[None]:
    """Let the worker of an executor have a child.

    multiprocessing allows no child to a daemon, as dask's workers are, for it would outlive the
    daemon; ours ends with its parent. And it tells the child its own start method, which in loky's
    workers is one that the child does not know.
    """
    process, method = multiprocessing.current_process(), multiprocessing.get_start_method(True)
    foreign = method is not None and method not in multiprocessing.get_all_start_methods()
    daemon, process.daemon = process.daemon, False
    if foreign:
        multiprocessing.set_start_method("spawn", force=True)
    try:
        yield
    finally:
        process.daemon = daemon
        if foreign:
            multiprocessing.set_start_method(method, force=True)


def _end_with_parent() -> None:
    """End this process when its parent ends, however that is."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _dumps(value: Any) -> bytes:
    """Pickle a value by cloudpickle, which takes lambdas and closures along, where it is there."""
    module = "cloudpickle" if installed("cloudpickle") else "pickle"
    return bytes(importlib.import_module(module).dumps(value))


def pickled(setup: Setup) -> bytes:
    """Return the setup for other processes, or refuse what cannot be pickled by its name."""
    hint = (
        "Lambdas and closures need cloudpickle (pip install 'genorth[compare]'). What holds an "
        "open file, a lock or the like cannot be sent: make all runs in this process, with jobs=1."
    )
    parts = [("problems", "problem", each.name, each) for each in setup.cases]
    parts += [("solvers", "solver", name, solver) for name, solver in setup.solvers.items()]
    for argument, what, name, part in parts:
        try:
            _dumps(part)
        except Exception as error:
            refuse(
                argument,
                "what can be pickled, for other processes",
                f"{what} {name!r}: {error}",
                None,
                hint,
            )
    return _dumps(setup)


# ---------------------------------------------------------------------- by an executor


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
        self._payloads = [pickled(one) for one in alone]
        self._sweep = uuid.uuid4().hex
        self._underway: list[tuple[Any, _Sent]] = []
        self._news = threading.Event()

    def close(self) -> None:
        """Call back what is underway."""
        for future, _sent in self._underway:
            with suppress(Exception):
                future.cancel()

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places, in a process on this machine.

        It takes an evaluation each; a job in the queue of a cluster would take longer.
        """
        if not (wanted := list(places)):
            return {}
        with Workers(self._setup) as workers:
            return workers.prepare(wanted)

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        places: dict[Place, list[Task]] = {}
        for task in schedule.missing:
            if record := schedule.spared(task):
                schedule.finish(task, record)
            else:
                places.setdefault(task.place, []).append(task)
        self._send([_Sent(tuple(tasks)) for tasks in places.values()])
        while self._underway:
            again = [sent for future, sent in self._done() if self._lost(future, sent, schedule)]
            self._send([attrs.evolve(sent, attempt=sent.attempt + 1) for sent in again])

    def _send(self, all_sent: list[_Sent]) -> None:
        # submitit makes one array of Slurm of the jobs that are submitted within its batch()
        batch = getattr(self._executor, "batch", nullcontext) if all_sent else nullcontext
        light = attrs.evolve(self._setup, cases=(), solvers={}, about={}, processes=1)
        with batch():
            for sent in all_sent:
                # its one problem has the index 0
                tasks = [attrs.evolve(task, case=0) for task in sent.tasks]
                payload = self._payloads[sent.tasks[0].case]
                key = self._sweep, sent.attempt
                future = self._executor.submit(
                    run_place, key, genorth.__version__, light, payload, tasks
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
            _refuse_workers(f"a worker without it: {told(error)[-_LENGTH:]}")
        except Exception as error:
            if sent.attempt < ATTEMPTS:
                return True
            said = f"Its worker was lost {sent.attempt} times, at last by {told(error)[-_LENGTH:]}"
            for task in sent.tasks:
                fields = task.fields | {"environment": by}
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
    tasks: list[Task],
) -> Made:
    """Make the runs of a place; what the executor's workers call.

    Args:
        key: A name of the comparison, and how often the place was sent.
        version: The version of genorth that sent it.
        setup: What all runs share, without the problem and the solvers.
        payload: The same with them, pickled.
        tasks: The tasks.
    """
    host = platform.node()
    if version != genorth.__version__:
        return Made(host, reason=f"genorth {genorth.__version__}")
    schedule, worker = Schedule(setup.maker.kind, tasks), Worker(setup, payload)
    try:
        schedule.work(tasks, worker.record)
    except NotLoadedError as error:
        return Made(host, reason=str(error))
    finally:
        worker.close()
    return Made(host, tuple(schedule.records({})))
