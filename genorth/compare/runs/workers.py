"""`Workers`: the runs of a comparison in several processes, of which one that hangs is killed.

Each process has a thread here that asks it for one run after the other. The processes are spawned,
not forked: a fork would copy a process with BLAS threads in an unknown state. They end with their
parent, however it ends.

No library does this: loky and joblib cannot end a task at a time limit. pebble can, but it has one
limit for a whole task, where making a problem and running a solver have their own, and it starts
processes from a thread of its own, which the workers of dask and loky do not allow.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from itertools import groupby
from multiprocessing.connection import Connection, wait
from typing import Any

from genorth.compare.runs.bench import Prepared, told
from genorth.compare.runs.record import Outcome
from genorth.compare.runs.schedule import Schedule
from genorth.compare.runs.spec import Place, Setup, Task
from genorth.errors import refuse
from genorth.machine import environment, pinned
from genorth.optional import installed

_LATER = 1.0  # seconds that a worker has, after it has interrupted its solver, to send the record
_MAIN = (
    "A script that is run with jobs > 1, or an executor, calls compare.run under "
    "`if __name__ == '__main__':`."
)
_START = 120.0  # seconds in which a process is started and has imported what it needs
# what a worker says of itself, in order
_STAGES = _READY, _PREPARED, _BEGINS = "ready", "prepared", "begins"
_LOOK = 1.0  # seconds between two looks at the threads, so that Ctrl-C is noticed on every system
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux
_context = multiprocessing.get_context("spawn")
_one_at_a_time = threading.Lock()  # where something of the whole process is changed for a moment


class NotLoadedError(RuntimeError):
    """A worker process lacks the code of a problem or a solver."""


class Workers:
    """Makes problems and runs in `setup.processes` processes.

    Tolerances of the same solver on the same problem come one after the other, as a loose one may
    spare the others.

    Args:
        setup: What all runs share; its problems and solvers are read from `payload` alone.
        payload: The setup, by `pickled`.
    """

    def __init__(self, setup: Setup, payload: bytes) -> None:
        self._workers = [Worker(setup, payload) for _ in range(setup.processes)]
        self._threads = futures.ThreadPoolExecutor(setup.processes)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        self._threads.shutdown(cancel_futures=True)

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places."""
        made: dict[Place, Prepared] = {}

        def work(worker: Worker, place: Place) -> None:
            made[place] = worker.prepare(place)

        self._share(list(places), lambda place: place, work)
        return made

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""

        def work(worker: Worker, tasks: list[Task]) -> None:
            schedule.work(tasks, worker.record)

        chains = [list(tasks) for _, tasks in groupby(schedule.missing, lambda task: task.chain)]
        self._share(chains, lambda tasks: tasks[0].place, work)

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
    """A process ended without an answer.

    Args:
        status: How the run ended.
        reason: Why.
        seconds: How long the solver ran; NaN if it did not.
    """

    def __init__(self, status: str, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.status, self.reason, self.seconds = status, reason, seconds


class Worker:
    """Makes problems and runs as a `Maker` does, in a process of its own.

    A process is started when there is work, and again after one that has ended. On Linux it also
    ends with the thread that started it.
    """

    def __init__(self, setup: Setup, payload: bytes) -> None:
        self._setup, self._payload = setup, payload
        self._process: Any = None
        self._loaded = self.closed = False
        #: Where it is at work, or was last.
        self.place: Place = (-1, -1)

    def prepare(self, place: Place) -> Prepared:
        """Make the problem of a place."""
        try:
            made: Prepared = self._ask(place)
        except _LostError as lost:
            return Prepared(reason=lost.reason)
        return made

    def record(self, task: Task, fields: dict[str, Any], begin: Callable[[], None]) -> Outcome:
        """Run a task; its arguments are those of `Maker.record`."""
        try:
            made: Outcome = self._ask(task.place, task, fields, begin)
        except _LostError as lost:
            with _one_at_a_time, pinned(self._setup.threads):
                fields = fields | {"environment": environment(self._setup.processes)}
            seconds = (lost.seconds, math.nan)
            return self._setup.maker.kind.failed(lost.status, lost.reason, fields, seconds)
        return made

    def _ask(
        self, place: Place, task: Task | None = None, fields: Any = None, begin: Any = None
    ) -> Any:
        """Have a problem made, or a task run, and wait as long as each stage may take."""
        self.place = place
        self._start()
        stage, began = _READY if self._loaded else "", math.nan
        with suppress(OSError):  # it has ended: `_hear` finds out why
            self._connection.send((place, task, fields))
        while True:
            if not wait([self._connection, self._process.sentinel], self._limit(stage) + _LATER):
                limit = self._setup.max_time if stage == _BEGINS else self._setup.preparation
                said = f"Its limit was {limit:g} s; its process was killed."
                raise self._lost("HUNG", said, stage, began)
            answer = self._hear(stage, began)
            if not isinstance(answer, str):
                return answer
            if answer not in _STAGES:
                raise NotLoadedError(f"A worker process could not start: {answer}")
            stage, self._loaded = answer, True
            if stage == _BEGINS:
                began = time.monotonic()
                begin()

    def _limit(self, stage: str) -> float:
        """The seconds of a stage; what is made or run is evaluated once afterwards.

        A run has twice the patience, to cover measuring off the clock.
        """
        prepare, run = self._setup.preparation, self._setup.patience
        return {"": _START, _READY: 2 * prepare, _PREPARED: prepare, _BEGINS: 4 * run}[stage]

    def _hear(self, stage: str, began: float) -> Any:
        try:
            if not self._connection.poll():
                raise EOFError
            return self._connection.recv()
        except Exception:  # EOFError, OSError, or half an answer
            self._process.join()
            said = f"process ended with exit code {self._process.exitcode}"
            if not stage and not self.closed:
                raise RuntimeError(f"A worker {said} as it started. {_MAIN}") from None
            raise self._lost("RAISED", f"Its {said}.", stage, began) from None

    def _lost(self, status: str, reason: str, stage: str, began: float) -> Exception:
        if self.closed:
            return futures.CancelledError()
        self.kill()
        status = status if stage in (_PREPARED, _BEGINS) else "UNPREPARED"
        return _LostError(status, reason, time.monotonic() - began)

    # ------------------------------------------------------------------ the process

    def _start(self) -> None:
        """Start a process, if there is none."""
        with _one_at_a_time, _allowed_children():
            if self.closed:
                raise futures.CancelledError
            if self._process is not None and self._process.is_alive():
                return
            self._loaded = False
            self._connection, theirs = _context.Pipe()
            arguments = theirs, self._payload, os.getpid()
            self._process = _context.Process(target=_work, args=arguments, daemon=True)
            self._process.start()
            theirs.close()

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._loaded = False

    def close(self) -> None:
        """Kill the process, also while another thread waits for its answer; it starts no other."""
        with _one_at_a_time:
            self.closed = True
            self.kill()


def _work(connection: Connection, payload: bytes, parent: int) -> None:
    """What a worker does.

    It says `_READY`, then for each task `_PREPARED`, `_BEGINS`, and the record; another text where
    it cannot start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers
    _end_with(parent)
    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        try:
            setup = pickle.loads(payload)
            maker = setup.maker(setup)
        except BaseException as error:
            connection.send(told(error))
            return
        connection.send(_READY)
        while True:
            place, task, fields = connection.recv()
            prepared = maker.prepare(place)
            if task is None:
                connection.send(prepared)
                continue
            if not prepared.reason:
                connection.send(_PREPARED)
            connection.send(maker.record(task, fields, lambda: connection.send(_BEGINS)))


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


def _end_with(parent: int) -> None:
    """End this process when its parent ends: by the system on Linux, by a thread everywhere."""
    if sys.platform == "linux":  # also where a call into C keeps the thread from running
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)
    process = multiprocessing.parent_process()

    def watch() -> None:
        if process is not None:
            process.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def dumped(value: Any) -> bytes:
    """Pickle a value: by pickle, else by cloudpickle, which takes lambdas and closures along.

    So does a notebook, whose functions another process cannot import.
    """
    try:
        if hasattr(sys.modules["__main__"], "__file__"):
            return pickle.dumps(value)
    except Exception:
        if not installed("cloudpickle"):
            raise
    return cloud_dumps(value)


def cloud_dumps(value: Any) -> bytes:
    """Pickle a value by cloudpickle, or by pickle where it is not installed."""
    module = "cloudpickle" if installed("cloudpickle") else "pickle"
    found: bytes = importlib.import_module(module).dumps(value)
    return found


def pickled(
    setup: Setup,
    dumps: Callable[[Any], bytes] = dumped,
    need: str = "what can be pickled, for jobs > 1",
) -> bytes:
    """Return the setup for other processes, or refuse what cannot be pickled by its name."""
    hint = (
        "Lambdas and closures need cloudpickle (pip install 'genorth[compare]'). What holds an "
        "open file, a lock or the like cannot be sent: make all runs in this process, with jobs=1."
    )
    parts = [("problems", "problem", each.name, each) for each in setup.cases]
    parts += [("solvers", "solver", name, solver) for name, solver in setup.solvers.items()]
    for argument, what, name, part in parts:
        try:
            dumps(part)
        except Exception as error:
            refuse(argument, need, f"{what} {name!r}: {error}", None, hint)
    return dumps(setup)
