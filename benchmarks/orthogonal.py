"""The figures of orthogonal dissolving: the cost of h_n, its condition, odf-lbfgs against others.

Run as `python benchmarks/orthogonal.py` (some minutes); `pytest benchmarks` asserts the costs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _timing import Figure, Prepare, main, medians
from penalty import BETA, _fresh, _matching
from problem_set import problem_set

import genorth as go
from genorth.geometry.bases import realvec
from paper_repro import ladder
from paper_repro.problems import ExtrinsicMean, Matching

Array = np.ndarray[Any, Any]
METHODS = (
    "odf-lbfgs",
    "odf-lbfgs-scipy",
    "odf-cg",
    "cdf-lbfgs",
    "rlbfgs",
    "odf-tr",
    "rtr",
)
BETTER = "rlbfgs, the better retraction"
STARTS = 2
BUDGET = {"tol": 1e-6, "max_iterations": 10_000, "max_time": 20.0, "certify": False}


# ---------------------------------------------------------------------- what h_n costs


def _bare(problem: go.Problem, fresh: Callable[[], Array]) -> Prepare:
    """What F17 needs and nothing else: two phi, f with gradient, seven products, one eigh."""
    phi, both = problem.manifold.phi, problem._fused
    assert both is not None

    def products(X: Array) -> Array:
        P = phi(X)
        C, K = X.T @ P, P.T @ P
        U = np.linalg.eigh(K)[1]
        D = P @ C
        _, G = both(D)
        T = P.T @ G
        for B in (C, T):  # two equations in the eigenbasis
            U @ (U.T @ B @ U) @ U.T
        return phi(G @ C - P @ T) + P @ K  # type: ignore[no-any-return]

    return lambda: partial(products, fresh())


def costs(n: int, p: int, over_h: float, over_bare: float) -> list[Figure]:
    """Time of h_n and its gradient over that of h, and over what it needs; Hessian product."""
    problem, _, _ = _matching(n, p)
    oblique, h, fresh = (
        go.ConstraintDissolving(problem, BETA),
        go.OrthogonalDissolving(problem, BETA),
        _fresh(problem),
    )
    Z = problem.manifold.random_ambient(9)

    def hessian() -> Callable[[], object]:
        X = fresh()
        h.value_and_gradient(X)
        return lambda: h.hessian_product(X, Z)

    bare, theirs, ours, product = medians(
        _bare(problem, fresh),
        lambda: partial(oblique.value_and_gradient, fresh()),
        lambda: partial(h.value_and_gradient, fresh()),
        hessian,
    )
    return [
        Figure(f"h_n ({n},{p}), over h", ours / theirs, over_h),
        Figure(f"h_n ({n},{p}), over the bare products and eigh", ours / bare, over_bare),
        Figure(f"Hessian product of h_n ({n},{p}), over h_n", product / ours, 1.5),
    ]


# ---------------------------------------------------------------------- how well conditioned it is


def _problems() -> Iterator[tuple[str, go.Problem]]:
    yield from ((problem.name, problem) for problem in problem_set(21))
    yield from ((rung.name, rung.problem()) for rung in ladder.rungs([(40, 6)]))


def _condition(product: Callable[[Array], Array], like: Array) -> float:
    """Largest over smallest absolute eigenvalue, without those that are zero."""
    units = np.eye(realvec(like).size)
    columns = [realvec(product(row.view(like.dtype).reshape(like.shape))) for row in units]
    sizes = np.abs(np.linalg.eigvalsh(np.array(columns)))
    sizes = sizes[sizes > 1e-7 * sizes.max()]
    return float(sizes.max() / sizes.min())


def conditions() -> list[Figure]:
    """Condition of hess h_n at the solution, with the automatic beta, over that of hess f on M."""
    shares = {}
    for name, problem in _problems():
        m = problem.manifold
        result = go.minimize(problem, m.random_point(100), method="odf-lbfgs", **BUDGET)
        x = result.x
        G, h = problem.euclidean_gradient(x), go.OrthogonalDissolving(problem, result.beta or 1.0)

        def hess(Z: Array, m: Any = m, x: Array = x, G: Array = G, f: Any = problem) -> Array:
            Z = m.project(x, Z)
            return np.asarray(m.hessian(x, G, f.euclidean_hessian(x, Z), Z))

        on_M = _condition(hess, x)
        shares[name] = _condition(lambda Z, h=h, x=x: h.hessian_product(x, Z), x) / on_M
    within, every = sum(share <= 1.5 for share in shares.values()), len(shares)
    what = f"condition of hess h_n at most 1.5 times that of hess f, of {every} problems"
    others = sorted(((share, name) for name, share in shares.items() if share > 1.5), reverse=True)
    return [
        Figure(what, within, every, at_least=True, unit=""),
        *(Figure(f"  {name}", share) for share, name in others),
    ]


# ---------------------------------------------------------------------- against the other solvers


def _paper() -> Iterator[tuple[str, go.Problem, Callable[[int], Array]]]:
    for name, kind, sizes in (
        ("matching", Matching, ((40, 6), (200, 20))),
        ("extrinsic mean", ExtrinsicMean, ((200, 10), (500, 20))),
    ):
        for n, p in sizes:
            instance = kind.generate(n, p, 0)
            yield f"{name} ({n},{p})", instance.problem(), instance.start


def _rows() -> Iterator[tuple[str, go.Problem, Callable[[int], Array]]]:
    for name, problem in _problems():
        yield name, problem, problem.manifold.random_point
    yield from _paper()


def _evaluations(problem: go.Problem, starts: list[Array], method: str, **options: Any) -> float:
    """Evaluations over all starts; infinite where one of them fails."""
    runs = [go.minimize(problem, X, method=method, **BUDGET, **options) for X in starts]
    return sum(run.evaluations for run in runs) if all(run.success for run in runs) else np.inf


def table(first: int = 100) -> list[Figure]:
    """Evaluations (Hessian products included) to 1e-6, summed over the starts, of all rows.

    The bound is against the better retraction of rlbfgs.
    """
    counts: dict[str, list[float]] = {method: [] for method in (*METHODS, BETTER)}
    for _, problem, start in _rows():
        starts = [start(first + k) for k in range(STARTS)]
        for method in METHODS:
            counts[method].append(_evaluations(problem, starts, method))
        kinds = (
            _evaluations(problem, starts, "rlbfgs", retraction=kind)
            for kind in ("cayley", "normal")
        )
        counts[BETTER].append(min(counts["rlbfgs"][-1], *kinds))
    mine = np.array(counts["odf-lbfgs"])
    rows = len(mine)
    what = f"odf-lbfgs, of {rows} rows not solved"
    figures = [Figure(what, int(np.isinf(mine).sum()), 0, unit="")]
    for other in (*METHODS[1:], BETTER):
        theirs = np.array(counts[other])
        with np.errstate(invalid="ignore"):
            shares = np.nan_to_num(mine / theirs, nan=np.inf)
        bound = 0.9 * rows if other == BETTER else None
        what = f"odf-lbfgs over {other}, evaluations"
        figures += [
            Figure(f"{what}: median", float(np.median(shares))),
            Figure("  at most", float(shares.max())),
            Figure(f"  fewer, of {rows} rows", int(np.sum(shares < 1)), unit=""),
            Figure(f"  within 1.5, of {rows} rows", int(np.sum(shares <= 1.5)), bound, True, ""),
        ]
    return figures


def best(count: int = 2, first: int = 100) -> list[Figure]:
    """On the ladder: evaluations with the automatic beta over those with the best of 13."""
    shares, failures = [], 0
    for rung in ladder.rungs([(40, 6)]):
        problem = rung.problem()
        starts = [problem.manifold.random_point(first + k) for k in range(count)]
        runs = [go.minimize(problem, X, method="odf-lbfgs", **BUDGET) for X in starts]
        total = sum(run.evaluations for run in runs)
        centre = float(np.median([run.beta or np.nan for run in runs]))
        others = (
            _evaluations(problem, starts, "odf-lbfgs", beta=beta, max_evaluations=2 * total)
            for beta in centre * 10.0 ** np.arange(-3, 3.1, 0.5)
        )
        failures += count - sum(run.success for run in runs)
        shares.append(total / min(total, *others))
    what = f"odf-lbfgs, {len(shares)} rungs of the ladder at (40,6)"
    return [
        Figure(f"{what}: of {count * len(shares)} runs fail", failures, 0, unit=""),
        Figure(f"{what}: evaluations, beta='auto' over the best of 13, at most", max(shares), 1.5),
    ]


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "h_n (1000,100)": partial(costs, 1000, 100, 1.7, 1.2),
    "h_n (2000,20)": partial(costs, 2000, 20, 1.4, 1.15),
    "h_n (100,10)": partial(costs, 100, 10, 2.5, 2.2),
}
#: The same, too slow for a test.
SLOW = {"conditions": conditions, "beta on the ladder": best, "evaluations": table}


if __name__ == "__main__":
    sys.exit(main("orthogonal", FIGURES | SLOW))
