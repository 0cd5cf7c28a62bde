"""`python -m paper_repro example` reaches the known minima and prints them."""

from __future__ import annotations

import numpy as np
import pytest

from paper_repro import example
from paper_repro.commands import main
from paper_repro.example import EXAMPLES, nearest_tensor, solve


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_start_leads_to_the_known_minimum(make) -> None:
    """f(X) - min f is of the order of |grad f|^2.

    The factor is one over the gap of the eigenvalues.
    """
    for seed in range(3):
        row = solve(make(), seed)
        for name, result in row.results.items():
            assert result.success
            assert row.relative_error(name) < example.ACCURACY
            assert result.fun >= row.example.minimum * (1 - 1e-12)
            assert (
                result.feasibility
                < 100 * np.sqrt(np.prod(row.example.manifold.shape)) * np.finfo(float).eps
            )


def test_the_distance_to_a_tensor_is_that_of_the_tensors() -> None:
    """The gradient is (X - C)/l in blocks: taken back to tensors it gives f = |X - C|^2 / 2."""
    example = nearest_tensor(6, 2, 5)
    M = example.manifold
    cost, egrad = example.fun(M.random_point(0))
    assert cost == pytest.approx(np.linalg.norm(M.to_tensor(5 * egrad)) ** 2 / 2, rel=1e-12)


def test_the_table_has_the_known_minima_and_fits_a_terminal(capsys) -> None:
    assert main(["example"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= 80
    assert printed[-1] == "Both reached the three known minima to 1e-09."
    assert "X^T B X = I" in printed[2] and "X^T J X = J" in printed[2]
    known, *found = [
        list(map(float, line.split()[2:]))
        for line in printed
        if line.startswith(("f known", "  f found"))
    ]
    assert len(found) == 2
    assert np.allclose(found, known, rtol=example.ACCURACY)


def test_a_minimum_that_is_missed_is_an_error(capsys, monkeypatch) -> None:
    monkeypatch.setattr(example, "ACCURACY", 0.0)
    assert main(["example"]) == 1
    assert "minimum: cdf-lbfgs on GeneralizedStiefel" in capsys.readouterr().out
