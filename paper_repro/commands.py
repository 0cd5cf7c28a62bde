"""What the commands of `python -m paper_repro` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from genorth.compare import Records
from paper_repro import example_table, experiments
from paper_repro.experiments import PROBLEMS, SIZES, TABLES, Experiment
from paper_repro.folder import Folder

#: Seconds of each run.
TIME_LIMITS = MappingProxyType({"full": 60.0, "quick": 6.0, "toy": 1.0})


@attrs.frozen
class Settings:
    """The command line, with its defaults."""

    #: "full", "quick" or "toy".
    mode: str
    out: Path
    time_limit: float
    jobs: int
    numbers: Sequence[int] = ()
    sizes: Sequence[tuple[int, ...]] | None = None
    problem: str | None = None
    solvers: Sequence[str] | None = None
    seeds: int = 1
    printed: bool = False
    to: Path | None = None

    @property
    def folder(self) -> Folder:
        """Where records are."""
        return Folder(self.out)

    def table(self, number: int) -> Experiment:
        """The table of the paper at the sizes that are asked for."""
        found = experiments.table(number, self.printed)
        if self.sizes is not None:
            return found.at(self.sizes)
        if self.mode == "full":
            return found
        return found.smallest().toy() if self.mode == "toy" else found.smallest()


def tables(settings: Settings) -> int:
    """`table 1`, ...: measure, show, report."""
    _compare(settings, [settings.table(number) for number in settings.numbers])
    return 0


def own(settings: Settings) -> int:
    """`problem matching --sizes 200,10`: one of the paper's problems at other sizes."""
    _compare(settings, [experiments.own(str(settings.problem), settings.sizes or (), settings.printed)])
    return 0


def everything(settings: Settings) -> int:
    """`all`: every table."""
    _compare(settings, [settings.table(number) for number in TABLES])
    return 0


def _compare(settings: Settings, chosen: Sequence[Experiment]) -> Records:
    run: dict[str, Any] = {"starts": settings.seeds, "time_limit": settings.time_limit, "jobs": settings.jobs}
    return settings.folder.run(chosen, settings.solvers, **run)


def example(settings: Settings) -> int:  # noqa: ARG001  every command takes the settings
    """`example`: problems with a known minimum."""
    return example_table.run()


def listing(settings: Settings) -> int:  # noqa: ARG001
    """`list`: what there is."""
    for number in TABLES:
        table = experiments.table(number)
        print(f"table {number}  {table.problem}: {', '.join(size.name for size in table.sizes)}")
        print(f"         {table.caption}")
    print("problems ", ", ".join(f"{name} ({SIZES[name]})" for name in PROBLEMS))
    print("solvers  ", ", ".join(experiments.PAPERS), "as in the paper;", ", ".join(experiments.OURS))
    return 0


COMMANDS: Mapping[str, Callable[[Settings], int]] = MappingProxyType(
    {"compare": everything, "table": tables, "problem": own, "all": everything, "list": listing, "example": example}
)
