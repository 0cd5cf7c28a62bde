"""`Instance`: a problem of a size that is made anew from a seed.

And what `run` makes of the problems it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array
from genorth.problem.problem import Problem

_Make = Callable[[int], Problem]


@attrs.frozen
class Instance:
    """A problem of a size: `make(seed)` gives the same problem for the same seed.

    start(problem, seed): where all solvers start, by default a random point of the manifold.
    options: further keyword arguments by name of solver, as `{"cdf-gd": {"beta": 0.012}}`. For jobs
    > 1 all of it must be picklable: functions of a module and partials of them are, lambdas are
    not.
    """

    problem: str
    size: str
    make: _Make = attrs.field(repr=False)
    start: Callable[[Problem, int], Array] | None = attrs.field(default=None, repr=False)
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @property
    def name(self) -> str:
        """Problem and size."""
        return f"{self.problem} {self.size}"

    def made(self, seed: int) -> tuple[Problem, Array]:
        """The problem of the seed, and the start that all solvers share."""
        problem = self.make(seed)
        if not isinstance(problem, Problem):
            refuse(
                "problems",
                f"make of {self.name!r} to return a genorth.Problem",
                type(problem).__name__,
            )
        given = None if self.start is None else self.start(problem, seed)
        return problem, np.array(problem.start(given, seed))


def as_instances(problems: Any, seed: int = 0) -> list[Instance]:
    """The instances of what `run` was given.

    A function in a mapping is called with `seed` to learn its size.
    """
    if isinstance(problems, Problem | Instance):
        problems = [problems]
    if isinstance(problems, Mapping):
        instances = [_named(name, entry, seed) for name, entry in problems.items()]
    elif isinstance(problems, Iterable) and not isinstance(problems, str | bytes):
        instances = [_unnamed(entry) for entry in problems]
    else:
        refuse("problems", _FORMS, _kind(problems))
    if not instances:
        refuse("problems", "at least one problem", "none")
    _refuse_twins([instance.name for instance in instances])
    return instances


_FORMS = (
    "a genorth.Problem, a list of Problems or Instances, "
    "or a mapping of names to Problems, Instances or functions seed -> Problem"
)


@attrs.frozen
class _Same:
    """The same problem for every seed, which then is that of the start alone.

    A class, as lambdas are not picklable.
    """

    problem: Problem

    def __call__(self, seed: int) -> Problem:  # noqa: ARG002  the seed is not used
        return self.problem


def _size(problem: Problem) -> str:
    return f"({','.join(map(str, problem.manifold.shape))})"


def _unnamed(entry: Any) -> Instance:
    if isinstance(entry, Instance):
        return entry
    if not isinstance(entry, Problem):
        refuse("problems", _FORMS, _kind(entry))
    name = "problem" if entry.name == "<lambda>" else entry.name
    return Instance(str(name), _size(entry), _Same(entry))


def _named(name: Any, entry: Any, seed: int) -> Instance:
    if not isinstance(name, str):
        refuse("problems", "names that are strings", repr(name))
    if isinstance(entry, Instance):
        return attrs.evolve(entry, problem=name)
    if isinstance(entry, Problem):
        return Instance(name, _size(entry), _Same(entry))
    if not callable(entry):
        refuse("problems", _FORMS, f"{name!r}: {_kind(entry)}")
    made = entry(seed)
    if not isinstance(made, Problem):
        refuse(
            "problems",
            f"{name!r} to be a function seed -> Problem",
            f"a function that returns {_kind(made)}",
        )
    return Instance(name, _size(made), entry)


def _kind(value: Any) -> str:
    return (
        repr(value)
        if isinstance(value, str | int | float | None.__class__)
        else type(value).__name__
    )


def _refuse_twins(names: list[str]) -> None:
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        refuse(
            "problems",
            "each name with its size once",
            f"twice {', '.join(map(repr, twins))}",
            None,
            "Give names by a mapping, or go.Problem(..., name=...).",
        )
