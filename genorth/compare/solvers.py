"""What `run` makes of the solvers it is given: callables by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from genorth.errors import refuse
from genorth.penalty.minimize import minimize
from genorth.problem.problem import Problem
from genorth.solve.result import Result

#: solver(problem, x0, tol=..., max_time=..., max_iterations=..., and its options) gives a Result.
Solver = Callable[..., Result]


@attrs.frozen
class Method:
    """A method of `genorth.penalty.minimize`."""

    name: str

    def supports(self, problem: Problem) -> str | None:
        """Why it cannot run on the problem; None where it can."""
        return problem.lacks(second_order=self.name == "cdf-tr")

    def __call__(self, problem: Problem, x0: Any = None, **arguments: Any) -> Result:
        """Run it."""
        return minimize(problem, x0, method=self.name, **arguments)


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


_FORMS = "a mapping of names to callables, or a list of methods of genorth.penalty.minimize and of callables with a name"


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


def _method(name: str) -> Method:
    from genorth.penalty.methods import METHODS

    if name not in METHODS:
        refuse(
            "solvers",
            f"one of {', '.join(map(repr, METHODS))}",
            repr(name),
            None,
            "Solvers that are no methods of genorth.penalty.minimize are given as objects, as baselines.SOLVERS[name].",
        )
    return Method(name)


def takes(solver: Solver, argument: str) -> bool:
    """True if the solver can be called with the keyword argument, as far as its signature says."""
    try:
        parameters = inspect.signature(solver).parameters
    except (TypeError, ValueError):
        return False
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
