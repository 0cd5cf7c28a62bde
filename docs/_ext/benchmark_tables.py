"""The figures of the benchmarks, as docs/benchmarks.md shows them.

`python benchmarks/NAME.py --record` puts them into docs/results/benchmarks; the page has a block
`bench_NAME` for each file (`overview.py` fills it in, a test compares the two).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genorth.compare.render.table import counted

RECORDS = Path(__file__).parents[1] / "results" / "benchmarks"
_UNITS = {"x": " times", "us": " µs", "": ""}
_PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}


def blocks() -> dict[str, str]:
    """The text of each benchmark, by the name of its block."""
    return {
        f"bench_{path.stem}": _table(json.loads(path.read_text("utf-8")))
        for path in sorted(RECORDS.glob("*.json"))
    }


def _table(measures: Mapping[str, Any]) -> str:
    """What was measured, the figure, its aim; then where and when. A missed aim is bold."""
    lines = ["| what | figure | aim |", "|---|---|---|"]
    for measure in measures.values():
        lines += map(_row, measure["figures"])
    places = list(dict.fromkeys(map(_place, measures.values())))
    return "\n".join([*lines, "", *(f"- {place}" for place in places)]) + "\n"


def _row(figure: Mapping[str, Any]) -> str:
    what, bound = figure["what"], figure["bound"]
    name = re.sub(r"([|*])", r"\\\1", what.strip())
    name = f"... {name}" if what.startswith(" ") else name
    value = _number(figure["measured"], figure["unit"])
    value = value if figure["passed"] else f"**{value}**"
    aim = "" if bound is None else f"at {'least' if figure['at_least'] else 'most'} {bound:g}"
    return f"| {name} | {value} | {aim} |"


def _number(value: float, unit: str) -> str:
    text = str(value) if isinstance(value, int) else f"{value:.3g}"
    return f"{text}{_UNITS.get(unit, f' {unit}')}"


def _place(measure: Mapping[str, Any]) -> str:
    """Commit, date and machine."""
    found = measure["environment"]
    versions = (f"{name} {found[key]}" for key, name in _PACKAGES.items() if key in found)
    machine = f"{found['processor']}, {counted(int(found['cores']), 'core')}"
    commit = f"commit `{found.get('commit', 'unknown')}`"
    return f"Measured at {commit} on {measure['date']}: {machine}, {', '.join(versions)}."
