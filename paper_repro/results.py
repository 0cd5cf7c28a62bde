"""The records of a folder: made by `run`, read by `load`, thinned and compressed by `keep`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from genorth import compare
from genorth.compare import Records
from genorth.errors import refuse
from paper_repro.experiments import TOLERANCES, Experiment, chosen

_SETTINGS, _KEPT = "settings.json", "records.jsonl.xz"


def run(
    folder: Path,
    experiments: Iterable[Experiment],
    solvers: Iterable[str] | None = None,
    **settings: Any,
) -> Records:
    """Make the runs that are missing in the folder.

    Args:
        folder: Where the records are kept, in `records/`.
        experiments: What to run.
        solvers: Names of solvers; all by default.
        settings: Further arguments of `genorth.compare.run`.

    Returns:
        The records of these experiments, with those of earlier calls.

    Raises:
        ValueError: If a solver is unknown, or the folder has records with other settings.
    """
    names = chosen(solvers)
    if (folder / "records" / _KEPT).exists():
        refuse("out", "a folder without compressed records, to which none are added", folder)
    common = {"tolerances": TOLERANCES, "out": folder / "records"} | settings
    return compare.join(
        [compare.run(experiment.instances(), names, **common) for experiment in experiments]
    )


def load(folder: Path) -> Records:
    """All records of the folder, compressed or not."""
    if not (folder / "records" / _SETTINGS).exists():
        need = "a folder in which `python -m paper_repro` has put records"
        refuse("out", need, f"none in {folder}")
    return compare.load(folder / "records")


def keep(records: Records, folder: Path) -> list[Path]:
    """Write the records with shorter traces, compressed, for a repository."""
    records_folder = compare.save(records, folder / "records")
    return [records_folder / name for name in (_SETTINGS, _KEPT)]
