"""The figure of the paper's problems.

Cost and gradient of the joint diagonalisation against its bare products.

Run as `python benchmarks/experiments.py`; `pytest benchmarks` asserts the same figure.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from functools import partial

from _timing import Figure, main, medians

from paper_repro.problems import JointDiagonalisation


def cost_and_gradient(n: int, p: int, l: int, N: int, bound: float) -> list[Figure]:  # noqa: E741  the paper's names
    """F and its gradient against the three batched products that they need.

    A_i X, X^T A_i X, sum A_i X O_i.
    """
    instance = JointDiagonalisation.generate(n, p, l, N, 0)
    stacked, points = instance.stacked, itertools.cycle([instance.start(seed) for seed in range(8)])

    def ours() -> Callable[[], object]:
        return partial(instance.cost_and_gradient, next(points))

    def bare() -> Callable[[], object]:
        X = next(points)

        def products() -> object:
            AX = (stacked @ X).reshape(l, n, N * p)
            return AX @ (X.mT @ AX).mT

        return products

    def one_by_one() -> Callable[[], object]:
        X = next(points)

        def products() -> object:
            total = 0.0
            for blocks in samples:
                AX = blocks @ X
                total = total + AX @ (X.mT @ AX)
            return total

        return products

    samples = [instance.sample(i).copy() for i in range(N)]
    mine, theirs, naive = medians(ours, bare, one_by_one)
    name = f"joint diagonalisation ({n},{p},{l}), N={N}"
    return [
        Figure(f"{name}: cost and gradient, times its bare batched products", mine / theirs, bound),
        Figure("    times the products sample by sample", mine / naive),
        Figure("    cost and gradient", 1e3 * mine, unit="ms"),
    ]


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "joint diagonalisation": partial(cost_and_gradient, 100, 5, 10, 10, 1.3)
}


if __name__ == "__main__":
    sys.exit(main("experiments", FIGURES))
