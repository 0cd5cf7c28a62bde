"""What paper_repro uses of genorth.compare beyond its public names, in one place."""

from genorth.compare.execute import thinned
from genorth.compare.formats import aligned
from genorth.compare.limits import pinned
from genorth.compare.rows import Row, Runs, best_of, by_row, tolerance_text
from genorth.compare.styles import BLUE, GREEN, GREY, ORANGE, VERMILLION
from genorth.compare.table import Column, times

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "VERMILLION",
    "Column",
    "Row",
    "Runs",
    "aligned",
    "best_of",
    "by_row",
    "pinned",
    "thinned",
    "times",
    "tolerance_text",
]
