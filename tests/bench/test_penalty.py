"""The figures of the penalty, asserted; `python tests/bench/penalty.py` prints them, and the table of beta."""

from __future__ import annotations

import pytest
from _timing import one_thread
from penalty import FIGURES


@pytest.mark.bench
@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_reached(name: str) -> None:
    with one_thread():
        figures = FIGURES[name]()
    missed = [str(figure) for figure in figures if not figure.passed]
    assert not missed, "\n".join(missed)
