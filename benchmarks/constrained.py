"""The figures of further constraints: who solves what, in how many evaluations.

Run as `python benchmarks/constrained.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

from _timing import Figure, main

import genorth as go
from genorth.gallery.constrained import problems

_STARTS = 5
_OURS = ("ralm", "odf-alm")
_METHODS = (*_OURS, "cdf-alm", "slsqp")
_BIG = 200  # entries of x from which on evaluations are compared with SLSQP's


def _runs(problem: go.Problem, start: Callable[[int], Any], method: str) -> list[go.Result]:
    how: dict[str, Any] = {"tol": 1e-6, "check": False, "max_time": 30.0}
    return [go.minimize(problem, start(k), method=method, **how) for k in range(_STARTS)]


def solved() -> list[Figure]:
    """Every problem from all starts: the evaluations of each method, beside SLSQP's."""
    figures, rounds, missed = [], [], dict.fromkeys(_OURS, 0)
    for name, problem, start in problems():
        middle: dict[str, float] = {}
        for method in _METHODS:
            good = [r for r in _runs(problem, start, method) if r.success]
            counts = sorted(r.evaluations for r in good)
            what = f"{name}: {method}, {len(good)} of {_STARTS} starts"
            if counts:
                middle[method] = statistics.median(counts)
                what += f", {counts[0]} to {counts[-1]} evaluations, median"
            figures.append(Figure(what, middle.get(method, 0), unit=""))
            if method in _OURS:
                missed[method] += _STARTS - len(good)
                rounds += [r.kkt.rounds for r in good if r.kkt is not None]
        if "slsqp" in middle and problem.in_blocks.manifold.random_point(0).size >= _BIG:
            share = min(middle[m] for m in _OURS if m in middle) / middle["slsqp"]
            figures.append(Figure(f"{name}: the better one over SLSQP", share, 1 / 3))
    for method, count in missed.items():
        figures.append(Figure(f"{method}: runs that are not solved", count, 0.0, unit=""))
    figures.append(Figure("rounds, median", statistics.median(rounds), 20.0, unit=""))
    return figures


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {"solved": solved}


if __name__ == "__main__":
    sys.exit(main("constrained", FIGURES))
