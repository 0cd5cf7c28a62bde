"""The comparison of trainings: the runs, their tables and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from genorth import training
from genorth.compare import Records
from genorth.compare.render import text
from genorth.errors import require_known
from genorth.gallery.base import EXTRA
from genorth.gallery.stochastic.tasks import SUBJECTS, Subject
from genorth.optional import installed, missing

_GRID = (0.005, 0.03, 0.2, 1.0, 6.0, 40.0)
_COMMON = {"jobs": 1, "max_time": 300.0, "tuning": 1}
#: Those that a quick comparison leaves out.
SLOW: tuple[str, ...] = ()
#: The defaults of a comparison.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "full": {"rates": _GRID, "epochs": 10, "starts": 5, **_COMMON},
    "quick": {"rates": _GRID[:3], "epochs": 3, "starts": 2, **_COMMON},
}
#: |C| at the end; weights in single precision are not restored by other packages.
TOLERANCE = 1e-4


def reasons(wanted: Iterable[str] | None = None) -> dict[str, str | None]:
    """Why each of these trainings, by default all, cannot be made; None for one that can.

    Raises:
        ValueError: If there is no such training.
    """
    for name in wanted or ():
        require_known("name", name, SUBJECTS)
    return {name: _why_not(SUBJECTS[name]) for name in wanted or SUBJECTS}


def _why_not(subject: Subject) -> str | None:
    needs = {"torch": "torch", **dict.fromkeys(subject.modules, EXTRA)}
    absent = [missing(module, extra) for module, extra in needs.items() if not installed(module)]
    return f"needs {absent[0]}" if absent else None


def run(folder: Path | None, wanted: Iterable[str], **how: Any) -> Records:
    """Make the runs that are missing in a folder.

    Args:
        folder: Where the records are kept, in `records/`; None to keep none.
        wanted: The names of what is trained, one after the other.
        **how: Further arguments of `genorth.training.train`.

    Returns:
        The records of all step sizes.
    """
    from genorth.gallery.stochastic.methods import methods

    made = [
        training.train(
            [SUBJECTS[name].training],
            methods(),
            feasibility_tol=TOLERANCE,
            out=None if folder is None else folder / "records",
            **how,
        )
        for name in wanted
    ]
    return Records([record for records in made for record in records], made[0].settings)


def told(records: Records) -> str:
    """The tables, as text for a terminal, and which rows are left out."""
    from genorth.gallery.stochastic.methods import left_out

    return "\n".join([*map(text, training.loss_tables(records)), *left_out()])


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
    )


def _about(subject: Subject, known: Mapping[str, Mapping[str, float]]) -> str:
    name = subject.training.problem
    answers = [f"{value:.4g} by {answer}" for answer, value in known.get(name, {}).items()]
    also = f" Held-out loss of known answers: {', '.join(answers)}." if answers else ""
    return f"{name}: {subject.about} Loss: {subject.loss}.{also}"
