"""The folder of a comparison: `settings.json`, and `records.jsonl` with one line per finished run.

A line is on disk before the next run begins. One process at a time writes to a folder. `save`
writes `records.jsonl.xz` instead, for records that are to be kept. Records become lines of JSON by
cattrs: strict both ways, and a bad line is told by its field. JSON has no NaN and no infinity: they
are written as "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import lzma
import math
import numbers
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import attrs
import cattrs
import numpy as np
from cattrs.v import format_exception

from genorth.compare.runs.record import Outcome, Record, Records
from genorth.errors import refuse, require
from genorth.files import replace_file
from genorth.solve.result import Trace

#: The layout of the files; 1 had no description of the solver and no definition of the run.
FORMAT = 2
_SETTINGS, _RECORDS, _PACKED = "settings.json", "records.jsonl", "records.jsonl.xz"
_LOCK = ".lock"
#: The settings, with their types.
_KINDS = {
    "format": int,
    "genorth": str,
    "max_time": int | float,
    "threads": int,
    "max_iterations": int | None,
}
_RENAMED = {"time_limit": "max_time"}
_DIGITS = 6  # of the numbers in a saved trace


def folder_of(out: Any) -> Path:
    """Return the absolute path of a folder that the user names: a solver may change directory."""
    named = isinstance(out, str | os.PathLike) and os.fspath(out)
    require(named, "out", "the path of a folder", repr(out))
    folder = Path(os.fsdecode(out)).absolute()
    require(folder.is_dir() or not folder.exists(), "out", "a folder", f"the file {folder}")
    return folder


# ---------------------------------------------------------------------- while runs are made


class Store:
    """Opens a folder for more runs, or refuses it.

    Attributes:
        records: The records in it, the last one of each key.
    """

    def __init__(self, folder: Path, kind: type[Outcome] = Record) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
        except OSError as error:
            refuse("out", "a folder that can be written to", f"{folder}: {error.strerror}")
        try:
            self._settings = _read_settings(folder)
            kept = [path for name in (_RECORDS, _PACKED) if (path := folder / name).exists()]
            if self._settings is None and any(path.stat().st_size for path in kept):
                _refuse_folder(folder, f"records without {_SETTINGS}")
            self.records = _read_records(folder, kind)
            self._file = (folder / _RECORDS).open("ab+")
            self._end_last_line()
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        self._file.close()
        self._lock.close()

    def keep(self, settings: dict[str, Any]) -> None:
        """Write the settings."""
        if settings != self._settings:
            replace_file(self.folder / _SETTINGS, _json(settings))

    def append(self, record: Outcome) -> None:
        """Add the line of a record; it is on disk when this returns."""
        size = self._file.tell()
        try:
            self._file.write(encode(record).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk: half a line would spoil the next one
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), size)
            raise
        self.records[record.key] = record

    def _end_last_line(self) -> None:
        """A process that was killed may have left half a line: end it."""
        if self._file.tell():
            self._file.seek(-1, os.SEEK_END)
            if self._file.read() != b"\n":
                self._file.write(b"\n")


def _locked(folder: Path) -> IO[str]:
    """Hold the lock of a folder; the system releases it when the process ends."""
    file = (folder / _LOCK).open("a+", encoding="utf-8")
    try:
        _lock(file)
    except OSError:
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        refuse("out", "a folder to which no other process writes", f"{folder}: {owner} does")
    file.truncate(0)
    file.write(f"process {os.getpid()}")
    file.flush()
    return file


def _lock(file: IO[str]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1000)  # beyond the text, which others read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ---------------------------------------------------------------------- reading and saving


def load(out: str | os.PathLike[str], kind: type[Outcome] = Record) -> Records:
    """Read the records of a folder that `run(..., out=...)` or `save` made.

    A line that is no record is left out, with a warning that names the line and the field. Of runs
    made twice, the last one counts.

    Args:
        out: The folder.
        kind: What the runs have left: `Record`, or another kind of outcome.

    Returns:
        The records, with their settings.

    Raises:
        ValueError: If it is no such folder, or was written in another format.
    """
    folder = folder_of(out)
    settings = _read_settings(folder)
    need = f"a folder that compare.run has made, with {_SETTINGS}"
    require(settings is not None, "out", need, f"none in {folder}")
    return Records(_read_records(folder, kind).values(), settings or {})


def save(records: Records, out: str | os.PathLike[str], lines: int = 150) -> Path:
    """Write records to a folder, compressed, for keeping.

    Args:
        records: The records.
        out: The folder; `load` reads it.
        lines: How many lines of each trace to keep, in six digits.

    Returns:
        The folder.
    """
    kept = (attrs.evolve(r, trace=thinned(r.trace, lines, _DIGITS)) for r in records)
    return packed(Records(kept, records.settings), out)


def packed(records: Records, out: str | os.PathLike[str]) -> Path:
    """Write records to a folder, compressed, as they are."""
    folder = folder_of(out)
    text = "".join(f"{encode(record)}\n" for record in records)
    replace_file(folder / _PACKED, lzma.compress(text.encode(), preset=9))
    replace_file(folder / _SETTINGS, _json(_checked(folder, records.settings)))
    (folder / _RECORDS).unlink(missing_ok=True)
    return folder


def thinned(trace: Trace, lines: int, digits: int | None = None) -> Trace:
    """At most so many lines and the last one, evenly spread, without points."""
    length = len(trace)
    chosen = (
        range(length) if length <= lines else [i * (length - 1) // lines for i in range(lines + 1)]
    )

    def kept(value: Any) -> Any:
        return float(f"{value:.{digits}g}") if digits and isinstance(value, float) else value

    return Trace(*([kept(getattr(trace, name)[i]) for i in chosen] for name in COLUMNS))


def _read_records(folder: Path, kind: type[Outcome]) -> dict[Any, Outcome]:
    """The last record of each key."""
    found: dict[Any, Outcome] = {}
    for path, opened in ((folder / _PACKED, lzma.open), (folder / _RECORDS, open)):
        if path.exists():
            with opened(path, "rb") as file:
                try:
                    found |= {record.key: record for record in _decoded(path, file, kind)}
                except (EOFError, lzma.LZMAError) as error:
                    warnings.warn(f"{path}: the rest cannot be read ({error})", stacklevel=3)
    return found


def _decoded(path: Path, lines: Any, kind: type[Outcome]) -> Iterator[Outcome]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield decode(line.decode(), kind)
            except ValueError as error:
                said = " ".join(str(error).split())
                warnings.warn(
                    f"{path}, line {number}: no record ({said}); it is left out", stacklevel=4
                )


def _json(settings: Mapping[str, Any]) -> bytes:
    return (json.dumps(settings, indent=1) + "\n").encode()


def _read_settings(folder: Path) -> dict[str, Any] | None:
    try:
        settings = _as_now(json.loads((folder / _SETTINGS).read_text(encoding="utf-8")))
        found = settings.get("format", 1)  # the first had no number
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        _refuse_folder(folder, f"{_SETTINGS} that cannot be read ({type(error).__name__}: {error})")
    if found != FORMAT:
        version = settings.get("genorth", "unknown")
        _refuse_folder(folder, f"records of format {found}, by genorth {version}")
    return _checked(folder, settings)


def _checked(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    for name, kinds in _KINDS.items():
        if not isinstance(value := settings.get(name), kinds) or isinstance(value, bool):
            _refuse_folder(folder, f"{_SETTINGS} with {name} = {value!r}")
    return settings


def _refuse_folder(folder: Path, got: str) -> NoReturn:
    refuse(
        "out",
        f"a folder that is new or holds records of format {FORMAT}",
        f"{folder}: {got}",
        None,
        "Run the comparison again into a new folder.",
    )


# ---------------------------------------------------------------------- lines of JSON


#: The columns of a trace that are kept.
COLUMNS = {"time": float, "cost": float, "gradient_norm": float, "feasibility": float} | {
    "evaluations": int
}
_NOT_FINITE = ("nan", "inf", "-inf")


_Kind = TypeVar("_Kind", bound=Outcome)


def encode(record: Outcome) -> str:
    """Return the record as one line of JSON."""
    fields = _converter.unstructure(record)
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)


def decode(line: str, kind: type[_Kind]) -> _Kind:
    """Return the record of a line that `encode` made.

    Raises:
        ValueError: If the line is none; the message names the fields that are wrong.
    """
    try:
        fields = json.loads(line, parse_constant=_constant)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    return structured(_as_now(fields), kind)


def _as_now(fields: Any) -> Any:
    """The fields of a record, or the settings, as an earlier version wrote them, by today's names.

    `max_time` was `time_limit`, and a record had the `validation` loss of a training.
    """
    if not isinstance(fields, dict):
        return fields
    found = {_RENAMED.get(name, name): value for name, value in fields.items()}
    if found.get("validation", "") is None:
        del found["validation"]
    if "definition" in found:
        found["definition"] = _as_now(found["definition"])
    return found


def structured(fields: Any, kind: type[_Kind]) -> _Kind:
    """Return the record of these fields, each in plain Python types.

    Raises:
        ValueError: If a field is missing, unknown, of the wrong type or out of range.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"need an object, got {type(fields).__name__}")
    try:
        return _converter.structure(fields, kind)
    except cattrs.BaseValidationError as error:
        raise ValueError("; ".join(cattrs.transform_error(error, "record", _said))) from error


