"""`Solver`: what a solver says of itself, and the registry in which all solvers are found by name.

Nothing is ever parsed out of a name: whoever wants to know the family, the algorithm or the reason
why a solver cannot run asks the record.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Unpack, get_args, get_origin

import attrs
import numpy as np

from genorth.errors import did_you_mean, refuse, require_known
from genorth.geometry.shaped import Front
from genorth.linalg.arrays import library, stays
from genorth.problem import Problem
from genorth.solve.metric import in_blocks
from genorth.solve.options import refuse_retired
from genorth.solve.result import Interrupted, Result

PENALTY, RIEMANNIAN, INFEASIBLE, OTHER = "penalty", "Riemannian", "infeasible", "other"

#: The families, in the order in which tables and legends show them.
FAMILIES = (PENALTY, RIEMANNIAN, INFEASIBLE, OTHER)

#: What a solver can need of a problem.
NEEDS = ("gradient", "hessian")

#: Entry points of this group name iterables of `Solver`: so a package adds its own.
GROUP = "genorth.solvers"


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


@attrs.frozen(kw_only=True)
class Solver:
    """A solver that describes itself; call it as `solver(problem, x0, tol=..., ...)`.

    Args:
        name: The name by which `go.minimize(method=...)` finds it, and which tables show.
        family: "penalty", "Riemannian", "infeasible" or "other".
        run: `run(problem, x0, **arguments)`, the arguments of `go.minimize`; returns a `Result`.
        algorithm: "gd", "cg", "lbfgs", "tr", or a word of the solver's own.
        variant: How it differs from others of the same algorithm: a geometry, or a package.
        label: How legends and headings call it; the name by default.
        needs: What the problem must have: "gradient", and "hessian" for second-order methods.
        cites: Keys of the bibliography.
        reason: `reason(problem)` says why it cannot run on the problem, or returns None.
        modules: Modules that it imports when it first runs; a comparison loads them beforehand.
        on_device: Whether it works on arrays of JAX and PyTorch where they are, without a copy.
        chooses: Whether it runs another solver, whose name the Result then carries.
        nonsmooth: Whether it takes problems with a nonsmooth term; all others refuse them.
        constrained: Whether it takes problems with `constraints`.
    """

    name: str
    family: str = ""
    run: Callable[..., Result] = attrs.field(repr=False)
    algorithm: str = ""
    variant: str = ""
    label: str = attrs.Factory(lambda self: self.name, takes_self=True)
    needs: tuple[str, ...] = attrs.field(default=("gradient",), converter=_texts)
    cites: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    reason: Callable[[Problem], str | None] | None = attrs.field(default=None, repr=False)
    modules: tuple[str, ...] = attrs.field(default=(), converter=_texts, repr=False)
    on_device: bool = attrs.field(default=False, repr=False)
    chooses: bool = attrs.field(default=False, repr=False)
    nonsmooth: bool = attrs.field(default=False, repr=False)
    constrained: bool = attrs.field(default=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for name in ("name", "label"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                refuse(f"Solver.{name}", "a text that is not empty", repr(value))
        if self.family not in FAMILIES:
            refuse(
                "Solver.family",
                f"one of {', '.join(map(repr, FAMILIES))}",
                repr(self.family),
                None,
                "A comparison places each solver in a family; 'other' fits any.",
            )
        if not callable(self.run):
            refuse("Solver.run", "a callable run(problem, x0, tol=..., ...)", repr(self.run))
        if not set(self.needs) <= set(NEEDS):
            refuse("Solver.needs", f"some of {', '.join(map(repr, NEEDS))}", repr(self.needs))

    def why_not(self, problem: Problem) -> str | None:
        """Why the solver cannot run on the problem; None where it can."""
        return (
            problem.lacks()
            or self._lacks_constraints(problem)
            or self._lacks_terms(problem)
            or (None if self.reason is None else self.reason(problem.in_blocks))
        )

    def _lacks_terms(self, problem: Problem) -> str | None:
        """Why it cannot take the nonsmooth term of the problem."""
        if problem.term is None or self.nonsmooth:
            return None
        return "the problem has a nonsmooth term"

    def _lacks_constraints(self, problem: Problem) -> str | None:
        """Why it cannot take the constraints of the problem."""
        if problem.constraints is None or self.constrained or self.chooses:
            return None
        names = ", ".join(repr(s.name) for s in SOLVERS.values() if s.constrained)
        return f"{self.name!r} takes no constraints besides X^T phi(X) = I; {names} do"

    def load(self) -> None:
        """Import what it needs, which may take seconds."""
        for module in self.modules:
            importlib.import_module(module)

    def takes(self, argument: str) -> bool:
        """Whether `run` has a keyword argument of this name that the record leaves open."""
        known, fixed = _arguments(self.run)
        return argument not in fixed and (known is None or argument in known)

    def __call__(self, problem: Problem, x0: Any = None, **arguments: Any) -> Result:
        """Run it; the Result carries the name of the solver.

        Raises:
            ValueError: For an argument that `run` does not take, or that the record fixes.
        """
        known, fixed = _arguments(self.run)
        refuse_retired(arguments)
        if arguments.get("preconditioner") is not None and not self.takes("preconditioner"):
            others = ", ".join(repr(s.name) for s in SOLVERS.values() if s.takes("preconditioner"))
            need = f"a solver that uses one, which {self.name!r} does not"
            refuse("preconditioner", need, "one", None, f"Use one of {others}.")
        for name, value in arguments.items():
            if name in fixed and value != fixed[name]:
                refuse(name, f"{fixed[name]!r}, which {self.name!r} stands for", repr(value))
            if name not in fixed and known is not None and name not in known:
                takes = ", ".join(sorted(known - fixed.keys()))
                need = f"an argument of {self.name!r}, which takes {takes}"
                refuse(name, need, repr(value), None, did_you_mean(name, {"x0", "method", *known}))
        if getattr(problem, "term", None) is not None and not self.nonsmooth:
            others = ", ".join(repr(s.name) for s in SOLVERS.values() if s.nonsmooth)
            need = f"a smooth cost, which is all that {self.name!r} takes"
            refuse("nonsmooth", need, "a nonsmooth term", None, f"Use one of {others}.")
        if stays(x0) and not self.on_device:
            others = ", ".join(repr(s.name) for s in SOLVERS.values() if s.on_device)
            refuse(
                "x0",
                f"a NumPy array, as {self.name!r} works on copies in NumPy",
                library(x0),
                None,
                f"Pass numpy.asarray(x0), or stay on the device with one of {others}.",
            )
        try:
            # overflow far from M, or a division by a rank that is lost, ends a trial or the run
            with np.errstate(all="ignore"):
                return self._named(self._called(problem, x0, arguments))
        except Interrupted as stop:
            stop.result = self._named(stop.result)
            raise

    def _called(self, problem: Problem, x0: Any, arguments: dict[str, Any]) -> Result:
        """Run it, with the preconditioner of the problem, in the shape of its points."""
        if isinstance(problem, Problem) and (why := self._lacks_constraints(problem)):
            refuse("method", "a solver for problems with constraints", why)
        given = getattr(problem, "preconditioner", None)
        before: Any = getattr(problem, "counts", None)
        if given is not None and self.takes("preconditioner"):
            arguments.setdefault("preconditioner", given)
        if isinstance(getattr(problem, "manifold", None), Front):
            result = in_blocks(self.run, problem, x0, arguments, self.on_device)
        else:
            result = self.run(problem, x0, **arguments)
        if getattr(problem, "constraints", None) is not None:
            calls = problem.counts - before
            own = {name: getattr(calls, name) for name in ("constr_nfev", "constr_njev")}
            result = attrs.evolve(result, **own)
        if given is not None and not self.takes("preconditioner"):
            message = f"{result.message} {self.name!r} has no place for the preconditioner."
            result = attrs.evolve(result, message=message)
        return result

    def _named(self, result: Result) -> Result:
        """The result of this solver, by its name."""
        if isinstance(result, Result) and result.method != self.name and not self.chooses:
            return attrs.evolve(result, method=self.name)
        return result

    def __reduce__(self) -> Any:
        """Pickled by name where it is registered: what it runs may be a closure."""
        if SOLVERS._known.get(self.name) is self:
            return _find, (self.name, SOLVERS._homes[self.name])
        return partial(Solver, **attrs.asdict(self, recurse=False)), ()


def _arguments(run: Callable[..., Any]) -> tuple[frozenset[str] | None, dict[str, Any]]:
    """What `_signature` says, kept: to read a signature takes as long as a small problem."""
    try:
        return _signature(run)
    except TypeError:  # a callable that cannot be hashed
        return _signature.__wrapped__(run)


@lru_cache(maxsize=256)
def _signature(run: Callable[..., Any]) -> tuple[frozenset[str] | None, dict[str, Any]]:
    """The keyword arguments of run(problem, x0, ...), None for any; those that a partial fixes."""
    fixed = run.keywords if isinstance(run, partial) else {}
    try:
        parameters = list(inspect.signature(run, eval_str=True).parameters.values())
    except (NameError, TypeError, ValueError):
        return None, fixed  # a builtin, or annotations that only a type checker can read
    known = {p.name for p in parameters[2:] if p.kind is not p.VAR_KEYWORD}
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            if get_origin(parameter.annotation) is not Unpack:
                return None, fixed
            known |= get_args(parameter.annotation)[0].__annotations__.keys()
    return frozenset(known), fixed


def _find(name: str, home: str) -> Solver:
    """The registered solver; `home` is the module that registers it."""
    importlib.import_module(home)
    return SOLVERS[name]


class Registry(Mapping[str, Solver]):
    """The solvers by name. Those of installed packages are added when they are first looked for."""

    def __init__(self) -> None:
        self._known: dict[str, Solver] = {}
        self._homes: dict[str, str] = {}
        self._loaded = False

    def register(self, *solvers: Solver, home: str = "genorth") -> None:
        """Add solvers. To register a record again changes nothing.

        Args:
            *solvers: The records.
            home: A module whose import registers them: a worker process imports it.

        Raises:
            ValueError: If another solver has the name.
        """
        for solver in solvers:
            if not isinstance(solver, Solver):
                refuse("solver", "a genorth.Solver", type(solver).__name__)
            if self._known.get(solver.name, solver) is not solver:
                refuse("solver", "a name that no other solver has", repr(solver.name))
            self._known[solver.name] = solver
            self._homes.setdefault(solver.name, home)

    def _load(self) -> None:
        """The solvers of installed packages; one that fails is left out with a warning."""
        if self._loaded:
            return
        self._loaded = True
        from importlib.metadata import entry_points

        for point in entry_points(group=GROUP):
            try:
                found: Iterable[Solver] = point.load()
                self.register(*found, home=point.module)
            except Exception as error:
                warnings.warn(f"solvers of {point.value}: {error}", RuntimeWarning, stacklevel=3)

    def __getitem__(self, name: str) -> Solver:
        if name not in self._known:
            self._load()
        if name in RENAMED and name not in self._known:
            raise KeyError(f"{name!r} is called {RENAMED[name]!r} now")
        return self._known[name]

    def find(self, method: Any) -> Solver:
        """The solver of that name, or the solver itself.

        Args:
            method: A name, or a `Solver`.

        Returns:
            The solver.

        Raises:
            ValueError: If the name is unknown; it says the new name of one that was renamed.
        """
        if isinstance(method, Solver):
            return method
        if isinstance(method, str) and method in RENAMED and method not in self:
            hint = "docs/contributing.md and the changelog list all new names."
            refuse(
                "method",
                f"{RENAMED[method]!r}, the new name of this solver",
                repr(method),
                None,
                hint,
            )
        require_known("method", method, self, RENAMED)
        return self[method]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._known)

    def __len__(self) -> int:
        self._load()
        return len(self._known)

    def __repr__(self) -> str:
        return f"SOLVERS({', '.join(self)})"


#: Names that solvers had before the loops became one, and those that they have now.
RENAMED = {
    **{
        f"{loop}-{geometry}": loop
        for loop in ("rgd", "rcg", "rlbfgs", "rtr")
        for geometry in ("fast", "products")
    },
    **{f"{loop}-faithful": f"{loop}-paper" for loop in ("rgd", "rcg")},
    **{f"{h}-{loop}-lean": f"{h}-{loop}" for h in ("cdf", "odf") for loop in ("cg", "lbfgs")},
}

#: Every solver that is known: those of genorth, and those of installed packages.
SOLVERS = Registry()
