"""A `Table` as Markdown, plain text, CSV, LaTeX (booktabs) or HTML; names are text in all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from genorth.compare.render.table import Entry, Table, Value, visible
from genorth.errors import require
from genorth.optional import optional

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
        lines.append([label] * bool(table.stub) + list(map(_markdown_entry, line.entries)))
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    caption = f"**{markdown_text(table.caption)}**" if table.caption else ""
    return "\n\n".join(filter(None, [caption, body, table.footnote])) + "\n"


def _markdown_entry(entry: Entry) -> str:
    text = markdown_text(entry.full)
    return f"**{text}**" if entry.bold else text


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


def aligned(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[str]:
    """Write rows as lines with columns of one width.

    Args:
        rows: The rows, the heads first.
        numeric: For each column, whether it is aligned to the right.

    Returns:
        The lines.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            entry.rjust(width) if right else entry.ljust(width)
            for right, entry, width in zip(numeric, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


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
    made = templates().overlay(**marks, autoescape=False, finalize=_latex_value)
    first, spans = 1 + bool(table.stub), []
    for group, size in _groups(table):
        spans.append((group, first, first + size - 1))
        first += size
    shown = spans if any(head.group for head in table.heads) else []
    return str(made.get_template("table.tex").render(table=table, spans=shown, width=first - 1))


def _latex_value(value: Any) -> Any:
    return latex_escape(value) if type(value) is str else value


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


def html(table: Table) -> str:
    """A table whose columns sort within each block, by the script of the report."""
    before = ["", *(head.group for head in table.heads)]
    new = [
        n > 0 and bool(head.group) and head.group != before[n] for n, head in enumerate(table.heads)
    ]
    values = {"table": table, "groups": _groups(table), "new": new}
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
    require(
        isinstance(format, str) and not (format not in _FORMATS),
        "format",
        f"one of {', '.join(map(repr, _FORMATS))}",
        repr(format),
    )
    return _FORMATS[format](tables)
