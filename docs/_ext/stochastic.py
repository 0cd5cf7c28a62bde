"""Draw docs/_static/stochastic.png and print the table of pytorch.md, from docs/stochastic.

The records are made by `python -m genorth.gallery stochastic --out FOLDER`. Then
`python docs/_ext/stochastic.py FOLDER` saves them compressed, and draws.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from genorth import training
from genorth.compare.analysis import Runs, by_row
from genorth.compare.render import markdown, seconds_text
from genorth.gallery.stochastic.comparison import look
from paper_repro.findings import table as made

DOCS = Path(__file__).parents[1]
RECORDS, PICTURE = DOCS / "stochastic" / "records", DOCS / "_static" / "stochastic.png"


def table(records: Any) -> str:
    """A line for each method: the held-out loss with its range, and seconds, for each training."""
    rows = {problem: runs for (problem, _, _), runs in by_row(training.tuned(records)).items()}
    lines = []
    methods = dict.fromkeys(name for runs in rows.values() for name in runs)
    for name in sorted(methods, key=lambda name: not name.endswith("Adam")):
        entries = [_entry(runs[name]) if name in runs else "" for runs in rows.values()]
        lines.append([name, *entries])
    return markdown(made(["method", *rows], lines))


def _entry(runs: Runs) -> str:
    least, median, greatest = (f"{value:.3f}" for value in runs.spread("held_out"))
    return f"{median} ({least} to {greatest}), {seconds_text(runs.median('time'))} s"


def draw(records: Any) -> None:
    """Write the picture, in few colours: it is small then."""
    picture = io.BytesIO()
    training.curves(records, look=look(records)).savefig(picture, dpi=90)
    octree = Image.Quantize.FASTOCTREE  # keeps the colours of thin lines apart
    Image.open(picture).convert("RGB").quantize(128, octree).save(PICTURE, optimize=True)


def main(arguments: list[str]) -> None:
    """Save the records of a folder, if one is given, and draw."""
    if arguments:
        training.save(training.load(Path(arguments[0]) / "records"), RECORDS)
    records = training.load(RECORDS)
    draw(records)
    sys.stdout.write(table(records))


if __name__ == "__main__":
    main(sys.argv[1:])
