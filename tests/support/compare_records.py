"""Records made by hand, for the tests of what is made of records.

Every figure in them is chosen, none is measured.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from baselines import SOLVERS
from genorth.compare.runs.record import ENDINGS, About, Record, Records
from genorth.solve.result import Trace


def about(solver: str) -> About:
    """The description of a registered solver, also by its short name; "other" for the rest."""
    known = SOLVERS.get(solver) or SOLVERS.get(f"{solver}-fast")
    return attrs.evolve(About.of(solver, known), label=solver)


def record(
    solver: str = "cdf-gd",
    time: float = 1.0,
    *,
    status: str = "CONVERGED",
    problem: str = "matching",
    size: str = "(4,2)",
    seed: int = 0,
    tolerance: float = 1e-5,
    **more: Any,
) -> Record:
    """A run that succeeds unless `status` says otherwise."""
    figures: dict[str, Any] = {"fun": 0.5, "gradient_norm": 5e-6, "feasibility": 1e-15}
    figures |= {"nit": 10, "nfev": 12, "njev": 12}
    if status in ("RAISED", "UNSUPPORTED", "UNPREPARED"):
        figures = {}
    key = {"problem": problem, "size": size, "seed": seed, "solver": solver, "tolerance": tolerance}
    end = {"status": status, "time": time, "cpu": time, "success": status == "CONVERGED"}
    told = {"about": about(solver), "message": ENDINGS[status]}
    return Record(**key | end | told | figures | more)


def trace(
    *norms: float, seconds: float = 0.1, feasibility: float = 1e-15, start: float = 1.0
) -> Trace:
    """A trace with these gradient norms: a line every `seconds`, two evaluations a line."""
    made = Trace()
    for number, norm in enumerate(norms):
        made.append(seconds * number, start / (1 + number), norm, feasibility, 2 * number + 1)
    return made


def timed(solver: str, time: float, **more: Any) -> Record:
    """A run of so many seconds; infinity: it ended at its time limit, NaN: it raised."""
    status = "TIME_LIMIT" if math.isinf(time) else "RAISED" if math.isnan(time) else "CONVERGED"
    return record(solver, 60.0 if math.isinf(time) else time, status=status, **more)


def times(**seconds: float) -> list[Record]:
    """One record for each solver, as by `timed`."""
    return [timed(solver, time) for solver, time in seconds.items()]


def timetable(seconds: Mapping[str, Sequence[float]], along: str = "size") -> list[Record]:
    """The times of each solver, as by `timed`: one for each size, or for each seed."""
    return [
        timed(solver, time, **{along: f"({n})" if along == "size" else n})
        for solver, row in seconds.items()
        for n, time in enumerate(row)
    ]


def small_comparison() -> Records:
    """Two problems, two sizes, two tolerances, two seeds, four solvers of both families.

    Some fail in each way.
    """
    places = [
        ("matching", "(40,6)", 0),
        ("matching", "(100,10)", 1),
        ("extrinsic mean", "(20,4)", 0),
    ]
    ways = {"cdf-lbfgs": 1.0, "cdf-gd": 3.0, "rgd-paper": 40.0, "rtr": 0.5}
    every = product(places, (0, 1), (1e-5, 1e-9), ways.items())
    records = [_run(*place, seed, tol, *way) for place, seed, tol, way in every]
    return Records(records, {"max_time": 60.0, "note": "made <by> hand & safe"})


def _run(
    problem: str, size: str, place: int, seed: int, tolerance: float, solver: str, factor: float
) -> Record:
    key: dict[str, Any] = {"problem": problem, "size": size, "seed": seed}
    key |= {"tolerance": tolerance, "solver": solver}
    key["environment"] = {"genorth": "0.1", "python": "3.11", "blas": "OpenBLAS <x>"}
    key["definition"] = {"options": {"beta": 0.5} if solver == "cdf-gd" else {}}
    if solver == "rgd-paper" and tolerance < 1e-8:
        late = trace(1.0, 1e-2, 1e-4, 1e-6, seconds=15)
        return record(status="TIME_LIMIT", time=60.0, trace=late, **key)
    if solver == "cdf-gd" and problem == "extrinsic mean" and seed == 1:
        said = "The solver raised <b>ValueError</b>: a & b"
        return record(status="RAISED", message=said, time=math.nan, **key)
    if solver == "rtr" and problem == "matching" and place == 1:
        said = "the problem has no Hessian product"
        return record(status="UNSUPPORTED", message=said, time=math.nan, **key)
    lines = 6 if tolerance > 1e-8 else 10
    norms = [10.0 ** (-n) for n in range(lines)]
    seconds = factor * (1 + place) * (1 + 0.1 * seed) / lines
    phases = {"cost": 0.4 * seconds * lines}
    phases |= {"retraction": 0.5 * seconds * lines} if solver[0] == "r" else {}
    whole = trace(*norms, seconds=seconds)
    return record(time=seconds * lines, trace=whole, seconds=phases, **key)
