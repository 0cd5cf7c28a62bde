"""Draw docs/_static/stochastic.png, and what pages say of training, from docs/stochastic.

The records are made by `genorth train --out FOLDER`. Then `python docs/_ext/stochastic.py FOLDER`
saves them compressed, and draws; `python docs/_ext/overview.py` fills in the blocks.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from genorth import training
from genorth.compare.analysis import Runs, by_row, leaders
from genorth.compare.render import markdown
from genorth.training.report import time_of_fastest, within
from paper_repro.findings import table

DOCS = Path(__file__).parents[1]
RECORDS, PICTURE = DOCS / "stochastic" / "records", DOCS / "_static" / "stochastic.png"
OURS = (
    *("RiemannianSGD", "RiemannianAdam", "Muon", "SubspaceDescent", "Landing", "Pogo"),
    *("oblique, AdamW", "orthogonal, AdamW"),
)


def blocks() -> dict[str, str]:
    """What stands in the blocks of pytorch.md and jax.md, by name."""
    records = training.load(RECORDS)
    rows = {problem: runs for (problem, *_), runs in by_row(training.tuned(records)).items()}
    return {
        "training_losses": _table(rows, _spread),
        "training_speed": _table(
            {
                name: {m: within(r, time_of_fastest(runs)) for m, r in runs.items()}
                for name, runs in rows.items()
            },
            _spread,
        ),
        "training_seconds": _table(rows, lambda runs: f"{runs.median('cpu'):.2g}"),
        "training_verdicts": "\n".join(_verdict(name, runs) for name, runs in rows.items()),
        "training_failures": _failures(records),
    }


def _table(rows: Mapping[str, Mapping[str, Runs]], entry: Callable[[Runs], str]) -> str:
    """A line for each method, a column for each training."""
    methods = dict.fromkeys(name for runs in rows.values() for name in runs)
    lines = [
        [name, *(entry(runs[name]) if name in runs else "" for runs in rows.values())]
        for name in methods
    ]
    return markdown(table(["method", *rows], lines)).rstrip()


def _spread(runs: Runs) -> str:
    if not runs.solved:
        return runs.note
    least, median, greatest = Runs(runs.solved).spread("held_out")
    note = f", {runs.note}" if runs.failed else ""
    return f"{median:.3g} ({least:.3g} to {greatest:.3g}{note})"


def _verdict(problem: str, runs: Mapping[str, Runs]) -> str:
    """Who is first, who cannot be told from it, and the first of ours."""
    held = {name: each for name, each in runs.items() if not name.startswith("no constraint")}
    best, *near = leaders(held, figure="held_out")
    others, said = len(held) - 1 - len(near), f"- **{problem}**: `{best}` is first"
    if near and others:
        said += f", with a range that meets {_listed(near)}"
    said += (
        f"; {others} of the {len(held) - 1} other ways are worse from every seed."
        if others
        else f", {_spread(held[best])}, and the ranges of all others with a constraint meet that: "
        "the choice between them does not matter here."
    )
    if not {best, *near} & set(OURS):
        first, *_ = leaders(held, OURS, figure="held_out")
        said += f" Ours lose: the first of them is `{first}`, {_spread(held[first])}."
    quick = {name: within(each, time_of_fastest(runs)) for name, each in held.items()}
    said += f" In the time of the fastest, `{leaders(quick, figure='held_out')[0]}` is first."
    for name, each in runs.items():
        if name not in held:
            said += f" `{name}` {_place(each, held[best])}."
    return said


def _place(runs: Runs, other: Runs) -> str:
    """Where the range of some runs is, as seen from the range of others."""
    (least, _, greatest), (first, _, last) = runs.spread("held_out"), other.spread("held_out")
    if greatest < first:
        return "is better from every seed"
    return (
        "is worse from every seed" if last < least else "has a range that meets that of the first"
    )


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"those of {', '.join(quoted)}" if len(names) > 1 else f"that of {quoted[0]}"


def _failures(records: Any) -> str:
    """How many runs fail, of which methods most do, and whose step size is at the edge."""
    failed = Counter(record.method for record in records if not record.success)
    most = ", ".join(f"`{name}` ({count})" for name, count in failed.most_common(3))
    lines = [f"- Of the {len(records)} runs, {failed.total()} failed; most of {most}."]
    edges: dict[str, list[str]] = {}
    for (problem, method), tuning in training.tunings(records).items():
        if tuning.edge:
            edges.setdefault(problem, []).append(f"`{method}`")
    told = "; ".join(f"{problem}: {', '.join(names)}" for problem, names in edges.items())
    return "\n".join([*lines, f"- Best at the edge of the widened grid: {told or 'none'}."])


def draw(records: Any) -> None:
    """Write the picture, in few colours: it is small then."""
    from PIL import Image

    picture = io.BytesIO()
    training.ranges(records).savefig(picture, dpi=90)
    octree = Image.Quantize.FASTOCTREE  # keeps the colours of thin lines apart
    Image.open(picture).convert("RGB").quantize(64, octree).save(PICTURE, optimize=True)


def main(arguments: list[str]) -> None:
    """Save the records of a folder, if one is given, and draw."""
    if arguments:
        training.save(training.load(Path(arguments[0]) / "records"), RECORDS)
    draw(training.load(RECORDS))


if __name__ == "__main__":
    main(sys.argv[1:])
