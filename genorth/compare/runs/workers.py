"""`Workers`: the runs of a comparison in several processes, of which one that hangs is killed.

The processes are spawned, not forked: a fork would copy a process with BLAS threads in an unknown
state. They end with their parent, however it ends.
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from genorth.compare.runs.bench import bench_of
from genorth.compare.runs.machine import environment, pinned
from genorth.compare.runs.maker import Prepared, told
from genorth.compare.runs.record import Record, failed
from genorth.compare.runs.schedule import Place, Schedule
from genorth.compare.runs.spec import Setup, Task
from genorth.errors import refuse

_LATER = 1.0  # seconds that a worker has, after it has interrupted its solver, to send the record
_MAIN = (
    "A script that is run with jobs > 1, or an executor, calls compare.run under "
    "`if __name__ == '__main__':`."
)
_START = 120.0  # seconds in which a process is started and has imported what it needs
# what a worker says of itself, in order
_STAGES = _READY, _PREPARED, _BEGINS = "ready", "prepared", "begins"
_IDLE = 60.0  # seconds after which a process that is kept for more work, and gets none, ends
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
        spare: Processes of an earlier use, which are taken before new ones are started; processes
            are left there at the end. None: they are killed at the end.
    """

    def __init__(self, setup: Setup, payload: bytes, spare: list[Worker] | None = None) -> None:
        self._setup, self._payload, self._spare = setup, payload, spare
        self._workers: list[Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for worker in self._workers:
            if self._spare is None or kind is not None or worker.busy:
                worker.kill()
            else:
                worker.park()
                self._spare.append(worker)
        self._workers.clear()

    def prepare(self, places: Iterable[Place]) -> dict[Place, Prepared]:
        """Make the problems of these places."""
        pending, made = list(places), dict[Place, Prepared]()

        def give(worker: Worker) -> None:
            worker.give(pending[0], ("prepare", pending.pop(0)))

        while pending or self._busy:
            self._assign(lambda: bool(pending), give)
            for worker, answer in self._answers():
                if isinstance(answer, _Ended):
                    made[worker.place] = Prepared(reason=answer.reason)
                elif isinstance(answer, Prepared):
                    worker.rest()
                    made[worker.place] = answer
        return made

    def make(self, schedule: Schedule) -> None:
        """Make the runs that are missing."""
        pending, tasks = list(schedule.missing), dict[Worker, Task]()

        def free() -> list[Task]:
            chains = {task.chain for task in tasks.values()}
            return [task for task in pending if task.chain not in chains]

        def give(worker: Worker) -> None:
            # a problem that the worker has already, if there is one
            found = free()
            task = next((task for task in found if task.place == worker.place), found[0])
            pending.remove(task)
            tasks[worker] = task
            worker.give(task.place, ("run", task, schedule.fields(task)))

        while pending or tasks:
            for task in list(pending):
                if record := schedule.spared(task):
                    pending.remove(task)
                    schedule.finish(task, record)
            self._assign(lambda: bool(free()), give)
            for worker, answer in self._answers():
                if answer == _BEGINS:
                    schedule.begin(tasks[worker])
                elif isinstance(answer, _Ended):
                    task = tasks.pop(worker)
                    schedule.finish(task, self._lost(schedule.fields(task), answer))
                elif isinstance(answer, Record):
                    worker.rest()
                    schedule.finish(tasks.pop(worker), answer)

    def _lost(self, fields: dict[str, Any], end: _Ended) -> Record:
        with _one_at_a_time, pinned(self._setup.threads):
            found = environment(self._setup.processes)
        seconds = (end.seconds, math.nan)
        return failed(end.status, end.reason, fields | {"environment": found}, seconds=seconds)

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.busy]

    def _assign(self, waiting: Callable[[], bool], give: Callable[[Worker], None]) -> None:
        """Give work to those that have none; start more while there is work for them."""
        idle = [worker for worker in self._workers if not worker.busy]
        while waiting() and (idle or len(self._workers) < self._setup.processes):
            if not idle:
                idle.append(self._one_more())
                self._workers += idle
            give(idle.pop())

    def _one_more(self) -> Worker:
        while self._spare:
            worker = self._spare.pop()
            if worker.alive:
                worker.serve(self._setup, self._payload)
                return worker
            worker.kill()
        return Worker(self._setup, self._payload)

    def _answers(self) -> list[tuple[Worker, Any]]:
        """What the workers have to say, after the first has spoken, ended, or run past its time."""
        busy = self._busy
        if not busy:
            return []
        left = min(worker.deadline for worker in busy) - time.monotonic()
        sources = [source for worker in busy for source in (worker.connection, worker.sentinel)]
        ready = set(wait(sources, max(left, 0.0)))
        answers: list[tuple[Worker, Any]] = []
        for worker in busy:
            if worker.connection in ready or worker.sentinel in ready:
                answers.append((worker, worker.hear()))
            elif time.monotonic() > worker.deadline:
                answers.append((worker, worker.stop()))
        for worker, answer in answers:
            if isinstance(answer, _Ended):
                self._workers.remove(worker)
        return answers


