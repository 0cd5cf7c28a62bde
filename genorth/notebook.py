"""How results, records and reports look: `html_table` in a notebook, `aligned` in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(title: str, rows: Iterable[Sequence[Any]], head: Sequence[Any] = ()) -> str:
    """A table for `_repr_html_`, with everything escaped.

    Args:
        title: What is above it.
        rows: The rows; without a head, the first cell of each is a heading.
        head: The headings of the columns.

    Returns:
        The HTML.
    """
    lines = [_row(head, len(head))] if head else []
    lines += [_row(row, 0 if head else 1) for row in rows]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _row(cells: Sequence[Any], headings: int) -> str:
    kinds = ["th"] * headings + ["td"] * (len(cells) - headings)
    style = ' style="text-align:left"'
    parts = (
        f"<{kind}{style}>{escape(str(cell))}</{kind}>"
        for kind, cell in zip(kinds, cells, strict=True)
    )
    return f"<tr>{''.join(parts)}</tr>"


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
