"""What is compared: `Case`, the problems and solvers of `run`, and the runs to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs
import numpy as np

import genorth
from genorth.errors import require, require_known
from genorth.linalg.arrays import Array, is_array
from genorth.manifolds.product import Product
from genorth.problem.problem import Problem
from genorth.solve.solver import RENAMED, SOLVERS

#: A problem, by its index, and a seed.
Place = tuple[int, int]


@attrs.frozen
class Case:
    """A problem of a size, made from a seed.

    For `jobs > 1` everything in it must be picklable, lambdas and closures by cloudpickle.

    Args:
        problem: The name of the problem.
        size: Its size, as tables show it.
        make: `make(seed)` returns a `Problem`, the same one for the same seed.
        start: `start(problem, seed)` returns the point at which all solvers start; by default a
            random point of the manifold.
        options: Further keyword arguments by name of solver: `{"cdf-gd": {"beta": 0.012}}`.
    """

    problem: str
    size: str | None
    make: Callable[[int], Problem] = attrs.field(repr=False)
    start: Callable[[Problem, int], Array] | None = attrs.field(default=None, repr=False)
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        options = self.options.values() if isinstance(self.options, Mapping) else [None]
        settings = all(isinstance(each, Mapping) for each in options)
        start = self.start is None or callable(self.start)
        for name, need, holds in (
            ("problem", "a text", isinstance(self.problem, str)),
            ("size", "a text", isinstance(self.size, str | None)),
            ("make", "a function seed -> Problem", callable(self.make)),
            ("start", "a function (problem, seed) -> X, or None", start),
            ("options", "a mapping of solvers to mappings of keyword arguments", settings),
        ):
            require(holds, f"Case.{name}", need, _kind(getattr(self, name)))

    @property
    def name(self) -> str:
        """Problem and size."""
        return f"{self.problem} {self.size or ''}".rstrip()

    def made(self, seed: int) -> tuple[Problem, Any]:
        """Make the problem of a seed, and the start that all solvers share."""
        problem = self.make(seed)
        need = f"make of {self.name!r} to return a Problem"
        require(isinstance(problem, Problem), "problems", need, _kind(problem))
        given = None if self.start is None else self.start(problem, seed)
        return problem, copied(problem, problem.start(given, seed))


def copied(problem: Problem, X: Any) -> Any:
    """A copy of a point in NumPy; of a flat vector, the point of the product.

    Raises:
        ValueError: If it is none of the product.
    """
    manifold = problem.manifold
    if not isinstance(manifold, Product):
        return np.array(X)
    return manifold.outward(np.array(X) if is_array(X) else manifold.inward(X))


def size_of(problem: Problem) -> str:
    """The shape of a point: "(100,10)"; on a product "(100,10) x (5)"."""
    return _size(problem.manifold.shape)


def _size(shape: tuple[Any, ...]) -> str:
    if shape and isinstance(shape[0], tuple):
        return " x ".join(map(_size, shape))
    return f"({','.join(map(str, shape))})"


#: What identifies the record of a run, of the fields that it begins with.
KEY = ("problem", "size", "seed", "solver", "tolerance")


@attrs.frozen
class Task:
    """One run to be made; `case` is the index of its case."""

    case: int
    seed: int
    solver: str
    tolerance: float
    #: What its record begins with: key, description of the solver, definition of the run.
    fields: dict[str, Any] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """The key of the record that it will leave."""
        return tuple(self.fields[name] for name in KEY)

    @property
    def place(self) -> Place:
        """The problem and the start that it needs."""
        return self.case, self.seed


@attrs.frozen(kw_only=True)
class Setup:
    """What all runs of a comparison share."""

    #: Makes the runs: `maker(setup)` is a `Maker`.
    maker: Any
    #: What is solved: each has a problem, a size, a name and options by solver.
    cases: tuple[Any, ...]
    solvers: dict[str, Any]
    about: dict[str, Any]
    max_time: float
    #: Wall time after which a solver that ignores its limit is interrupted.
    patience: float
    #: Wall time within which a problem and its start must be made.
    preparation: float
    threads: int
    processes: int = 1
    #: What else bounds a run: max_iterations, or epochs.
    budget: dict[str, int | None] = attrs.field(factory=dict)

    @property
    def budgets(self) -> dict[str, Any]:
        """What bounds all runs; a record made with other budgets does not stand for them."""
        given = {"max_time": self.max_time, "threads": self.threads}
        return {"genorth": genorth.__version__, **given, **self.budget}


# ---------------------------------------------------------------------- problems


_PROBLEMS = (
    "a genorth.Problem, a list of Problems or Cases, "
    "or a mapping of names to Problems, Cases or functions seed -> Problem"
)


def as_cases(problems: Any) -> list[Case]:
    """Return the cases of what `run` was given; the size of a function's problem is open."""
    if isinstance(problems, Problem | Case):
        problems = [problems]
    hint = "Name them in a mapping, or by go.Problem(..., name=...)."
    named = _pairs("problems", problems, _PROBLEMS, lambda _: None)
    cases = [_case(name, entry) for name, entry in named]
    _require_once("problems", [case.name for case in cases], hint)
    return cases


