"""What the commands of `python -m paper_repro` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from genorth.compare import Records
from paper_repro import drawings, example_table, experiments, figures, presentation
from paper_repro.experiments import PROBLEMS, SIZES, TABLES, Experiment
from paper_repro.folder import Folder

#: Seconds of each run.
TIME_LIMITS = MappingProxyType({"full": 60.0, "quick": 5.0, "toy": 1.0})


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
        return found.toy() if self.mode == "toy" else found.smallest()


def tables(settings: Settings) -> int:
    """`table 1`, ...: measure, show, report."""
    return _compare(settings, [settings.table(number) for number in settings.numbers])


def own(settings: Settings) -> int:
    """`problem matching --sizes 200,10`: one of the paper's problems at other sizes."""
    return _compare(
        settings, [experiments.own(str(settings.problem), settings.sizes or (), settings.printed)]
    )


def smallest(settings: Settings) -> int:
    """Without a command: the smallest size of each table."""
    return _compare(settings, [settings.table(number) for number in TABLES])


def everything(settings: Settings) -> int:
    """`all`: every table, then every figure."""
    chosen = [settings.table(number) for number in TABLES]
    _run(settings, chosen)
    for number in figures.FIGURES:
        _measure(settings, number)
    return report(settings)


def drawn(settings: Settings) -> int:
    """`figure 1`, ...: measure, draw, tell."""
    for number in settings.numbers:
        data = _measure(settings, number)
        path = settings.out / f"figure-{number}.svg"
        drawings.draw(number, data).savefig(path)
        print(f"Figure {number}: {path}")
        print("\n".join(figures.sentences(number, data)))
    return 0


def report(settings: Settings) -> int:
    """`report`: of what is there."""
    records = settings.folder.records()
    print(presentation.text(records, "text"))
    print(f"Report: {presentation.report(settings.folder)}")
    return 0


def exported(settings: Settings) -> int:
    """`export`: what is to be kept in a repository."""
    assert settings.to is not None
    for path in presentation.export(settings.folder, settings.to):
        print(path)
    return 0


def _run(settings: Settings, chosen: Sequence[Experiment]) -> Records:
    for experiment in chosen:
        for line in experiment.missing:
            print(f"{experiment.name} {line}")
    return settings.folder.run(
        chosen,
        settings.solvers,
        starts=settings.seeds,
        time_limit=settings.time_limit,
        jobs=settings.jobs,
    )


def _compare(settings: Settings, chosen: Sequence[Experiment]) -> int:
    """Measure and show these tables; the report holds all that is in the folder."""
    print(presentation.text(_run(settings, chosen), "text"))
    print(f"Report: {presentation.report(settings.folder)}")
    return 0


def _measure(settings: Settings, number: int) -> dict[str, Any]:
    folder = settings.folder
    return figures.measure(
        figures.plan(number).at(settings.mode),
        folder.figure(number),
        partial(folder.save_figure, number),
        time_limit=settings.time_limit,
        say=print,
    )


def example(settings: Settings) -> int:  # noqa: ARG001  every command takes the settings
    """`example`: problems with a known minimum."""
    return example_table.run()


def listing(settings: Settings) -> int:  # noqa: ARG001
    """`list`: what there is."""
    for number in TABLES:
        table = experiments.table(number)
        print(f"table {number}  {table.problem}: {', '.join(size.name for size in table.sizes)}")
        print(f"         {table.caption}")
    for number in figures.FIGURES:
        plan = figures.plan(number)
        print(f"figure {number} {plan.problem}: {', '.join(size.name for size in plan.sizes)}")
        print(f"         {plan.caption}")
    print("problems ", ", ".join(f"{name} ({SIZES[name]})" for name in PROBLEMS))
    print(
        "solvers  ", ", ".join(experiments.PAPERS), "as in the paper;", ", ".join(experiments.OURS)
    )
    return 0


COMMANDS: Mapping[str, Callable[[Settings], int]] = MappingProxyType(
    {
        "compare": smallest,
        "table": tables,
        "figure": drawn,
        "problem": own,
        "all": everything,
        "report": report,
        "export": exported,
        "list": listing,
        "example": example,
    }
)
