"""The figures of all benchmarks, asserted: `pytest benchmarks`.

Each script by itself prints its own.
"""

from __future__ import annotations

import compare
import executors
import experiments
import geometry
import infeasible
import interop
import loops
import orthogonal
import penalty
import products
import pytest
import riemannian
from _timing import one_thread

MEASURES = [
    pytest.param(measure, id=f"{module.__name__}: {name}")
    for module in (
        geometry,
        penalty,
        orthogonal,
        interop,
        riemannian,
        loops,
        products,
        infeasible,
        compare,
        executors,
        experiments,
    )
    for name, measure in module.FIGURES.items()
]


@pytest.mark.bench
@pytest.mark.parametrize("measure", MEASURES)
def test_figure_is_reached(measure) -> None:
    with one_thread():
        figures = measure()
    missed = [str(figure) for figure in figures if not figure.passed]
    assert not missed, "\n".join(missed)
