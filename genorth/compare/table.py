"""`Table`: entries in columns and blocks, as data; and how figures read.

`formats` writes tables down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

#: How problems and solvers are to be called, by name.
Labels = Mapping[str, str]
#: What an entry is worth to a program: CSV holds it.
Value = float | int | str | None


@attrs.frozen
class Entry:
    """One entry: how it reads, what it is worth, and what is to be said about it."""

    text: str = "-"
    value: Value = None
    #: A few words that stand behind it: why a run failed, how many seeds did.
    note: str = ""
    #: A sentence for who asks; shown by HTML only.
    hint: str = ""
    bold: bool = False
    #: Sorts behind all others.
    failed: bool = False


@attrs.frozen
class Column:
    """A column; those of one group stand under a common head."""

    name: str
    group: str = ""
    #: False for words, which stand at the left.
    numeric: bool = True
    #: Its name in CSV, where that of a column beside another would be the same as others'.
    alone: str = ""


@attrs.frozen
class Line:
    """The entries of one line; `rule` puts a thin rule above it."""

    entries: Sequence[Entry]
    rule: bool = False


@attrs.frozen
class Block:
    """Lines that belong together (the solvers of one size), under a label."""

    label: str
    lines: Sequence[Line]


@attrs.frozen
class Table:
    """A table. Where `stub` is not empty, it heads the column of the blocks' labels."""

    caption: str
    columns: Sequence[Column]
    blocks: Sequence[Block]
    stub: str = ""
    #: What a reader must know to read it: stands below.
    footnote: str = ""


def scientific(value: float) -> Entry:
    """Three digits, as in the paper's tables: 6.29e-03."""
    return Entry() if math.isnan(value) else Entry(f"{value:.2e}", value)


def count(value: float) -> Entry:
    """A number of iterations; half of one where the median of a few lies between two."""
    if math.isnan(value):
        return Entry()
    whole = value == round(value)
    return Entry(
        f"{value:.0f}" if whole or value >= 100 else f"{value:.1f}", int(value) if whole else value
    )


def seconds_text(value: float) -> str:
    """Three digits, without an exponent from a millisecond on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float) -> Entry:
    """How many times the best: 1.0, 3.4, 120."""
    if not math.isfinite(ratio):
        return Entry(failed=True)
    return Entry(f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}", ratio)


def words(text: str, hint: str = "") -> Entry:
    """Words."""
    return Entry(text, text, hint=hint)
