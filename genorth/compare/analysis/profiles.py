"""Performance and data profiles: the share of runs within a factor of the best, or a budget.

Performance profiles are those of [dolan2002benchmarking], data profiles those of
[more2009benchmarking] with the budget in seconds or evaluations. `at_target` cuts all runs at a
common target, whatever their own last step added.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from genorth.compare.analysis.rows import MEASURES, require_records
from genorth.compare.runs.record import OUT_OF_TIME, Record, Records
from genorth.errors import require, require_known
from genorth.penalty.base import AWAY
from genorth.solve.solver import FAMILIES

_Vector = np.ndarray[Any, Any]
#: A start of a row: problem, size, tolerance, seed.
_Start = tuple[str, str, float, int]

#: How the measures read.
UNITS = {"time": "seconds", "cpu": "CPU seconds", "evaluations": "evaluations"}

#: Whose profile: that of each solver, or of the best solver of each family.
SUBJECTS = ("solver", "family")
#: What counts: the whole run, or the way to the first iterate that meets the tolerance.
ENDS = ("run", "target")


@attrs.frozen(eq=False)
class Profile:
    """rho_s(tau), the share of problems on which solver s needs at most tau times the best.

    A problem is here a start of a row: (problem, size, tolerance, seed). A run that failed has
    ratio infinity and stays in the denominator, also where all fail.
    """

    measure: str
    #: Those that are compared: solvers, or families.
    solvers: tuple[str, ...]
    #: For each solver the ratios r = t / min t over all problems, sorted; infinite where it failed.
    ratios: dict[str, _Vector]
    #: For each solver t itself, sorted; infinite where it failed.
    costs: dict[str, _Vector]
    #: Over how many problems.
    count: int
    #: How many were left out, as not every solver, or family, has a record of them.
    left_out: int

    def share(self, solver: str, tau: float) -> float:
        """rho_s(tau) = |{problems with r <= tau}| / |{problems}|, for finite tau >= 1."""
        return self._share(self.ratios, solver, tau)

    def within(self, solver: str, budget: float) -> float:
        """d_s(alpha) = |{problems with t <= alpha}| / |{problems}|, for a finite budget alpha."""
        return self._share(self.costs, solver, budget)

    def solved(self, solver: str) -> float:
        """The share of problems that the solver solves: the limit of both profiles."""
        return self._share(self.costs, solver, np.finfo(float).max)

    def _share(self, figures: dict[str, _Vector], solver: str, most: float) -> float:
        require_known("solver", solver, self.solvers)
        return float(np.searchsorted(figures[solver], most, side="right")) / self.count

    def curve(self, solver: str, last: float) -> tuple[_Vector, _Vector]:
        """The points (tau, rho) at which rho_s steps up, from tau = 1 to `last`."""
        return self._curve(self.ratios, solver, 1.0, last)

    def data_curve(self, solver: str, first: float, last: float) -> tuple[_Vector, _Vector]:
        """The points (alpha, d) at which d_s steps up, from `first` to `last`."""
        return self._curve(self.costs, solver, first, last)

    def _curve(
        self, figures: dict[str, _Vector], solver: str, first: float, last: float
    ) -> tuple[_Vector, _Vector]:
        steps = [each for each in np.unique(figures[solver]) if first < each <= last]
        across = np.asarray([first, *steps, last])
        return across, np.asarray([self._share(figures, solver, each) for each in across])

    @property
    def largest(self) -> float:
        """The largest finite ratio; 1 if there is none."""
        return _span(self.ratios)[1]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest finite cost above zero; (1, 1) if there is none."""
        return _span(self.costs)


def _span(figures: dict[str, _Vector]) -> tuple[float, float]:
    every = [float(each) for row in figures.values() for each in row if 0 < each < math.inf]
    return min(every, default=1.0), max(every, default=1.0)