class _Ended:
    """A worker ended without an answer."""

    def __init__(self, status: str, reason: str, seconds: float) -> None:
        self.status, self.reason, self.seconds = status, reason, seconds


class Worker:
    """A process, with what it has been given to do."""

    def __init__(self, setup: Setup, payload: bytes) -> None:
        self._setup = setup
        self.connection, theirs = _context.Pipe()
        arguments = theirs, payload, os.getpid()
        self._process = _context.Process(target=_work, args=arguments, daemon=True)
        with _one_at_a_time, _allowed_children():
            self._process.start()
        theirs.close()
        self.sentinel = self._process.sentinel
        self.busy, self._stage = False, ""
        self.place: Place = (-1, -1)
        self.deadline, self._began = math.inf, math.nan

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.is_alive()

    def park(self) -> None:
        """Have it let go of what it holds, and wait a little for other work."""
        with suppress(OSError):
            self.connection.send(("park",))

    def serve(self, setup: Setup, payload: bytes) -> None:
        """Have it load another setup."""
        self._setup, self._stage = setup, ""
        with suppress(OSError):  # it has ended: `hear` finds out
            self.connection.send(("load", payload))

    def give(self, place: Place, message: Any) -> None:
        """Send work on a place."""
        self.busy, self.place, self._began = True, place, math.nan
        self._stage = _READY if self._stage else ""
        self._wait()
        with suppress(OSError):  # it has ended: `hear` finds out why
            self.connection.send(message)

    def _wait(self) -> None:
        """Set the deadline of its stage; what is made or run is evaluated once afterwards.

        A run has its patience twice over for what we measure during it, off its clock.
        """
        setup, now = self._setup, time.monotonic()
        limits = {
            "": _START,
            _READY: 2 * setup.preparation,
            _PREPARED: setup.preparation,
            _BEGINS: 4 * setup.patience,
        }
        self.deadline = now + limits[self._stage] + _LATER
        if self._stage == _BEGINS:
            self._began = now

    def rest(self) -> None:
        """It has done its work."""
        self.busy, self.deadline = False, math.inf

    def hear(self) -> Any:
        """Take one answer; `_Ended` if there is none, as the process has ended."""
        try:
            if not self.connection.poll():
                raise EOFError
            answer = self.connection.recv()
        except Exception:  # EOFError, OSError, or half an answer
            self._process.join()
            code = self._process.exitcode
            if not self._stage:
                raise RuntimeError(
                    f"A worker process ended with exit code {code} as it started. {_MAIN}"
                ) from None
            return self._ended("RAISED", f"Its process ended with exit code {code}.")
        if isinstance(answer, str) and answer not in _STAGES:
            raise NotLoadedError(f"A worker process could not start: {answer}")
        if isinstance(answer, str):
            self._stage = answer
            self._wait()
        return answer

    def stop(self) -> _Ended:
        """Kill the process, which is past its time."""
        limit = self._setup.time_limit if self._stage == _BEGINS else self._setup.preparation
        return self._ended("HUNG", f"Its limit was {limit:g} s; its process was killed.")

    def _ended(self, status: str, reason: str) -> _Ended:
        self.kill()
        self.busy = False
        status = status if self._stage in (_PREPARED, _BEGINS) else "UNPREPARED"
        return _Ended(status, reason, time.monotonic() - self._began)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _work(connection: Connection, payload: bytes, parent: int) -> None:
    """What a worker does.

    It says `_READY`, then for each task `_PREPARED`, `_BEGINS`, and the record; another text where
    it cannot start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers
    _end_with(parent)
    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        bench = _loaded(connection, payload)
        while True:
            kind, *arguments = connection.recv()
            if kind == "park":
                del bench
                if not connection.poll(_IDLE):
                    return
            elif kind == "load":
                bench = _loaded(connection, *arguments)
            elif kind == "prepare":
                connection.send(bench.prepare(*arguments))
            else:
                task, fields = arguments
                if not bench.prepare(task.place).reason:
                    connection.send(_PREPARED)
                connection.send(bench.record(task, fields, lambda: connection.send(_BEGINS)))


def _loaded(connection: Connection, payload: bytes) -> Any:
    try:
        bench = bench_of(pickle.loads(payload))
    except BaseException as error:
        connection.send(told(error))
        raise EOFError from error
    connection.send(_READY)
    return bench


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


def pickled(
    setup: Setup,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    need: str = "what can be pickled, for jobs > 1",
) -> bytes:
    """Return the setup for other processes, or refuse what cannot be pickled by its name."""
    parts: list[tuple[str, str, Any]] = [
        ("problems", f"problem {instance.name!r}", instance) for instance in setup.instances
    ]
    parts += [("solvers", f"solver {name!r}", solver) for name, solver in setup.solvers.items()]
    for argument, name, part in parts:
        try:
            dumps(part)
        except Exception as error:
            refuse(
                argument,
                need,
                f"{name}: {error}",
                None,
                "Use functions of a module and functools.partial of them, not lambdas and "
                "closures; or make all runs in this process, with jobs=1.",
            )
    return dumps(setup)
