"""The runs of a comparison in several worker processes, of which one that does not come back is killed.

The workers are spawned, not forked: a fork would copy a process with BLAS threads in an unknown state.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from genorth.compare.book import Book
from genorth.compare.execute import Bench, Setup, Task, failed
from genorth.compare.record import Record
from genorth.errors import refuse

_LATER = 1.0  # seconds that a worker has, after it has interrupted its solver, to send the record
_MAIN = "A script that is run with jobs > 1 calls compare.run under `if __name__ == '__main__':`."
_context = multiprocessing.get_context("spawn")


def make_in_workers(setup: Setup, book: Book) -> None:
    """Make the missing runs, as many at once as there are jobs.

    Tolerances of the same solver on the same problem come one after the other, as a loose one may
    spare the others.
    """
    payload = _pickled(setup)
    pending = list(book.missing)
    workers: list[_Worker] = []
    try:
        while pending or any(worker.task for worker in workers):
            _assign(pending, workers, setup, payload, book)
            for worker in _woken(workers):
                if worker.hear(book):
                    workers.remove(worker)
            for worker in [worker for worker in workers if time.monotonic() > worker.deadline]:
                workers.remove(worker)
                worker.end(
                    "HUNG", f"max_time was {setup.time_limit:g} s; its process was killed.", book
                )
    finally:
        for worker in workers:
            worker.kill()


def _assign(
    pending: list[Task], workers: list[_Worker], setup: Setup, payload: bytes, book: Book
) -> None:
    """Give every worker that has none a task, and start workers as long as there are fewer than jobs."""
    for task in list(pending):
        if record := book.carried(task):
            pending.remove(task)
            book.finish(record)
    while True:
        busy = {worker.task.chain for worker in workers if worker.task}
        free = [task for task in pending if task.chain not in busy]
        if not free or len(busy) == setup.jobs:
            return
        worker = next((worker for worker in workers if worker.task is None), None)
        if worker is None:
            workers.append(worker := _Worker(setup, payload))
        at = worker.at  # a problem that the worker has already
        task = next((task for task in free if (task.instance, task.seed) == at), free[0])
        pending.remove(task)
        worker.give(task)


def _woken(workers: list[_Worker]) -> list[_Worker]:
    """Those that have something to say; none where the nearest deadline comes first."""
    by_connection = {worker.connection: worker for worker in workers if worker.task}
    left = (
        min((worker.deadline for worker in by_connection.values()), default=math.inf)
        - time.monotonic()
    )
    if not by_connection:
        return []
    ready: list[Any] = wait(by_connection, None if math.isinf(left) else max(left, 0.0))
    return [by_connection[connection] for connection in ready]


class _Worker:
    """A process with the task that it has been given."""

    def __init__(self, setup: Setup, payload: bytes) -> None:
        self._setup = setup
        self.connection, theirs = _context.Pipe()
        self._process = _context.Process(target=_work, args=(theirs, payload), daemon=True)
        self._process.start()
        theirs.close()
        self.task: Task | None = None
        self.at: tuple[int, int] | None = None
        self.deadline = math.inf
        self._began = math.nan

    def give(self, task: Task) -> None:
        """Send the task."""
        self.task, self.at, self._began = task, (task.instance, task.seed), math.nan
        with suppress(OSError):  # it has ended: `hear` finds out why
            self.connection.send(task)

    def hear(self, book: Book) -> bool:
        """Take one message; True where there is none, as the process has ended."""
        assert self.task is not None
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            if math.isnan(self._began):
                name = self._setup.instances[self.task.instance].name
                raise RuntimeError(
                    f"A worker process ended with exit code {code} before {self.task.solver} began on {name}. {_MAIN}"
                ) from None
            self.end("RAISED", f"Its process ended with exit code {code}.", book)
            return True
        if isinstance(message, Record):
            self.task, self.deadline = None, math.inf
            book.finish(message)
        elif message is None:
            self._began = time.monotonic()
            self.deadline = self._began + self._setup.patience + _LATER
            book.begin(self.task)
        else:
            raise RuntimeError(f"A worker process could not go on: {message}")
        return False

    def end(self, status: str, message: str, book: Book) -> None:
        """Kill the process, and finish its task with a record that says so."""
        assert self.task is not None
        self.kill()
        fields = self._setup.fields(self.task) | {"environment": self._setup.environment()}
        book.finish(failed(status, message, fields, seconds=time.monotonic() - self._began))

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _work(connection: Connection, payload: bytes) -> None:
    """What a worker does: for each task `None` when the solver starts, then the record.

    Text where it cannot go on.
    """
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all processes; the parent ends its workers
    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        try:
            bench = Bench(pickle.loads(payload))
            while True:
                task = connection.recv()
                bench.prepare(task)
                connection.send(None)
                connection.send(bench.record(task))
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:
            connection.send(f"{type(error).__name__}: {error}")


def _pickled(setup: Setup) -> bytes:
    parts: list[tuple[str, str, Any]] = [
        ("problems", f"problem {instance.name!r}", instance) for instance in setup.instances
    ]
    parts += [("solvers", f"solver {name!r}", solver) for name, solver in setup.solvers.items()]
    for argument, name, part in parts:
        try:
            pickle.dumps(part)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            refuse(
                argument,
                "what can be pickled, for jobs > 1",
                f"{name}: {error}",
                None,
                "Use functions of a module, and functools.partial of them, not lambdas and closures; or jobs=1.",
            )
    return pickle.dumps(setup)
