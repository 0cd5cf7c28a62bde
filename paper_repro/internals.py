"""What paper_repro uses of genorth.compare beyond its public names, in one place."""

from genorth.compare.analysis.rows import Row, Runs, best_of, by_row
from genorth.compare.render.formats import aligned, markdown
from genorth.compare.render.styles import BLUE, GREEN, GREY, ORANGE, VERMILLION
from genorth.compare.render.table import times, tolerance_text
from genorth.compare.runs.machine import pinned
from genorth.compare.runs.store import replace_file

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "VERMILLION",
    "Row",
    "Runs",
    "aligned",
    "best_of",
    "by_row",
    "markdown",
    "pinned",
    "replace_file",
    "times",
    "tolerance_text",
]