def _said(error: BaseException, kind: type[Any] | None) -> str:
    return str(error) if type(error) in (TypeError, ValueError) else format_exception(error, kind)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# ---------------------------------------------------------------------- types


def _wrong(need: str, value: Any) -> NoReturn:
    raise TypeError(f"need {need}, got {type(value).__name__}")


#: Plain types: in words, and what becomes one.
_PLAIN: dict[type[Any], tuple[str, Any]] = {
    str: ("text", str),
    bool: ("true or false", bool | np.bool_),
    int: ("a whole number", numbers.Integral),
    float: ("a number", numbers.Real),
}


def _as_plain(value: Any, kind: type[Any]) -> Any:
    """The value as a text, a truth value, a whole number or a number."""
    if kind is float and isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    need, kinds = _PLAIN[kind]
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        _wrong(need, value)
    return kind(value)


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _wrong("a list of texts", value)
    return tuple(_as_plain(item, str) for item in value)


def _trace(value: Any, _: Any) -> Trace:
    if not isinstance(value, dict) or value.keys() != COLUMNS.keys():
        _wrong(f"the columns {', '.join(COLUMNS)}", value)
    return Trace(**{name: _column(value[name], kind) for name, kind in COLUMNS.items()})


def _column(values: Any, kind: type[Any]) -> list[Any]:
    if not isinstance(values, list):
        _wrong("a list", values)
    if set(map(type, values)) <= {kind}:
        return list(values)
    return [_as_plain(value, kind) for value in values]


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _untrace(trace: Trace) -> dict[str, list[Any]]:
    columns = {name: getattr(trace, name) for name in COLUMNS}
    return {
        name: values if all(map(math.isfinite, values)) else list(map(_plain, values))
        for name, values in columns.items()
    }


_converter = cattrs.Converter(forbid_extra_keys=True)
for _kind in _PLAIN:
    _converter.register_structure_hook(_kind, _as_plain)
_converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
_converter.register_structure_hook(Trace, _trace)
_converter.register_unstructure_hook(float, _plain)
_converter.register_unstructure_hook(Trace, _untrace)
