"""`Record`: what one run of one solver left behind, and `Records`, a tidy set of them.

A record is data: everything that tables, profiles, plots and reports show is computed from records
alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from genorth.solve.result import Result, Status, Trace

#: What a run may end with beyond the statuses of a Result; the value is the sentence that the user
#: reads.
ENDINGS = {status.name: status.value for status in Status} | {
    "RAISED": "The solver raised an exception.",
    "HUNG": "The solver did not look at the clock and was interrupted past its time limit.",
    "UNSUPPORTED": "The solver does not run on this problem.",
}

#: Runs that ended because their budget of time was used up: their time is a lower bound, also to
#: tighter tolerances.
OUT_OF_TIME = ("TIME_LIMIT", "HUNG")

_COLUMNS = ("time", "cost", "gradient_norm", "feasibility", "evaluations")


@attrs.frozen(kw_only=True)
class Record:
    """One run: a solver on a problem of a size, from the start of a seed, to a tolerance.

    `fun`, `nit`, `gradient_norm`, `feasibility` and `time` are the five figures of the paper's
    tables (Fval, Iter, Grad, Feas, CPU time); NaN where the run did not come so far as to have one.
    """

    problem: str
    size: str
    seed: int
    solver: str
    tolerance: float
    #: A key of `ENDINGS`, and the sentence with what else there is to say (the exception, the
    #: reason).
    status: str
    message: str
    success: bool
    fun: float = math.nan
    nit: int = 0
    gradient_norm: float = math.nan
    feasibility: float = math.nan
    time: float = math.nan
    nfev: int = 0
    njev: int = 0
    nhev: int = 0
    #: Seconds by phase, as in `Result.seconds`.
    seconds: dict[str, float] = attrs.field(factory=dict)
    beta: float | None = None
    threshold: float | None = None
    trace: Trace = attrs.field(factory=Trace, repr=False)
    #: Versions, machine, BLAS and thread count: see `genorth.compare.environment`.
    environment: dict[str, str] = attrs.field(factory=dict, repr=False)

    @property
    def key(self) -> tuple[str, str, int, str, float]:
        """What tells one record from another: problem, size, seed, solver, tolerance."""
        return self.problem, self.size, self.seed, self.solver, self.tolerance

    @property
    def row(self) -> tuple[str, str, float]:
        """The row of a table, over which solvers are compared: problem, size, tolerance."""
        return self.problem, self.size, self.tolerance

    @property
    def evaluations(self) -> int:
        """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
        return max(self.nfev, self.njev) + self.nhev

    @classmethod
    def of(cls, result: Result, **key: Any) -> Record:
        """The record of a Result; `key` holds problem, size, seed, solver, tolerance, environment."""
        shared = (
            "message",
            "success",
            "fun",
            "nit",
            "gradient_norm",
            "feasibility",
            "time",
            "nfev",
            "njev",
            "nhev",
            "seconds",
            "beta",
            "threshold",
            "trace",
        )
        return cls(
            status=result.status.name, **{name: getattr(result, name) for name in shared}, **key
        )

    def to_json(self) -> str:
        """One line of JSON; numbers that are not finite become strings, as JSON has none of them."""
        fields = attrs.asdict(self, recurse=False) | {
            "trace": {name: getattr(self.trace, name) for name in _COLUMNS}
        }
        try:
            return _dumps(fields)  # most records have finite numbers only
        except ValueError:
            return _dumps(_finite(fields))

    @classmethod
    def from_json(cls, line: str) -> Record:
        """The record of a line that `to_json` made.

        ValueError, KeyError or TypeError where it is none.
        """
        fields = _restored(json.loads(line))
        return cls(
            **fields | {"trace": Trace(**{name: list(fields["trace"][name]) for name in _COLUMNS})}
        )


def _as_tuple(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(
        records
    )  # named, as mypy does not see the type of the items through `converter=tuple`


@attrs.frozen
class Records:
    """A set of records, in the order in which they were made, with the settings of the comparison."""

    _records: tuple[Record, ...] = attrs.field(converter=_as_tuple)
    #: What was compared and how: as given to `run`, in words and numbers that JSON can hold.
    settings: dict[str, Any] = attrs.field(factory=dict)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> Record:
        return self._records[index]

    def where(self, test: Callable[[Record], bool] | None = None, **fields: Any) -> Records:
        """Those that pass the test and have these values.

        `records.where(solver="cdf-lbfgs", tolerance=1e-5)`.
        """
        chosen = (
            record
            for record in self
            if (test is None or test(record))
            and all(getattr(record, name) == value for name, value in fields.items())
        )
        return attrs.evolve(self, records=chosen)

    def distinct(self, name: str) -> list[Any]:
        """The values of a field or property (`"solver"`, `"row"`), each once, in order of appearance."""
        return list(dict.fromkeys(getattr(record, name) for record in self))


def join(parts: Iterable[Records]) -> Records:
    """All records of several sets, with the settings of the first."""
    sets = list(parts)
    return Records((record for part in sets for record in part), sets[0].settings if sets else {})


def _dumps(fields: Any) -> str:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"float"}:
            return float(value["float"])
        return {key: _restored(item) for key, item in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value
