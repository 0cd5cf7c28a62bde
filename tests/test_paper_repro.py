"""The main job: `python -m paper_repro` reaches the known minima and prints them, with and without rich."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import genorth as go
from paper_repro import __main__ as command
from paper_repro.example import EXAMPLES, descend, nearest_tensor, solve

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_start_leads_to_the_known_minimum(make) -> None:
    """f(X) - min f is of the order of |grad f|^2; the factor is one over the gap of the eigenvalues."""
    for seed in range(3):
        row = solve(make(), seed)
        assert row.relative_error < command.ACCURACY
        assert row.cost >= row.example.minimum * (1 - 1e-12)
        assert row.feasibility < 100 * np.sqrt(np.prod(row.example.manifold.shape)) * np.finfo(float).eps


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
    measured = ("iterations", "f found", "relative error", "|grad f|", "|C(X)|", "seconds")
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
    assert "known minimum: GeneralizedStiefel" in capsys.readouterr().out


def test_the_descent_stops_when_its_budget_is_spent() -> None:
    M = go.Stiefel(30, 3)
    A = np.diag(np.arange(30.0))
    _, iterations = descend(M, lambda X: (float(np.vdot(X, A @ X)), 2 * A @ X), M.random_point(0), max_iterations=4)
    assert iterations == 4


def test_a_step_beyond_the_domain_is_halved(monkeypatch) -> None:
    """min |X|^2 over X^T J X = J is p, as all symplectic eigenvalues of I are one."""
    M = go.SymplecticStiefel(6, 2)
    start, lengths, retract = M.random_point(0), [], go.GenOrthManifold.retract

    def short_sighted(self, X, Z):
        lengths.append(float(self.norm(Z)))
        if len(lengths) <= 3:
            raise go.OutsideDomainError("too long")
        return retract(self, X, Z)

    monkeypatch.setattr(go.GenOrthManifold, "retract", short_sighted)
    X, _ = descend(M, lambda X: (float(np.vdot(X, X)), 2 * X), start)
    assert float(np.vdot(X, X)) == pytest.approx(2.0, rel=1e-10)
    assert lengths[:4] == [lengths[0] / 2**k for k in range(4)]
