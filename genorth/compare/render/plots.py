"""Plots of records: convergence, performance profiles, phases, how far families are behind.

Each is a matplotlib Figure, made without pyplot: nothing opens, nothing is kept, and
`figure.savefig("name.svg")` writes it to a file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genorth.compare.analysis import profiles
from genorth.compare.analysis import rows as ranking
from genorth.compare.analysis.profiles import UNITS, Profile
from genorth.compare.analysis.rows import Runs, by_row, leaders, require_records
from genorth.compare.render.styles import (
    FAMILY_STYLES,
    GREY,
    ORANGE,
    PHASES,
    TEXT,
    Styles,
    few_ticks,
    legend,
    logarithmic,
    look_of,
    matplotlib,
    panels,
    plotted,
    shortened,
)
from genorth.compare.render.table import Labels, Names, names_of, plain, seconds_text
from genorth.compare.runs.record import Record, Records
from genorth.errors import require

_MOST = 12  # panels of one figure
_ACROSS = {measure: UNITS[measure] for measure in ("time", "evaluations")}  # what a trace has


# ---------------------------------------------------------------------- convergence


@plotted
def convergence(
    records: Records,
    *,
    seed: int | None = None,
    labels: Labels | None = None,
    look: Styles | None = None,
) -> Any:
    """Plot gradient norm (above) and feasibility (below) against seconds and evaluations.

    Of each solver the run to the tightest tolerance is drawn, all from the same start. The gradient
    norm is the smallest so far; a penalty method is drawn as it ran, before its last point is
    restored.

    Args:
        records: Those of one problem and size (`records.where(problem=..., size=...)`).
        seed: Of the start; by default the first.
        labels: How solvers are to be called.
        look: Their styles, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    names, look = look_of(records, labels, look)
    places = list(dict.fromkeys((record.problem, record.size) for record in records))
    require(
        len(places) == 1,
        "records",
        "those of one problem and size",
        f"{len(places)} of them",
        "Choose with records.where(problem=..., size=...).",
    )
    runs = _drawn(records, records[0].seed if seed is None else seed)
    figure, axes = panels(9.0, 5.6, 2, 2, sharex="col", sharey="row")
    for (across, unit), column in zip(_ACROSS.items(), axes.T, strict=True):
        for up, axis in zip(("gradient_norm", "feasibility"), column, strict=True):
            for solver, run in runs.items():
                x, y = getattr(run.trace, across), getattr(run.trace, up)
                axis.plot(*_positive(x, y, up == "gradient_norm"), **look[solver].line())
            logarithmic(axis, "x", "y")
        for tolerance in records.distinct("tolerance"):
            column[0].axhline(tolerance, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        column[1].set_xlabel(unit)
    axes[0, 0].set_ylabel("gradient norm, smallest so far")
    axes[1, 0].set_ylabel("feasibility |C(X)|")
    legend(figure, axes[0, 0].get_lines()[: len(runs)], [names[solver] for solver in runs])
    return figure


def _drawn(records: Records, seed: int) -> dict[str, Record]:
    """The run to the tightest tolerance of each solver that has a trace, from one start."""
    traced = records.where(lambda record: len(record.trace) > 0, seed=seed).by("solver")
    return {
        solver: min(traced[solver], key=lambda record: record.tolerance)
        for solver in records.solvers
        if solver in traced
    }


def _positive(x: Sequence[float], y: Sequence[float], smallest: bool) -> tuple[Any, Any]:
    """The points that logarithmic axes can show; `smallest`: of y the smallest so far."""
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    up = np.fmin.accumulate(up) if smallest and up.size else up
    seen = (across > 0) & (up > 0) & np.isfinite(across) & np.isfinite(up)
    return across[seen], up[seen]


# ---------------------------------------------------------------------- profiles


@plotted
def profile(records: Records, *, labels: Labels | None = None, look: Styles | None = None) -> Any:
    """Plot the performance profiles by wall time, by CPU time and by evaluations.

    A solver that fails at times never reaches 1.

    Args:
        records: The records.
        labels: How solvers are to be called.
        look: Their styles, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    names, look = look_of(records, labels, look)
    figure, axes = panels(9.0, 3.7, 1, len(UNITS), sharey=True)
    for axis, (measure, unit) in zip(axes[0], UNITS.items(), strict=True):
        found = profiles.profile(records, measure)
        _shares_within(axis, found, {name: look[name].line() for name in found.solvers}, unit)
    axes[0, 0].set_ylabel(f"share of {found.count} runs")
    legend(figure, axes[0, 0].get_lines(), [names[solver] for solver in found.solvers])
    return figure


def _shares_within(axis: Any, found: Profile, lines: Mapping[str, Any], unit: str) -> None:
    """The performance profile: the share of runs within a factor of the best."""
    last = 1.5 * max(found.largest, 2.0)
    for solver, line in lines.items():
        axis.plot(*found.curve(solver, last), **line | _STEPS)
    axis.set(xscale="log", xlim=(1, last), ylim=_ALL, xlabel=f"{unit} relative to the best")
    few_ticks(axis.xaxis)


_STEPS = {"drawstyle": "steps-post", "markevery": None}
_ALL = (-0.02, 1.04)  # shares from 0 to 1, with a margin


@plotted
def families(records: Records) -> Any:
    """Plot the families side by side, by time (left) and by evaluations (right).

    Above the performance profile, the share of runs within a factor of the best; below the data
    profile, the share within a budget. A family stands for its best solver in each run, and what
    counts is the way to the tolerance, by the traces: a target that is common to all.

    Args:
        records: The records.

    Returns:
        The matplotlib Figure.
    """
    figure, axes = panels(9.0, 5.6, 2, 2, sharey=True)
    for (above, below), (measure, unit) in zip(axes.T, _ACROSS.items(), strict=True):
        found = profiles.profile(records, measure, "family", "target")
        lines = {kind: FAMILY_STYLES[kind].line() for kind in found.solvers}
        _shares_within(above, found, lines, unit)
        low, high = found.range
        budget = low / 1.5, 1.5 * high
        for kind, line in lines.items():
            below.plot(*found.data_curve(kind, *budget), **line | _STEPS)
        below.set(xscale="log", xlim=budget, ylim=_ALL, xlabel=unit)
        few_ticks(below.xaxis)
    for axis in axes[:, 0]:
        axis.set_ylabel(f"share of {found.count} runs")
    legend(figure, axes[0, 0].get_lines(), list(found.solvers))
    return figure


@plotted
def behind(records: Records, *, groups: Mapping[str, str] | None = None) -> Any:
    """Plot who wins and by how much: a dot for each row, at the time of a family over the least.

    One panel for each problem, in it a lane for each family; a bar at the median. Rows that no
    solver of the family solves are counted at the right, outside of the axis. A hollow dot can be
    told from the best only by its median: the times over the starts overlap.

    Args:
        records: The records.
        groups: Which problems share a panel, by the name of the problem; each its own by default,
            all together if there are more than twelve.

    Returns:
        The matplotlib Figure.
    """
    places = require_records(records).distinct("problem")
    groups = groups or ({} if len(places) <= _MOST else dict.fromkeys(places, "all problems"))
    found: dict[str, dict[str, list[tuple[float, bool]]]] = {}
    for row, runs in by_row(records).items():
        lanes = found.setdefault(groups.get(row[0], row[0]), {})
        for kind, ratio in ranking.behind(runs).items():
            lanes.setdefault(kind, []).append((ratio, _tied(runs, kind)))
    every = [ratio for lanes in found.values() for dots in lanes.values() for ratio, _ in dots]
    last = 1.5 * max(filter(math.isfinite, every), default=1.0)
    figure, axes = _stacked({name: len(lanes) for name, lanes in found.items()}, 0.24, 0.8)
    for axis, (name, lanes) in zip(axes, found.items(), strict=True):
        for place, (kind, dots) in enumerate(lanes.items()):
            _lane(axis, place, kind, dots)
        axis.set_yticks(range(len(lanes)), list(lanes))
        axis.set_title(shortened(plain(name)), loc="left", **TEXT)
        axis.set(xscale="log", xlim=(0.93, last), ylim=(len(lanes) - 0.4, -0.6))
        few_ticks(axis.xaxis)
        axis.grid(visible=False, axis="y")
    axes[-1].set_xlabel("time over the least time of the row, from the same starts")
    return figure


def _stacked(lines: Mapping[Any, int], height: float, margin: float) -> tuple[Any, Any]:
    """Panels one below the other, each as high as its lines need."""
    heights = [count + margin for count in lines.values()] or [1.0]
    size = height * sum(heights) + 0.9
    figure, axes = panels(9.0, size, len(heights), 1, sharex=True, height_ratios=heights)
    return figure, axes[:, 0]


def _tied(runs: Mapping[str, Runs], kind: str) -> bool:
    """Whether a solver of the family cannot be told from the best of another family."""
    families = {runs[name].family for name in leaders(runs)}
    return len(families) > 1 and kind in families


def _lane(axis: Any, place: int, kind: str, dots: Sequence[tuple[float, bool]]) -> None:
    look = FAMILY_STYLES[kind].dot() | {"markersize": 4.5, "alpha": 0.75}
    for hollow in (False, True):
        # heights that differ, so that equal ratios can be seen
        drawn = [
            (ratio, place + 0.3 * ((number * 0.618) % 1.0 - 0.5))
            for number, (ratio, tied) in enumerate(dots)
            if tied == hollow and math.isfinite(ratio)
        ]
        look["markerfacecolor"] = "none" if hollow else look["color"]
        if drawn:
            axis.plot(*zip(*drawn, strict=True), **look)
    middle = statistics.median(ratio for ratio, _ in dots)
    if math.isfinite(middle):
        axis.plot([middle] * 2, [place - 0.34, place + 0.34], color=look["color"], linewidth=2.2)
    if unsolved := sum(math.isinf(ratio) for ratio, _ in dots):
        text = f"{unsolved} of {len(dots)} not solved"
        # beside the axis, not on it
        axis.annotate(
            text, (1.0, place), (6, 0), ("axes fraction", "data"), "offset points", va="center"
        )


# ---------------------------------------------------------------------- phases


@plotted
def phases(records: Records, *, labels: Labels | None = None) -> Any:
    """Plot where the time goes: the share of each phase, and of the rest, which no phase covers.

    One panel for each problem and size, of the runs to the tightest tolerance there; medians over
    the seeds.

    Args:
        records: The records.
        labels: How problems and solvers are to be called.

    Returns:
        The matplotlib Figure.
    """
    names = names_of(require_records(records), labels)
    # the last row of a place is the tightest
    places = {row[:2]: runs for row, runs in by_row(records).items()}
    bars = {
        place: {name: shares for name, entry in runs.items() if (shares := _shares(entry))}
        for place, runs in places.items()
    }
    bars = {place: runs for place, runs in bars.items() if runs}
    phases = _phase_colors(bars)
    figure, axes = _stacked({place: len(runs) for place, runs in bars.items()}, 0.23, 1.2)
    for axis, (place, runs) in zip(axes, bars.items(), strict=False):
        _phase_bars(axis, runs, places[place], phases, names)
        axis.set_title(shortened(f"{names[place[0]]} {names[place[1]]}"), loc="left", **TEXT)
        axis.grid(visible=False)
    axes[-1].set_xlabel("share of the time")
    handles = [matplotlib(".patches").Patch(color=color) for color in phases.values()]
    legend(figure, handles, list(map(plain, phases)), 8)
    return figure


def _shares(runs: Runs) -> dict[str, float]:
    """The median share of each phase in the time of a run; empty where no run was timed."""
    timed = [record for record in runs.records if record.seconds and record.time > 0]
    if not timed:
        return {}
    names = list(dict.fromkeys(name for record in timed for name in record.seconds))
    shares = {
        name: statistics.median(r.seconds.get(name, 0.0) / r.time for r in timed) for name in names
    }
    return shares | {"rest": max(0.0, 1.0 - sum(shares.values()))}


def _phase_colors(bars: Mapping[Any, Mapping[str, Mapping[str, float]]]) -> dict[str, str]:
    """The phases that occur, with their colours: those that we know first, the rest last."""
    found = {name for runs in bars.values() for shares in runs.values() for name in shares}
    colors = PHASES | dict.fromkeys(sorted(found - {*PHASES, "rest"}), ORANGE) | {"rest": GREY}
    return {name: color for name, color in colors.items() if name in found}


def _phase_bars(
    axis: Any,
    runs: Mapping[str, Mapping[str, float]],
    entries: Mapping[str, Runs],
    phases: Mapping[str, str],
    names: Names,
) -> None:
    for place, (solver, shares) in enumerate(runs.items()):
        left = 0.0
        for name, color in phases.items():
            width = shares.get(name, 0.0)
            axis.barh(place, width, left=left, color=color, height=0.72)
            left += width
        entry = entries[solver]
        text = f"{seconds_text(entry.median('time'))} s, {entry.median('nit'):.0f} iterations"
        axis.text(1.01, place, text, va="center", fontsize=8)
    axis.set_yticks(range(len(runs)), [shortened(names[solver]) for solver in runs], **TEXT)
    axis.set(xlim=(0, 1), ylim=(len(runs) - 0.4, -0.6))
