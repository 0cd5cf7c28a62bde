"""The memory of L-BFGS."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genorth.solve.pairs import Pairs
from genorth.testing import conditioned_symmetric, seeds

EPS = float(np.finfo(float).eps)


@given(
    seed=seeds(), count=st.integers(1, 6), memory=st.integers(1, 4), preconditioned=st.booleans()
)
def test_the_two_loops_are_the_bfgs_matrix(seed, count, memory, preconditioned):
    """H <- (I - s y^T/sy) H (I - y s^T/sy) + s s^T/sy over the last pairs, from a multiple of P."""
    rng, n = np.random.default_rng(seed), 5
    A, P = conditioned_symmetric(n, 10.0, rng), conditioned_symmetric(n, 10.0, rng)
    pairs = Pairs(memory)
    used = []
    for _ in range(count):
        s = rng.standard_normal(n)
        pairs.add(2 * s, s, 2 * (A @ s), A @ s, 1e-8)
        used = [*used, (s, A @ s)][-memory:]
    if not preconditioned:
        P = np.eye(n)
    s, y = used[-1]
    H = (s @ y) / (y @ P @ y) * P
    for s, y in used:
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    w = rng.standard_normal(n)
    kept = w.copy()
    found = pairs.inverse(w, (lambda v: P @ v) if preconditioned else None)
    assert np.linalg.norm(found - H @ w) <= 1e4 * EPS * np.linalg.norm(H) * np.linalg.norm(w)
    assert np.array_equal(w, kept)
    before = len(pairs)
    pairs.add(s, 0 * s, -y, 0 * y, 1e-8)  # negative curvature is not stored
    pairs.add(s, 0 * s, y, y)
    assert len(pairs) == before
    pairs.clear()
    assert np.array_equal(pairs.inverse(w), w)