def profile(
    records: Records, measure: str = "time", by: str = "solver", at: str = "run"
) -> Profile:
    """Compute the performance and data profiles of the solvers, or families, in the records.

    Args:
        records: The records.
        measure: "time" (wall seconds), "cpu" (CPU seconds) or "evaluations".
        by: "solver", or "family": of each family the solver that needs least, problem by problem.
        at: "run" for the whole run, or "target" for the way to the first iterate whose gradient
            norm is at most the tolerance, by the traces, which have no CPU seconds.

    Returns:
        The profile.

    Raises:
        ValueError: If CPU seconds to a target are asked for, or if there is no start of a row that
            every solver, or family, has a record of.
    """
    require_records(records)
    require_known("measure", measure, MEASURES)
    require_known("by", by, SUBJECTS)
    require_known("at", at, ENDS)
    whole = at == "run" or measure != "cpu"
    require(whole, "measure", "'time' or 'evaluations' where at='target'", repr(measure))
    costs: dict[_Start, dict[str, float]] = {}
    for record in records if at == "run" else at_target(records):
        start, who = costs.setdefault((*record.row, record.seed), {}), getattr(record, by)
        spent = float(getattr(record, measure))
        cost = spent if record.success and not math.isnan(spent) else math.inf
        start[who] = min(cost, start.get(who, math.inf))
    order = list(records.solvers) if by == "solver" else FAMILIES
    solvers = tuple(who for who in order if who in records.distinct(by))
    complete = [row for row in costs.values() if len(row) == len(solvers)]
    need = f"at least one start of a row that every {by} has a record of"
    require(complete, "records", need, f"none of {len(costs)}")
    return Profile(
        measure,
        solvers,
        {who: np.sort([_ratio(row, who) for row in complete]) for who in solvers},
        {who: np.sort([row[who] for row in complete]) for who in solvers},
        len(complete),
        len(costs) - len(complete),
    )


def _ratio(costs: dict[str, float], solver: str) -> float:
    best, mine = min(costs.values()), costs[solver]
    if math.isinf(mine):  # also where all are
        return math.inf
    return 1.0 if mine == best else mine / best if best > 0 else math.inf


# ---------------------------------------------------------------------- to a common target

# A run that ended so reached what its trace says; one that ended otherwise (raised, diverged, not
# stationary) did not.
_SOUND = (*OUT_OF_TIME, "ITERATION_LIMIT", "EVALUATION_LIMIT", "CALLBACK", "STALLED")


def at_target(records: Records) -> Records:
    """Cut the runs where they first meet a tolerance of the records, by their traces.

    One run to a tight tolerance gives the time to every looser one. The run to the very tolerance
    comes first, then the one to the loosest tolerance that gets there. A run whose trace does not
    show it stays as it is.

    Args:
        records: The records.

    Returns:
        For each solver, start and tolerance the run with seconds, evaluations (as `nfev`), gradient
        norm and |C| at that line of its trace.
    """
    chains: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        chains.setdefault(record.key[:4], []).append(record)
    made, targets = [], sorted(records.distinct("tolerance"), reverse=True)
    for runs in chains.values():
        for target in targets:
            own = [run for run in runs if run.tolerance == target]
            tried = (*own, *sorted(runs, key=lambda run: -run.tolerance))
            ways = ((run, crossing(run, target)) for run in tried)
            made += [_cut(r, line, target) for r, line in ways if line is not None][:1] or own
    return Records(made, records.settings)


def _cut(run: Record, line: int, target: float) -> Record:
    trace, cost = run.trace, run.trace.cost[line]
    return attrs.evolve(
        run,
        tolerance=target,
        status=run.done,
        success=True,
        fun=cost if math.isfinite(cost) else run.fun,
        gradient_norm=trace.gradient_norm[line],
        feasibility=trace.feasibility[line],
        time=trace.time[line],
        nfev=trace.evaluations[line],
        njev=0,
        nhev=0,
    )


def crossing(record: Record, target: float) -> int | None:
    """The first line of the trace with gradient norm <= target and |C| <= 0.1, or None.

    With a larger |C| a small gradient of h means nothing: h may be stationary away from M.
    """
    if not (record.success or record.status in _SOUND):
        return None
    lines = zip(record.trace.gradient_norm, record.trace.feasibility, strict=True)
    return next(
        (n for n, (norm, away) in enumerate(lines) if norm <= target and away <= AWAY), None
    )