def _same(problem: Problem, seed: int) -> Problem:  # noqa: ARG001  that of the start alone
    """The same problem for every seed; no lambda, as these are not picklable."""
    return problem


def _case(name: Any, entry: Any) -> Case:
    require(isinstance(name, str | None), "problems", "names that are texts", repr(name))
    if isinstance(entry, Case):
        return entry if name is None else attrs.evolve(entry, problem=name)
    if isinstance(entry, Problem):
        own = "problem" if entry.name == "<lambda>" else str(entry.name)
        return Case(own if name is None else name, size_of(entry), partial(_same, entry))
    got = _kind(entry) if name is None else f"{name!r}: {_kind(entry)}"
    require(name is not None and callable(entry), "problems", _PROBLEMS, got)
    return Case(name, None, entry)


# ---------------------------------------------------------------------- solvers


_SOLVERS = "a mapping of names to solvers, or a list of registered names and of solvers with a name"


def as_solvers(solvers: Any) -> dict[str, Any]:
    """Return the solvers by name, of what `run` was given."""
    if isinstance(solvers, str) or callable(solvers):
        solvers = [solvers]
    found = _pairs("solvers", solvers, _SOLVERS, _name)
    for name, entry in found:
        good = isinstance(name, str) and (isinstance(entry, str) or callable(entry))
        require(good, "solvers", _SOLVERS, f"{name!r}: {type(entry).__name__}")
        if isinstance(entry, str):
            require_known("solvers", entry, SOLVERS, RENAMED)
    _require_once("solvers", [name for name, _ in found], "Name them in a mapping.")
    return {name: SOLVERS[each] if isinstance(each, str) else each for name, each in found}


def _name(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    name = getattr(entry, "name", None) or getattr(entry, "__name__", None)
    good, got = isinstance(name, str) and name != "<lambda>", type(entry).__name__
    require(good, "solvers", _SOLVERS, f"{got} without a name", "Name it in a mapping.")
    return name


# ---------------------------------------------------------------------- shared


def _pairs(
    argument: str, given: Any, need: str, name: Callable[[Any], Any]
) -> list[tuple[Any, Any]]:
    """The entries with their names: those of a mapping, or those that `name` finds."""
    if isinstance(given, Mapping):
        return list(given.items())
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    require(listed, argument, need, _kind(given))
    return [(name(entry), entry) for entry in given]


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float | None) else type(value).__name__


def _require_once(argument: str, names: list[str], hint: str) -> None:
    require(names, argument, f"at least one of the {argument}", "none")
    twins = sorted({name for name in names if names.count(name) > 1})
    got = f"twice {', '.join(map(repr, twins))}"
    require(not twins, argument, "each name once", got, hint)
