"""The figures of the infeasible methods: work of an iteration, and who reaches which minimum.

Run as `python benchmarks/infeasible.py`; `--table` prints the rows of docs/infeasible.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _timing import Figure, main, ratio

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import genorth as go
from baselines import SOLVERS
from genorth.geometry.field import Field
from support.known_minima import KNOWN
from support.nearest_points import COLUMNS, METHODS, outcome, rows

_SIZE = (1000, 100)


class Counted(np.ndarray):
    """An array that counts its products of size n x p x p."""

    products = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        n, p = _SIZE
        if ufunc is np.matmul:
            Counted.products += sorted([*inputs[0].shape, inputs[1].shape[-1]]) == [p, p, n]
        plain = [np.asarray(x) for x in inputs]
        if "out" in named:
            named["out"] = tuple(np.asarray(x) for x in named["out"])
        return np.asarray(getattr(ufunc, method)(*plain, **named)).view(Counted)


def _manifolds() -> dict[str, go.GenOrthManifold]:
    n, p = _SIZE
    d = np.where(np.arange(n) % 2, -1.0, 1.0) * np.linspace(1, 2, n)
    return {
        "Stiefel": go.Stiefel(n, p),
        "symplectic": go.SymplecticStiefel(n, p),
        "indefinite": go.IndefiniteStiefel(d, np.where(np.arange(p) % 2, -1.0, 1.0)),
    }


def _step(manifold: go.GenOrthManifold, field: Field, X: Any, D: Any, G: Any) -> object:
    return field.direction(manifold.anywhere(X - 1e-9 * D), G, 1.0)


def _bare(manifold: go.GenOrthManifold, X: Any, D: Any, G: Any, K: Any) -> object:
    Y = X - 1e-9 * D
    P = manifold.phi(Y)
    S = Y.T @ P
    return S, S if P is Y else P.T @ P, P.T @ G, G @ K, P @ K


def _again(call: Callable[..., object], *arguments: Any) -> Callable[[], Callable[[], object]]:
    """The same call every time."""
    return lambda: partial(call, *arguments)


def iteration() -> list[Figure]:
    """Products and time of one landing step, f excluded, over its bare products and one phi."""
    figures = []
    for name, manifold in _manifolds().items():
        rng = np.random.default_rng(0)
        X, G = manifold.random_point(rng), rng.standard_normal(_SIZE)
        field, K = Field(manifold), rng.standard_normal((_SIZE[1], _SIZE[1]))
        D = field.direction(manifold.anywhere(X), G, 1.0).D

        Counted.products = 0
        at = manifold.anywhere(X.view(Counted))
        field.direction(at, G.view(Counted), 1.0)
        figures += [
            Figure(f"landing, {name}: products of an iteration", Counted.products, 5, unit=""),
            Figure(
                f"landing, {name}: over its bare products",
                ratio(_again(_step, manifold, field, X, D, G), _again(_bare, manifold, X, D, G, K)),
                1.2,
            ),
        ]
    return figures


def minima() -> list[Figure]:
    """(f - min f)/min f of every method on every family, the worst of three starts."""
    figures = []
    for name in METHODS:
        for family, make in KNOWN.items():
            known = make()
            worst = 0.0
            for seed in range(3):
                start = known.manifold.random_point(seed)
                result = SOLVERS[name](known.problem(), start, tol=1e-6, max_iterations=3000)
                worst = max(worst, abs(result.fun / known.minimum - 1))
            figures.append(Figure(f"{name}, {family}: distance from the minimum", worst, 1e-6))
    return figures


def table() -> None:
    """The rows of docs/infeasible.md."""
    print("| problem | " + " | ".join(COLUMNS) + " |")
    print("|---" * (1 + len(COLUMNS)) + "|")
    for row in rows():
        cells = [outcome(row, name) for name in COLUMNS]
        print(f"| {row} | " + " | ".join(map(str, cells)) + " |", flush=True)


FIGURES = {"iteration": iteration, "minima": minima}

if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
    else:
        sys.exit(main("infeasible", FIGURES))
