"""The contract of genorth.testing on every family.

Sizes, square cases, condition numbers up to 1e8.
"""

import hypothesis
import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt


@pytest.mark.parametrize("prop", gt.PROPERTIES, ids=str)
@hypothesis.settings(
    max_examples=4 * hypothesis.settings().max_examples
)  # there are about twenty families
@given(manifold=gt.manifolds(), seed=gt.seeds())
def test_contract(prop: gt.Property, manifold: go.GenOrthManifold, seed: int) -> None:
    if reason := prop.check(manifold, seed):
        hypothesis.event(reason)


@pytest.mark.parametrize("family", gt.FAMILIES)
def test_every_family_keeps_the_whole_contract(family: str) -> None:
    """One fixed manifold of each family, so that no property is left to chance."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    left_out = [prop.name for prop in gt.PROPERTIES if prop.check(manifold, rng=11)]
    without_Q = family in ("tensor-dft", "from-maps-subspace", "complex-orthogonal")
    assert left_out == (["F13"] if without_Q else [])


def test_the_whole_contract_is_one_loop() -> None:
    """As in docs/custom-manifold.md: on large manifolds without Q no property ends the loop."""
    mask = np.kron(np.eye(2), np.ones((30, 4)))
    manifold = go.from_maps((60, 8), lambda X: X, lambda T: T, ambient=lambda Y: mask * Y)
    reasons = {prop.name: prop.check(manifold) for prop in gt.PROPERTIES}
    assert len(reasons) == len(gt.PROPERTIES)
    assert {name for name, reason in reasons.items() if reason} == {"theta", "F10", "F13"}
    assert "F is not the whole space" in reasons["F13"] and "400" in reasons["theta"]
