"""`train`: every method on every training, with every step size of a grid, from the same seeds.

And `tuned`, which chooses the step sizes by the validation loss: one rule for all methods.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from genorth.compare.analysis.rows import Runs, require_records
from genorth.compare.comparison import check, compared, each_once, seeds_of
from genorth.compare.render.terminal import chosen
from genorth.compare.runs.record import Records
from genorth.compare.runs.spec import Setup, Task
from genorth.compare.runs.store import load as load_records
from genorth.compare.runs.store import packed
from genorth.errors import require
from genorth.machine import cores
from genorth.training.method import Method, Training
from genorth.training.trainer import Trainer, TrainingRecord

_PREPARATION = 600.0  # seconds in which data and model must be made
_WIDER = 3  # step sizes that a method may try beyond either end of the grid


def train(
    trainings: Iterable[Training],
    methods: Iterable[Method],
    *,
    rates: Iterable[float],
    epochs: int,
    starts: int | Iterable[int] = 3,
    tuning: int | None = None,
    feasibility_tol: float = 1e-5,
    max_time: float = 60.0,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    threads: int = 1,
    retry: bool = False,
    progress: Any = "auto",
) -> Records:
    """Compare ways to train a model whose weights are on manifolds.

    Every method runs with every step size of one grid, from the same first weights, through the
    same minibatches. After each epoch the held-out loss and |C| are measured, off the clock. At the
    end the weights are restored to their manifolds, and both losses are measured there: that on the
    validation data chooses the step size (`tuned`), that on the held-out data is reported.

    A run whose loss is not finite, whose weights cannot be restored, which raises, or which takes
    too long, leaves a record that says so.

    Args:
        trainings: What is trained.
        methods: The ways to train it; those that do not run on a training are left out there.
        rates: The step sizes, the same for all methods.
        epochs: Passes over the training data.
        starts: How many seeds (0, 1, ...), or the seeds.
        tuning: If given, all step sizes run from so many further seeds, beyond those of `starts`,
            and only the one that these choose runs from `starts`. A method whose best step size is
            at an end of the grid tries the next one beyond, in the ratio of the last two, up to
            three times. None: all run from all.
        feasibility_tol: The largest |C| at the end.
        max_time: Seconds of each run.
        out: A folder to which each record is written, as for `run`: the same call resumes there.
        jobs: Worker processes.
        threads: BLAS threads of each run.
        retry: Make runs again that raised or hung, or whose record was made of something else.
        progress: As for `run`.

    Returns:
        The records of all step sizes; `tuned` chooses among them.

    Raises:
        ValueError: If an argument is not valid, or `out` holds records of another comparison.
    """
    check(
        epochs=epochs,
        tuning=tuning,
        feasibility_tol=feasibility_tol,
        max_time=max_time,
        jobs=jobs,
        threads=threads,
        retry=retry,
    )
    need, limit = "step sizes > 0, at least one, each once", float(max_time)
    grid = sorted(map(float, each_once("rates", rates, need, _is_rate)))
    wide = _widened(grid) if tuning else grid
    known, ways = _named("trainings", trainings, Training), _named("methods", methods, Method)
    rated = {f"{method.name} {rate:g}": (method, rate) for method in ways for rate in wide}
    options = {name: {"method": each.name, "rate": rate} for name, (each, rate) in rated.items()}
    setup = Setup(
        maker=Trainer,
        cases=tuple(attrs.evolve(each, options=options) for each in known),
        solvers={name: attrs.evolve(each, name=name) for name, (each, _) in rated.items()},
        about={name: each.about for name, (each, _) in rated.items()},
        max_time=limit,
        patience=limit + max(10.0, limit),
        preparation=_PREPARATION,
        threads=threads,
        processes=min(jobs, cores()),
        budget={"epochs": epochs},
    )
    seeds = seeds_of(starts)
    drawn = [max(seeds) + 1 + number for number in range(tuning or 0)]
    tasks = [
        Task(number, seed, name, float(feasibility_tol))
        for number, training in enumerate(known)
        for seed in drawn or seeds
        for name, (method, _) in rated.items()
        if method.only is None or training.problem in method.only
    ]
    require(tasks, "methods", "one that runs on the trainings", "none")
    make = partial(compared, setup, out=out, jobs=jobs, retry=retry)
    found = make(
        [task for task in tasks if rated[task.solver][1] in grid],
        progress=chosen(progress, by_time=False),
    )
    if not drawn:
        return found
    while more := _beyond(found, wide):
        wider = [task for task in tasks if (known[task.case].problem, task.solver) in more]
        made = make(wider, progress=chosen(progress, by_time=False))
        found = Records([*found, *made], found.settings)
    best = {key: f"{key[1]} {each.rate:g}" for key, each in tunings(found).items()}
    last = [
        attrs.evolve(task, seed=seed)
        for task in tasks
        for seed in seeds
        if task.seed == drawn[0]
        and task.solver == best[known[task.case].problem, rated[task.solver][0].name]
    ]
    rest = make(last, progress=chosen(progress, by_time=False))
    return Records([*found, *rest], found.settings)


def _widened(grid: list[float]) -> list[float]:
    """The grid with further step sizes at both ends, in the ratio of the two that are last."""
    for _ in range(_WIDER if len(grid) > 1 else 0):
        ends = grid[0] / grid[1] * grid[0], grid[-1] / grid[-2] * grid[-1]
        grid = sorted({*grid, *(float(f"{rate:.2g}") for rate in ends)})
    return [rate for rate in grid if _is_rate(rate)]


def _beyond(records: Records, grid: list[float]) -> set[tuple[str, str]]:
    """Problem and solver of the runs that are missing next to the step sizes that are best."""
    return {
        (problem, f"{method} {rate if near in tuning.runs else near:g}")
        for (problem, method), tuning in tunings(records).items()
        for near, rate in pairwise(grid)
        if (near in tuning.runs) != (rate in tuning.runs) and tuning.rate in (near, rate)
    }


def _named(argument: str, given: Any, kind: type[Any]) -> list[Any]:
    entries = list(given) if isinstance(given, Iterable) else []
    good = entries and all(isinstance(entry, kind) for entry in entries)
    require(good, argument, f"a list of genorth.training.{kind.__name__}", repr(given))
    each_once(argument, [entry.name for entry in entries], "each name once", bool)
    return entries


def _is_rate(rate: Any) -> bool:
    return isinstance(rate, int | float) and 0 < rate < math.inf


def load(out: str | os.PathLike[str]) -> Records:
    """Read the records of a folder that `train(..., out=...)` or `save` made.

    Args:
        out: The folder.

    Returns:
        The records, with their settings.

    Raises:
        ValueError: If it is no such folder, or was written in another format.
    """
    return load_records(out, TrainingRecord)


def save(records: Records, out: str | os.PathLike[str]) -> Path:
    """Write the records of `train` to a folder, compressed, for keeping.

    Args:
        records: The records.
        out: The folder; `load` reads it.

    Returns:
        The folder.
    """
    return packed(records, out)


# ---------------------------------------------------------------------- step sizes


@attrs.frozen
class Tuning:
    """What one method made of the grid of step sizes in one training.

    The step size with the least median validation loss is chosen, over the seeds from which all
    step sizes ran; a run that failed counts as infinite. The smaller of two that are equally good
    is taken.
    """

    #: The runs by step size, from small to large.
    runs: dict[float, Runs]

    @property
    def seeds(self) -> set[int]:
        """The seeds from which all step sizes ran."""
        return set.intersection(*({r.seed for r in runs.records} for runs in self.runs.values()))

    @property
    def scores(self) -> dict[float, float]:
        """The median validation loss by step size."""
        shared = self.seeds
        return {
            rate: Runs(tuple(r for r in runs.records if r.seed in shared)).spread("validation")[1]
            for rate, runs in self.runs.items()
        }

    @property
    def rate(self) -> float:
        """The step size that is chosen; the smallest one where all fail."""
        return min(self.scores, key=self.scores.__getitem__)

    @property
    def chosen(self) -> tuple[TrainingRecord, ...]:
        """The runs with it: from the seeds that did not choose it, if there are any."""
        every, shared = self.runs[self.rate].records, self.seeds
        return tuple(r for r in every if r.seed not in shared) or every

    @property
    def edge(self) -> bool:
        """True if the step size that is chosen is the least or the greatest of several."""
        return len(self.runs) > 1 and self.rate in (min(self.runs), max(self.runs))

    @property
    def lost(self) -> int:
        """How many step sizes fail for half of the seeds or more."""
        return sum(map(math.isinf, self.scores.values()))


def tunings(records: Records) -> dict[tuple[str, str], Tuning]:
    """Group the records of `train`: a `Tuning` for each problem and method."""
    found: dict[tuple[str, str], dict[float, Runs]] = {}
    for record in require_records(records):
        rates = found.setdefault((record.problem, record.method), {})
        mine = rates.get(record.rate, Runs(()))
        rates[record.rate] = Runs((*mine.records, record))
    return {key: Tuning(dict(sorted(rates.items()))) for key, rates in found.items()}


def tuned(records: Records) -> Records:
    """Choose the step size of each method in each training.

    It is the one with the least median of `validation` over the seeds from which all step sizes
    ran, where a run that failed counts as infinite.

    Args:
        records: The records of `train`.

    Returns:
        The records with the step sizes that are chosen; `solver` is the name of the method.
    """
    chosen = (
        attrs.evolve(record, solver=method)
        for (_, method), tuning in tunings(records).items()
        for record in tuning.chosen
    )
    return Records(chosen, records.settings)
