"""`shortened`: the steps of a landing method that stay in the tube, for many blocks at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import genorth.testing as gt
from genorth.geometry.field import shortened
from genorth.linalg.arrays import ct, norm


@given(
    manifold=gt.manifolds(),
    seed=st.integers(0, 2**20),
    step=st.floats(1e-3, 1e3),
    distance=st.sampled_from([0.0, 1e-3, 0.1]),
)
def test_it_is_the_longest_half_that_stays_in_the_tube(manifold, seed, step, distance):
    """By the definition of C, at X - t D and at twice the step."""
    rng = np.random.default_rng(seed)
    X = manifold.random_point(rng)
    X = X + distance * float(norm(X)) * manifold.random_ambient(rng) / X.size
    D = manifold.random_ambient(rng)
    C, L = manifold.constraint(X), manifold.constraint_differential(X, D)
    tube = 0.5
    steps = shortened(step, C, L, ct(D) @ manifold.phi(D), tube)
    assert steps.shape == (*C.shape[:-2], 1, 1)
    for index in np.ndindex(C.shape[:-2]):
        t = float(steps[index].item())
        wall = max(tube, float(norm(C[index])))
        slack = 1e-9 * (1 + float(manifold.scale(X)))
        assert float(norm(manifold.constraint(X - t * D)[index])) <= wall + slack
        if t < step:
            assert float(norm(manifold.constraint(X - 2 * t * D)[index])) >= wall - slack
