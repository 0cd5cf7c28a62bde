"""The figures of the Riemannian solvers, asserted; `python tests/bench/riemannian.py` prints them."""

from __future__ import annotations

import pytest
from _timing import one_thread
from riemannian import FIGURES


@pytest.mark.bench
@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_reached(name: str) -> None:
    with one_thread():
        figures = FIGURES[name]()
    missed = [str(figure) for figure in figures if not figure.passed]
    assert not missed, "\n".join(missed)
