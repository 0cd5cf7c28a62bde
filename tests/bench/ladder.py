"""The ladder: Riemannian solvers on manifolds of rising condition number, by retraction.

{hyperbolic, indefinite, bilinear, generalized} at condition 1, 30, 1000 and symplectic, times
{nearest point to a Gaussian point, weighted trace with a Wishart matrix}. Prints evaluations plus
Hessian products by "cayley", "normal" and "auto", and iterations. Run as

    python tests/bench/ladder.py [--sizes 40x6 400x10] [--starts 5] [--solvers rgd rcg rlbfgs rtr]

A prototype: `retraction` exchanges the step of the solvers for a ray with exact slopes (F19), until
they take retraction= themselves.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

import genorth as go
from baselines import rcg, rgd, rlbfgs, rtr
from baselines.riemannian.run import Iterate, Run
from genorth.errors import StepTooLong
from genorth.geometry.retractions import Ray
from genorth.linalg.arrays import inner, norm
from genorth.testing.strategies import conditioned_symmetric

SOLVERS: dict[str, Any] = {"rgd": rgd, "rcg": rcg, "rlbfgs": rlbfgs, "rtr": rtr}
RETRACTIONS = ("cayley", "normal", "auto")
CONDITIONS = (1.0, 30.0, 1000.0)
BUDGET: dict[str, Any] = {"tol": 1e-6, "max_evaluations": 6000, "max_time": 60.0}
# "auto": Cayley while its sideways part is at most this share of the step
BEND = 0.5


# ---------------------------------------------------------------------- problems


def _signs(p: int) -> np.ndarray:
    return np.where(np.arange(p) < p // 2, -1.0, 1.0)


MANIFOLDS: dict[str, Callable[[int, int, float], go.GenOrthManifold]] = {
    "hyperbolic": lambda n, p, c: go.HyperbolicStiefel(
        conditioned_symmetric(n, c, 1, negative=n // 2), p
    ),
    "indefinite": lambda n, p, c: go.IndefiniteStiefel(
        conditioned_symmetric(n, c, 2, negative=n // 2), _signs(p)
    ),
    "bilinear": lambda n, p, c: go.BilinearStiefel(
        conditioned_symmetric(n, c, 3, negative=n // 2),
        conditioned_symmetric(p, c**0.25, 4, negative=p // 2),
    ),
    "generalized": lambda n, p, c: go.GeneralizedStiefel(conditioned_symmetric(n, c, 5), p),
}


def nearest(manifold: go.GenOrthManifold) -> go.Problem:
    """|X - B|^2/2, B Gaussian."""
    B = manifold.random_ambient(6)

    def both(X: Any) -> tuple[float, Any]:
        E = X - B
        return float(inner(E, E)) / 2, E

    return go.Problem(manifold, None, None, lambda X, Z: Z, both, name="nearest")


def trace(manifold: go.GenOrthManifold) -> go.Problem:
    """tr(X^T S X N)/2, S a Wishart matrix, N = diag(1, ..., p)."""
    n, p = manifold.shape
    G = np.random.default_rng(7).standard_normal((n, 2 * n))
    S, N = G @ G.T / (2 * n), np.arange(1.0, p + 1)

    def both(X: Any) -> tuple[float, Any]:
        V = (S @ X) * N
        return float(inner(X, V)) / 2, V

    return go.Problem(manifold, None, None, lambda X, Z: (S @ Z) * N, both, name="trace")


def rungs(n: int, p: int) -> Iterator[tuple[str, go.Problem]]:
    """The problems of one size, by name."""
    for name, make in MANIFOLDS.items():
        for condition in CONDITIONS:
            for problem in (nearest, trace):
                yield (
                    f"{name} {condition:g} {problem.__name__}",
                    problem(make(n, p, condition)),
                )
    for problem in (nearest, trace):
        yield f"symplectic {problem.__name__}", problem(go.SymplecticStiefel(n, p))


# ---------------------------------------------------------------------- steps along rays


class _Along(Iterate):
    """An iterate at the end of a step, which knows the velocity there."""

    ray: Ray
    t: float

    def velocity(self, Z: Any) -> Any:
        """c'(t), where the step was along Z."""
        return self.ray.velocity(self.t) if Z is self.ray.Z else None

    def slope(self, Z: Any) -> float:
        """The derivative of f along the curve of the step, or <w, Z> for any other Z."""
        V = self.velocity(Z) if hasattr(self, "ray") else None
        return super().slope(Z) if V is None else float(inner(self.G, V))


