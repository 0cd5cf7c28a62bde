"""What the script of a report reads: the runs, thinned traces, phases, and how to show them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import attrs

from genorth.compare.analysis.profiles import at_target
from genorth.compare.render.styles import FAMILY_STYLES, GREY, ORANGE, PHASES, styles
from genorth.compare.render.table import Names, plain, tolerance_text
from genorth.compare.runs.record import TRACED, Record, Records
from genorth.compare.runs.store import thinned
from genorth.errors import require
from genorth.solve.solver import SOLVERS

#: What a record is found by, in the order of the page; the others are figures.
_KEYS = ("problem", "size", "tolerance", "seed", "solver", "status")
#: Figures that a reader asks for by the list of columns.
_BEYOND = ("nfev", "njev", "nhev", "constr_njev", "beta", "threshold")
_POINTS, _MOST = 60_000, 100  # of all traces, and of one
_REFERENCE = {"fun": 0, "nit": 1, "cpu": 4}


def own_solvers(records: Records, own: Iterable[str] | None = None) -> list[str]:
    """The solvers that are the user's: those given, or those that nobody has registered.

    Args:
        records: The records.
        own: Their names; None to look. Where no solver is registered, none is the user's.

    Raises:
        ValueError: If one of them has no records.
    """
    known = list(records.solvers)
    if own is None:
        found = [name for name in known if name not in SOLVERS]
        return found if len(found) < len(known) else []
    found = list(own)
    require(set(found) <= set(known), "own", f"names of {known}", repr(own))
    return found


def payload(
    records: Records,
    names: Names,
    reference: Mapping[tuple[str, str, str, float], Sequence[Any]],
    own: Sequence[str],
) -> str:
    """The runs in JSON that can stand in a page.

    Args:
        records: The records.
        names: How problems and solvers are called.
        reference: The paper's figures, as for `tables.paper_layout`.
        own: The user's solvers.
    """
    solvers, look = list(records.solvers), styles(records.solvers)
    values: dict[str, list[Any]] = {name: records.distinct(name) for name in _KEYS}
    values |= {"solver": solvers, "tolerance": sorted(values["tolerance"], reverse=True)}
    values["seed"].sort()
    place = {name: {value: n for n, value in enumerate(each)} for name, each in values.items()}
    runs: dict[str, list[Any]] = {
        name: [place[name][getattr(record, name)] for record in records] for name in _KEYS
    }
    runs["success"] = [int(record.success) for record in records]
    columns = _columns(records, runs)
    for name, column in _REFERENCE.items():
        theirs = [
            reference.get((r.problem, r.size, r.solver, r.tolerance), (None,) * 5)[column]
            for r in records
        ]
        if any(isinstance(each, int | float) for each in theirs):
            runs[f"paper {name}"] = list(map(_number, theirs))
            heading = next(each["heading"] for each in columns if each["name"] == name)
            form = {"name": f"paper {name}", "heading": f"{heading} (paper)", "form": "value"}
            columns.append(form | {"hidden": False})
    reached = {record.key: record for record in at_target(records) if record.success}
    for name in ("time", "evaluations"):
        ends = [reached.get(record.key) for record in records]
        runs[f"{name}_to"] = [None if end is None else _number(getattr(end, name)) for end in ends]
    phases = list(dict.fromkeys(name for record in records for name in record.seconds))
    families = {about.family for about in records.solvers.values()}
    found = {
        "problem": [names[each] for each in values["problem"]],
        "size": list(map(plain, values["size"])),
        "tolerance": list(map(tolerance_text, values["tolerance"])),
        "tolerances": values["tolerance"],
        "seed": values["seed"],
        "status": [each.lower().replace("_", " ") for each in values["status"]],
        "solvers": [
            {
                "name": names[name],
                "family": records.solvers[name].family,
                "color": look[name].color,
                "own": name in own,
            }
            for name in solvers
        ],
        "families": {kind: style.color for kind, style in FAMILY_STYLES.items()},
        "view": "behind" if len(families) > 1 else "profile",
        "columns": columns,
        "runs": runs,
        "traces": _traces(records),
        "phase": phases,
        "phase_colors": [PHASES.get(name, ORANGE) for name in phases] + [GREY],
        "phases": {
            n: [_number(record.seconds.get(name, 0.0)) for name in phases]
            for n, record in enumerate(records)
            if record.seconds and record.time > 0
        },
    }
    # no letter of a name ends the script in which this stands
    text = json.dumps(found, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _columns(records: Records, runs: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The numeric columns that any record has, new ones too; their values go to the runs."""
    made = []
    for column in records.columns:
        values = [column.get(record) for record in records]
        if column.name in ("time", "cpu", "evaluations") or (
            column.name not in runs
            and not any(isinstance(value, bool | str) for value in values)
            and any(value or isinstance(value, float) for value in values)
        ):
            runs[column.name] = list(map(_number, values))
            form = column.form if column.numeric else "value"
            entry = {"name": column.name, "heading": column.heading or column.name.capitalize()}
            made.append(entry | {"form": form, "hidden": column.name in _BEYOND})
    return made


def _traces(records: Records) -> dict[int, dict[str, list[Any]]]:
    """The traces of the tightest runs, thinned; f as its distance from the lowest of the start."""
    chains: dict[tuple[Any, ...], int] = {}
    lowest: dict[tuple[Any, ...], float] = {}
    for n, record in enumerate(records):
        start = (record.problem, record.size, record.seed)
        costs = (record.fun, lowest.get(start, math.inf), *record.trace.cost)
        lowest[start] = min(filter(math.isfinite, costs), default=math.inf)
        if len(record.trace) > 1:
            last = chains.setdefault((*start, record.solver), n)
            if record.tolerance < records[last].tolerance:
                chains[*start, record.solver] = n
    points = max(8, min(_MOST, _POINTS // max(1, len(chains))))
    return {n: _trace(records[n], points, lowest[key[:3]]) for key, n in chains.items()}


def _trace(record: Record, points: int, lowest: float) -> dict[str, list[Any]]:
    """At most so many points: the gradient norm is the smallest so far, f the distance."""
    trace = attrs.evolve(
        record.trace,
        gradient_norm=list(accumulate(record.trace.gradient_norm, min)),
        cost=[value - lowest for value in record.trace.cost],
    )
    kept = thinned(trace, points, 4)
    return {name: list(map(_number, getattr(kept, name))) for name in TRACED}


def _number(value: Any) -> Any:
    """A number in seven digits, or None where there is none."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.7g}")
