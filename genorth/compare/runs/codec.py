"""Records as lines of JSON, by cattrs: strict both ways, and a bad line is told by its field.

JSON has no NaN and no infinity: they are written as "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
import numbers
from typing import Any, NoReturn, TypeVar

import cattrs
import numpy as np
from cattrs.v import format_exception

from genorth.compare.runs.record import Outcome
from genorth.solve.result import Trace

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
    if isinstance(fields, dict) and fields.get("validation", "") is None:
        del fields["validation"]  # records had this field before trainings had their own
    return structured(fields, kind)


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


def _text(value: Any, _: Any) -> str:
    return str(value) if isinstance(value, str) else _wrong("text", value)


def _flag(value: Any, _: Any) -> bool:
    return bool(value) if isinstance(value, bool | np.bool_) else _wrong("true or false", value)


def _whole(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        _wrong("a whole number", value)
    return int(value)


def _number(value: Any, _: Any) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        _wrong("a number", value)
    return float(value)


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _wrong("a list of texts", value)
    return tuple(_text(item, str) for item in value)


def _trace(value: Any, _: Any) -> Trace:
    if not isinstance(value, dict) or value.keys() != COLUMNS.keys():
        _wrong(f"the columns {', '.join(COLUMNS)}", value)
    return Trace(**{name: _column(value[name], kind) for name, kind in COLUMNS.items()})


def _column(values: Any, kind: type[Any]) -> list[Any]:
    if not isinstance(values, list):
        _wrong("a list", values)
    if set(map(type, values)) <= {kind}:
        return list(values)
    return [_whole(value, int) if kind is int else _number(value, float) for value in values]


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _untrace(trace: Trace) -> dict[str, list[Any]]:
    columns = {name: getattr(trace, name) for name in COLUMNS}
    return {
        name: values if all(map(math.isfinite, values)) else list(map(_plain, values))
        for name, values in columns.items()
    }


_converter = cattrs.Converter(forbid_extra_keys=True)
for _kind, _hook in ((str, _text), (bool, _flag), (int, _whole), (float, _number)):
    _converter.register_structure_hook(_kind, _hook)
_converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
_converter.register_structure_hook(Trace, _trace)
_converter.register_unstructure_hook(float, _plain)
_converter.register_unstructure_hook(Trace, _untrace)
