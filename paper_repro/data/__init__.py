"""The figures of the paper's Tables 1 to 7 as a mapping; `results.csv` holds them as printed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import attrs

#: Solvers of the paper and what they are called here.
SOLVERS = MappingProxyType(
    {
        "CDFGD": "cdf-gd",
        "CDFCG": "cdf-cg",
        "CDFLBFGS": "cdf-lbfgs",
        "CDFTR": "cdf-tr",
        "RGD": "rgd-faithful",
        "RCG": "rcg-faithful",
    }
)

#: The paper's limit of a run, in seconds; five runs reached it.
TIME_LIMIT = 1800.0


@attrs.frozen
class Printed:
    """One run of the paper. A run that was stopped has its time as ">1800" and no other figure."""

    table: int
    size: str
    solver: str
    tolerance: float
    fun: float | None
    nit: float | None
    gradient_norm: float | None
    feasibility: float | None
    seconds: float | str

    @property
    def figures(self) -> tuple[float | str | None, ...]:
        """Fval, Iter, Grad, Feas, CPU time."""
        return self.fun, self.nit, self.gradient_norm, self.feasibility, self.seconds


def _number(text: str) -> float | None:
    return float(text) if text else None


def _rows() -> Iterator[Printed]:
    text = files(__name__).joinpath("results.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        seconds = row["cpu_seconds"]
        yield Printed(
            int(row["table"]),
            row["size"],
            SOLVERS[row["solver"]],
            float(row["tol"]),
            _number(row["fval"]),
            _number(row["iterations"]),
            _number(row["gradient_norm"]),
            _number(row["feasibility"]),
            seconds if seconds.startswith(">") else float(seconds),
        )


@cache
def printed() -> tuple[Printed, ...]:
    """The 252 runs of the paper, in its order."""
    return tuple(_rows())
