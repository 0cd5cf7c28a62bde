"""What a reader sees of `train`: tables, curves, how the step sizes were chosen, the report."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from genorth.compare.analysis.rows import Runs, by_row, leaders
from genorth.compare.render.report import Content, Page, Section
from genorth.compare.render.styles import (
    GREY,
    TEXT,
    Style,
    Styles,
    legend,
    look_of,
    panels,
    plotted,
    shortened,
)
from genorth.compare.render.table import (
    Block,
    Entry,
    Head,
    Labels,
    Line,
    Table,
    names_of,
    plain,
    scientific,
    seconds_text,
    words,
)
from genorth.compare.runs.record import Records
from genorth.training.comparison import Tuning, tuned, tunings
from genorth.training.trainer import TrainingRecord

# ---------------------------------------------------------------------- tables

_HEADS = (
    *("Method", "Step size", "Failed", "Held-out loss", "In the time of the fastest"),
    *("CPU seconds", "|C| in training", "|C| at the end"),
)
_FOOTNOTE = (
    "Medians over the seeds, and the range where there are several. The step size has the least "
    "median loss on the validation data. Failed: step sizes of the grid that fail for half of the "
    "seeds or more. Bold: the least held-out loss, unless its range meets that of another method. "
    "In the time of the fastest: the held-out loss after the last epoch that ends within the CPU "
    "seconds of the fastest method, with |C| at most 0.01 if there is a constraint. CPU seconds: "
    "of all epochs, without measuring. |C| in training: after the last epoch, as the layers see "
    "the weights; at the end: after they were restored."
)


def loss_tables(records: Records, labels: Labels | None = None) -> list[Table]:
    """Make a table for each training: every method with its best step size.

    Args:
        records: The records of `train`.
        labels: How trainings and methods are to be called.

    Returns:
        The tables.
    """
    chosen, found = tuned(records), tunings(records)
    names = names_of(chosen, labels)
    made = []
    for (problem, size, _), runs in by_row(chosen).items():
        first, seconds = leaders(runs, figure="held_out"), time_of_fastest(runs)
        lines = [
            Line(_entries(names[name], each, found[problem, name], first == (name,), seconds))
            for name, each in runs.items()
        ]
        heads = [Head(name, numeric=name != _HEADS[0]) for name in _HEADS]
        caption = f"{names[problem]} {plain(size)}"
        made.append(Table(caption, heads, [Block("", lines)], "", _FOOTNOTE))
    return made


def time_of_fastest(runs: Mapping[str, Runs]) -> float:
    """The CPU seconds in which all runs of the fastest method are done."""
    return min(each.spread("cpu")[2] for each in runs.values())


def within(runs: Runs, seconds: float) -> Runs:
    """The runs, with the held-out loss that they have after so many CPU seconds."""
    stopped = (attrs.evolve(r, held_out=r.loss_within(seconds)) for r in runs.records)
    return Runs(tuple(stopped))


def _entries(name: str, runs: Runs, tuning: Tuning, best: bool, seconds: float) -> list[Entry]:
    said = plain(" ".join(dict.fromkeys(record.message for record in runs.failed)))
    edge = "edge of the grid" if tuning.edge else ""
    last = [record.curve["feasibility"][-1] for record in runs.solved]
    return [
        words(name),
        Entry(f"{tuning.rate:g}", tuning.rate, edge),
        words(f"{tuning.lost} of {len(tuning.runs)}"),
        _spread(runs, "held_out", said, best),
        _spread(within(runs, seconds), "held_out", said),
        _spread(runs, "cpu", said),
        scientific(max(last, default=math.nan)),
        scientific(max((record.feasibility for record in runs.solved), default=math.nan)),
    ]


def _spread(runs: Runs, figure: str, hint: str, bold: bool = False) -> Entry:
    """The median and the range: "0.21 (0.20 to 0.25)"; why it fails where it does."""
    if not runs.solved:
        return Entry(note=runs.note, hint=hint, failed=True)
    least, median, greatest = Runs(runs.solved).spread(figure)
    wide = f"{seconds_text(least)} to {seconds_text(greatest)}" if len(runs.solved) > 1 else ""
    note = ", ".join(filter(None, [wide, runs.note]))
    return Entry(seconds_text(median), median, note, hint, bold, failed=bool(runs.failed))


# ---------------------------------------------------------------------- plots

_NEAREST = 1e-3  # to the least loss, relative to that of the start
#: The rows of `curves`: what is plotted against what, with the labels of both axes.
_ROWS = (
    ("epochs", "held_out", "epochs", "loss - least"),
    ("cpu", "held_out", "CPU seconds", "loss - least"),
    ("epochs", "feasibility", "epochs", "|C|"),
)


@plotted
def curves(
    records: Records,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    labels: Labels | None = None,
    look: Styles | None = None,
) -> Any:
    """Plot the held-out loss against epochs and against CPU seconds, and |C| against epochs.

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
    names, look = look_of(chosen, labels, look)
    problems, lines = chosen.distinct("problem"), dict[str, Any]()
    figure, axes = panels(1.0 + 2.9 * len(problems), 7.4, 3, len(problems))
    for column, problem in zip(axes.T, problems, strict=True):
        mine, answers = chosen.where(problem=problem), (known or {}).get(problem, {})
        least, start = _losses(mine, answers)
        for axis, (across, up, below, beside) in zip(column, _ROWS, strict=True):
            for solver in mine.solvers:
                runs = [record for record in mine.where(solver=solver) if record.curve["time"]]
                if runs:
                    shift = least if up == "held_out" else 0.0
                    lines[solver] = _band(axis, runs, across, up, shift, look[solver])
            axis.set(yscale="log", xlabel=below, ylabel=beside if problem == problems[0] else "")
        for axis in column[:2]:
            for loss in answers.values():
                axis.axhline(loss - least, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
            axis.set(ylim=(_NEAREST * (start - least), start - least))
        column[0].set_title(shortened(names[problem]), **TEXT)
    legend(figure, list(lines.values()), [names[solver] for solver in lines], 4)
    return figure


def _losses(records: Records, known: Mapping[str, float]) -> tuple[float, float]:
    """The least held-out loss of a training, and the greatest one at the start."""
    found = [record.curve["held_out"] for record in records if record.curve["held_out"]]
    values = [value for losses in found for value in losses if math.isfinite(value)]
    least, start = min([*values, *known.values()]), max(losses[0] for losses in found)
    return least, start if start > least else least + 1.0


def _band(
    axis: Any, runs: Sequence[TrainingRecord], across: str, up: str, shift: float, style: Style
) -> Any:
    """The median over runs of one length and their range; returns the line."""
    length = max(len(run.curve[up]) for run in runs)
    whole = [run.curve for run in runs if len(run.curve[up]) == length]
    x = np.arange(length) if across == "epochs" else np.median([c[across] for c in whole], axis=0)
    y = np.asarray([curve[up] for curve in whole]) - shift
    axis.fill_between(x, y.min(axis=0), y.max(axis=0), color=style.color, alpha=0.12, linewidth=0)
    return axis.plot(x, np.median(y, axis=0), **style.line() | {"linewidth": 1.3})[0]


@plotted
def ranges(records: Records, *, labels: Labels | None = None, look: Styles | None = None) -> Any:
    """Plot the held-out loss of each method, its median and range, a panel for each training.

    Args:
        records: The records of `train`.
        labels: How trainings and methods are to be called.
        look: The styles of the methods, as `styles` gives them.

    Returns:
        The matplotlib Figure.
    """
    chosen = tuned(records)
    names, look = look_of(chosen, labels, look)
    rows, solvers = by_row(chosen), list(chosen.solvers)
    figure, axes = panels(2.0 + 1.9 * len(rows), 0.8 + 0.2 * len(solvers), 1, len(rows))
    for axis, ((problem, *_), runs) in zip(axes[0], rows.items(), strict=True):
        for name, each in runs.items():
            if each.solved:
                place = -solvers.index(name)
                least, median, greatest = Runs(each.solved).spread("held_out")
                axis.plot([least, greatest], [place] * 2, color=look[name].color, linewidth=2.5)
                axis.plot(median, place, "o", color=look[name].color, markersize=4)
        losses = [r.held_out for each in runs.values() for r in each.solved]
        scale = "log" if max(losses, default=0.0) > 100 * min(losses, default=0.0) > 0 else "linear"
        axis.set(xscale=scale, ylim=(0.5 - len(solvers), 0.5), yticks=[], xlabel="held-out loss")
        axis.set_title(shortened(names[problem]), **TEXT)
    labelled = [shortened(names[name]) for name in solvers]
    axes[0, 0].set_yticks([-place for place in range(len(solvers))], labelled)
    return figure


@plotted
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
    names, look = look_of(chosen, labels, look)
    problems, lines = chosen.distinct("problem"), dict[str, Any]()
    figure, axes = panels(1.0 + 2.9 * len(problems), 3.6, 1, len(problems))
    panel = dict(zip(problems, axes[0], strict=True))
    for (problem, method), tuning in tunings(records).items():
        points = {rate: y for rate, y in tuning.scores.items() if math.isfinite(y)}
        line = look[method].line() | {"linewidth": 1.3}
        lines[method] = panel[problem].plot(list(points), list(points.values()), **line)[0]
    for problem, axis in panel.items():
        least, start = _losses(chosen.where(problem=problem), {})
        margin = 0.05 * (start - least)
        axis.set(xscale="log", xlabel="step size", ylim=(least - margin, start + margin))
        axis.set_title(shortened(names[problem]), **TEXT)
    axes[0, 0].set_ylabel("validation loss")
    legend(figure, list(lines.values()), [names[solver] for solver in lines], 4)
    return figure


# ---------------------------------------------------------------------- the report

_CURVES = (
    "Each method with the step size that has the least median loss on the validation data; the "
    "median over the seeds, within the range of all seeds. Loss: on the held-out data, minus the "
    "least one of all runs and answers. Dotted: answers that are known."
)
_ENDS = (
    "The median over the seeds, and their range. Methods whose ranges meet cannot be told apart."
)
_RATES = (
    "The validation loss at the end, the median over the seeds. A step size with which half of the "
    "runs fail or more has no point."
)


def report(
    records: Records,
    path: str | os.PathLike[str],
    title: str | None = None,
    sections: Iterable[tuple[str, Content]] | None = None,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    labels: Labels | None = None,
    look: Mapping[str, Style] | None = None,
) -> Path:
    """Write a self-contained HTML report of a comparison by `train`.

    Args:
        records: The records of all step sizes.
        path: The .html file; an old one is replaced when the new one is complete.
        title: The title of the page.
        sections: Further sections, as for `genorth.compare.report`.
        known: Held-out losses of answers that are known, by training and name.
        labels: How trainings and methods are to be called.
        look: The styles of the methods.

    Returns:
        The path.

    Raises:
        ValueError: If there are no records, or an argument is not valid.
    """
    page = Page(records, path, title, labels)
    along = curves(records, known=known, labels=labels, look=look)
    ends = ranges(records, labels=labels, look=look)
    rates = step_sizes(records, labels=labels, look=look)
    summary = [
        page.figure(ends, "Held-out loss at the end", _ENDS),
        page.figure(along, "Held-out loss and |C|", _CURVES),
        loss_tables(records, labels),
    ]
    parts = [
        Section("Summary", page.content(summary)),
        *page.sections(sections),
        Section("Step sizes", page.figure(rates, "Validation loss by step size", _RATES)),
    ]
    return page.write(f"Training by {len(tuned(records).solvers)} methods", parts)
