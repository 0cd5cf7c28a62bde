"""A `Table` as Markdown, plain text, CSV, LaTeX (booktabs) or HTML.

What stands in an entry is decided elsewhere.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby

from genorth.compare.table import Block, Column, Entry, Line, Table, Value
from genorth.errors import refuse

# ---------------------------------------------------------------------- Markdown


def markdown(table: Table) -> str:
    """A pipe table below its caption; a group is named at its first column."""
    heads = [table.stub] if table.stub else []
    for group, columns in groupby(table.columns, key=lambda column: column.group):
        names = [column.name for column in columns]
        heads += map(_markdown_text, [f"{group}: {names[0]}" if group else names[0], *names[1:]])
    marks = ["---"] * bool(table.stub) + [
        "---:" if column.numeric else "---" for column in table.columns
    ]
    lines = [heads, marks]
    for block in table.blocks:
        for number, line in enumerate(block.lines):
            label = [_markdown_text(block.label) if number == 0 else ""] if table.stub else []
            lines.append([*label, *map(_markdown_entry, line.entries)])
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return (
        "\n\n".join(
            filter(None, [f"**{table.caption}**" if table.caption else "", body, table.footnote])
        )
        + "\n"
    )


def _markdown_entry(entry: Entry) -> str:
    text = _markdown_text(entry.text + (f" ({entry.note})" if entry.note else ""))
    return f"**{text}**" if entry.bold else text


def _markdown_text(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


# ---------------------------------------------------------------------- plain text


def text(table: Table) -> str:
    """Aligned columns for a terminal.

    The groups of columns below each other, each beside the columns of none.
    """
    alone = [number for number, column in enumerate(table.columns) if not column.group]
    groups = list(dict.fromkeys(column.group for column in table.columns if column.group)) or [""]
    parts = []
    for block in table.blocks:
        for group in groups:
            chosen = alone + [
                n for n, column in enumerate(table.columns) if column.group == group and group
            ]
            columns = [table.columns[n] for n in chosen]
            head = ", ".join(filter(None, [table.caption, block.label, group]))
            rows = [[_text_entry(line.entries[n]) for n in chosen] for line in block.lines]
            parts.append(
                "\n".join([head, *aligned(columns, [[column.name for column in columns], *rows])])
            )
    return "\n\n".join([*parts, *filter(None, [table.footnote.replace("Bold:", "*:")])]) + "\n"


def _text_entry(entry: Entry) -> str:
    return entry.text + (f" ({entry.note})" if entry.note else "") + "*" * entry.bold


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, with columns of the same width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            entry.rjust(width) if column.numeric else entry.ljust(width)
            for column, entry, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


# ---------------------------------------------------------------------- CSV


def csv_of(tables: Sequence[Table]) -> str:
    """All tables as one, the caption in the first column; a note has a column of its own, "...

    Note".
    """
    lines: list[dict[str, Value]] = []
    for table in tables:
        for block in table.blocks:
            for line in block.lines:
                fields: dict[str, Value] = {"table": table.caption}
                if table.stub:
                    fields[table.stub.lower()] = block.label
                for column, entry in zip(table.columns, line.entries, strict=True):
                    name = f"{column.group} {column.alone or column.name}".strip()
                    fields[name] = entry.value
                    if entry.note:
                        fields[f"{name} note"] = entry.note
                lines.append(fields)
    names = _ordered(line.keys() for line in lines)
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _ordered(keys: Iterable[Iterable[str]]) -> list[str]:
    """Each name once; a name that earlier lines lack stands before the known one that follows it, or at the end."""
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
}


def latex_escape(text: str) -> str:
    """The text with what LaTeX would read as a command written out."""
    return re.sub(r"\s+", " ", "".join(_SPECIAL.get(letter, letter) for letter in text))


def latex(table: Table) -> str:
    r"""A table environment with booktabs rules, as wide as the page.

    Needs booktabs, multirow and graphicx.
    """
    width = bool(table.stub) + len(table.columns)
    alignment = "l" * bool(table.stub) + "".join(
        "r" if column.numeric else "l" for column in table.columns
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
    names = [table.stub] * bool(table.stub) + [column.name for column in table.columns]
    lower = " & ".join(map(latex_escape, names)) + r" \\"
    groups = [
        (group, len(list(columns)))
        for group, columns in groupby(table.columns, key=lambda c: c.group)
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
    text = latex_escape(entry.text + (f" ({entry.note})" if entry.note else ""))
    return rf"\textbf{{{text}}}" if entry.bold else text


# ---------------------------------------------------------------------- HTML


def html(table: Table) -> str:
    """A table whose columns sort within each block, by the script of the report."""
    groups = [
        (group, len(list(columns)))
        for group, columns in groupby(table.columns, key=lambda c: c.group)
    ]
    head = ""
    if any(group for group, _ in groups):
        head = "".join(
            f'<th colspan="{size}" scope="colgroup">{escape(group)}</th>' for group, size in groups
        )
        head = f'<tr class="groups">{head}</tr>'
    starts = _group_starts(table.columns)
    names = "".join(
        f'<th scope="col" aria-sort="none"{_classes(number in starts, not column.numeric)}>'
        f'<button type="button">{escape(column.name)}</button></th>'
        for number, column in enumerate(table.columns)
    )
    bodies = "".join(_html_block(table, block, starts) for block in table.blocks)
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    footnote = f'<p class="footnote">{escape(table.footnote)}</p>' if table.footnote else ""
    return (
        f'<div class="scroll"><table class="sortable">{caption}<thead>{head}<tr>{names}</tr></thead>{bodies}'
        f"</table></div>{footnote}\n"
    )


def _group_starts(columns: Sequence[Column]) -> set[int]:
    return {
        n
        for n in range(1, len(columns))
        if columns[n].group and columns[n].group != columns[n - 1].group
    }


def _classes(first: bool, left: bool, *more: str) -> str:
    names = " ".join([*(["first"] if first else []), *(["words"] if left else []), *more])
    return f' class="{names}"' if names else ""


def _html_block(table: Table, block: Block, starts: set[int]) -> str:
    label = ""
    if block.label:
        label = (
            f'<tr class="label"><th colspan="{len(table.columns)}" scope="rowgroup">'
            f"{escape(f'{table.stub} {block.label}'.strip())}</th></tr>"
        )
    lines = "".join(_html_line(table.columns, line, starts) for line in block.lines)
    return f"<tbody>{label}{lines}</tbody>"


def _html_line(columns: Sequence[Column], line: Line, starts: set[int]) -> str:
    cells = []
    for number, (column, entry) in enumerate(zip(columns, line.entries, strict=True)):
        hint = f' title="{escape(entry.hint)}"' if entry.hint else ""
        mark = _classes(number in starts, not column.numeric, *(["failed"] if entry.failed else []))
        text = f"<strong>{escape(entry.text)}</strong>" if entry.bold else escape(entry.text)
        note = f" <small>({escape(entry.note)})</small>" if entry.note else ""
        cells.append(f"<td{mark}{hint}>{text}{note}</td>")
    return f"<tr{_classes(False, False, *(['rule'] if line.rule else []))}>{''.join(cells)}</tr>"


# ---------------------------------------------------------------------- one door

_FORMATS: dict[str, Callable[[Sequence[Table]], str]] = {
    "markdown": lambda tables: "\n".join(map(markdown, tables)),
    "text": lambda tables: "\n".join(map(text, tables)),
    "csv": csv_of,
    "latex": lambda tables: "\n".join(map(latex, tables)),
    "html": lambda tables: "\n".join(map(html, tables)),
}


def render(tables: Sequence[Table], format: str) -> str:  # noqa: A002  the name that users know from pandas
    """The tables in a format: "markdown", "text", "csv", "latex" or "html"."""
    if format not in _FORMATS:
        refuse("format", f"one of {', '.join(map(repr, _FORMATS))}", repr(format))
    return _FORMATS[format](tables)
