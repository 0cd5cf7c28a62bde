"""How much a beta other than the automatic one costs.

Run as `python benchmarks/choosing.py`.
"""

from __future__ import annotations

import sys
from functools import partial

from _timing import Figure, main
from problem_set import problem_set

import genorth as go

FACTORS = (0.3, 1.1, 2, 5, 20, 100, 1000)
SEED = 11  # not that with which the constants of beta="auto" were chosen


def of_beta(number: int) -> list[Figure]:
    """Evaluations of cdf-lbfgs with beta a multiple of the threshold at the solution.

    The manifolds are unbounded, so that below the threshold h has no minimum.
    """
    problem = problem_set(SEED)[number]
    start = problem.manifold.random_point(0)
    auto = go.minimize(problem, start, method="cdf-lbfgs", certify=False)
    threshold = go.exactness_threshold(problem, auto.x)
    figures = []
    for factor in FACTORS:
        run = go.minimize(
            problem, start, method="cdf-lbfgs", beta=factor * threshold, certify=False
        )
        end = "" if run.success else f" ({run.status.name})"
        what = f"{problem.name}, beta = {factor:g} beta*: evaluations{end}"
        figures.append(Figure(what, run.evaluations, unit=""))
    margin = (auto.beta or 0.0) / threshold
    what = f"{problem.name}, beta='auto', {margin:.2g} beta*: evaluations"
    return [*figures, Figure(what, auto.evaluations, unit="")]


#: Each gives its figures.
FIGURES = {f"beta, problem {number}": partial(of_beta, number) for number in (7, 8, 9)}


if __name__ == "__main__":
    sys.exit(main("choosing", FIGURES))
