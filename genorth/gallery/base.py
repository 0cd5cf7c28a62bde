"""`Instance`, a real problem with its answer; `Source`, the package that it comes from; `load`."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

import attrs
import numpy as np
import scipy.linalg

from genorth.errors import refuse, require_known
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, ct
from genorth.manifolds.product import Product
from genorth.optional import installed, missing, optional
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.solve.ending import end_at, outcome, result
from genorth.solve.monitor import Guard, Monitor
from genorth.solve.options import Common, Options
from genorth.solve.result import Result
from genorth.solve.solver import OTHER, Solver

#: The extra of genorth that installs the packages of all sources.
EXTRA = "gallery"


@attrs.frozen(kw_only=True, eq=False)
class Instance:
    """A real problem, with the start that a practitioner takes and the answer.

    `load` fills in name, source and about, which the source states once, and names the problem.

    Args:
        problem: The problem, with gradient and Hessian product.
        start: The point at which a practitioner starts, on M; a tuple on a product.
        truth: f at the minimum, or a bound on it from above.
        truth_by: The function that says so, with its package: "scipy.linalg.eigh".
        bound: True if the truth is what another method reaches, to be beaten, and no minimum.
        several: True if the start leads to saddles, or to other minima than another start.
        metric: A metric that fits, as `go.minimize(metric=...)` takes it, or None.
        solvers: The domain's own solvers, rows of a comparison.
        draw: `draw(ax, X)` draws the solution X into the axes of matplotlib; None if a picture
            says no more than f.
        name: The name in the gallery.
        source: The package that the data comes from.
        about: What it is, in a sentence.
    """

    problem: Problem = attrs.field(repr=False)
    start: Any = attrs.field(repr=False)
    truth: float
    truth_by: str
    bound: bool = False
    several: bool = False
    metric: Any = attrs.field(default=None, repr=False)
    solvers: tuple[Solver, ...] = attrs.field(default=(), repr=False)
    draw: Callable[[Any, Array], None] | None = attrs.field(default=None, repr=False)
    name: str = ""
    source: str = ""
    about: str = ""

    def error(self, value: float) -> float:
        """(value - truth)/|truth|, negative where a bound is beaten; absolute where truth is 0."""
        return (float(value) - self.truth) / (abs(self.truth) or 1.0)


@attrs.frozen
class Entry:
    """An instance that can be made.

    Args:
        about: What it is, in a sentence.
        make: `make(*size)` returns the `Instance`; it imports what it needs.
        size: The numbers that make its size, where it can be had at others too.
    """

    about: str
    make: Callable[..., Instance] = attrs.field(repr=False)
    size: tuple[int, ...] = ()


@attrs.frozen
class Source:
    """A package with data, and the instances that are made of it.

    Args:
        package: Its name, as pip knows it.
        module: Its name, as Python imports it.
        oldest: The first version that fits: "1.3".
        instances: The entries by name.
        also: Further modules that they need, which the extra installs too.
    """

    package: str
    module: str
    oldest: str
    instances: Mapping[str, Entry]
    also: tuple[str, ...] = ()

    def why_not(self) -> str | None:
        """Why its instances cannot be made: the package is missing, or too old; None if they can.

        The package is not imported.
        """
        if not installed(self.module):
            return f"needs {missing(self.package, EXTRA)}"
        found = importlib.metadata.version(self.package)
        if _numbers(found) < _numbers(self.oldest):
            upgrade = f"pip install --upgrade 'genorth[{EXTRA}]'"
            return f"needs {self.package} >= {self.oldest}, found {found}: {upgrade}"
        lacking = [module for module in self.also if not installed(module)]
        return f"needs {missing(lacking[0], EXTRA)}" if lacking else None


def _numbers(version: str) -> list[int]:
    """The leading numbers of a version, 1.3.0 of "1.3.0rc1"."""
    return [int(number) for number in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]


# ---------------------------------------------------------------------- finding and loading

#: Files that compare solvers, which needs an extra.
_NO_SOURCES = {"__main__", "commands", "comparison", "stochastic"}


@functools.cache
def sources() -> Mapping[str, Source]:
    """The sources by file; no package is imported."""
    files = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    found = {
        file: getattr(importlib.import_module(f"{__package__}.{file}"), "SOURCE", None)
        for file in sorted(files)
        if file not in _NO_SOURCES
    }
    return MappingProxyType({file: source for file, source in found.items() if source})


def _all_names() -> list[str]:
    return [name for source in sources().values() for name in source.instances]


def names(group: str = "") -> list[str]:
    """The names of the instances of a group, whether their package is installed or not.

    Args:
        group: What names have before "/": "classics", or "" for the real problems.
    """
    return [name for name in _all_names() if name.rpartition("/")[0] == group]


def source_of(name: str) -> Source:
    """The source of an instance.

    Raises:
        ValueError: If there is no such instance; the message lists the known ones.
    """
    require_known("name", name, _all_names())
    return next(source for source in sources().values() if name in source.instances)


def why_not(name: str) -> str | None:
    """Why an instance cannot be made: its package is missing, or too old; None if it can."""
    return source_of(name).why_not()


def load(name: str, size: Sequence[int] | None = None) -> Instance:
    """Make an instance of the gallery.

    Args:
        name: One of `names()` or `names("classics")`.
        size: Another size than the usual one; only for classics.

    Returns:
        The instance, the same one in every process.

    Raises:
        ValueError: If there is no such instance; the message lists the known ones. If it cannot be
            had at this size.
        ImportError: If its package is missing or too old; the message names the extra.
    """
    source = source_of(name)
    reason = source.why_not()
    if reason is not None:
        raise ImportError(f"{name!r} {reason}")
    optional(source.module, EXTRA, repr(name))
    entry = source.instances[name]
    numbers = entry.size if size is None else tuple(size)
    if len(numbers) != len(entry.size):
        refuse("size", f"{len(entry.size)} numbers for {name!r}, as {entry.size}", repr(size))
    made = attrs.evolve(entry.make(*numbers), name=name, source=source.package, about=entry.about)
    made.problem.name = name
    return made


# ---------------------------------------------------------------------- what sources share


def orthonormal(manifold: GenOrthManifold, X: Array) -> Array:
    """The point X (X^T phi(X))^(-1/2) of a definite form: Loewdin's orthonormalisation."""
    values, vectors = np.linalg.eigh(manifold.gram(X))
    return np.asarray(X @ (vectors / np.sqrt(values)[..., None, :]) @ ct(vectors))


