"""What defines a run, so that a later call can tell whether a stored record still stands for it.

Options and callables are described by what they hold; a problem has a fingerprint: f, its gradient
and phi at fixed points, as numbers that are compared up to rounding. A hash such as `joblib.hash`
would not do: it changes with the BLAS kernel, it takes a function by its name and not by its code
and closure, and it cannot say what changed.
"""

from __future__ import annotations

import functools
import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType
from typing import Any

import attrs
import numpy as np

from genorth.linalg.arrays import Array
from genorth.manifolds.product import Product
from genorth.problem.problem import Problem
from genorth.solve.solver import Solver

_ROUNDING = 1e-6  # relative; what other BLAS kernels change is far below, other data far above
_DEPTH, _NODES = 8, 2000  # of an object graph: beyond, a type must do
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


# ---------------------------------------------------------------------- options and callables


def described(value: Any) -> Any:
    """Return the value in JSON's types, by what it holds: the same in every process.

    Arrays are hashed; partials, functions with their closures, and objects with their attributes
    are taken apart.
    """
    left = iter(range(_NODES))

    def visit(value: Any, depth: int) -> Any:
        try:
            if depth > _DEPTH or next(left, None) is None:
                return _named(type(value))
            return _described(value, lambda item: visit(item, depth + 1))
        except Exception:  # an object whose attributes raise
            return _named(type(value))

    return visit(value, 0)


