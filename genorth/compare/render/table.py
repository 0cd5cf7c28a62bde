"""`Table`: entries in columns and blocks, as data; how numbers and names read.

`render` writes tables as Markdown, plain text, CSV, LaTeX (booktabs) or HTML; names are text in
all of them.
"""

from __future__ import annotations

import math
import re
import statistics
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import attrs

from genorth.compare.analysis.rows import Row
from genorth.compare.runs.record import Records
from genorth.errors import require, require_known
from genorth.notebook import aligned
from genorth.optional import optional

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


def value(value: float) -> Entry:
    """Seven digits, enough to tell two values of f apart: 14938.5."""
    return Entry() if math.isnan(value) else Entry(f"{value:.7g}", value)


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


def digits(value: float, count: int = 2) -> str:
    """So many digits, without an exponent where the number has more: 1.2, 99, 1200."""
    short = f"{value:.{count}g}"
    return f"{float(short):.0f}" if abs(value) >= 1 and "e" in short else short


def ranged(values: Sequence[float], count: int = 3) -> str:
    """The median, with the range where there is one: "91 (90 to 93)"."""
    middle, low, high = (digits(f(values), count) for f in (statistics.median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def tolerance_text(value: float) -> str:
    """1e-5, as the paper writes it."""
    digits, _, exponent = f"{value:e}".partition("e")
    short = f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:g}" if -3 < int(exponent) < 3 else short


# ---------------------------------------------------------------------- names and other words


def counted(count: int, name: str) -> str:
    """1 row, 2 rows."""
    return f"{count} {name}{'' if count == 1 else 's'}"


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
        return " ".join(filter(None, [self[row[0]], plain(row[1]), "to", tolerance_text(row[2])]))


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
    return Names({name: plain(label) or "(no name)" for name, label in {**own, **given}.items()})


# ---------------------------------------------------------------------- Markdown


def markdown(table: Table) -> str:
    """A pipe table below its caption; a group is named at its first column."""
    heads, marks = ([table.stub], ["---"]) if table.stub else ([], [])
    group = ""
    for head in table.heads:
        name = f"{head.group}: {head.name}" if head.group and head.group != group else head.name
        group = head.group
        heads.append(markdown_text(name))
        marks.append("---:" if head.numeric else "---")
    lines = [heads, marks]
    for block, line in table.lines:
        label = markdown_text(block.label) if line is block.lines[0] else ""
        bold = ["**" * entry.bold for entry in line.entries]
        shown = [f"{b}{markdown_text(e.full)}{b}" for b, e in zip(bold, line.entries, strict=True)]
        lines.append([label] * bool(table.stub) + shown)
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    caption = f"**{markdown_text(table.caption)}**" if table.caption else ""
    return "\n\n".join(filter(None, [caption, body, table.footnote])) + "\n"


# what begins markup; an underscore within a word does not, and names have many
_MARKUP = re.compile(r"[\\`*\[\]|$~{}]|(?<![^\W_])_|_(?![^\W_])")


def markdown_text(text: str) -> str:
    """The text with what Markdown would read as markup escaped."""
    text = _MARKUP.sub(lambda match: "\\" + match[0], re.sub(r"\s+", " ", text))
    return re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;")


# ---------------------------------------------------------------------- plain text


def text(table: Table) -> str:
    """Aligned columns for a terminal, one group of columns below the other."""
    groups = list(dict.fromkeys(head.group for head in table.heads if head.group)) or [""]
    parts = []
    for block in table.blocks:
        for group in groups:
            shown = [n for n, head in enumerate(table.heads) if head.group in ("", group)]
            title = ", ".join(filter(None, [table.caption, block.label, group]))
            rows = [
                [line.entries[n].full + "*" * line.entries[n].bold for n in shown]
                for line in block.lines
            ]
            heads = [table.heads[n] for n in shown]
            lines = aligned([[h.name for h in heads], *rows], [h.numeric for h in heads])
            parts.append("\n".join([title, *lines]))
    return "\n\n".join([*parts, *filter(None, [table.footnote.replace("Bold:", "*:")])]) + "\n"


# ---------------------------------------------------------------------- CSV


def csv_of(tables: Sequence[Table]) -> str:
    """All tables as one, the caption in the first column; a note has a column of its own."""
    lines: list[dict[str, Value]] = []
    for table in tables:
        for block, line in table.lines:
            fields: dict[str, Value] = {"table": table.caption}
            if table.stub:
                fields[table.stub.lower()] = block.label
            for head, entry in zip(table.heads, line.entries, strict=True):
                name = f"{head.group} {head.alone or head.name}".strip()
                fields[name] = entry.value
                if entry.note:
                    fields[f"{name} note"] = entry.note
            lines.append({_inert(name): _inert(value) for name, value in fields.items()})
    pandas = optional("pandas", "report", "CSV")
    return str(pandas.DataFrame(lines, dtype=object).to_csv(index=False, lineterminator="\n"))


def _inert(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a quote in front."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


# ---------------------------------------------------------------------- LaTeX

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "[": "{[}",  # after the end of a line it would be its argument
    "*": "{*}",
}


def latex_escape(text: str) -> str:
    """The text with what LaTeX would read as a command escaped."""
    return re.sub(r"\s+", " ", "".join(_SPECIAL.get(letter, letter) for letter in text))


def latex(table: Table) -> str:
    """A table environment with booktabs rules, as wide as the page.

    Needs booktabs, multirow and graphicx.
    """
    # braces are LaTeX's own
    marks = {"block_start_string": "<%", "block_end_string": "%>"}
    marks |= {"variable_start_string": "<<", "variable_end_string": ">>"}
    made = templates().overlay(
        **marks,
        autoescape=False,
        finalize=lambda value: latex_escape(value) if type(value) is str else value,
    )
    first, spans = 1 + bool(table.stub), []
    for group, size in _groups(table):
        spans.append((group, first, first + size - 1))
        first += size
    shown = spans if any(head.group for head in table.heads) else []
    return str(made.get_template("table.tex").render(table=table, spans=shown, width=first - 1))


# ---------------------------------------------------------------------- HTML


@cache
def templates() -> Any:
    """The Jinja environment of this package: what is not marked as HTML is escaped."""
    jinja2 = optional("jinja2", "report", "HTML")
    return jinja2.Environment(
        loader=jinja2.PackageLoader("genorth.compare.render"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def html(table: Table, title: str = "") -> str:
    """A table that the script of the report makes one to sort, filter and download."""
    values = {"table": table, "groups": _groups(table), "title": title}
    return str(templates().get_template("table.html").render(values))


def _groups(table: Table) -> list[tuple[str, int]]:
    """The groups of columns, with their sizes; columns that have no group in between."""
    found = groupby(head.group for head in table.heads)
    return [(group, len(list(heads))) for group, heads in found]


# ---------------------------------------------------------------------- one door

_FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {
    "markdown": lambda tables: "\n".join(map(markdown, tables)),
    "text": lambda tables: "\n".join(map(text, tables)),
    "csv": csv_of,
    "latex": lambda tables: "\n".join(map(latex, tables)),
    "html": lambda tables: "\n".join(map(html, tables)),
}


def render(tables: Sequence[Table], format: str) -> str:  # noqa: A002  the name that users know from pandas
    """Write tables in a format: "markdown", "text", "csv", "latex" or "html"."""
    require_known("format", format, _FORMATS)
    return _FORMATS[format](tables)
