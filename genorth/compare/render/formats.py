"""A `Table` as Markdown, plain text, CSV, LaTeX (booktabs) or HTML; names are text in all."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from genorth.compare.render.table import Entry, Table, Value, visible
from genorth.errors import refuse
from genorth.optional import optional

# ---------------------------------------------------------------------- Markdown


def markdown(table: Table) -> str:
    """A pipe table below its caption; a group is named at its first column."""
    heads = [table.stub] if table.stub else []
    for group, columns in groupby(table.heads, key=lambda head: head.group):
        names = [head.name for head in columns]
        heads += map(markdown_text, [f"{group}: {names[0]}" if group else names[0], *names[1:]])
    marks = ["---"] * bool(table.stub) + ["---:" if h.numeric else "---" for h in table.heads]
    lines = [heads, marks]
    for block in table.blocks:
        for number, line in enumerate(block.lines):
            label = [markdown_text(block.label) if number == 0 else ""] if table.stub else []
            lines.append([*label, *map(_markdown_entry, line.entries)])
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
    alone = [number for number, head in enumerate(table.heads) if not head.group]
    groups = list(dict.fromkeys(head.group for head in table.heads if head.group)) or [""]
    parts = []
    for block in table.blocks:
        for group in groups:
            chosen = alone + [n for n, h in enumerate(table.heads) if h.group == group and group]
            heads = [table.heads[n] for n in chosen]
            title = ", ".join(filter(None, [table.caption, block.label, group]))
            rows = [
                [line.entries[n].full + "*" * line.entries[n].bold for n in chosen]
                for line in block.lines
            ]
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
        for block in table.blocks:
            for line in block.lines:
                fields: dict[str, Value] = {"table": table.caption}
                if table.stub:
                    fields[table.stub.lower()] = block.label
                for head, entry in zip(table.heads, line.entries, strict=True):
                    name = f"{head.group} {head.alone or head.name}".strip()
                    fields[name] = entry.value
                    if entry.note:
                        fields[f"{name} note"] = entry.note
                lines.append({name: _csv_cell(value) for name, value in fields.items()})
    names = _ordered(line.keys() for line in lines)
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n", restval="")
    writer.writerow({name: _csv_cell(name) for name in names})
    writer.writerows(lines)
    return out.getvalue()


def _csv_cell(value: Value) -> Value:
    """Text that a spreadsheet would run as a formula gets a quote in front."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _ordered(keys: Iterable[Iterable[str]]) -> list[str]:
    """Each name once; a new one goes before the known one that follows it, or to the end."""
    names: list[str] = []
    for line in map(list, keys):
        for number, name in enumerate(line):
            if name not in names:
                later = next(
                    (names.index(other) for other in line[number:] if other in names), len(names)
                )
                names.insert(later, name)
    return names


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
    r"""A table environment with booktabs rules, as wide as the page.

    Needs booktabs, multirow and graphicx.
    """
    width = bool(table.stub) + len(table.heads)
    alignment = "l" * bool(table.stub) + "".join(
        "r" if head.numeric else "l" for head in table.heads
    )
    lines = [
        r"% \usepackage{booktabs,multirow,graphicx}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_escape(table.caption)}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        *_latex_head(table),
    ]
    for block in table.blocks:
        lines.append(r"\midrule")
        for number, line in enumerate(block.lines):
            if line.rule:
                lines.append(rf"\cmidrule(l){{{1 + bool(table.stub)}-{width}}}")
            entries = [_latex_entry(entry) for entry in line.entries]
            if table.stub:
                label = (
                    rf"\multirow{{{len(block.lines)}}}{{*}}{{{latex_escape(block.label)}}}"
                    if number == 0
                    else ""
                )
                entries.insert(0, label)
            lines.append(" & ".join(entries) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}"]
    lines += (
        [rf"\par\smallskip\footnotesize {latex_escape(table.footnote)}"] if table.footnote else []
    )
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_head(table: Table) -> list[str]:
    names = [table.stub] * bool(table.stub) + [head.name for head in table.heads]
    lower = " & ".join(map(latex_escape, names)) + r" \\"
    groups = [
        (group, len(list(columns)))
        for group, columns in groupby(table.heads, key=lambda c: c.group)
    ]
    if not any(group for group, _ in groups):
        return [lower]
    upper, rules, place = [""] * bool(table.stub), [], 1 + bool(table.stub)
    for group, size in groups:
        upper.append(
            rf"\multicolumn{{{size}}}{{c}}{{{latex_escape(group)}}}"
            if group
            else " & " * (size - 1)
        )
        rules += [rf"\cmidrule(lr){{{place}-{place + size - 1}}}"] if group else []
        place += size
    return [" & ".join(upper) + r" \\", " ".join(rules), lower]


def _latex_entry(entry: Entry) -> str:
    text = latex_escape(entry.full)
    return rf"\textbf{{{text}}}" if entry.bold else text


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
    groups = [(name, len(list(heads))) for name, heads in groupby(table.heads, lambda h: h.group)]
    new = [
        n > 0 and bool(head.group) and head.group != table.heads[n - 1].group
        for n, head in enumerate(table.heads)
    ]
    return templates().get_template("table.html").render(table=table, groups=groups, new=new)


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
    if not isinstance(format, str) or format not in _FORMATS:
        refuse("format", f"one of {', '.join(map(repr, _FORMATS))}", repr(format))
    return _FORMATS[format](tables)
