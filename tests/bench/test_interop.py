"""The figures of the interface to pymanopt, asserted; `python tests/bench/interop.py` prints them."""

from __future__ import annotations

import pytest
from _timing import one_thread
from interop import FIGURES


@pytest.mark.bench
@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_reached(name: str) -> None:
    with one_thread():
        figures = FIGURES[name]()
    missed = [str(figure) for figure in figures if not figure.passed]
    assert not missed, "\n".join(missed)
