"""Plots of records: convergence, performance profiles, phases, and all times at a glance.

Each is a matplotlib Figure, made without pyplot: nothing opens, nothing is kept, and
`figure.savefig("name.svg")` writes it to a file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genorth.compare.analysis import profiles, ranking
from genorth.compare.analysis.rows import Runs, by_row, leaders, require_records
from genorth.compare.analysis.tuning import tuned, tunings
from genorth.compare.render.styles import FAMILY_STYLES, GREY, ORANGE, PHASES, Style, styles
from genorth.compare.render.table import Labels, Names, names_of, plain, seconds_text
from genorth.compare.runs.record import Record, Records
from genorth.errors import refuse
from genorth.optional import optional

Styles = Mapping[str, Style]

_POINTS = 250  # of one line: more are not seen, and a report holds many lines
_LONGEST = 60  # letters of a name
_LOOK = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "text.usetex": False,
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
_TEXT = {"parse_math": False}  # a name is text: a dollar is a dollar


def _matplotlib() -> Any:
    optional("matplotlib.figure", "report", "genorth.compare.plots")
    return optional("matplotlib", "report", "genorth.compare.plots")


def _figure(width: float, height: float) -> Any:
    return _matplotlib().figure.Figure((width, height), layout="constrained")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026"


def _legend(figure: Any, handles: Sequence[Any], names: Sequence[str], columns: int = 5) -> None:
    """Outside of the axes, below them."""
    if not handles:
        return
    # matplotlib leaves out names that begin with an underscore: they are set afterwards
    numbers, ncols = list(map(str, range(len(names)))), min(columns, len(names))
    legend = figure.legend(handles, numbers, loc="outside lower center", ncols=ncols)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=_short(name), **_TEXT)


def _logarithmic(axis: Any, direction: str) -> None:
    """Logarithmic scale; not where nothing is drawn, which matplotlib cannot scale."""
    if any(len(getattr(line, f"get_{direction}data")()) for line in axis.get_lines()):
        axis.set(**{f"{direction}scale": "log"})


def _look(records: Records, labels: Labels | None, look: Styles | None) -> tuple[Names, Styles]:
    names = names_of(require_records(records), labels)
    return names, styles(records.solvers) if look is None else look


# ---------------------------------------------------------------------- convergence


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
    names, look = _look(records, labels, look)
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
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 5.6)
        axes = figure.subplots(2, 2, sharex="col", sharey="row")
        for solver, run in runs.items():
            for column, across in enumerate(("time", "evaluations")):
                for line, up in enumerate(("gradient_norm", "feasibility")):
                    x, y = _thinned(
                        getattr(run.trace, across), getattr(run.trace, up), smallest=line == 0
                    )
                    axes[line, column].plot(x, y, **look[solver].line())
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
        _legend(figure, axes[0, 0].get_lines()[: len(runs)], [names[solver] for solver in runs])
    return figure


def _drawn(records: Records, seed: int) -> dict[str, Record]:
    """The run to the tightest tolerance of each solver that has a trace, from one start."""
    runs: dict[str, Record] = {}
    for solver in records.solvers:
        mine = [record for record in records.where(solver=solver, seed=seed) if len(record.trace)]
        if mine:
            runs[solver] = min(mine, key=lambda record: record.tolerance)
    return runs


def _thinned(x: Sequence[float], y: Sequence[float], smallest: bool = False) -> tuple[Any, Any]:
    """The positive points, at most 250 of them, spread evenly over log x, with the last.

    `smallest`: of y the smallest so far.
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
    """Plot the performance profiles by time (left) and by evaluations (right).

    A solver that fails at times never reaches 1.

    Args:
        records: The records.
        labels: How solvers are to be called.
        look: Their styles, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    names, look = _look(records, labels, look)
    across = {
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
                axis.plot(tau, rho, **line)
            axis.set(xscale="log", xlim=(1, last), ylim=(-0.02, 1.04), xlabel=across[measure])
        axes[0].set_ylabel(f"share of {found.count} runs")
        _legend(figure, axes[0].get_lines(), [names[solver] for solver in found.solvers])
    return figure


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
    require_records(records)
    units = {"time": "seconds", "evaluations": "evaluations"}
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 5.6)
        axes = figure.subplots(2, 2, sharey=True)
        for column, (measure, unit) in enumerate(units.items()):
            found = profiles.profile(records, measure, "family", "target")
            last = 1.5 * max(found.largest, 2.0)
            low, high = found.range
            budget = low / 1.5, 1.5 * high
            for kind in found.solvers:
                look = FAMILY_STYLES[kind].line() | {"drawstyle": "steps-post", "markevery": None}
                axes[0, column].plot(*found.curve(kind, last), **look)
                axes[1, column].plot(*found.data_curve(kind, *budget), **look)
            limits = {"xscale": "log", "ylim": (-0.02, 1.04)}
            axes[0, column].set(xlim=(1, last), xlabel=f"times the {unit} of the best", **limits)
            axes[1, column].set(xlim=budget, xlabel=unit, **limits)
        for axis in axes[:, 0]:
            axis.set_ylabel(f"share of {found.count} runs")
        _legend(figure, axes[0, 0].get_lines(), list(found.solvers))
    return figure


def behind(records: Records, *, groups: Mapping[str, str] | None = None) -> Any:
    """Plot who wins and by how much: a dot for each row, at the time of a family over the best.

    One panel for each problem, in it a lane for each family; a bar at the median. Dots at the right
    edge are rows that no solver of the family solves. A hollow dot can be told from the best only
    by its median: the times over the starts overlap.

    Args:
        records: The records.
        groups: Which problems share a panel, by the name of the problem; each its own by default.

    Returns:
        The matplotlib Figure.
    """
    panels: dict[str, dict[str, list[tuple[float, bool]]]] = {}
    for row, runs in by_row(require_records(records)).items():
        lanes = panels.setdefault((groups or {}).get(row[0], row[0]), {})
        for kind, ratio in ranking.behind(runs).items():
            lanes.setdefault(kind, []).append((ratio, _tied(runs, kind)))
    every = [ratio for lanes in panels.values() for dots in lanes.values() for ratio, _ in dots]
    first, last = 0.9 * min([1.0, *every]), 2.0 * max(filter(math.isfinite, every), default=1.0)
    ticker = optional("matplotlib.ticker", "report", "genorth.compare.plots")
    with _matplotlib().rc_context(_LOOK):
        heights = [len(lanes) + 0.8 for lanes in panels.values()]
        figure = _figure(9.0, 0.24 * sum(heights) + 0.9)
        axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)
        for axis, (name, lanes) in zip(axes[:, 0], panels.items(), strict=True):
            for place, (kind, dots) in enumerate(lanes.items()):
                _lane(axis, place, kind, dots, last)
            axis.set_yticks(range(len(lanes)), list(lanes))
            axis.set_title(_short(plain(name)), loc="left", **_TEXT)
            axis.set(xscale="log", xlim=(first, 1.4 * last), ylim=(len(lanes) - 0.4, -0.6))
            axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.minorticks_off()
            axis.grid(visible=False, axis="y")
        axes[-1, 0].set_xlabel("time over the best of the row (right edge: not solved)")
    return figure


def _tied(runs: Mapping[str, Runs], kind: str) -> bool:
    """Whether a solver of the family cannot be told from the best of another family."""
    first = leaders(runs)
    return len({runs[name].family for name in first}) > 1 and any(
        runs[name].family == kind for name in first
    )


def _lane(
    axis: Any, place: int, kind: str, dots: Sequence[tuple[float, bool]], last: float
) -> None:
    look = FAMILY_STYLES[kind].dot() | {"markersize": 4.5, "alpha": 0.75}
    for hollow in (False, True):
        # heights that differ, so that equal ratios can be seen
        drawn = [
            (min(ratio, last), place + 0.3 * ((number * 0.618) % 1.0 - 0.5))
            for number, (ratio, tied) in enumerate(dots)
            if tied == hollow
        ]
        fill = "none" if hollow else look["color"]
        if drawn:
            axis.plot(*zip(*drawn, strict=True), **look | {"markerfacecolor": fill})
    middle = min(statistics.median(ratio for ratio, _ in dots), last)
    axis.plot([middle] * 2, [place - 0.34, place + 0.34], color=look["color"], linewidth=2.2)


# ---------------------------------------------------------------------- training


def training(
    records: Records,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    labels: Labels | None = None,
    look: Styles | None = None,
) -> Any:
    """Plot the held-out loss against epochs and against seconds, and |C| against epochs.

    A column for each training, a line for each method with its own best step size: the median over
    the seeds, within the range of all seeds. The loss is drawn as its distance from the least one
    that any run has on its way, so that the ends can be told apart.

    Args:
        records: The records of `train`.
        known: Held-out losses of answers that are known, by training and name: dotted lines.
        labels: How trainings and methods are to be called.
        look: The styles of the methods, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    chosen = tuned(records)
    names, look = _look(chosen, labels, look)
    problems, handles = chosen.distinct("problem"), dict[str, Any]()
    rows = (("evaluations", "cost"), ("time", "cost"), ("evaluations", "feasibility"))
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(1.0 + 2.9 * len(problems), 7.4)
        axes = figure.subplots(3, len(problems), squeeze=False)
        for column, problem in zip(axes.T, problems, strict=True):
            mine, answers = chosen.where(problem=problem), (known or {}).get(problem, {})
            least, start = _losses(mine, answers)
            for solver in mine.solvers:
                runs = [record for record in mine.where(solver=solver) if len(record.trace)]
                for axis, (across, up) in zip(column, rows, strict=True):
                    if runs:
                        shift = least if up == "cost" else 0.0
                        handles[solver] = _band(axis, runs, across, up, shift, look[solver])
            for axis in column[:2]:
                for loss in answers.values():
                    axis.axhline(loss - least, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
                axis.set(yscale="log", ylim=(_NEAREST * (start - least), start - least))
            column[2].set(yscale="log")
            for axis, text in zip(column, ("epochs", "seconds", "epochs"), strict=True):
                axis.set_xlabel(text)
            column[0].set_title(_short(names[problem]), **_TEXT)
        for axis, text in zip(axes[:, 0], ("loss - least", "loss - least", "|C|"), strict=True):
            axis.set_ylabel(text)
        shown = [solver for solver in chosen.solvers if solver in handles]
        lines = [handles[solver] for solver in shown]
        _legend(figure, lines, [names[solver] for solver in shown], 4)
    return figure


_NEAREST = 1e-3  # to the least loss, relative to that of the start


def _losses(records: Records, known: Mapping[str, float]) -> tuple[float, float]:
    """The least held-out loss of a training, and the greatest one at the start."""
    costs = [record.trace.cost for record in records if len(record.trace)]
    values = [value for cost in costs for value in cost if math.isfinite(value)]
    least, start = min([*values, *known.values()]), max(cost[0] for cost in costs)
    return least, start if start > least else least + 1.0


def _band(
    axis: Any, runs: Sequence[Record], across: str, up: str, shift: float, style: Style
) -> Any:
    """The median over runs of one length and their range; returns the line."""
    length = max(len(run.trace) for run in runs)
    whole = [run.trace for run in runs if len(run.trace) == length]
    x = np.median([getattr(trace, across) for trace in whole], axis=0)
    y = np.asarray([getattr(trace, up) for trace in whole]) - shift
    axis.fill_between(x, y.min(axis=0), y.max(axis=0), color=style.color, alpha=0.12, linewidth=0)
    return axis.plot(x, np.median(y, axis=0), **style.line() | {"linewidth": 1.3})[0]


def step_sizes(
    records: Records, *, labels: Labels | None = None, look: Styles | None = None
) -> Any:
    """Plot the validation loss at the end against the step size, a panel for each training.

    The median over the seeds; a step size with which half of the runs fail or more has no point.

    Args:
        records: The records of `train`.
        labels: How trainings and methods are to be called.
        look: The styles of the methods, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    chosen = tuned(records)
    names, look = _look(chosen, labels, look)
    problems, handles = chosen.distinct("problem"), dict[str, Any]()
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(1.0 + 2.9 * len(problems), 3.6)
        axes = dict(zip(problems, figure.subplots(1, len(problems), squeeze=False)[0], strict=True))
        for (problem, method), tuning in tunings(records).items():
            points = {rate: y for rate, y in tuning.scores.items() if math.isfinite(y)}
            line = look[method].line() | {"linewidth": 1.3}
            handles[method] = axes[problem].plot(list(points), list(points.values()), **line)[0]
        for problem, axis in axes.items():
            least, start = _losses(chosen.where(problem=problem), {})
            margin = 0.05 * (start - least)
            axis.set(xscale="log", xlabel="step size", ylim=(least - margin, start + margin))
            axis.set_title(_short(names[problem]), **_TEXT)
        axes[problems[0]].set_ylabel("validation loss")
        shown = [solver for solver in chosen.solvers if solver in handles]
        _legend(figure, [handles[solver] for solver in shown], [names[each] for each in shown], 4)
    return figure


# ---------------------------------------------------------------------- phases


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
    phases = _phase_names(bars)
    with _matplotlib().rc_context(_LOOK | {"axes.grid": False}):
        heights = [len(runs) + 1.2 for runs in bars.values()] or [1.0]
        figure = _figure(9.0, 0.23 * sum(heights) + 0.9)
        axes = figure.subplots(
            max(len(bars), 1), 1, sharex=True, height_ratios=heights, squeeze=False
        )[:, 0]
        for axis, (place, runs) in zip(axes, bars.items(), strict=False):
            _phase_bars(axis, runs, places[place], phases, names)
            title = _short(f"{names[place[0]]} {names[place[1]]}")
            axis.set_title(title, loc="left", **_TEXT)
        axes[-1].set_xlabel("share of the time")
        handles = [_matplotlib().patches.Patch(color=color) for color in phases.values()]
        _legend(figure, handles, list(map(plain, phases)), 8)
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
    axis.set_yticks(range(len(runs)), [_short(names[solver]) for solver in runs], **_TEXT)
    axis.set(xlim=(0, 1), ylim=(len(runs) - 0.4, -0.6))


# ---------------------------------------------------------------------- all times


def overview(records: Records, *, labels: Labels | None = None, look: Styles | None = None) -> Any:
    """Plot all times: a line for each row, a dot for each solver.

    An arrow begins where a solver ran out of time; one that failed in another way has no dot. Full
    dots are penalty methods, hollow squares Riemannian ones, full squares those as the paper ran
    them.

    Args:
        records: The records.
        labels: How problems and solvers are to be called.
        look: The styles of the solvers, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    names, look = _look(records, labels, look)
    rows, solvers = by_row(records), list(records.solvers)
    with _matplotlib().rc_context(_LOOK):
        figure = _figure(9.0, 0.42 * len(rows) + 1.2)
        axis = figure.subplots()
        handles = [axis.plot([], [], **look[solver].dot())[0] for solver in solvers]
        # Each solver has its own height, so that equal times do not hide one another.
        heights = np.linspace(-0.28, 0.28, len(solvers)) if len(solvers) > 1 else [0.0]
        above = dict(zip(solvers, heights, strict=True))
        for place, runs in enumerate(rows.values()):
            axis.axhspan(place - 0.42, place + 0.42, color=GREY, alpha=0.08, linewidth=0)
            for solver, entry in runs.items():
                dot, height = look[solver].dot(), place + above[solver]
                if math.isfinite(entry.time):
                    axis.plot(entry.time, height, **dot)
                elif entry.out_of_time:
                    axis.plot(entry.spent, height, **dot | {"marker": ">", "alpha": 0.6})
        axis.set_yticks(range(len(rows)), [_short(names.row(row)) for row in rows], **_TEXT)
        _logarithmic(axis, "x")
        axis.set(ylim=(len(rows) - 0.4, -0.6), xlabel="seconds (arrow: out of time)")
        axis.grid(visible=False, axis="y")
        _legend(figure, handles, [names[solver] for solver in solvers])
    return figure
