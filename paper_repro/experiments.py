"""What the commands run: a table of the paper at some of its sizes, or at others; its records.

Each table has the corrected instances and those that the paper prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from baselines import RECORDS
from baselines import SOLVERS as REGISTRY
from genorth import Solver, compare
from genorth.compare import Case, Records
from genorth.errors import EmptyManifoldError, require_known
from genorth.solve.solver import INFEASIBLE, PENALTY
from paper_repro import data
from paper_repro.problems import PROBLEMS, PaperProblem, PaperTable, Size

TOLERANCES = (1e-5, 1e-9)
#: L-BFGS on h and on h_n with the beta that genorth chooses; the paper's methods have the paper's.
AUTO, ORTHOGONAL = "cdf-lbfgs", "odf-lbfgs"
#: The solvers of the paper; those that run as it ran them in our geometry; ours.
PAPERS = tuple(data.SOLVERS.values())
FAST = MappingProxyType({"RGD": "rgd", "RCG": "rcg"})
OURS = (AUTO, ORTHOGONAL, "odf-cg", *FAST.values(), "rlbfgs", "rtr")
#: The reference of all leads; it has so many times as long, so that they are figures, not bounds.
REFERENCE, LONGER = data.SOLVERS["RGD"], 3.0
#: What runs in full runs and where it is asked for: pymanopt's solvers in our geometry, and
#: infeasible methods, but not SciPy's, which take small problems, and those for nonsmooth terms.
PEERS = (
    "pymanopt-cg",
    "pymanopt-tr",
    *(
        solver.name
        for solver in RECORDS
        if solver.family == INFEASIBLE and solver.algorithm not in {"prox", "sqp"}
    ),
)
#: All of them, by the names that the records have.
SOLVERS: Mapping[str, Solver] = MappingProxyType(
    {name: REGISTRY[name] for name in (*PAPERS, *OURS, *PEERS)}
)
#: What tables and plots call them.
LABELS = MappingProxyType({ours: f"{theirs} ({ours})" for theirs, ours in data.SOLVERS.items()})
#: The tables of the paper with results, by number, each with its problem.
TABLES = MappingProxyType(
    {table.number: (problem, table) for problem in PROBLEMS.values() for table in problem.tables}
)


@attrs.frozen
class Experiment:
    """A problem at several sizes, as in a table of the paper."""

    problem: PaperProblem
    sizes: tuple[Size, ...] = attrs.field(converter=tuple)
    #: None for sizes of a user's own.
    table: PaperTable | None = None
    printed: bool = False
    #: Sizes of the table at which the manifold is empty, with the reason.
    missing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the records call the problem."""
        number = "" if self.table is None else f"Table {self.table.number}: "
        return f"{number}{self.problem.name}{', as printed' if self.printed else ''}"

    @property
    def caption(self) -> str:
        """The problem, beta, and how the instances differ from the paper's."""
        about = f"{self.problem.title}, beta = {self.problem.beta}."
        if self.table is None:
            return about
        return f"{about} {(self.table.printed if self.printed else self.table.corrected).note}"

    @property
    def seconds(self) -> float:
        """The time limit of each run in a full comparison."""
        return 60.0 if self.table is None else self.table.seconds

    def instances(self) -> list[Case]:
        """What `genorth.compare.run` takes; the penalty methods of the paper have its beta."""
        penalties = [name for name in PAPERS if SOLVERS[name].family == PENALTY]
        options = {name: {"beta": self.problem.beta} for name in penalties}
        return [
            Case(self.name, size.name, size.problem, size.start, options) for size in self.sizes
        ]

    def smallest(self) -> Experiment:
        """The first size alone."""
        return attrs.evolve(self, sizes=self.sizes[:1])

    def toy(self) -> Experiment:
        """The same at a size that takes no time, for tests."""
        small = self.at([self.problem.toy])
        return attrs.evolve(small, sizes=[s.evolve(**self.problem.cheap) for s in small.sizes])

    def at(self, sizes: Iterable[Sequence[int]]) -> Experiment:
        """The same at other sizes; a ValueError where the manifold is empty."""
        number = None if self.table is None else self.table.number
        made = self.problem.sizes(sizes, number, self.printed)
        return attrs.evolve(self, sizes=made, missing=())

    @property
    def differences(self) -> list[str]:
        """Why ours differ from the paper's figures, and the sizes that are missing."""
        remark = "" if self.table is None or self.printed else self.table.remark
        why = f"What is not reproduced, and why: {self.problem.differs}"
        return [line for line in (why, remark, *self.missing) if line]

    def paper(self) -> list[data.Printed]:
        """The runs of the paper; none for sizes of a user's own."""
        number = self.table and self.table.number
        return [row for row in data.printed() if row.table == number]


