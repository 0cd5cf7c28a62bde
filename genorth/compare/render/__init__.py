"""What a reader sees: columns, tables, sentences, plots, the report and the terminal.

A `Table` is data, of `Entry`s in `Block`s of `Line`s; `markdown` and `text` write it down. The
functions that end in `_text`, `ranged` and `times` say how numbers read, and the colours are those
of the plots.
"""

from genorth.compare.render.styles import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Style,
)
from genorth.compare.render.table import (
    Block,
    Entry,
    Head,
    Line,
    Table,
    count,
    markdown,
    markdown_text,
    plain,
    ranged,
    scientific,
    seconds,
    seconds_text,
    text,
    times,
    tolerance_text,
    words,
)
from genorth.notebook import aligned

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILLION",
    "Block",
    "Entry",
    "Head",
    "Line",
    "Style",
    "Table",
    "aligned",
    "count",
    "markdown",
    "markdown_text",
    "plain",
    "ranged",
    "scientific",
    "seconds",
    "seconds_text",
    "text",
    "times",
    "tolerance_text",
    "words",
]
