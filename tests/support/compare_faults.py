"""Solvers and problems that go wrong in every way we could think of, as a table.

All are picklable, for worker processes. `SOLVERS` and `PROBLEMS` say how each must be recorded.
"""

import ctypes
import gc
import os
import shutil
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
import numpy as np
import scipy.optimize  # noqa: F401  here, as on a busy machine it may take longer than the limits

import genorth as go
from genorth import compare
from support.compare_cases import SHAPE, ended, hanging, procrustes, stuck


@attrs.frozen
class Fault:
    """What goes wrong, and the record that it must leave."""

    run: Any
    #: One status, or several between which the load of the machine decides.
    status: str | tuple[str, ...]
    #: Part of the message.
    said: str = ""
    #: False if the process does not survive it, so that jobs must be 2.
    survived: bool = True
    #: True if it runs into a limit, which is then a short one.
    late: bool = False


LATE = ("TIME_LIMIT", "HUNG")


class Mute(Exception):
    """An exception whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Base(BaseException):
    """Not an Exception."""


@attrs.frozen
class Raises:
    error: Any

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self.error


class Does:
    """Calls a function, whatever it is called with itself."""

    def __init__(self, function: Any, *arguments: Any, **named: Any) -> None:
        self._call = partial(function, *arguments, **named)

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self._call()


segmentation_fault, exited = Does(ctypes.string_at, 0), Does(os._exit, 3)


@attrs.frozen
class Returns:
    """Returns anything but a Result."""

    value: Any

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self.value


@attrs.frozen(eq=False)
class Claims:
    """Returns a Result that claims success at x0, but for these fields."""

    fields: dict[str, Any]

    def __call__(self, problem: go.Problem, x0: Any, **_: Any) -> go.Result:
        return ended(**{"x": x0} | self.fields)


def solved(problem: go.Problem, x0: Any, **fields: Any) -> go.Result:
    """A real success."""
    # by a method that imports nothing, for which a busy machine may take longer than the limits
    return ended(go.minimize(problem, x0, method="cdf-gd", tol=1e-8).x, **fields)


@attrs.frozen
class After:
    """Solves the problem, and does something to its surroundings."""

    deed: Any

    def __call__(self, problem: go.Problem, x0: Any, **_: Any) -> go.Result:
        result = solved(problem, x0)
        self.deed(problem, x0)
        return result


class Broken(go.Result):
    """A Result whose fields raise."""

    @property
    def nfev(self) -> int:  # type: ignore[override]
        raise KeyError("nfev")


def broken(problem: go.Problem, x0: Any, **_: Any) -> Any:
    return object.__new__(Broken)


class Late:
    """A solver that needs to be loaded, or that says on what it runs."""

    name = "late"

    def __init__(self, load: Any = None, why_not: Any = None) -> None:
        self._load, self._why_not = load, why_not

    def load(self) -> None:
        if self._load is not None:
            self._load()

    def why_not(self, problem: go.Problem) -> Any:
        return None if self._why_not is None else self._why_not(problem)

    def __call__(self, problem: go.Problem, x0: Any, **_: Any) -> go.Result:
        return solved(problem, x0)


class Unsigned(Late):
    """Its signature cannot be read."""

    @property
    def __signature__(self) -> Any:
        raise TypeError("no signature")


def recursion(*arguments: Any, **named: Any) -> Any:
    return recursion(*arguments, **named)


def generator(problem: go.Problem, x0: Any, **_: Any) -> Any:
    yield x0


def swallowing(problem: go.Problem, x0: Any, **_: Any) -> go.Result:
    """Catches everything, and goes on three times."""
    for _ in range(3):
        with suppress(BaseException):
            time.sleep(60)
    return solved(problem, x0)


def never_ending(problem: go.Problem, x0: Any, **_: Any) -> go.Result:
    """Goes on whatever is raised in it."""
    while True:
        try:  # noqa: SIM105  as users write it
            time.sleep(0.01)
        except BaseException:
            pass


def slow(problem: go.Problem, x0: Any, **_: Any) -> go.Result:
    """A success, after the limit."""
    result = solved(problem, x0)
    time.sleep(2.1)
    return result


def in_a_thread(problem: go.Problem, x0: Any, **_: Any) -> go.Result:
    found: list[go.Result] = []
    thread = threading.Thread(target=lambda: found.append(solved(problem, x0)))
    thread.start()
    thread.join()
    return found[0]


def killed(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def no_streams(*_: Any) -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


def other_alarm(*_: Any) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 1000)


def spoils_the_problem(problem: Any, x0: Any) -> None:
    problem.manifold = problem._cost = problem._gradient = problem._fused = None


def stops_the_clock(*_: Any) -> None:
    time.perf_counter = time.process_time = lambda: 0.0  # type: ignore[assignment]


def leaves_a_child(*_: Any) -> None:
    """A child process that keeps all open files, and ends a little later."""
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)


X = np.eye(*SHAPE)
UNEVEN = go.Trace([0.0, 1.0], [1.0, 2.0], [1.0], [0.0], [1])
LONG = go.Trace(*([1.0] * 200_000 for _ in range(4)), [1] * 200_000)  # type: ignore[arg-type]

SOLVERS: dict[str, Fault] = {
    # ------------------------------------------------------------------ exceptions
    "an exception": Fault(Raises(ZeroDivisionError("no such\nstep")), "RAISED", "no such step"),
    "an exception whose text raises": Fault(Raises(Mute()), "RAISED", "Mute: (its message raised"),
    "a base exception": Fault(Raises(Base("base")), "RAISED", "Base: base"),
    "sys.exit()": Fault(Raises(SystemExit()), "RAISED", "SystemExit"),
    "recursion": Fault(recursion, "RAISED", "RecursionError"),
    "too much memory": Fault(Does(np.ones, (10**8, 10**8)), "RAISED", "MemoryError"),
    "text that no encoding takes": Fault(Raises(ValueError("\ud800")), "RAISED", "\ud800"),
    "a group of exceptions": Fault(
        Raises(ExceptionGroup("several", [ValueError(1), Mute()])), "RAISED", "several"
    ),
    # ------------------------------------------------------------------ what it returns
    "a generator": Fault(generator, "RAISED", "got generator"),
    "wrong arguments": Fault(lambda problem: problem, "RAISED", "TypeError"),
    "a result whose fields raise": Fault(broken, "RAISED"),
    "x is text": Fault(Claims({"x": "here"}), "NOT_FINITE", "|C| is nan"),
    "x is complex": Fault(Claims({"x": X + 1j}), "RAISED", ""),
    "x of objects": Fault(Claims({"x": X.astype(object)}), "NOT_FINITE", "|C| is nan"),
    "x is huge": Fault(Claims({"x": 1e200 * X}), "NOT_FINITE", "is "),
    "status is text": Fault(Claims({"status": "CONVERGED"}), "RAISED", "name"),
    "nit is text": Fault(Claims({"nit": "many"}), "RAISED", "nit: need a whole number, got str"),
    "nfev is None": Fault(Claims({"nfev": None}), "RAISED", "NoneType"),
    "message is a number": Fault(Claims({"message": 5}), "RAISED", "text, got int"),
    "seconds are a list": Fault(Claims({"seconds": [1.0]}), "RAISED", "list"),
    "seconds are negative": Fault(Claims({"seconds": {"a": -1.0}}), "NOT_STATIONARY"),
    "no trace": Fault(Claims({"trace": None}), "NOT_STATIONARY"),
    "an uneven trace": Fault(Claims({"trace": UNEVEN}), "NOT_STATIONARY"),
    "a long trace": Fault(Claims({"trace": LONG}), "NOT_STATIONARY"),
    "time is negative": Fault(Claims({"time": -5.0}), "NOT_STATIONARY"),
    # ------------------------------------------------------------------ before it runs
    "load raises": Fault(Late(load=Raises(ImportError("no licence"))), "RAISED", "no licence"),
    "why_not raises": Fault(Late(why_not=Raises(KeyError("k"))), "RAISED", "KeyError"),
    "why_not is a number": Fault(Late(why_not=Returns(7)), "UNSUPPORTED", "7."),
    "no signature": Fault(Unsigned(), "CONVERGED"),
    # ------------------------------------------------------------------ the clock
    "hangs": Fault(hanging, "HUNG", "max_time was 2 s", late=True),
    "swallows every interrupt": Fault(never_ending, "HUNG", "max_time was 2 s", late=True),
    "hangs and swallows": Fault(swallowing, LATE, "limit", late=True),
    "succeeds too late": Fault(slow, LATE, "limit", late=True),
    # ------------------------------------------------------------------ its surroundings
    "changes directory": Fault(After(Does(os.chdir, "/")), "CONVERGED"),
    "sets np.seterr": Fault(After(Does(np.seterr, all="raise")), "CONVERGED"),
    "makes warnings errors": Fault(After(Does(warnings.simplefilter, "error")), "CONVERGED"),
    "takes the streams": Fault(After(no_streams), "CONVERGED"),
    "stops the garbage collector": Fault(After(Does(gc.disable)), "CONVERGED"),
    "sets an alarm": Fault(After(other_alarm), "CONVERGED"),
    "sets BLAS threads": Fault(
        After(lambda *_: __import__("threadpoolctl").threadpool_limits(2)), "CONVERGED"
    ),
    "spoils its start": Fault(After(lambda problem, x0: x0.fill(np.nan)), "CONVERGED"),
    "spoils the problem": Fault(After(spoils_the_problem), "CONVERGED"),
    "loses the counts": Fault(After(lambda problem, x0: delattr(problem, "_nfev")), "CONVERGED"),
    "removes the folder": Fault(
        After(Does(shutil.rmtree, "here", ignore_errors=True)), "CONVERGED"
    ),
    "stops the clock": Fault(After(stops_the_clock), "CONVERGED"),
    "leaves a child": Fault(After(leaves_a_child), "CONVERGED"),
    "runs in a thread": Fault(in_a_thread, "CONVERGED"),
    # ------------------------------------------------------------------ the process
    "cannot be interrupted": Fault(stuck, "HUNG", "process was killed", survived=False, late=True),
    "exits the process": Fault(exited, "RAISED", "exit code 3", survived=False),
    "segmentation fault": Fault(segmentation_fault, "RAISED", "exit code -11", survived=False),
    "aborts": Fault(Does(os.abort), "RAISED", "exit code -6", survived=False),
}


@attrs.frozen
class Costs:
    """A problem whose cost and gradient are the result of a function."""

    deed: Any

    def __call__(self, seed: int) -> go.Problem:
        deed, base = self.deed, procrustes(seed)
        return go.Problem(base.manifold, cost_and_gradient=lambda X: deed(X), name="costs")


def _made(deed: Any) -> compare.Case:
    return compare.Case("faulty", "(6,2)", deed)


def _started(deed: Any) -> compare.Case:
    return compare.Case("faulty", "(6,2)", procrustes, deed)


#: Functions in a mapping, whose size is not known before they are called.
PROBLEMS: dict[str, Fault] = {
    "make raises": Fault(_made(Raises(LookupError("no data"))), "UNPREPARED", "no data"),
    "make hangs": Fault(_made(hanging), "UNPREPARED", "longer than 1 s", late=True),
    "make returns None": Fault(_made(Returns(None)), "UNPREPARED", "to return a Problem"),
    "a function raises": Fault(Raises(LookupError("no data")), "UNPREPARED", "no data"),
    "a function hangs": Fault(hanging, "UNPREPARED", "longer than 1 s", late=True),
    "start raises": Fault(_started(Raises(LookupError("no start"))), "UNPREPARED", "no start"),
    "start hangs": Fault(_started(hanging), "UNPREPARED", "longer than 1 s", late=True),
    "start of another shape": Fault(_started(Returns(X[:1])), "UNPREPARED", "shape"),
    "start has NaN": Fault(_started(Returns(X * np.nan)), "UNPREPARED", "x0"),
    "the gradient raises": Fault(_made(Costs(Raises(ValueError("f")))), "RAISED", "ValueError: f"),
    "the gradient hangs": Fault(_made(Costs(hanging)), "HUNG", "max_time was", late=True),
    "the gradient is None": Fault(_made(Costs(Returns(None))), "RAISED", "cost_and_gradient"),
    "the gradient is NaN": Fault(_made(Costs(Returns((1.0, X * np.nan)))), "NOT_FINITE"),
    "make is stuck": Fault(_made(stuck), "UNPREPARED", "killed", survived=False, late=True),
    "make kills": Fault(_made(killed), "UNPREPARED", "exit code -9", survived=False),
    "a function kills": Fault(killed, "UNPREPARED", "exit code -9", survived=False),
    "start crashes": Fault(
        _started(segmentation_fault), "UNPREPARED", "exit code -11", survived=False
    ),
    "the gradient crashes": Fault(
        _made(Costs(segmentation_fault)), "UNPREPARED", "exit code -11", survived=False
    ),
}
