"""The choice of a step size for each method, by the validation loss: one rule for all methods."""

from __future__ import annotations

import math

import attrs

from genorth.compare.analysis.rows import Runs, require_records
from genorth.compare.runs.record import Records
from genorth.training.trainer import TrainingRecord


@attrs.frozen
class Tuning:
    """What one method made of the grid of step sizes in one training.

    The step size with the least median validation loss is chosen; a run that failed counts as
    infinite. The smaller of two that are equally good is taken.
    """

    #: The runs by step size, from small to large.
    runs: dict[float, Runs]

    @property
    def scores(self) -> dict[float, float]:
        """The median validation loss by step size."""
        return {rate: runs.spread("validation")[1] for rate, runs in self.runs.items()}

    @property
    def rate(self) -> float:
        """The step size that is chosen; the smallest one where all fail."""
        return min(self.scores, key=self.scores.__getitem__)

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
    found: dict[tuple[str, str], dict[float, list[TrainingRecord]]] = {}
    for record in require_records(records):
        rates = found.setdefault((record.problem, record.method), {})
        rates.setdefault(record.rate, []).append(record)
    return {
        key: Tuning({rate: Runs(tuple(rates[rate])) for rate in sorted(rates)})
        for key, rates in found.items()
    }


def tuned(records: Records) -> Records:
    """Choose the step size of each method in each training.

    It is the one with the least median of `validation` over the seeds, where a run that failed
    counts as infinite.

    Args:
        records: The records of `train`.

    Returns:
        The records with the step sizes that are chosen; `solver` is the name of the method.
    """
    chosen = (
        attrs.evolve(record, solver=method)
        for (_, method), tuning in tunings(records).items()
        for record in tuning.runs[tuning.rate].records
    )
    return Records(chosen, records.settings)