def trace_problem(
    A: Any,
    manifold: GenOrthManifold,
    weights: Any = 1.0,
    constant: float = 0.0,
    linear: Any = 0.0,
    **more: Any,
) -> Problem:
    """Minimise tr(X^T A X N)/2 - <B, X> + c, A and N symmetric.

        f(X) = tr(X^T A X N)/2 - <B, X> + c, G = A X N - B

    Args:
        A: What multiplies X from the left by @.
        manifold: The manifold.
        weights: N, or its diagonal. Equal weights leave the columns of X open up to a rotation.
        constant: c.
        linear: B.
        **more: Further arguments of `Problem`, such as constraints.

    Returns:
        The problem, with gradient and Hessian product.
    """
    N = np.asarray(weights)

    def times(X: Array) -> Array:
        return (A @ X) @ N if N.ndim == 2 else (A @ X) * N

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        G = times(X) - linear
        return float(np.vdot(X, G - linear).real) / 2 + constant, G

    return Problem(
        manifold,
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=lambda _, Z: times(Z),
        **more,
    )


def least_trace(A: Array, B: Array | None, weights: Any) -> float:
    """The minimum of tr(X^T A X N)/2 over X^T B X = I, by the eigenvalues of (A, B).

    Weights are positive and descend: the largest goes with the smallest eigenvalue
    [fan1949theorem].
    """
    values = scipy.linalg.eigh(A, B, eigvals_only=True)
    return float(values[: len(weights)] @ np.asarray(weights, float)) / 2


def complex_step(gradient: Callable[..., Any]) -> Callable[..., tuple[Array, ...]]:
    """The Hessian product on a product of real factors: Im G(X + ihZ)/h, h = 1e-100.

    It is exact to rounding where the gradient is analytic [squire1998using]: made of products, sums
    and roots, with X.T and never a conjugate.

    Args:
        gradient: `gradient(*parts)` returns a gradient for each part.

    Returns:
        The Hessian product, of the parts of X and then those of Z.
    """

    def hessian(*both: Array) -> tuple[Array, ...]:
        half, h = len(both) // 2, 1e-100
        along = (X + 1j * h * Z for X, Z in zip(both[:half], both[half:], strict=True))
        return tuple(np.imag(G) / h for G in gradient(*along))

    return hessian


