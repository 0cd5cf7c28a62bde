"""The figures of the paper's Tables 1 to 7; `results.csv` holds them as printed."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import attrs

#: Solvers of the paper and what they are called here.
SOLVERS = MappingProxyType(
    {
        "CDFGD": "cdf-gd",
        "CDFCG": "cdf-cg-scipy",
        "CDFLBFGS": "cdf-lbfgs-scipy",
        "CDFTR": "cdf-tr-scipy",
        "RGD": "rgd-paper",
        "RCG": "rcg-paper",
    }
)
#: The paper's limit of a run, in seconds; five runs reached it.
TIME_LIMIT = 1800.0
_FIGURES = ("fval", "iterations", "gradient_norm", "feasibility", "cpu_seconds")


@attrs.frozen
class Printed:
    """One run of the paper. A run that was stopped has its time as ">1800" and no other figure."""

    table: int
    size: str
    solver: str
    tolerance: float
    #: Fval, Iter, Grad, Feas, CPU time.
    figures: tuple[Any, ...]

    @property
    def solved(self) -> bool:
        """False for a run that was stopped."""
        return self.figures[0] is not None


def _figure(text: str) -> float | str | None:
    return text if text.startswith(">") else float(text) if text else None


@cache
def printed() -> tuple[Printed, ...]:
    """The 252 runs of the paper, in its order."""
    lines = files(__name__).joinpath("results.csv").read_text("utf-8").splitlines()
    return tuple(
        Printed(
            int(row["table"]),
            row["size"],
            SOLVERS[row["solver"]],
            float(row["tol"]),
            tuple(_figure(row[name]) for name in _FIGURES),
        )
        for row in csv.DictReader(lines)
    )
