"""The folder of a comparison: `settings.json`, and `records.jsonl` with one line per finished run.

A line is on disk before the next run begins. One process at a time writes to a folder. `save`
writes `records.jsonl.xz` instead, for records that are to be kept. Lines are read strictly: each
field has its type, and a bad line is reported by its field. JSON has no NaN and no infinity: they
are written as "nan", "inf" and "-inf".
"""

from __future__ import annotations

import gc
import json
import lzma
import math
import numbers
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import NoneType
from typing import IO, Any, NoReturn, get_type_hints

import attrs
import numpy as np

from genorth.compare.runs.record import TRACED, Outcome, Record, Records
from genorth.errors import refuse, require
from genorth.files import replace_file
from genorth.machine import contained
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
_SHARED = {"about", "definition", "environment"}
_DIGITS = 6  # of the numbers in a saved trace


def folder_of(out: Any) -> Path:
    """Return the absolute path of a folder that the user names: a solver may change directory."""
    named = isinstance(out, str | os.PathLike) and os.fspath(out)
    require(named, "out", "the path of a folder", repr(out))
    folder = Path(os.fsdecode(out)).absolute()
    try:
        require(folder.is_dir() or not folder.exists(), "out", "a folder", f"the file {folder}")
    except OSError as error:  # a name that is too long
        refuse("out", "the path of a folder", f"{folder}: {error.strerror}")
    return folder


# ---------------------------------------------------------------------- while runs are made


class Store:
    """Opens a folder for more runs, or refuses it.

    Attributes:
        records: The records in it, the last one of each key.
    """

    def __init__(self, folder: Path, kind: type[Outcome] = Record) -> None:
        self.folder, self._path = folder, folder / _RECORDS
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
            self._file = self._path.open("ab+")
            if self._file.tell():  # a process that was killed may have left half a line: end it
                self._file.seek(-1, os.SEEK_END)
                self._file.write(b"" if self._file.read() == b"\n" else b"\n")
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
            self._settings = settings
            replace_file(self.folder / _SETTINGS, _json(settings))

    def append(self, record: Outcome) -> None:
        """Add the line of a record; it is on disk when this returns."""
        if not self._path.exists():
            self._restore()
        size = self._file.tell()
        try:
            self._file.write(_line(record))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk: half a line would spoil the next one
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), size)
            raise
        self.records[record.key] = record

    def _restore(self) -> None:
        """Make the folder again, with all records: a solver has removed it."""
        self.close()
        replace_file(self._path, b"".join(map(_line, self.records.values())))
        replace_file(self.folder / _SETTINGS, _json(self._settings or {}))
        self._lock, self._file = _locked(self.folder), self._path.open("ab+")


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
    replace_file(folder / _PACKED, lzma.compress(b"".join(map(_line, records)), preset=9))
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

    return Trace(*([kept(getattr(trace, name)[i]) for i in chosen] for name in TRACED))


def _read_records(folder: Path, kind: type[Outcome]) -> dict[Any, Outcome]:
    """The last record of each key."""
    found: dict[Any, Outcome] = {}
    with contained():
        gc.disable()  # what is read stays: looking through it again and again takes a third longer
        for path, opened in ((folder / _PACKED, lzma.open), (folder / _RECORDS, open)):
            if path.exists():
                with opened(path, "rb") as file:
                    try:
                        found |= {record.key: record for record in _decoded(path, file, kind)}
                    except (EOFError, lzma.LZMAError) as error:
                        warnings.warn(f"{path}: the rest cannot be read ({error})", stacklevel=3)
    return found


def _decoded(path: Path, lines: Any, kind: type[Outcome]) -> Iterator[Outcome]:
    known: dict[str, Any] = {}  # parts that many records share
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                fields = json.loads(line)
                names = _SHARED & fields.keys() if isinstance(fields, dict) else ()
                texts = {name: name + repr(fields[name]) for name in names}
                for name, text in texts.items():
                    fields[name] = known.get(text, fields[name])
                record: Outcome = structured(fields, kind)
                known |= {text: getattr(record, name) for name, text in texts.items()}
                yield record
            except (ValueError, RecursionError) as error:
                said = " ".join(str(error).split())
                warnings.warn(
                    f"{path}, line {number}: no record ({said}); it is left out", stacklevel=4
                )


def _json(settings: Mapping[str, Any]) -> bytes:
    return (json.dumps(settings, indent=1) + "\n").encode()


def _read_settings(folder: Path) -> dict[str, Any] | None:
    try:
        settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
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


def encode(record: Outcome) -> str:
    """Return the record as one line of JSON."""
    fields = attrs.asdict(record)
    fields.get("trace", {}).pop("points", None)
    return json.dumps(_finite(fields), separators=(",", ":"), allow_nan=False)


def _line(record: Outcome) -> bytes:
    return encode(record).encode() + b"\n"


def _finite(value: Any) -> Any:
    """The value with NaN and infinity as texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return list(map(_finite, value)) if isinstance(value, list | tuple) else value


def decode(line: str, kind: Any) -> Any:
    """Return the record of a line that `encode` made.

    Args:
        line: The line.
        kind: The class of the record.

    Raises:
        ValueError: If the line is none; the message names the field that is wrong.
    """
    return structured(json.loads(line), kind)


# ---------------------------------------------------------------------- types


def structured(fields: Any, kind: Any) -> Any:
    """Return the record of these fields, each in plain Python types.

    Raises:
        ValueError: If a field is missing, unknown, of the wrong type or out of range.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"need an object, got {type(fields).__name__}")
    types, name = _types(kind), ""
    try:
        for name in types.keys() & fields.keys():
            if type(value := fields[name]) is not types[name]:
                fields[name] = _as(types[name], value)
            elif types[name] is str:
                fields[name] = sys.intern(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from error
    try:
        return kind(**fields)
    except TypeError as error:  # a field is missing, or unknown
        raise ValueError(str(error)) from error


_types = cache(get_type_hints)


#: Plain types: in words, and what becomes one.
_PLAIN: dict[Any, tuple[str, Any]] = {
    str: ("text", str),
    bool: ("true or false", bool | np.bool_),
    int: ("a whole number", numbers.Integral),
    float: ("a number", numbers.Real),
}


def _as(kind: Any, value: Any) -> Any:
    """The value as one of this type, in plain Python types, or a TypeError."""
    if type(value) is kind or kind is Any:
        return value
    if kind in _PLAIN:
        need, kinds = _PLAIN[kind]
        if kind is float and value in ("nan", "inf", "-inf"):
            return float(value)
        if isinstance(value, kinds) and (kind is bool or not isinstance(value, bool)):
            return kind(value)
        raise TypeError(f"need {need}, got {type(value).__name__}")
    parts = getattr(kind, "__args__", ())
    if not parts:
        return structured(value, kind)
    if NoneType in parts:
        return None if value is None else _as(parts[0], value)
    origin = kind.__origin__
    if not isinstance(value, (list, tuple) if origin is tuple else origin):
        raise TypeError(f"need a {origin.__name__}, got {type(value).__name__}")
    items: Any = value.values() if isinstance(value, dict) else value
    inner = parts[1] if origin is dict else parts[0]
    if inner is not Any and not set(map(type, items)) <= {inner}:
        items = [_as(inner, item) for item in items]
        return dict(zip(value, items, strict=True)) if origin is dict else origin(items)
    return value if isinstance(value, origin) else origin(value)
