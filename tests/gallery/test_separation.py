"""The mixture of pictures: the minimiser separates it, by Amari's index of the known mixing."""

import numpy as np
import pytest

import genorth as go
from genorth import gallery


def amari(product: np.ndarray) -> float:
    """Amari's index: 0 for a permutation with scales, 1 at most."""
    A, n = np.abs(product), len(product)
    rows = (A / A.max(axis=1, keepdims=True)).sum()
    columns = (A / A.max(axis=0, keepdims=True)).sum()
    return (rows + columns - 2 * n) / (2 * n * (n - 1))


@pytest.mark.parametrize("rng", [0, 1, 2])
def test_the_pictures_are_separated(rng):
    if reason := gallery.why_not("separation-pictures"):
        pytest.skip(reason)
    instance = gallery.load("separation-pictures")
    mixing = np.random.default_rng(0).standard_normal((4, 4))
    result = go.minimize(instance.problem, rng=rng)
    assert amari(instance.start.T @ mixing) > 0.2  # whitening alone does not
    assert amari(result.x.T @ mixing) < 0.02
    assert result.fun < instance.truth
