"""What a reader sees of `train`: a table for each training, and who has the least loss in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from genorth.compare.analysis.rows import Runs, by_row, leaders
from genorth.compare.render.table import (
    Block,
    Entry,
    Head,
    Labels,
    Line,
    Names,
    Table,
    names_of,
    plain,
    scientific,
    seconds_text,
    words,
)
from genorth.compare.runs.record import Records
from genorth.training.tuning import Tuning, tuned, tunings

_HEADS = ("Method", "Step size", "Held-out loss", "Seconds", "|C| in training", "|C| at the end")
_FOOTNOTE = (
    "Medians over the seeds, and the range where there are several. The step size has the least "
    "median loss on the validation data. Bold: the least held-out loss, unless its range meets "
    "that of another method. Seconds: of all epochs, without measuring. |C| in training: after the "
    "last epoch, as the layers see the weights; at the end: after they were restored."
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
    wide = f"{_text(least)} to {_text(greatest)}" if len(runs.solved) > 1 else ""
    note = ", ".join(filter(None, [wide, runs.note]))
    return Entry(_text(median), median, note, hint, bold, failed=bool(runs.failed))


def _text(value: float) -> str:
    return seconds_text(value) if value >= 0 else f"-{seconds_text(-value)}"


def sentences(records: Records, labels: Labels | None = None) -> list[str]:
    """Say for each training who has the least held-out loss, and how many runs failed.

    Args:
        records: The records of `train`.
        labels: How trainings and methods are to be called.

    Returns:
        The sentences.
    """
    chosen = tuned(records)
    names = names_of(chosen, labels)
    said = [_winner(names, row[0], runs) for row, runs in by_row(chosen).items()]
    return [*said, *_failures(records)]


def _winner(names: Names, problem: str, runs: dict[str, Runs]) -> str:
    first = leaders(runs, figure="held_out")
    if not first:
        return f"{names[problem]}: no method trains for most seeds."
    loss = _text(runs[first[0]].spread("held_out")[1])
    if len(first) == 1:
        return f"{names[problem]}: {names[first[0]]} has the least held-out loss, {loss}."
    others = ", ".join(names[name] for name in first[1:])
    return (
        f"{names[problem]}: no winner. {names[first[0]]} has the least median of the held-out "
        f"loss, {loss}, and its range over the seeds meets that of {others}."
    )


def _failures(records: Records) -> Iterator[str]:
    failed = records.where(success=False)
    if len(failed):
        rates = sorted({record.rate for record in failed})
        yield (
            f"{len(failed)} of {len(records)} runs of the grid failed, with step sizes from "
            f"{rates[0]:g} to {rates[-1]:g}."
        )