def sideways(manifold: go.GenOrthManifold, X: Any, Z: Any) -> float:
    """|P_X c''(0)|/(2 |Z|) of the Cayley curve: t times it is its sideways part of the step tZ."""
    return float(norm(manifold.project(X, manifold.ray(X, Z).bend()))) / (2 * float(norm(Z)))


def _kind(manifold: go.GenOrthManifold, X: Any, Z: Any, t: float) -> str:
    """The rule: for all steps of one line search, from the first one."""
    return "cayley" if abs(t) * sideways(manifold, X, Z) <= BEND else "normal"


@contextmanager
def retraction(kind: str) -> Iterator[dict[str, int]]:
    """The solvers with rays of this kind; gives how often each was used."""
    used = {"cayley": 0, "normal": 0}

    def line(run: Run, point: Iterate, Z: Any) -> Callable[[float], Iterate]:
        rays: list[Ray] = []

        def step(t: float) -> Iterate:
            if not rays:
                chosen = _kind(run.manifold, point.X, Z, t) if kind == "auto" else kind
                used[chosen] += 1
                rays.append(run.manifold.ray(point.X, Z, chosen))
            try:
                place = run._repaired(run.place(rays[0].point(t)))
            except go.OutsideDomainError as error:
                raise StepTooLong from error
            found = run.evaluate(place)
            along = _Along(found.place, found.value, found.G, run.phases)
            along.ray, along.t = rays[0], t
            return along

        return step

    def transport(run: Run, point: Iterate, Z: Any) -> Any:
        V = point.velocity(Z) if isinstance(point, _Along) else None
        if V is None:
            return point.place.transport(Z)
        return V * min(1.0, float(norm(Z) / norm(V)))  # scaled, as Sato and Iwai do

    before = Run.line, Run.transport
    Run.line, Run.transport = line, transport  # type: ignore[method-assign]
    try:
        yield used
    finally:
        Run.line, Run.transport = before  # type: ignore[method-assign]


# ---------------------------------------------------------------------- the table


@attrs.frozen
class Cell:
    """One solver with one retraction on one problem, over all starts: medians."""

    cost: float
    iterations: float
    per_iteration: float
    done: int


def measure(solver: str, kind: str, problem: go.Problem, starts: int) -> Cell:
    """Evaluations plus Hessian products, infinite where a run is not done."""
    costs, iterations, shares, done = [], [], [], 0
    for seed in range(starts):
        with retraction(kind):
            r = SOLVERS[solver](problem, problem.manifold.random_point(seed), **BUDGET)
        done += r.success
        costs.append(max(r.nfev, r.njev) + r.nhev if r.success else np.inf)
        iterations.append(r.nit)
        shares.append(r.nfev / max(r.nit, 1))
    return Cell(
        statistics.median(costs), statistics.median(iterations), statistics.mean(shares), done
    )


def main() -> None:
    """Print the table and what "auto" costs against the better of the two."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", nargs="+", default=["40x6", "400x10"])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--evaluations", type=int, default=BUDGET["max_evaluations"])
    arguments = parser.parse_args()
    BUDGET["max_evaluations"] = arguments.evaluations
    ratios, most = [], 0.0
    for size in arguments.sizes:
        n, p = map(int, size.split("x"))
        for name, problem in rungs(n, p):
            if arguments.only not in name:
                continue
            for solver in arguments.solvers:
                cells = {
                    kind: measure(solver, kind, problem, arguments.starts) for kind in RETRACTIONS
                }
                best = min(cells["cayley"].cost, cells["normal"].cost)
                ratio = cells["auto"].cost / best if best < np.inf else np.nan
                ratios.append(ratio)
                most = max(most, cells["auto"].per_iteration)
                print(
                    f"{size:7} {name:28} {solver:7}",
                    *(
                        f"{kind} {c.cost:7.0f} ({c.iterations:5.0f} it, {c.per_iteration:4.1f}/it, "
                        f"{c.done}/{arguments.starts})"
                        for kind, c in cells.items()
                    ),
                    f"auto/best {ratio:5.2f}",
                    flush=True,
                )
    known = np.array([ratio for ratio in ratios if not np.isnan(ratio)])
    print(f"rows {len(ratios)}, solved by cayley or normal {known.size}")
    print(f"auto within 1.3: {np.mean(known <= 1.3):.0%}, within 2: {np.mean(known <= 2):.0%}")
    print(f"worst {known.max():.2f}; evaluations per iteration at most {most:.1f}")


if __name__ == "__main__":
    main()
