"""Plots of trainings: losses and |C| along the way, and the validation loss by step size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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
from genorth.compare.render.table import Labels, Names
from genorth.compare.runs.record import Records
from genorth.training.comparison import tuned, tunings
from genorth.training.trainer import TrainingRecord

_NEAREST = 1e-3  # to the least loss, relative to that of the start
#: The rows of `curves`: what is plotted against what, with the labels of both axes.
_ROWS = (
    ("epochs", "held_out", "epochs", "loss - least"),
    ("time", "held_out", "seconds", "loss - least"),
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
    _legend(figure, chosen, lines, names)
    return figure


def _legend(figure: Any, chosen: Records, lines: Mapping[str, Any], names: Names) -> None:
    shown = [solver for solver in chosen.solvers if solver in lines]
    legend(figure, [lines[solver] for solver in shown], [names[solver] for solver in shown], 4)


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
    _legend(figure, chosen, lines, names)
    return figure
