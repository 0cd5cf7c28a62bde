"""Performance profiles [dolan2002benchmarking]: the share of runs within a factor of the best."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from genorth.compare.analysis.rows import require_records
from genorth.compare.runs.record import Record, Records
from genorth.errors import refuse

_Vector = np.ndarray[Any, Any]

MEASURES = ("time", "evaluations")


@attrs.frozen(eq=False)
class Profile:
    """rho_s(tau), the share of problems on which solver s needs at most tau times the best.

    A problem is here a start of a row: (problem, size, tolerance, seed). A run that failed has
    ratio infinity and stays in the denominator, also where all fail.
    """

    measure: str
    solvers: tuple[str, ...]
    #: For each solver the ratios r = t / min t over all problems, sorted; infinite where it failed.
    ratios: dict[str, _Vector]
    #: Over how many problems.
    count: int
    #: How many were left out, as not every solver has a record of them.
    left_out: int

    def share(self, solver: str, tau: float) -> float:
        """rho_s(tau) = |{problems with r <= tau}| / |{problems}|, for finite tau >= 1."""
        if solver not in self.ratios:
            refuse("solver", f"one of {', '.join(self.solvers)}", repr(solver))
        return float(np.searchsorted(self.ratios[solver], tau, side="right")) / self.count

    def curve(self, solver: str, last: float) -> tuple[_Vector, _Vector]:
        """The points (tau, rho) at which rho_s steps up, from tau = 1 to `last`."""
        steps = [tau for tau in np.unique(self.ratios[solver]) if 1 < tau <= last]
        tau = np.asarray([1.0, *steps, last])
        return tau, np.asarray([self.share(solver, each) for each in tau])

    @property
    def largest(self) -> float:
        """The largest finite ratio; 1 if there is none."""
        return max(
            (float(r) for ratios in self.ratios.values() for r in ratios if math.isfinite(r)),
            default=1.0,
        )


def profile(records: Records, measure: str = "time") -> Profile:
    """Compute the performance profile of the solvers in the records.

    Args:
        records: The records.
        measure: "time" or "evaluations".

    Returns:
        The profile.

    Raises:
        ValueError: If there is no start of a row that every solver has a record of.
    """
    require_records(records)
    if measure not in MEASURES:
        refuse("measure", f"one of {', '.join(map(repr, MEASURES))}", repr(measure))
    solvers = tuple(records.solvers)
    problems: dict[tuple[str, str, float, int], dict[str, float]] = {}
    for record in records:
        problems.setdefault((*record.row, record.seed), {})[record.solver] = _cost(record, measure)
    complete = [costs for costs in problems.values() if len(costs) == len(solvers)]
    if not complete:
        refuse(
            "records",
            "at least one start of a row that every solver has a record of",
            f"none of {len(problems)}",
        )
    ratios = {solver: np.sort([_ratio(costs, solver) for costs in complete]) for solver in solvers}
    return Profile(measure, solvers, ratios, len(complete), len(problems) - len(complete))


def _cost(record: Record, measure: str) -> float:
    value = float(getattr(record, measure))
    return value if record.success and not math.isnan(value) else math.inf


def _ratio(costs: dict[str, float], solver: str) -> float:
    best, mine = min(costs.values()), costs[solver]
    if math.isinf(mine):
        return math.inf
    return 1.0 if mine == best else mine / best if best > 0 else math.inf
