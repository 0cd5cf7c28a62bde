"""Runs of one solver in a row: down from saddles, from several starts, from a balanced start."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import attrs
import numpy as np

from genorth.errors import NotRestorableError, refuse
from genorth.geometry.gauge import random_element
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.shaped import Front
from genorth.linalg.arrays import Array, as_like, ct, norm, number
from genorth.linalg.inputs import as_generator
from genorth.optional import optional
from genorth.problem.problem import Problem
from genorth.riemannian.certify import examine
from genorth.solve.certificate import SADDLE
from genorth.solve.options import Options
from genorth.solve.result import COUNTED, Result, Start, Status, joined
from genorth.solve.solver import Solver
from genorth.solve.stall import explain

_INVARIANT = 1e-8  # relative change of a cost that is rounding
_GAIN = 0.9  # a balanced start is taken where |X| becomes at least so much smaller
_PERTURBED = 0.1  # length of the step to a perturbed start, relative to |X|
_TRIES = 8  # random starts that are drawn to meet another component
_SAME, _VALUE = 1e-3, 1e-6  # relative distance and difference of costs of equal minima


@attrs.frozen(kw_only=True)
class Plan:
    """A solver with its arguments, and what follows a run.

    Args:
        solver: The solver.
        arguments: Its arguments.
        explains: Whether the message says what may be wrong with a slow run.
        escapes: How many saddles are left; -1 if x is not certified.
        options: The options of the run, with its budgets.
        rng: A seed or a Generator.
    """

    solver: Solver
    arguments: dict[str, Any]
    explains: bool
    escapes: int
    options: Options
    rng: Any

    def run(self, problem: Problem, x0: Any) -> Result:
        """Run the solver, certify x, and go on from a lower point where x is a saddle."""
        result = self._solved(problem, x0, self.arguments)
        own: dict[str, Any] = {
            name: self.arguments.get(name) for name in ("metric", "preconditioner")
        }
        if own["metric"] is None and own["preconditioner"] is None:
            own["preconditioner"] = getattr(problem, "preconditioner", None)
        seed = 0 if self.rng is None else self.rng  # a run says the same each time
        for left in range(self.escapes, -1, -1):
            rest = self.options.left(result)
            if not result.success or rest is None:
                break
            before, begin = problem.counts, perf_counter()
            found, lower = examine(
                problem, result.x, math.inf, **own, leave=left > 0, rng=seed, **rest
            )
            result = _counted(result, problem.counts - before, perf_counter() - begin, found)
            if found.verdict != SADDLE:
                break
            rest = self.options.left(result)
            if lower is None or rest is None:
                message = Status.SADDLE.message(self.solver.family)
                return attrs.evolve(result, status=Status.SADDLE, success=False, message=message)
            after = self._solved(problem, lower, self.arguments | rest)
            left_one = f"The run left a saddle of eigenvalue {found.eigenvalue:.2g}."
            result = attrs.evolve(joined(result, after), message=f"{after.message} {left_one}")
        return _located(result, problem.manifold)

    def _solved(self, problem: Problem, x0: Any, arguments: dict[str, Any]) -> Result:
        """One run of the solver, whose message explains what it can."""
        result = self.solver(problem, x0, **arguments)
        if self.explains and type(result.x) is np.ndarray and (found := explain(problem, result)):
            return attrs.evolve(result, message=f"{result.message} {found}")
        return result


def _located(result: Result, manifold: Any) -> Result:
    """The result, whose message says in which component x is; only where a determinant tells."""
    square = isinstance(manifold, GenOrthManifold) and len(set(manifold.shape[-2:])) == 1
    if not square or manifold.components in (None, 1):
        return result
    here = f"x is in component {manifold.component(result.x)} of {manifold.components} of M."
    return attrs.evolve(result, message=f"{result.message} {here}")


def _counted(result: Result, counts: Any, time: float, certificate: Any) -> Result:
    """The result with its certificate, whose evaluations count."""
    return attrs.evolve(
        result,
        certificate=certificate,
        time=result.time + time,
        nfev=result.nfev + counts.nfev,
        njev=result.njev + counts.njev,
        nhev=result.nhev + counts.nhev,
    )


def best_of(plan: Plan, problem: Problem, x0: Any, starts: int, jobs: int) -> Result:
    """The best of several starts: the given one, random ones, and perturbed ones.

    Args:
        plan: What runs from each start.
        problem: The problem.
        x0: The first start, or None.
        starts: Their number.
        jobs: How many processes run them.

    Returns:
        The best result; its `starts` say what each of them found, and its counts are of all.
    """
    manifold, inside = problem.manifold, problem.in_blocks
    front = isinstance(manifold, Front)
    if x0 is not None and front:
        x0 = manifold.inward(problem.start(x0, on_device=True))
    chosen = _starts(inside, x0, starts, as_generator(plan.rng))
    tasks = [
        (attrs.evolve(plan, rng=k), problem, manifold.outward(X) if front else X)
        for k, (_, X) in enumerate(chosen)
    ]
    if jobs == 1:
        results = [one.run(problem, X) for one, _, X in tasks]
    else:
        dumps = optional("cloudpickle", "compare", "jobs > 1").dumps
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            results = list(pool.map(_unpickled_run, map(dumps, tasks)))
    ends = [manifold.inward(r.x) if front else r.x for r in results]
    first = min(range(starts), key=lambda k: (not results[k].success, results[k].fun))
    free = invariant(inside, ends[first], as_generator(plan.rng)) <= _INVARIANT
    found: list[Start] = []
    for k, result in enumerate(results):
        equal = (
            s.minimum
            for s, X in zip(found, ends, strict=False)
            if _same(inside.manifold, (s.fun, X), (result.fun, ends[k]), free)
        )
        which = next(equal, len({s.minimum for s in found}))
        part = inside.manifold.component(ends[k])
        found.append(Start(chosen[k][0], result.x, result.fun, result.status, part, which))
    counts = {name: sum(getattr(r, name) for r in results) for name in COUNTED}
    message = f"{results[first].message} {_compared(found, found[first], inside.manifold)}"
    return attrs.evolve(results[first], starts=tuple(found), message=message, **counts)


def _unpickled_run(task: bytes) -> Result:
    plan, problem, X = pickle.loads(task)
    found: Result = plan.run(problem, X)
    return found


def _starts(
    problem: Problem, x0: Any, starts: int, rng: np.random.Generator
) -> list[tuple[str, Array]]:
    """The starts with their kinds; random ones meet components that were not met yet."""
    manifold = problem.manifold
    chosen = [("random" if x0 is None else "given", problem.start(x0, rng, on_device=True))]
    first, met = chosen[0][1], {manifold.component(chosen[0][1])}
    for _ in range(starts - 1 if x0 is None else starts // 2):
        for _ in range(_TRIES):
            X = manifold.random_point(rng)
            if manifold.components in (None, 1) or manifold.component(X) not in met:
                break
        met.add(manifold.component(X))
        chosen.append(("random", as_like(X, first)))
    near = manifold.restore(first) if len(chosen) < starts else first
    for _ in range(starts - len(chosen)):
        Z = manifold.random_tangent(near, rng)
        Z = Z * (_PERTURBED * number(norm(near)) / max(number(norm(Z)), 1e-300))
        chosen.append(("perturbed", manifold.retract(near, Z, "exp")))
    return chosen


def _same(manifold: Any, one: tuple[float, Array], other: tuple[float, Array], free: bool) -> bool:
    """Whether two minima (f, X) are equal, where `free` up to T with T*T = I."""
    (f, X), (g, Y) = one, other
    if abs(f - g) > _VALUE * max(abs(f), abs(g)):
        return False
    moved = X @ (ct(manifold.phi(X)) @ Y) if free else X
    return number(norm(Y - moved)) <= _SAME * number(norm(Y))


def _compared(found: list[Start], best: Start, manifold: Any) -> str:
    """Sentences on what the starts found, and how many components they met."""
    alike = sum(s.minimum == best.minimum for s in found)
    values = sorted({f"{s.fun:.8g}" for s in found if s.minimum != best.minimum})
    text = f"All {len(found)} starts found the same point."
    if values:
        others = ", ".join(values)
        text = f"{alike} of {len(found)} starts found this point; the others ended at {others}."
    if manifold.components in (None, 1):
        return text
    tried = len({s.component for s in found})
    return f"{text} They met {tried} of {manifold.components} components of M."


def invariant(problem: Problem, X: Array, rng: np.random.Generator) -> float:
    """The largest relative change of f under X -> X T for two random T with T*T = I.

    Relative to |f| + |G||X|; infinite where there is no such group, or it is not known.
    """
    manifold: Any = problem.manifold
    if not isinstance(manifold, GenOrthManifold):
        return np.inf
    f, G = problem.cost_and_gradient(X)
    scale = abs(f) + number(norm(G)) * number(norm(X))
    moved = [X @ as_like(random_element(manifold, rng), X) for _ in range(2)]
    return max(abs(problem.evaluate_cost(Y) - f) for Y in moved) / max(scale, 1e-300)


def balanced(problem: Problem, x0: Any, gauge: bool | str) -> Any:
    """The start, or where f(X T) = f(X) its representative of least norm.

    Args:
        problem: The problem; its counts stay as they are.
        x0: The start, or None.
        gauge: True where f is said to be invariant, "auto" to find out where it matters.

    Returns:
        The start.

    Raises:
        ValueError: If f is said to be invariant and is not.
    """
    manifold: Any = problem.manifold
    if gauge is False or x0 is None or not isinstance(manifold, GenOrthManifold):
        return x0
    companion = manifold.companion
    if gauge == "auto" and (companion is None or companion.trivial or manifold.definite):
        return x0
    try:
        X = manifold.restore(problem.start(x0, on_device=True))
        change = partial(invariant, problem.fresh(), X, np.random.default_rng(0))
        if gauge == "auto" and 2 * X.shape[-1] > X.shape[-2] and change() > _INVARIANT:
            return x0  # this is cheaper than the six eigendecompositions of a balance
        least = manifold.balance(X)
    except NotRestorableError:
        return x0
    if gauge == "auto" and number(norm(least)) > _GAIN * number(norm(X)):
        return x0
    if (changed := change()) <= _INVARIANT:
        return least
    if gauge is True:
        refuse(
            "gauge", "f(X T) = f(X) for all T with T*T = I, as gauge=True says", changed, _INVARIANT
        )
    return x0
