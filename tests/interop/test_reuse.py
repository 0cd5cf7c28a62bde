"""A problem that was solved before: budgets and counts are those of the run."""

from __future__ import annotations

import numpy as np
import pytest
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions

import genorth as go
from genorth.interop.pymanopt import run
from support.problems import spd, trace


@pytest.mark.parametrize("optimizer", [SteepestDescent, ConjugateGradient, TrustRegions])
def test_the_budget_of_costs_is_that_of_the_run(optimizer: type) -> None:
    """max_cost_evaluations=7 allows seven in the second run too."""
    problem = trace(go.Stiefel(20, 3), spd(20, 50, 0), fused=False)
    start = problem.manifold.random_point(0)
    first, second = (
        run(optimizer(max_cost_evaluations=7, verbosity=0), problem, start) for _ in range(2)
    )
    for result in (first, second):
        assert result.status is go.Status.EVALUATION_LIMIT and result.nfev == 7
    np.testing.assert_array_equal(first.x, second.x)
