"""The records of a folder: made by `run`, read by `load`, thinned and compressed by `keep`."""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from genorth import compare
from genorth.compare import Record, Records
from genorth.errors import refuse
from genorth.solve.result import Trace
from paper_repro.experiments import TOLERANCES, Experiment, chosen
from paper_repro.files import write
from paper_repro.internals import thinned

_SETTINGS, _RECORDS, _KEPT = "settings.json", "records.jsonl", "records.jsonl.xz"
_LINES, _DIGITS = 150, 6  # of a trace that is kept


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
    records = folder / "records"
    if not (records / _SETTINGS).exists():
        need = "a folder in which `python -m paper_repro` has put records"
        refuse("out", need, f"none in {folder}")
    if not (records / _KEPT).exists():
        return compare.load(records)
    with tempfile.TemporaryDirectory() as unpacked:
        try:
            write(Path(unpacked) / _RECORDS, lzma.decompress((records / _KEPT).read_bytes()))
        except lzma.LZMAError as error:
            refuse("out", "records that can be decompressed", f"{records / _KEPT}: {error}")
        write(Path(unpacked) / _SETTINGS, (records / _SETTINGS).read_bytes())
        return compare.load(unpacked)


def keep(records: Records, folder: Path) -> list[Path]:
    """Write the records with shorter traces, compressed, for a repository."""
    lines = "".join(f"{_thin(record).to_json()}\n" for record in records)
    return [
        write(folder / "records" / _SETTINGS, json.dumps(records.settings, indent=1) + "\n"),
        write(folder / "records" / _KEPT, lzma.compress(lines.encode(), preset=9)),
    ]


def _thin(record: Record) -> Record:
    """The record with a trace of at most 150 lines, to six digits."""
    trace = thinned(record.trace, _LINES)
    rounded = {
        name: [float(f"{value:.{_DIGITS}g}") for value in getattr(trace, name)]
        for name in ("time", "cost", "gradient_norm", "feasibility")
    }
    return attrs.evolve(record, trace=Trace(**rounded, evaluations=trace.evaluations))
