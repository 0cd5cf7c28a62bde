"""The report of a training: who has the least loss, curves, and how the step sizes were chosen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from genorth.compare.render.report import Content, Page, Section
from genorth.compare.render.styles import Style
from genorth.compare.render.table import Labels
from genorth.compare.runs.record import Records
from genorth.training import plots
from genorth.training.tables import loss_tables, sentences
from genorth.training.tuning import tuned

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
        "\n\n".join(sentences(records, labels)),
        page.figure(curves, "Held-out loss and |C|", _CURVES),
        loss_tables(records, labels),
    ]
    parts = [
        Section("Summary", page.content(summary)),
        *page.sections(sections),
        Section("Step sizes", page.figure(rates, "Validation loss by step size", _RATES)),
    ]
    return page.write(f"Training by {len(tuned(records).solvers)} methods", parts)
