"""The run on all of F: how many variables there are, and where it ends."""

import numpy as np
import pytest

import genorth as go
from genorth.geometry.retractions import Line
from genorth.penalty.run import Flat, OnSpace
from genorth.solve.monitor import Monitor
from support.problems import smooth


@pytest.mark.parametrize("dtype", [float, complex])
def test_complex_entries_are_two_variables(dtype: type) -> None:
    h = go.ConstraintDissolving(smooth(go.Stiefel(5, 2, dtype), 0), 1.0)
    run = OnSpace(h, Monitor(h.problem), h.manifold.random_point(0))
    assert run.dimension == (20 if dtype is complex else 10)


def test_a_trial_far_from_M_is_outside_and_f_is_not_called() -> None:
    problem = smooth(go.Stiefel(5, 2), 0)
    h, X = go.OrthogonalDissolving(problem, 1.0), problem.manifold.random_point(0)
    h.watched(Monitor(problem), auto=False)
    h.begin(h.point(X))
    run, ray = OnSpace(h, h.monitor, X), Line(Flat(h, h.point(X)), X)
    assert np.array_equal(run.arrive(ray, 1.1 * X).X, 1.1 * X) and not run.turned_back
    with pytest.raises(go.OutsideDomainError):
        run.arrive(ray, 20 * X)
    assert run.turned_back and problem.counts.nfev == 0
