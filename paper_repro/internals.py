"""What paper_repro uses of genorth.compare beyond its public names, in one place."""

from genorth.compare.analysis.ranking import behind, duels, lead
from genorth.compare.analysis.rows import (
    Row,
    Runs,
    best_by_family,
    best_of,
    by_row,
    elsewhere,
    shared,
)
from genorth.compare.render.formats import aligned, markdown
from genorth.compare.render.styles import BLUE, GREEN, GREY, ORANGE, VERMILLION
from genorth.compare.render.table import ranged, seconds_text, times, tolerance_text
from genorth.compare.render.terminal import exit_code
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
    "behind",
    "best_by_family",
    "best_of",
    "by_row",
    "duels",
    "elsewhere",
    "exit_code",
    "lead",
    "markdown",
    "pinned",
    "ranged",
    "replace_file",
    "seconds_text",
    "shared",
    "times",
    "tolerance_text",
]
