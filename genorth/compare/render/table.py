"""`Table`: entries in columns and blocks, as data; how numbers and names read.

`formats` writes tables down.
"""

from __future__ import annotations

import math
import re
import statistics
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from genorth.errors import require

if TYPE_CHECKING:
    from genorth.compare.analysis.rows import Row
    from genorth.compare.runs.record import Records

#: How problems and solvers are to be called, by name.
Labels = Mapping[str, str]
#: What an entry is worth to a program: CSV holds it.
Value = float | int | str | None


@attrs.frozen
class Entry:
    """One entry: how it reads, what it is worth, and what is to be said about it."""

    text: str = "-"
    value: Value = None
    #: A few words behind it: why a run failed, how many seeds did.
    note: str = ""
    #: Tooltip, in HTML only.
    hint: str = ""
    bold: bool = False
    #: Sorts behind all others.
    failed: bool = False

    @property
    def full(self) -> str:
        """The text with its note."""
        return f"{self.text} ({self.note})" if self.note else self.text


@attrs.frozen
class Head:
    """The head of a column; columns of one group have a common head above."""

    name: str
    group: str = ""
    #: False for words, which are aligned to the left.
    numeric: bool = True
    #: Its name in CSV, if another column has the same one.
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
    """A table; `stub` heads the column of the blocks' labels, if there is one."""

    caption: str
    heads: Sequence[Head]
    blocks: Sequence[Block]
    stub: str = ""
    #: What a reader must know to read it: shown below.
    footnote: str = ""

    @property
    def lines(self) -> Iterator[tuple[Block, Line]]:
        """All lines, each with its block."""
        return ((block, line) for block in self.blocks for line in block.lines)


# ---------------------------------------------------------------------- numbers


def scientific(value: float) -> Entry:
    """Three digits, as in the paper's tables: 6.29e-03."""
    return Entry() if math.isnan(value) else Entry(f"{value:.2e}", value)


def count(value: float) -> Entry:
    """A number of iterations; a median may lie halfway between two."""
    if math.isnan(value):
        return Entry()
    whole = value == round(value)
    return Entry(
        f"{value:.0f}" if whole or value >= 100 else f"{value:.1f}", int(value) if whole else value
    )


def seconds(value: float) -> Entry:
    """Seconds."""
    return Entry() if math.isnan(value) else Entry(seconds_text(value), value)


def seconds_text(value: float) -> str:
    """Three digits, without an exponent from a millisecond on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float) -> Entry:
    """How many times the best: 1.0, 3.4, 120."""
    if not math.isfinite(ratio):
        return Entry(failed=True)
    return Entry(f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}", ratio)


def ranged(values: Sequence[float], form: str = ".3g") -> str:
    """The median, with the range where there is one: "91 (90 to 93)"."""
    middle, low, high = (format(f(values), form) for f in (statistics.median, min, max))
    return f"{middle} ({low} to {high})" if low != high else middle


def tolerance_text(value: float) -> str:
    """1e-5, as the paper writes it."""
    digits, _, exponent = f"{value:e}".partition("e")
    short = digits.rstrip("0").rstrip(".")
    return f"{value:g}" if -3 < int(exponent) < 3 else f"{short}e{int(exponent)}"


# ---------------------------------------------------------------------- names and other words


def words(value: object) -> Entry:
    """Words."""
    text = plain(str(value))
    return Entry(text, text)


_UNSEEN = {"Cc", "Cs", "Cf", "Co", "Cn"}
_KEPT = "\n\u200c\u200d"  # joiners are part of the words of several scripts, and of emoji


def plain(text: str) -> str:
    """Text in one line that changes nothing around it: no control or direction characters."""
    return visible(re.sub(r"\s+", " ", text)).strip()


def visible(text: str) -> str:
    """Text in which control and direction characters, but for line breaks, are replaced."""
    return "".join(
        "\ufffd" if unicodedata.category(letter) in _UNSEEN and letter not in _KEPT else letter
        for letter in text
    )


class Names(dict[str, str]):
    """How problems and solvers are called: `names[problem]` is its label, or the name itself."""

    def __missing__(self, name: str) -> str:
        return plain(name)

    def row(self, row: Row) -> str:
        """A row in words: "matching (100,10) to 1e-5"."""
        parts = [self[row[0]], plain(row[1]), "to", tolerance_text(row[2])]
        return " ".join(filter(None, parts))


def names_of(records: Records, labels: Any = None) -> Names:
    """The labels of the solvers, and those that the user gives."""
    given = {} if labels is None else labels
    require(
        isinstance(given, Mapping)
        and all(isinstance(item, str) for pair in given.items() for item in pair),
        "labels",
        "a mapping of names to labels, both texts",
        repr(labels),
    )
    own = {name: about.label for name, about in records.solvers.items()}
    return Names({name: plain(label) for name, label in {**own, **given}.items()})
