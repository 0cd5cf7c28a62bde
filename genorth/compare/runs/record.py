"""`Record`: what one run of one solver left behind, and `Records`, a tidy set of them.

A record is data: tables, profiles, plots and reports are computed from records alone. A column of
tables and of `Records.to_frame` is one entry of `COLUMNS`: its name, its heading, how to get it
from a record, how its values read, and in which tables it stands.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.notebook import aligned, html_table
from genorth.optional import optional
from genorth.problem.problem import evaluations
from genorth.solve.result import Status, Trace
from genorth.solve.solver import FAMILIES, OTHER, Solver

# ---------------------------------------------------------------------- columns

#: The tables in which a column can stand: the paper's layout, and the list of failures.
PAPER, FAILURES = "paper", "failures"


@attrs.frozen
class Column:
    """A column.

    Args:
        name: Its name in `Records.to_frame`, and the attribute of a record that it shows.
        heading: Its heading in tables.
        form: How its values read: "words", "name" (labels apply to it), "status", "count",
            "value", "scientific", "seconds" or "tolerance".
        tables: Where it stands, besides `to_frame`.
        get: Gets the value from a record; by default the attribute `name`.
        beside: True if the paper's figure stands beside ours.
    """

    name: str
    heading: str = ""
    form: str = "words"
    tables: tuple[str, ...] = ()
    get: Callable[[Any], Any] = attrs.Factory(lambda self: attrgetter(self.name), takes_self=True)
    beside: bool = False
    #: Stands in tables only where a record has it.
    rare: bool = False

    def used(self, records: Iterable[Any]) -> bool:
        """Whether it stands in a table of these records."""
        values = (self.get(record) for record in records) if self.rare else (True,)
        return any(value or isinstance(value, float) for value in values)

    @property
    def numeric(self) -> bool:
        """False for words."""
        return self.form not in ("words", "name", "status")


COLUMNS = (
    Column("problem", "Problem", "name", (FAILURES,)),
    Column("size", "Size", "words", (FAILURES,)),
    Column("seed", "Seed", "count", (FAILURES,)),
    Column("solver", "Solver", "name", (FAILURES,)),
    Column("label", get=attrgetter("about.label")),
    Column("family"),
    Column("algorithm", get=attrgetter("about.algorithm")),
    Column("variant", get=attrgetter("about.variant")),
    Column("tolerance", "tol", "tolerance", (FAILURES,)),
    Column("status", "Status", "status", (FAILURES,)),
    Column("success"),
    Column("fun", "Fval", "value", (PAPER,), beside=True),
    Column("nit", "Iter", "count", (PAPER,), beside=True),
    Column("gradient_norm", "Grad", "scientific", (PAPER, FAILURES)),
    Column("feasibility", "Feas", "scientific", (PAPER,)),
    Column("time", "Wall (s)", "seconds", (PAPER, FAILURES)),
    Column("cpu", "CPU (s)", "seconds", (PAPER,), beside=True),
    Column("nfev"),
    Column("njev"),
    Column("nhev"),
    Column("constr_nfev", "Constraints", "count", (PAPER,), rare=True),
    Column("constr_njev"),
    Column("violation", "Violation", "scientific", (PAPER,), rare=True),
    Column("complementarity", "Complem.", "scientific", (PAPER,), rare=True),
    Column("evaluations"),
    Column("beta"),
    Column("threshold"),
    Column("traced_by"),
    Column("certificate"),
    Column("message", "Message", "words", (FAILURES,)),
)


def shared(*names: str) -> tuple[Column, ...]:
    """The columns of these names."""
    return tuple(column for column in COLUMNS if column.name in names)


# ---------------------------------------------------------------------- records

#: How a run can end: the statuses of a Result and five of our own, each with its sentence.
ENDINGS = {status.name: status.value for status in Status} | {
    "RAISED": "The solver raised an exception.",
    "HUNG": "The solver ignored its time limit and was interrupted.",
    "GIVEN_UP": "Not run: the solver ran out of time from other starts of the row.",
    "UNSUPPORTED": "The solver does not run on this problem.",
    "UNPREPARED": "The problem or its start could not be made.",
}

#: Runs that used up their time: the time of such a run is a lower bound, also for tighter
#: tolerances. One that was given up has the least time of those for which it was.
OUT_OF_TIME = ("TIME_LIMIT", "HUNG", "GIVEN_UP")

#: Runs in which the solver did not get to work.
NOT_RUN = ("UNSUPPORTED", "UNPREPARED")

#: The columns of a trace that a record keeps.
TRACED = ("time", "cost", "gradient_norm", "feasibility", "evaluations")
#: Whose clock a trace was kept by: our monitor's, or the solver's own word.
TRACED_BY = ("genorth", "solver")


@attrs.frozen(kw_only=True)
class About:
    """What a record says of its solver, as the solver's `genorth.Solver` describes it.

    A bare callable is of the family "other"; wrap it in `genorth.Solver` to place it.
    """

    label: str
    family: str = OTHER
    algorithm: str = ""
    variant: str = ""
    cites: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, solver: Any) -> About:
        """The description of a solver that a comparison calls `name`."""
        if not isinstance(solver, Solver):
            return cls(label=name)
        label = solver.label if name == solver.name else name
        return cls(
            label=label,
            family=solver.family,
            algorithm=solver.algorithm,
            variant=solver.variant,
            cites=solver.cites,
        )


#: What holds for a field: in words, and as a test.
_Rule = tuple[str, Callable[[Any], bool]]
WHOLE: _Rule = "a whole number from 0 to 2**63 - 1", lambda value: 0 <= value < 2**63
_SECONDS: _Rule = "seconds >= 0, or NaN", lambda value: math.isnan(value) or 0 <= value < math.inf
_RULES: Mapping[str, _Rule] = {
    "seed": WHOLE,
    "about": (f"a family of {', '.join(FAMILIES)}", lambda about: about.family in FAMILIES),
    "tolerance": ("0 < tolerance < inf", lambda value: 0 < value < math.inf),
    "time": _SECONDS,
    "cpu": _SECONDS,
}


@cache
def _rules(kind: type[Outcome]) -> Mapping[str, _Rule]:
    status: _Rule = f"one of {', '.join(kind.endings)}", kind.endings.__contains__
    return {**_RULES, "status": status, **kind.rules}


@attrs.frozen(kw_only=True)
class Outcome(ABC):
    """What every run leaves behind, of whatever kind: `Record`, or that of a training."""

    problem: str
    size: str
    seed: int
    #: The name of the solver in this comparison, and its description.
    solver: str
    about: About = attrs.Factory(lambda self: About(label=self.solver), takes_self=True)
    tolerance: float
    #: How it ended: a key of `endings`, and its sentence with any details (the exception).
    status: str
    message: str
    success: bool
    feasibility: float = math.nan
    #: Seconds on our clock, without the time that our own measuring took.
    time: float = math.nan
    #: The same in CPU seconds of the process.
    cpu: float = math.nan
    #: What defines the run: version, budgets, options, the solver, a fingerprint of the problem.
    definition: dict[str, Any] = attrs.field(factory=dict, repr=False)
    #: Versions, machine, BLAS and thread count.
    environment: dict[str, str] = attrs.field(factory=dict, repr=False)

    #: How a run of this kind can end, each with its sentence, and which of them is a success.
    endings: ClassVar[Mapping[str, str]]
    done: ClassVar[str]
    #: The figure that a success has beside its time.
    figure: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]
    #: What holds for the fields of this kind.
    rules: ClassVar[Mapping[str, _Rule]]

    def __attrs_post_init__(self) -> None:
        for name, (need, holds) in _rules(type(self)).items():
            if not holds(value := getattr(self, name)):
                # Python writes no decimals of a very long integer
                refuse(name, need, hex(value)[:20] if isinstance(value, int) else repr(value))
        finite = math.isfinite(self.time + getattr(self, self.figure))
        if self.success and not (self.status == self.done and finite):
            refuse("success", f"status {self.done}, {self.figure} and time finite", self.status)

    @property
    def key(self) -> tuple[str, str, int, str, float]:
        """What identifies a record: problem, size, seed, solver, tolerance."""
        return self.problem, self.size, self.seed, self.solver, self.tolerance

    @property
    def row(self) -> tuple[str, str, float]:
        """The row of a table, within which solvers are compared: problem, size, tolerance."""
        return self.problem, self.size, self.tolerance

    @property
    def family(self) -> str:
        """The family of the solver."""
        return self.about.family

    @property
    @abstractmethod
    def progress(self) -> str:
        """How far it came, in a few words: "12 iterations, gradient 1e-6"."""

    @classmethod
    def failed(
        cls,
        status: str,
        message: str,
        fields: Mapping[str, Any],
        seconds: tuple[float, float] = (math.nan, math.nan),
    ) -> Self:
        """The record of a run that gave no result; `seconds` are wall and CPU time."""
        said = f"{cls.endings[status]} {message}"
        wall, cpu = seconds
        return cls(status=status, message=said, success=False, time=wall, cpu=cpu, **fields)


@attrs.frozen(kw_only=True)
class Record(Outcome):
    """One run: a solver on a problem of a size, from the start of a seed, to a tolerance.

    `fun`, `nit`, `gradient_norm`, `feasibility` and `cpu` are the five figures of the paper's
    tables (Fval, Iter, Grad, Feas, CPU time); NaN where the run did not get that far.
    """

    fun: float = math.nan
    nit: int = 0
    gradient_norm: float = math.nan
    nfev: int = 0
    njev: int = 0
    nhev: int = 0
    #: Values of further constraints and products with their Jacobian, the largest violation and
    #: the complementarity at x; None without such constraints.
    constr_nfev: int = 0
    constr_njev: int = 0
    violation: float | None = None
    complementarity: float | None = None
    #: Seconds by phase, as in `Result.seconds`.
    seconds: dict[str, float] = attrs.field(factory=dict)
    beta: float | None = None
    threshold: float | None = None
    trace: Trace = attrs.field(factory=Trace, repr=False)
    #: One of `TRACED_BY`.
    traced_by: str = "genorth"
    #: "minimum", "saddle" or "undecided" (`genorth.certify`); empty where x was not certified.
    certificate: str = ""

    endings = ENDINGS
    done = Status.CONVERGED.name
    figure = "fun"
    columns = COLUMNS

    rules = {  # noqa: RUF012  a constant, as the base class says
        **dict.fromkeys(("nit", "nfev", "njev", "nhev", "constr_nfev", "constr_njev"), WHOLE),
        "seconds": ("seconds >= 0 by phase", lambda value: all(v >= 0 for v in value.values())),
        "trace": (
            "columns of one length",
            lambda trace: len({len(getattr(trace, name)) for name in TRACED}) == 1,
        ),
        "traced_by": (f"one of {', '.join(TRACED_BY)}", TRACED_BY.__contains__),
    }

    @property
    def evaluations(self) -> int:
        """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
        return evaluations(self.nfev, self.njev, self.nhev)

    @property
    def progress(self) -> str:
        """Iterations and gradient norm."""
        return f"{self.nit} iterations, gradient {self.gradient_norm:.2g}"


