"""Plots of records: convergence, performance profiles, phases, and all times at a glance.

Each a matplotlib Figure.

They are made without pyplot: nothing opens, nothing is kept. `figure.savefig("name.svg")` writes
one to a file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genorth.compare import profiles
from genorth.compare.families import by_family
from genorth.compare.record import Record, Records
from genorth.compare.rows import Runs, by_row, row_text
from genorth.compare.styles import GREY, ORANGE, PHASES, Style, styles
from genorth.compare.table import Labels, seconds_text
from genorth.errors import refuse

Styles = Mapping[str, Style]

_POINTS = 250  # of one line: more are not seen, and a report holds many lines
_LOOK = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
}


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ImportError(
            "genorth.compare.plots needs matplotlib: pip install 'genorth[report]'"
        ) from error
    return matplotlib


def _figure(width: float, height: float) -> Any:
    return _matplotlib().figure.Figure((width, height), layout="constrained")


def _legend(figure: Any, handles: Sequence[Any], columns: int = 5) -> None:
    """Outside of the axes, below them."""
    figure.legend(handles=handles, loc="outside lower center", ncols=min(columns, len(handles)))


def _logarithmic(axis: Any, direction: str) -> None:
    """Logarithmic scale; not where nothing is drawn, which matplotlib cannot scale."""
    if any(len(getattr(line, f"get_{direction}data")()) for line in axis.get_lines()):
        axis.set(**{f"{direction}scale": "log"})


# ---------------------------------------------------------------------- convergence


def convergence(
    records: Records,
    *,
    seed: int | None = None,
    labels: Labels | None = None,
    look: Styles | None = None,
) -> Any:
    """Gradient norm (above) and feasibility (below) against seconds (left) and evaluations (right), in log scale.

    records: of one problem and size (`records.where(problem=..., size=...)`). Of each solver the run to the tightest
    tolerance is drawn, all from the same start: that of `seed`, by default the first. The gradient norm is the smallest
    so far; a penalty method is drawn as it ran, before its last point is restored. labels: how solvers are to be
    called. look: their styles, as `styles` gives them.
    """
    places = list(dict.fromkeys((record.problem, record.size) for record in records))
    if len(places) != 1:
        refuse(
            "records",
            "those of one problem and size",
            f"{len(places)} of them",
            None,
            "Choose with records.where(problem=..., size=...).",
        )
    runs = _drawn(records, records[0].seed if seed is None else seed)
    look, labels = look or styles(records.distinct("solver")), labels or {}
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 5.6)
        axes = figure.subplots(2, 2, sharex="col", sharey="row")
        for solver, run in runs.items():
            for column, across in enumerate(("time", "evaluations")):
                for line, up in enumerate(("gradient_norm", "feasibility")):
                    x, y = _thinned(
                        getattr(run.trace, across), getattr(run.trace, up), smallest=line == 0
                    )
                    axes[line, column].plot(
                        x, y, label=labels.get(solver, solver), **look[solver].line()
                    )
        for axis in axes.flat:
            _logarithmic(axis, "x")
            _logarithmic(axis, "y")
        for tolerance in records.distinct("tolerance"):
            for axis in axes[0]:
                axis.axhline(tolerance, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        axes[0, 0].set_ylabel("gradient norm, smallest so far")
        axes[1, 0].set_ylabel("feasibility |C(X)|")
        axes[1, 0].set_xlabel("seconds")
        axes[1, 1].set_xlabel("evaluations")
        if runs:
            _legend(figure, axes[0, 0].get_lines()[: len(runs)])
    return figure


def _drawn(records: Records, seed: int) -> dict[str, Record]:
    """The run to the tightest tolerance of each solver that has a trace, from one start."""
    runs: dict[str, Record] = {}
    for solver in by_family(records.distinct("solver")):
        mine = [record for record in records.where(solver=solver, seed=seed) if len(record.trace)]
        if mine:
            runs[solver] = min(mine, key=lambda record: record.tolerance)
    return runs


def _thinned(x: Sequence[float], y: Sequence[float], smallest: bool = False) -> tuple[Any, Any]:
    """The points that a logarithmic plot shows.

    Positive ones, at most 250, spread evenly over log x, with the last.

    smallest: of y the smallest so far.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    up = np.fmin.accumulate(up) if smallest and up.size else up
    seen = (across > 0) & (up > 0) & np.isfinite(across) & np.isfinite(up)
    across, up = across[seen], up[seen]
    if across.size > _POINTS:
        wanted = np.geomspace(across[0], across[-1], _POINTS)
        kept = np.unique(
            np.append(np.searchsorted(across, wanted).clip(0, across.size - 1), across.size - 1)
        )
        across, up = across[kept], up[kept]
    return across, up


# ---------------------------------------------------------------------- profiles


def profile(records: Records, *, labels: Labels | None = None, look: Styles | None = None) -> Any:
    """The performance profiles by time (left) and by evaluations (right).

    A solver that fails never reaches 1.
    """
    look, labels = look or styles(records.distinct("solver")), labels or {}
    names = {
        "time": "times the seconds of the best",
        "evaluations": "times the evaluations of the best",
    }
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 3.7)
        axes = figure.subplots(1, 2, sharey=True)
        for axis, measure in zip(axes, profiles.MEASURES, strict=True):
            found = profiles.profile(records, measure)
            last = 1.5 * max(found.largest, 2.0)
            for solver in found.solvers:
                tau, rho = found.curve(solver, last)
                line = look[solver].line() | {"drawstyle": "steps-post", "markevery": None}
                axis.plot(tau, rho, label=labels.get(solver, solver), **line)
            axis.set(xscale="log", xlim=(1, last), ylim=(-0.02, 1.04), xlabel=names[measure])
        axes[0].set_ylabel(f"share of {found.count} runs")
        _legend(figure, axes[0].get_lines())
    return figure


