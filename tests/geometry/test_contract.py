"""The contract of genorth.testing on every family.

Sizes, square cases, condition numbers up to 1e8.
"""

import unittest

import hypothesis
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
    try:
        prop.check(manifold, seed)
    except (
        unittest.SkipTest
    ) as reason:  # one family to which it does not apply must not skip the others
        hypothesis.event(str(reason))


@pytest.mark.parametrize("family", gt.FAMILIES)
def test_every_family_keeps_the_whole_contract(family: str) -> None:
    """One fixed manifold of each family, so that no property is left to chance."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    for prop in gt.PROPERTIES:
        try:
            prop.check(manifold, rng=11)
        except unittest.SkipTest:
            assert prop.name == "F13" and family in (
                "tensor-dft",
                "from-maps-subspace",
                "complex-orthogonal",
            )
