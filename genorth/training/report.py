"""What a reader sees of `train`: tables, curves, how the step sizes were chosen, the report."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from genorth.compare.analysis.rows import Runs, by_row, leaders
from genorth.compare.render.page import Content, Page, Section
from genorth.compare.render.styles import Style
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
from genorth.training import plots
from genorth.training.comparison import Tuning, tuned, tunings

_HEADS = (
    *("Method", "Step size", "Failed", "Held-out loss"),
    *("Seconds", "|C| in training", "|C| at the end"),
)
_FOOTNOTE = (
    "Medians over the seeds, and the range where there are several. The step size has the least "
    "median loss on the validation data. Failed: step sizes of the grid that fail for half of the "
    "seeds or more. Bold: the least held-out loss, unless its range meets that of another method. "
    "Seconds: of all epochs, without measuring. |C| in training: after the last epoch, as the "
    "layers see the weights; at the end: after they were restored."
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
        first = leaders(runs, figure="held_out")
        lines = [
            Line(_entries(names[name], each, found[problem, name], first == (name,)))
            for name, each in runs.items()
        ]
        heads = [Head(name, numeric=name != _HEADS[0]) for name in _HEADS]
        caption = f"{names[problem]} {plain(size)}"
        made.append(Table(caption, heads, [Block("", lines)], "", _FOOTNOTE))
    return made


def _entries(name: str, runs: Runs, tuning: Tuning, best: bool) -> list[Entry]:
    said = plain(" ".join(dict.fromkeys(record.message for record in runs.failed)))
    edge = "edge of the grid" if tuning.edge else ""
    last = [record.curve["feasibility"][-1] for record in runs.solved]
    return [
        words(name),
        Entry(f"{tuning.rate:g}", tuning.rate, edge),
        words(f"{tuning.lost} of {len(tuning.runs)}"),
        _spread(runs, "held_out", said, best),
        _spread(runs, "time", said),
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


_CURVES = (
    "Each method with the step size that has the least median loss on the validation data; the "
    "median over the seeds, within the range of all seeds. Loss: on the held-out data, minus the "
    "least one of all runs and answers. Dotted: answers that are known."
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
    curves = plots.curves(records, known=known, labels=labels, look=look)
    rates = plots.step_sizes(records, labels=labels, look=look)
    summary = [
        page.figure(curves, "Held-out loss and |C|", _CURVES),
        loss_tables(records, labels),
    ]
    parts = [
        Section("Summary", page.content(summary)),
        *page.sections(sections),
        Section("Step sizes", page.figure(rates, "Validation loss by step size", _RATES)),
    ]
    return page.write(f"Training by {len(tuned(records).solvers)} methods", parts)
