"""What `run` makes of the solvers it is given: callables by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from genorth.errors import refuse
from genorth.solve.result import Result
from genorth.solve.solver import SOLVERS

#: solver(problem, x0, tol=..., max_time=..., max_iterations=..., and its options) gives a Result.
Solver = Callable[..., Result]


def as_solvers(solvers: Any) -> dict[str, Solver]:
    """The solvers by name, of a mapping, or of a list of methods of `minimize` and objects that have a name."""
    if isinstance(solvers, str) or callable(solvers):
        solvers = [solvers]
    if isinstance(solvers, Mapping):
        named = [(name, solver) for name, solver in solvers.items()]
    elif isinstance(solvers, Iterable):
        named = [_named(entry) for entry in solvers]
    else:
        refuse("solvers", _FORMS, repr(solvers))
    if not named:
        refuse("solvers", "at least one solver", "none")
    for name, solver in named:
        if not isinstance(name, str) or not callable(solver):
            refuse("solvers", _FORMS, f"{name!r}: {type(solver).__name__}")
    names = [name for name, _ in named]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        refuse(
            "solvers",
            "each name once",
            f"twice {', '.join(map(repr, twins))}",
            None,
            "Give names by a mapping.",
        )
    return dict(named)


_FORMS = "a mapping of names to callables, or a list of methods of genorth.minimize and of callables with a name"


def _named(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, str):
        return entry, _method(entry)
    name = getattr(entry, "name", None) or getattr(entry, "__name__", None)
    if name is None or name == "<lambda>":
        refuse(
            "solvers",
            _FORMS,
            f"{type(entry).__name__} without a name",
            None,
            "Give its name by a mapping.",
        )
    return name, entry


def _method(name: str) -> Solver:
    if name not in SOLVERS:
        refuse("solvers", f"one of {', '.join(map(repr, SOLVERS))}", repr(name))
    return SOLVERS[name]


def takes(solver: Solver, argument: str) -> bool:
    """True if the solver can be called with the keyword argument, as far as its signature says."""
    try:
        parameters = inspect.signature(solver).parameters
    except (TypeError, ValueError):
        return False
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