# ---------------------------------------------------------------------- the domain's own solvers


class Visit:
    """`visit(X)` counts an evaluation at X, takes X as the next iterate, and returns f(X) and G.

    Args:
        monitor: The monitor of the run.
        start: The start, the last iterate where there is none.
    """

    def __init__(self, monitor: Monitor, start: Array) -> None:
        self.monitor, self.last = monitor, start
        self.known: tuple[float, Array] | None = None
        self._guard = Guard(monitor)

    def __call__(self, X: Array, known: tuple[float, Array] | None = None) -> tuple[float, Array]:
        """Take X as the next iterate, and evaluate f there unless f and G are known."""
        found = self._guard.evaluate(X) if known is None else known
        self.last, self.known = X, found
        with self.monitor.paused():
            at = Measure.at(self.monitor.problem, X, found)
        self.monitor.iteration(X, at.cost, at.stationarity, at.feasibility)
        return found


def domain_solver(
    name: str,
    solve: Callable[[Problem, Any, Any], Any],
    *,
    cites: Any = (),
    modules: Any = (),
    product: Product | None = None,
) -> Solver:
    """Make a row of a comparison from a method of the domain.

    `solve(problem, x0, visit)` calls `visit(X)` at each of its iterates, near M: that is where
    evaluations are counted, budgets hold and the run ends, at the first iterate whose Riemannian
    gradient is at most tol. The method's own stopping rule should be tighter; where it returns
    first, the last iterate is the result.

    Args:
        name: The name of the row: "pyscf-diis".
        solve: The method, a function of a module, or a partial of one.
        cites: Keys of the bibliography.
        modules: Modules to import before the clock starts.
        product: The product of the problem, if it is on one: x0 and X are its points then.

    Returns:
        The solver, of the family "other".
    """
    if product is not None:
        solve = functools.partial(_in_parts, product, solve)
    run = functools.partial(_run, solve=solve, method=name)
    return Solver(name=name, family=OTHER, run=run, algorithm=name, cites=cites, modules=modules)


def last_visit(solve: Callable[..., Any], x0: Any) -> Any:
    """The last iterate of a domain's method: what it reaches, to be beaten.

    Args:
        solve: `solve(problem, x0, visit)`, which needs no problem.
        x0: The start.

    Returns:
        The iterate.
    """
    seen = [x0]
    solve(None, x0, seen.append)
    return seen[-1]


def on_product(
    here: Any,
    start: Any,
    rows: Callable[..., Any],
    name: str,
    cites: str,
    truth_by: str,
    draw: Callable[[Any, Any], None] | None = None,
) -> Instance:
    """A problem on a product of real factors, with a method of the domain and what it reaches.

    Args:
        here: Has the `manifold`, the `cost`, and an analytic `gradient`, see `complex_step`.
        start: The start.
        rows: The method, as for `domain_solver`; needs no problem.
        name: Its name.
        cites: Its key in the bibliography.
        truth_by: Its name in words.
        draw: As for `Instance`.

    Returns:
        The instance; the truth is a bound.
    """
    return Instance(
        problem=Problem(here.manifold, here.cost, here.gradient, complex_step(here.gradient)),
        start=start,
        truth=here.cost(*last_visit(rows, start)),
        truth_by=truth_by,
        bound=True,
        solvers=(domain_solver(name, rows, cites=cites, product=here.manifold),),
        draw=draw,
    )


def _in_parts(
    product: Product, solve: Callable[..., Any], problem: Problem, x0: Array, visit: Visit
) -> None:
    """Solve with points of a product, where the run has flat vectors."""
    solve(problem, product.outward(x0), lambda X: visit(product.inward(X)))


def _run(
    problem: Problem,
    x0: Any = None,
    *,
    solve: Callable[[Problem, Array, Visit], Any],
    method: str,
    **common: Unpack[Common],
) -> Result:
    options = Options(**common)
    start = problem.start(x0, options.rng)
    visit = Visit(Monitor(problem, options), start)
    status = outcome(solve, problem, start, visit).status
    end = end_at(visit.monitor, np.asarray(visit.last), start, visit.known)
    return result(visit.monitor, status, end, family=OTHER, method=method)