_SHOWN = 12  # solvers in `repr(records)`, which is to fit on a screen


@attrs.frozen(repr=False)
class Records:
    """A set of records, in the order in which they were made.

    Args:
        records: The records, of one kind: `Record`s, or those of a training.
        settings: The budgets of the comparison, as given to `run`, in values that JSON can hold.
    """

    _records: tuple[Any, ...] = attrs.field(converter=tuple[Any, ...])
    settings: dict[str, Any] = attrs.field(factory=dict)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> Any:
        return self._records[index]

    @property
    def _title(self) -> str:
        return f"{len(self)} records of {len(self.distinct('row'))} rows"

    def _summary(self) -> list[tuple[str, str, str]]:
        """For each solver its runs, those that succeeded, and the seconds of the latter."""
        lines = []
        for solver in self.solvers:
            runs = [record for record in self if record.solver == solver]
            times = [record.time for record in runs if record.success]
            median = f"{np.median(times):.3g} s" if times else "-"
            lines.append((solver, f"{len(times)} of {len(runs)}", median))
        return lines

    def __repr__(self) -> str:
        rows = [("", "solver", "succeeded", "median time"), *(("", *r) for r in self._summary())]
        left = len(rows) - 1 - _SHOWN
        more = [f"  and {left} more solvers"] if left > 0 else []
        lines = aligned(rows, [False] * 4)[: _SHOWN + 1]
        return "\n".join([self._title, *lines, *more])

    def plain_html(self) -> str:
        """The table of the solvers: how many runs succeed, and their median time."""
        return html_table(self._title, self._summary(), ("solver", "succeeded", "median time"))

    _repr_html_ = plain_html  # `genorth.compare` has a richer one

    def where(self, test: Callable[[Record], bool] | None = None, **fields: Any) -> Records:
        """Select records: `records.where(solver="cdf-lbfgs", tolerance=1e-5)`.

        Args:
            test: A predicate, such as `lambda record: record.nit > 5`.
            **fields: Values that fields or properties must have.

        Returns:
            The records that pass, with the same settings.
        """
        chosen = (
            record
            for record in self
            if (test is None or test(record))
            and all(getattr(record, name) == value for name, value in fields.items())
        )
        return attrs.evolve(self, records=chosen)

    def distinct(self, name: str) -> list[Any]:
        """List the values of a field or property (`"solver"`, `"row"`) in order of appearance."""
        return list(dict.fromkeys(getattr(record, name) for record in self))

    def by(self, name: str) -> dict[Any, Records]:
        """Group by a field or property (`"problem"`), in order of appearance."""
        found: dict[Any, list[Any]] = {}
        for record in self:
            found.setdefault(getattr(record, name), []).append(record)
        return {value: attrs.evolve(self, records=mine) for value, mine in found.items()}

    @property
    def solvers(self) -> dict[str, About]:
        """The solvers by name, each with its description, family by family."""
        found = {record.solver: record.about for record in reversed(self._records)}
        order = sorted(self.distinct("solver"), key=lambda name: FAMILIES.index(found[name].family))
        return {name: found[name] for name in order}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per run.

        Its columns are those of `COLUMNS`.

        Raises:
            ImportError: If pandas is not installed (extra `report`).
        """
        pandas = optional("pandas", "report", "Records.to_frame")
        data = {column.name: [column.get(record) for record in self] for column in self.columns}
        return pandas.DataFrame(data)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of these records."""
        return self[0].columns if self else Record.columns


def join(parts: Iterable[Records]) -> Records:
    """Join several sets of records.

    Args:
        parts: The sets.

    Returns:
        All their records, with the settings of the first set.
    """
    sets = list(parts)
    return Records((record for part in sets for record in part), sets[0].settings if sets else {})
