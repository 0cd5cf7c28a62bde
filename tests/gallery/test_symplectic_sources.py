"""Gaussian states and the wave equation: what the symplectic problems mean in their fields."""

import numpy as np
import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth import gallery


def test_entanglement_shows_below_the_vacuum():
    pytest.importorskip("thewalrus", reason="the extra `gallery` is not installed")
    from thewalrus.quantum import is_valid_cov

    from genorth.gallery import gaussian_states

    V = gaussian_states._entangled(8)
    signs = np.r_[np.ones(8), np.resize([-1.0, 1.0], 8)]
    assert is_valid_cov(signs[:, None] * V * signs)  # a state, before it was transposed
    assert not is_valid_cov(V)  # and none afterwards: it is entangled
    assert is_valid_cov(gaussian_states._network(16))
    assert gallery.load("gaussian-entanglement").truth < 8  # all four below one


def test_the_wave_is_projected_better_than_by_pymor_and_worse_than_by_pod():
    pytest.importorskip("pymor", reason="the extra `gallery` is not installed")
    instance = gallery.load("wave-travelling")
    result = go.minimize(instance.problem, instance.start, method="rtr")
    assert result.success and instance.problem.cost(instance.start) == pytest.approx(1.0)
    pod = instance.draw.args[1]  # type: ignore[union-attr]
    assert pod < result.fun < 0.9 * instance.truth
    K = go.SymplecticStiefel(8, 8).random_point(0)  # another basis of the same span
    assert instance.problem.cost(result.x @ K) == pytest.approx(result.fun, rel=1e-8)