@cache  # whether there is a manifold of each size takes eigenvalues
def table(number: int, printed: bool = False) -> Experiment:
    """A table of the paper.

    Args:
        number: 1 to 7.
        printed: Its instances as the paper prints them, instead of the corrected ones.

    Returns:
        The table at all its sizes, apart from those at which the manifold is empty.

    Raises:
        ValueError: If there is no such table.
    """
    require_known("table", number, TABLES)
    (problem, found), sizes, missing = TABLES[number], [], []
    for name, numbers in found.sizes.items():
        try:
            (size,) = problem.sizes([numbers], number, printed)
            sizes.append(attrs.evolve(size, name=name))
        except EmptyManifoldError as error:
            missing.append(f"{name}: {error}")
    return Experiment(problem, tuple(sizes), found, printed, tuple(missing))


def own(problem: str, sizes: Iterable[Sequence[int]], printed: bool = False) -> Experiment:
    """One of the paper's problems at sizes of a user's own."""
    require_known("problem", problem, PROBLEMS)
    chosen = PROBLEMS[problem]
    return Experiment(chosen, chosen.sizes(sizes, printed=printed), printed=printed)


def known() -> dict[str, Experiment]:
    """All tables, corrected and as printed, by the name that their records have."""
    tables = [table(number, printed) for number in TABLES for printed in (False, True)]
    return {experiment.name: experiment for experiment in tables}


def reference(*experiments: Experiment) -> dict[tuple[str, str, str, float], tuple[Any, ...]]:
    """The paper's figures of these tables, or of all, as `compare.tables` takes them."""
    return {
        (each.name, row.size, row.solver, row.tolerance): row.figures
        for each in experiments or known().values()
        for row in each.paper()
    }


def chosen(names: Iterable[str] | None) -> dict[str, Solver]:
    """The solvers of these names; by default all but the peers.

    Raises:
        ValueError: If a name is not in `SOLVERS`.
    """
    given = [*PAPERS, *OURS] if names is None else list(names)
    for name in given:
        require_known("solvers", name, SOLVERS)
    return {name: SOLVERS[name] for name in given}


def run(
    folder: Path,
    experiments: Iterable[Experiment],
    solvers: Iterable[str] | None = None,
    **settings: Any,
) -> Records:
    """Make the runs that are missing in a folder.

    Args:
        folder: Where the records are kept, in `records/`.
        experiments: What to run.
        solvers: Names of solvers; by default all but the peers.
        **settings: Further arguments of `genorth.compare.run`. Without `max_time`, or if it is
            None, that of the table, and for `REFERENCE` `LONGER` times that.

    Returns:
        The records of these experiments, with those of earlier calls.

    Raises:
        ValueError: If a solver is unknown, or the folder has records with other settings.
    """
    common = {"tolerances": TOLERANCES, "out": folder / "records"} | settings
    limit = common.pop("max_time", None)
    groups: dict[float, dict[str, Solver]] = {}
    for name, solver in chosen(solvers).items():
        longer = LONGER if name == REFERENCE and limit is None else 1.0
        groups.setdefault(longer, {})[name] = solver
    return compare.join(
        compare.run(
            each.instances(),
            group,
            max_time=longer * each.seconds if limit is None else limit,
            **common,
        )
        for each in experiments
        for longer, group in groups.items()
    )
