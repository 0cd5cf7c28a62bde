"""The folder of a comparison: `settings.json`, and `records.jsonl` with one line per finished run.

A line is on disk before the next run begins. What a later call would have to mean by the same
records (version, time limit, threads, iteration limit, options) must be as before; other problems,
solvers, seeds and tolerances may be added.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from genorth.compare.record import ENDINGS, Record, Records
from genorth.errors import refuse

_SETTINGS, _RECORDS = "settings.json", "records.jsonl"
#: Settings that change what a record means.
_MEANING = ("genorth", "time_limit", "threads", "max_iterations")
#: Settings of which a later call may bring more.
_AXES = ("solvers", "seeds", "tolerances")


class Store:
    """Opens the folder for more runs, or refuses it.

    `records` are those that are in it, the last one of each key.
    """

    def __init__(self, out: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.folder = Path(out)
        if self.folder.exists() and not self.folder.is_dir():
            refuse("out", "a folder", f"the file {self.folder}")
        known = _read_settings(self.folder) if (self.folder / _SETTINGS).exists() else None
        if known is None and (self.folder / _RECORDS).exists():
            _refuse_folder(self.folder, f"{_RECORDS} without {_SETTINGS}")
        self.settings = dict(settings) if known is None else _merged(self.folder, known, settings)
        self.records = {record.key: record for record in _read_records(self.folder)}
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.settings != known:
            _write_settings(self.folder, self.settings)
        self._end_last_line()

    def append(self, record: Record) -> None:
        """Add the line of a record; it is on disk when this returns."""
        with (self.folder / _RECORDS).open("ab") as file:
            file.write(record.to_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.records[record.key] = record

    def _end_last_line(self) -> None:
        """A process that was killed may have left half a line.

        What follows must not continue it.
        """
        path = self.folder / _RECORDS
        if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")


def load(out: str | os.PathLike[str]) -> Records:
    """The records of a folder that `run(..., out=...)` made, with their settings.

    Lines that are no records are left out, each with a warning that names the file and the number
    of the line. Of runs that were made twice the last one counts.
    """
    folder = Path(out)
    if not (folder / _SETTINGS).exists():
        refuse("out", f"a folder that compare.run has made, with {_SETTINGS}", f"none in {folder}")
    settings = _read_settings(folder)
    return Records({record.key: record for record in _read_records(folder)}.values(), settings)


def _read_records(folder: Path) -> Iterator[Record]:
    path = folder / _RECORDS
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield _checked(Record.from_json(line.decode()))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"{path}, line {number}: no record ({reason}); it is left out", stacklevel=3
                )


def _checked(record: Record) -> Record:
    """The record, if its key and status are of the right kind.

    JSON that is well formed may be anything.
    """
    strings = (record.problem, record.size, record.solver, record.status, record.message)
    if not all(isinstance(value, str) for value in strings) or record.status not in ENDINGS:
        raise ValueError("names or status")
    if not (isinstance(record.seed, int) and isinstance(record.tolerance, float)):
        raise ValueError("seed or tolerance")
    return record


# ---------------------------------------------------------------------- settings


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
        {key: settings[key] for key in (*_MEANING, *_AXES, "problems")}
    except (ValueError, KeyError, TypeError) as error:
        _refuse_folder(folder, f"{_SETTINGS} that cannot be read ({type(error).__name__}: {error})")
    return settings


def _write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """By a second file, so that a process that is killed leaves the old one or the new one."""
    path = folder / f"{_SETTINGS}.new"
    with path.open("w", encoding="utf-8") as file:
        json.dump(settings, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    path.replace(folder / _SETTINGS)


def _merged(folder: Path, known: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The known settings with what is new on the axes; refused where they contradict each other."""
    for name in _MEANING:
        if known[name] != settings[name]:
            what = "version of genorth" if name == "genorth" else name
            _refuse_folder(folder, f"records with {what} = {known[name]!r}, not {settings[name]!r}")
    problems = {(entry["problem"], entry["size"]): dict(entry) for entry in known["problems"]}
    common = set(known["solvers"]) & set(settings["solvers"])
    for entry in settings["problems"]:
        before = problems.setdefault((entry["problem"], entry["size"]), dict(entry))
        for solver in sorted(common):
            then, now = before["options"].get(solver, {}), entry["options"].get(solver, {})
            if then != now:
                _refuse_folder(
                    folder,
                    f"records of {solver} on {entry['problem']} {entry['size']} with options {then}, not {now}",
                )
        before["options"] = before["options"] | entry["options"]
    axes = {axis: list(dict.fromkeys([*known[axis], *settings[axis]])) for axis in _AXES}
    return known | axes | {"problems": list(problems.values())}


def _refuse_folder(folder: Path, measured: str) -> NoReturn:
    refuse(
        "out",
        "a folder that is new or was made by the same version with the same settings",
        f"{folder}: {measured}",
        None,
        "Choose another folder, or remove this one.",
    )


def described(value: Any) -> Any:
    """An option in words and numbers that JSON can hold, the same in every process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]}"
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
