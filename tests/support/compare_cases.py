"""A small problem and solvers that end well, badly, or not at all.

All picklable, for worker processes.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth import compare

SHAPE = (6, 2)


def procrustes(seed: int) -> go.Problem:
    """Min |X - C|^2 / 2 over X^T X = I, C drawn from the seed."""
    C = np.random.default_rng([7, seed]).standard_normal(SHAPE)

    def cost_and_gradient(X: Any) -> tuple[float, Any]:
        return float(np.vdot(X - C, X - C)) / 2, X - C

    return go.Problem(go.Stiefel(*SHAPE), cost_and_gradient=cost_and_gradient, name="procrustes")


def instance(name: str = "procrustes", **fields: Any) -> compare.Case:
    return compare.Case(name, f"({SHAPE[0]},{SHAPE[1]})", **{"make": procrustes} | fields)


def ended(x: Any, **fields: Any) -> go.Result:
    """A Result that claims success at x."""
    claimed = {
        "x": x,
        "fun": 0.0,
        "gradient_norm": 0.0,
        "feasibility": 0.0,
        "success": True,
        "status": go.Status.CONVERGED,
        "message": "fine",
        "method": "stand-in",
        "nit": 0,
        "nfev": 0,
        "njev": 0,
        "nhev": 0,
        "time": 0.0,
        "trace": go.Trace(),
    }
    return go.Result(**claimed | fields)


def standing(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    """Stays where it starts."""
    return ended(x0, success=False, status=go.Status.STALLED)


def raising(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    problem.cost(x0)
    raise ZeroDivisionError("no such\nstep")


def hanging(*arguments: Any, **named: Any) -> Any:
    """Does not look at the clock, and swallows what it can; a solver, or a part of a problem."""
    if isinstance(arguments[-1], np.ndarray) and len(arguments) == 2:
        arguments[0].cost(arguments[1])
    while True:
        with suppress(Exception):
            time.sleep(0.01)


def stuck(*arguments: Any, **named: Any) -> Any:
    """Cannot be interrupted from inside: as a call into C that does not return."""
    signal.signal(
        signal.SIGALRM, signal.SIG_IGN
    )  # a mask would hold for this thread only, and BLAS has others
    while True:
        time.sleep(0.01)


def dying(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    os._exit(3)


@attrs.frozen
class Counting:
    """A solver that leaves a line in a file at each call.

    It does not come back from the call whose number stands in the file with the ending "hold".
    """

    path: Path
    name: str = "counting"

    def __call__(
        self, problem: go.Problem, x0: Any, *, tol: float, rng: int, **arguments: Any
    ) -> go.Result:
        with self.path.open("a") as file:
            file.write(f"{rng} {tol!r}\n")
        hold = self.path.with_suffix(".hold")
        if hold.exists() and len(self.calls) == int(hold.read_text()):
            hanging(problem, x0)
        return standing(problem, x0)

    @property
    def calls(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


@attrs.frozen
class Killing:
    """Kills the executor's worker in the first call, with the process in which it runs."""

    path: Path
    name: str = "killing"

    def __call__(self, problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        try:
            self.path.touch(exist_ok=False)
        except FileExistsError:
            return standing(problem, x0)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
        raise AssertionError("it outlives its parent")
