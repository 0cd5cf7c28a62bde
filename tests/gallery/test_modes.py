"""Modes of pyamg's matrices: the mass matrix, the V-cycle as metric, and lobpcg's counts."""

import numpy as np
import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth import gallery

pytest.importorskip("pyamg", reason="the extra `gallery` is not installed")


def test_masses_add_up():
    """The mass of all elements: of the airfoil's triangles their area, of the bar its volume."""
    from genorth.gallery import modes

    airfoil, bar = modes._model("airfoil"), modes._model("bar")
    whole = modes._triangles(airfoil.vertices, airfoil.elements, len(airfoil.vertices))
    corners = airfoil.vertices[airfoil.elements]
    area = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / 2
    assert whole.sum() == pytest.approx(area)
    assert modes._bricks(bar.vertices, bar.elements, bar.vertices.size).sum() / 3 == pytest.approx(
        np.prod(np.ptp(bar.vertices, axis=0))
    )


@pytest.mark.parametrize("name", ["modes-airfoil", "modes-bar"])
def test_lobpcg_is_counted_and_not_far_ahead(name):
    """The figure: rlbfgs in the metric of the V-cycle takes at most 1.5 times its products."""
    instance = gallery.load(name)
    lobpcg = go.minimize(instance.problem, instance.start, method=instance.solvers[0])
    ours = go.minimize(instance.problem, instance.start, method="rlbfgs", metric=instance.metric)
    assert lobpcg.success and abs(instance.error(lobpcg.fun)) <= 1e-10
    assert lobpcg.trace.evaluations == list(range(1, lobpcg.evaluations + 1))
    assert ours.success and ours.evaluations <= 1.5 * lobpcg.evaluations


def test_lobpcg_stops_at_a_budget():
    instance = gallery.load("modes-airfoil")
    result = go.minimize(
        instance.problem, instance.start, method=instance.solvers[0], max_evaluations=4
    )
    assert result.status is go.Status.EVALUATION_LIMIT and result.evaluations <= 5
