"""What a notebook shows of records: who wins in words, the solvers, and a picture."""

from __future__ import annotations

import io
from html import escape

from genorth.compare.render import plots, summary
from genorth.compare.runs.record import Record, Records
from genorth.optional import installed


def rich(records: Records) -> str:
    """The verdict, the table of the solvers and the performance profiles, as HTML.

    Args:
        records: The records; those of a training have no profiles.

    Returns:
        The HTML; without a picture where matplotlib is not installed or no run succeeded.
    """
    table = records.plain_html()
    if not (records and isinstance(records[0], Record)):
        return table
    said = f"<p>{escape(' '.join(summary.headline(records)))}</p>"
    if not (installed("matplotlib") and any(record.success for record in records)):
        return said + table
    drawing = io.StringIO()
    plots.profile(records).savefig(drawing, format="svg")
    return said + table + drawing.getvalue().partition("?>")[2]
