"""docs/mutants.md: every mutant with the test that found it, from one complete check."""

from __future__ import annotations

import datetime
import itertools
import os
import platform
import re
from pathlib import Path

import numpy as np
import scipy

from .anchor import Sources
from .mutant import KINDS, ROOT, Mutant
from .results import Verdict

PAGE = ROOT / "docs" / "mutants.md"

_HEAD = """# Planted errors

`python -m tests.mutation` plants one error at a time into a copy of the project and runs the tests
there: first those named with the error, then, if they pass, the whole default suite. The command
fails if an error survives. The unchanged source must pass every test that finds an error, and a
change that changes nothing must survive. Each error is one that a careless author could make:

{kinds}

`--list` lists the errors, `--only 'penalty-*'` runs some, `--jobs 2` runs two at a time; an
interrupted run goes on where it stopped. The errors are in `tests/mutation/planted`, anchored by
qualified name and syntax node. The command writes this page.

{counts}

Seconds are those until the first failing test, with the start of Python. {machine}.
"""


def write(mutants: list[Mutant], controls: list[Mutant], verdicts: dict[str, Verdict]) -> Path:
    """Write the page."""
    PAGE.write_text(page(mutants, controls, verdicts), encoding="utf-8")
    return PAGE


def page(mutants: list[Mutant], controls: list[Mutant], verdicts: dict[str, Verdict]) -> str:
    """The page as text."""
    real, same = [m for m in mutants if not m.equivalent], [m for m in mutants if m.equivalent]
    parts = [_HEAD.format(kinds=_kinds(), counts=_counts(real, same, verdicts), machine=_machine())]
    sources = Sources(ROOT)
    files = {m.name: sources.place(m).file for m in real}
    by_file = sorted(real, key=lambda m: files[m.name])
    for file, group in itertools.groupby(by_file, key=lambda m: files[m.name]):
        parts.append(f"## {file}\n")
        parts.append(
            "| mutant | kind | change | breaks | found by | s |\n|---|---|---|---|---|---|"
        )
        parts.extend(
            row(m) + f" {_found(verdicts[m.name])} | {verdicts[m.name].seconds:.1f} |"
            for m in group
        )
        parts.append("")
    parts += _survivors(
        "Equivalent", "These break no statement, so no test can find them.", same, verdicts
    )
    parts += _survivors(
        "Controls",
        "These change nothing at all: the harness must let them live.",
        controls,
        verdicts,
    )
    return "\n".join(parts)


def row(mutant: Mutant) -> str:
    """The cells of a line of the table that follow from the mutant alone."""
    cells = [
        f"`{mutant.name}`",
        mutant.kind,
        f"{_code(mutant.old)} → {_code(mutant.new)}",
        _prose(mutant.breaks),
    ]
    return "| " + " | ".join(cells) + " |"


def survivor(mutant: Mutant) -> str:
    """The start of the line of a mutant that must survive."""
    change = f"{_code(mutant.old)} → {_code(mutant.new)}"
    return f"- `{mutant.name}` (`{mutant.within}`; {change}): {_prose(mutant.equivalent)}"


def _survivors(
    title: str, sentence: str, mutants: list[Mutant], verdicts: dict[str, Verdict]
) -> list[str]:
    if not mutants:
        return []
    lines = [f"{survivor(m)} {_fate(verdicts[m.name])}" for m in mutants]
    return [f"## {title}\n", f"{sentence}\n", *lines, ""]


def _fate(verdict: Verdict) -> str:
    if verdict.dead:
        return f"**Found by** `{verdict.killed_by}`."
    return f"It survived {verdict.tests} ({verdict.seconds:.0f} s)."


def _kinds() -> str:
    return "\n".join(f"- {kind}: {what}" for kind, what in KINDS.items())


def _counts(real: list[Mutant], same: list[Mutant], verdicts: dict[str, Verdict]) -> str:
    dead = [m for m in real if verdicts[m.name].dead]
    by_suite = sum(verdicts[m.name].tests != "the named tests" for m in dead)
    kinds = ", ".join(f"{sum(m.kind == kind for m in real)} {kind}" for kind in KINDS)
    alive = ", ".join(f"`{m.name}`" for m in real if not verdicts[m.name].dead) or "none"
    return (
        f"**{len(real)} errors ({kinds}): {len(dead)} found**, {by_suite} by the suite only. "
        f"Survivors: {alive}. Equivalent changes: {len(same)}."
    )


def _found(verdict: Verdict) -> str:
    if verdict.status == "killed":
        return f"`{verdict.killed_by.partition('::')[2]}`"
    return "time limit" if verdict.status == "hung" else "**survived**"


def _machine() -> str:
    versions = (
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    )
    return (
        f"{datetime.date.today().isoformat()}, {_processor()}, {os.cpu_count()} cores, {versions}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _code(text: str) -> str:
    shown = " ".join(text.split())
    escaped = shown.replace("|", "\\|")
    return f"`{escaped}`" if shown else "nothing"


def _prose(text: str) -> str:
    """A formula as it stands: what Markdown would take for markup is escaped."""
    return re.sub(r"([|*_<>\[\]$])", r"\\\1", text)
