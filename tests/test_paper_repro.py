"""The main job: `python -m paper_repro` reaches the known minima and prints them, with and without rich."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from paper_repro import __main__ as command
from paper_repro.example import EXAMPLES, nearest_tensor, solve

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_start_leads_to_the_known_minimum(make) -> None:
    """f(X) - min f is of the order of |grad f|^2; the factor is one over the gap of the eigenvalues."""
    for seed in range(3):
        row = solve(make(), seed)
        for name, result in row.results.items():
            assert result.success
            assert row.relative_error(name) < command.ACCURACY
            assert result.fun >= row.example.minimum * (1 - 1e-12)
            assert result.feasibility < 100 * np.sqrt(np.prod(row.example.manifold.shape)) * np.finfo(float).eps


def test_the_distance_to_a_tensor_is_that_of_the_tensors() -> None:
    """The gradient is (X - C)/l in blocks: taken back to tensors it gives f = |X - C|^2 / 2."""
    example = nearest_tensor(6, 2, 5)
    M = example.manifold
    cost, egrad = example.fun(M.random_point(0))
    assert cost == pytest.approx(np.linalg.norm(M.to_tensor(5 * egrad)) ** 2 / 2, rel=1e-12)


def test_the_table_is_the_one_of_the_readme(capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)  # plain text
    monkeypatch.setitem(sys.modules, "rich.table", None)
    assert command.main([]) == 0
    shown = README.read_text("utf-8").split("```text\n")[2].split("```")[0].splitlines()
    printed = capsys.readouterr().out.splitlines()[1:-1]
    measured = ("  f found", "  relative error", "  |grad f|", "  |C(X)|", "  evaluations", "  seconds")
    assert len(printed) == len(shown)
    for ours, theirs in zip(printed, shown, strict=True):
        assert ours[:16] == theirs[:16]
        assert ours.startswith(measured) or ours.split() == theirs.split()


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="the extra `report` is not installed")
def test_the_table_fits_a_terminal_of_80_columns(capsys) -> None:
    assert command.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert sum("eigh(A, B)" in line for line in lines) == 1


def test_a_minimum_that_is_missed_is_an_error(capsys, monkeypatch) -> None:
    monkeypatch.setattr(command, "ACCURACY", 0.0)
    assert command.main(["--seed", "1"]) == 1
    assert "known minimum: cdf-lbfgs on GeneralizedStiefel" in capsys.readouterr().out