def _described(value: Any, go_on: Callable[[Any], Any]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        # Python writes no decimals of a very long integer
        return hex(value) if isinstance(value, int) and value.bit_length() > 64 else value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, complex | PurePath | bytes):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): go_on(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [go_on(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if hasattr(value, "__array__"):
        return _array(np.asarray(value), go_on)
    if isinstance(value, Solver):
        return {"solver": value.name, "run": go_on(value.run)}
    if isinstance(value, functools.partial):
        return {"partial": go_on(value.func), "args": go_on(value.args)} | go_on(value.keywords)
    if isinstance(value, MethodType):
        return {"method": value.__name__, "of": go_on(value.__self__)}
    if isinstance(value, FunctionType):
        return _function(value, go_on)
    if hasattr(value, "__qualname__"):
        return _named(value)
    return {"type": _named(type(value))} | {
        name: go_on(item) for name, item in _attributes(value).items()
    }


def _named(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _array(A: np.ndarray[Any, Any], go_on: Callable[[Any], Any]) -> Any:
    if A.dtype.hasobject:
        return go_on(A.tolist())
    digest = hashlib.sha256(np.ascontiguousarray(A).tobytes()).hexdigest()[:16]
    return f"array {A.shape} {A.dtype} {digest}"


def _function(function: FunctionType, go_on: Callable[[Any], Any]) -> dict[str, Any]:
    """Name, code, defaults, and what the closure holds of numbers, texts, arrays and functions.

    Lists and dictionaries of a closure are left out: they are where functions keep their notes.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = {
        name: go_on(cell.cell_contents)
        for name, cell in cells
        if not isinstance(cell.cell_contents, list | dict | set)
    }
    defaults = go_on([*(function.__defaults__ or ()), function.__kwdefaults__ or {}])
    code = hashlib.sha256(repr(_code(function.__code__)).encode()).hexdigest()[:16]
    return {
        "function": _named(function),
        "code": {_PYTHON: code},
        "closure": closure,
        "defaults": defaults,
    }


def _code(code: CodeType) -> Any:
    return code.co_code, code.co_names, [_constant(each) for each in code.co_consts]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    # the order of a set of texts differs from process to process
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _attributes(value: Any) -> dict[str, Any]:
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    return {
        name: item
        for name, item in vars(value).items()
        if not isinstance(getattr(type(value), name, None), functools.cached_property)
    }


# ---------------------------------------------------------------------- problems


def fingerprint(problem: Problem, start: Any) -> dict[str, Any]:
    """Return numbers that tell the problem and its start from others.

    f and its gradient are taken at -start, which no solver sees and which is on M with start, as
    C(-X) = C(X): what a problem makes once is then not on the clock of the first solver.
    """
    manifold, kind = problem.manifold, type(problem.manifold).__name__
    phi = "phi"
    if isinstance(manifold, Product):  # flat vectors; A of the factors instead of phi
        start, problem = manifold.inward(start), problem.in_blocks
        manifold, phi = problem.manifold, "dissolve"
    found: dict[str, Any] = {
        "manifold": kind,
        "shape": list(manifold.shape),
        "dtype": str(manifold.dtype),
        "start": _probe(start),
    }

    def evaluated() -> tuple[Any, Any]:
        if not problem.has_gradient:
            return problem.cost(-start), None
        cost, G = problem.cost_and_gradient(-start)
        manifold.gradient(-start, G)
        return cost, G

    probes: list[tuple[tuple[str, ...], Any]] = [
        (("phi",), lambda: (getattr(manifold, phi)(manifold.ambient(_weights(start))),)),
        (("cost", "gradient"), evaluated),
    ]
    if (further := problem.constraints) is not None:
        ends = map(np.arctan, (further.lower, further.upper))  # which may be infinite
        keys = ("constraints", "lower", "upper")
        probes.append((keys, lambda: (further.value(manifold.ambient(_weights(start))), *ends)))
    if (term := problem.term) is not None:
        Y = manifold.ambient(_weights(start))
        probes.append((("term", "prox"), lambda: (term(Y), term.prox(Y, 1.0))))
    for names, figures in probes:
        try:
            found |= dict(zip(names, map(_probe, figures()), strict=True))
        except (Exception, SystemExit) as error:  # raised again in the runs, whose records say so
            found |= dict.fromkeys(names, f"raised {type(error).__name__}")
    return found


def probed(made: Any) -> dict[str, Any]:
    """Return numbers that tell the data of a training from others, for each array one."""
    return {
        name: _probe(value) if hasattr(value, "__array__") else described(value)
        for name, value in _attributes(made).items()
    }


def _weights(like: Array) -> Array:
    return np.cos(np.arange(1.0, like.size + 1)).reshape(like.shape).astype(like.dtype)


def _probe(value: Any) -> Any:
    """One number of an array, and its size; NaN and infinity as text."""
    if value is None:
        return None
    A = np.asarray(value)
    projected, size = np.vdot(_weights(A) if A.ndim else 1.0, A), float(np.linalg.norm(A))
    figures = {"re": float(projected.real), "im": float(projected.imag), "size": size}
    return {name: described(figure) for name, figure in figures.items()}


# ---------------------------------------------------------------------- what changed


def changes(then: Any, now: Any, name: str = "") -> Iterator[str]:
    """Say what differs between two definitions: "options.beta was 50.0, is 500.0"."""
    if isinstance(then, dict) and isinstance(now, dict):
        if then.keys() == now.keys() == {"re", "im", "size"}:
            if not _close(then, now):
                yield f"{name} at the start was {_figure(then)}, is {_figure(now)}"
            return
        if name.endswith("code") and then.keys() != now.keys():
            return  # compiled by another Python
        for key in dict.fromkeys([*then, *now]):
            yield from changes(then.get(key), now.get(key), f"{name}.{key}".lstrip("."))
    elif then != now:
        yield f"{name} was {then!r:.80}, is {now!r:.80}"


def _close(then: dict[str, Any], now: dict[str, Any]) -> bool:
    figures = [*then.values(), *now.values()]
    if any(isinstance(figure, str) for figure in figures):
        return then == now
    allowed = _ROUNDING * max(then["size"], now["size"])
    return all(abs(then[name] - now[name]) <= allowed for name in then)


def _figure(probe: dict[str, Any]) -> str:
    return f"{probe['re']:.6g}" if isinstance(probe["re"], float) else str(probe["re"])
