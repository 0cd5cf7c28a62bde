"""The comparison of trainings: the runs, their tables and the report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from genorth import training
from genorth.compare import Records
from genorth.compare.render import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILLION,
    Style,
    text,
)
from genorth.errors import require_known
from genorth.gallery.base import EXTRA
from genorth.gallery.stochastic.tasks import SUBJECTS, Subject
from genorth.optional import installed, missing

_GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_COMMON = {"jobs": min(2, os.cpu_count() or 1), "max_time": 60.0}
#: The defaults of a comparison.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "full": {"rates": _GRID, "epochs": 10, "starts": 5, **_COMMON},
    "quick": {"rates": _GRID[1:6:2], "epochs": 5, "starts": 2, **_COMMON},
}
#: |C| at the end; weights in single precision are not restored by other packages.
TOLERANCE = 1e-4

_COLORS = {
    "penalty oblique": BLUE,
    "penalty orthogonal": GREEN,
    "Riemannian": VERMILLION,
    "landing": PURPLE,
    "geoopt": ORANGE,
    "torch orthogonal": GREY,
}


def reasons(wanted: Iterable[str] | None = None) -> dict[str, str | None]:
    """Why each of these trainings, by default all, cannot be made; None for one that can.

    Raises:
        ValueError: If there is no such training.
    """
    for name in wanted or ():
        require_known("name", name, SUBJECTS)
    return {name: _why_not(SUBJECTS[name]) for name in wanted or SUBJECTS}


def _why_not(subject: Subject) -> str | None:
    for module, extra in (("torch", "torch"), *((each, EXTRA) for each in subject.modules)):
        if not installed(module):
            return f"needs {missing(module, extra)}"
    return None


def run(folder: Path | None, wanted: Iterable[str], **how: Any) -> Records:
    """Make the runs that are missing in a folder.

    Args:
        folder: Where the records are kept, in `records/`; None to keep none.
        wanted: The names of what is trained.
        **how: Further arguments of `genorth.training.train`.

    Returns:
        The records of all step sizes.
    """
    from genorth.gallery.stochastic.methods import methods

    return training.train(
        [SUBJECTS[name].training for name in wanted],
        methods(tuple(name for name, each in SUBJECTS.items() if each.stiefel)),
        feasibility_tol=TOLERANCE,
        out=None if folder is None else folder / "records",
        **how,
    )


def told(records: Records) -> str:
    """The tables, as text for a terminal."""
    return "\n".join(map(text, training.loss_tables(records)))


def report(folder: Path) -> Path:
    """Write the HTML report of everything in the folder.

    Raises:
        ValueError: If there are no records.
    """
    records = training.load(folder / "records")
    mine = [SUBJECTS[name] for name in records.distinct("problem") if name in SUBJECTS]
    known = {each.training.problem: each.known() for each in mine if _why_not(each) is None}
    return training.report(
        records,
        folder / "report.html",
        "Training with weights on manifolds",
        [("What is trained", [_about(each, known) for each in mine])],
        known=known,
        look=look(records),
    )


def _about(subject: Subject, known: Mapping[str, Mapping[str, float]]) -> str:
    name = subject.training.problem
    answers = [f"{value:.4g} by {answer}" for answer, value in known.get(name, {}).items()]
    also = f" Held-out loss of known answers: {', '.join(answers)}." if answers else ""
    return f"{name}: {subject.about} Loss: {subject.loss}.{also}"


def look(records: Records) -> dict[str, Style]:
    """The styles: a colour for each way to hold the constraint, solid for Adam, broken for SGD."""
    about = training.tuned(records).solvers
    return {
        name: Style(_COLORS[each.variant], () if each.algorithm == "adam" else (4.0, 1.8))
        for name, each in about.items()
    }