# ---------------------------------------------------------------------- phases


def phases(records: Records, *, labels: Labels | None = None) -> Any:
    """Where the time goes: for each solver the share of each phase, and of the rest, which no phase covers.

    One panel for each problem and size, of the runs to the tightest tolerance there; medians over the seeds.
    """
    labels = labels or {}
    places = {
        row[:2]: runs for row, runs in by_row(records).items()
    }  # the last row of a place is the tightest
    bars = {
        place: {name: _shares(entry) for name, entry in runs.items()}
        for place, runs in places.items()
    }
    bars = {
        place: {name: shares for name, shares in runs.items() if shares}
        for place, runs in bars.items()
    }
    bars = {place: runs for place, runs in bars.items() if runs}
    names = _phase_names(bars)
    with _matplotlib().rc_context(_LOOK | {"axes.grid": False}):
        heights = [len(runs) + 1.2 for runs in bars.values()] or [1.0]
        figure = _figure(9.0, 0.23 * sum(heights) + 0.9)
        axes = figure.subplots(
            max(len(bars), 1), 1, sharex=True, height_ratios=heights, squeeze=False
        )[:, 0]
        for axis, (place, runs) in zip(axes, bars.items(), strict=False):
            _phase_bars(axis, runs, places[place], names, labels)
            axis.set_title(" ".join([labels.get(place[0], place[0]), place[1]]), loc="left")
        axes[-1].set_xlabel("share of the time")
        handles = [
            _matplotlib().patches.Patch(color=color, label=name) for name, color in names.items()
        ]
        if handles:
            _legend(figure, handles, 8)
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


def _phase_names(bars: Mapping[Any, Mapping[str, Mapping[str, float]]]) -> dict[str, str]:
    """The phases that occur, with their colours, the rest last."""
    found = dict.fromkeys(
        name for runs in bars.values() for shares in runs.values() for name in shares
    )
    known = [name for name in PHASES if name in found and name != "rest"]
    unknown = [name for name in found if name not in PHASES]
    return {
        name: PHASES.get(name, ORANGE)
        for name in [*known, *unknown, *(["rest"] if "rest" in found else [])]
    }


def _phase_bars(
    axis: Any,
    runs: Mapping[str, Mapping[str, float]],
    entries: Mapping[str, Runs],
    names: Mapping[str, str],
    labels: Labels,
) -> None:
    for place, (solver, shares) in enumerate(runs.items()):
        left = 0.0
        for name, color in names.items():
            width = shares.get(name, 0.0)
            axis.barh(place, width, left=left, color=color, height=0.72)
            left += width
        entry = entries[solver]
        text = f"{seconds_text(entry.median('time'))} s, {entry.median('nit'):.0f} iterations"
        axis.text(1.01, place, text, va="center", fontsize=8)
    axis.set_yticks(range(len(runs)), [labels.get(solver, solver) for solver in runs])
    axis.set(xlim=(0, 1), ylim=(len(runs) - 0.4, -0.6))


# ---------------------------------------------------------------------- all times


def overview(records: Records, *, labels: Labels | None = None, look: Styles | None = None) -> Any:
    """All times at a glance: a line for each row, a dot for each solver.

    An arrow from where it ran out of time.

    Full dots are penalty methods, hollow squares Riemannian ones, full squares those as the paper
    ran them. A solver that failed in another way has no dot.
    """
    look, labels = look or styles(records.distinct("solver")), labels or {}
    rows = by_row(records)
    solvers = by_family(records.distinct("solver"))
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 0.42 * len(rows) + 1.2)
        axis = figure.subplots()
        handles = {
            solver: axis.plot([], [], label=labels.get(solver, solver), **look[solver].dot())[0]
            for solver in solvers
        }
        # Each solver has its own height within the line, so that equal times do not hide one
        # another.
        heights = dict(
            zip(
                solvers,
                np.linspace(-0.28, 0.28, len(solvers)) if len(solvers) > 1 else [0.0],
                strict=True,
            )
        )
        for place, runs in enumerate(rows.values()):
            axis.axhspan(place - 0.42, place + 0.42, color=GREY, alpha=0.08, linewidth=0)
            for solver, entry in runs.items():
                dot, height = look[solver].dot(), place + heights[solver]
                if math.isfinite(entry.time):
                    axis.plot(entry.time, height, **dot)
                elif entry.out_of_time:
                    axis.plot(entry.spent, height, **dot | {"marker": ">", "alpha": 0.6})
        axis.set_yticks(range(len(rows)), [_row_label(row, labels) for row in rows])
        _logarithmic(axis, "x")
        axis.set(ylim=(len(rows) - 0.4, -0.6), xlabel="seconds (arrow: out of time there)")
        axis.grid(visible=False, axis="y")
        _legend(figure, list(handles.values()))
    return figure


def _row_label(row: tuple[str, str, float], labels: Labels) -> str:
    return row_text((labels.get(row[0], row[0]), row[1], row[2]))
