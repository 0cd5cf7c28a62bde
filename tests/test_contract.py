"""The contract of genorth.testing on every family: sizes, square cases, condition numbers up to 1e8."""

import hypothesis
import pytest
from hypothesis import given

import genorth.testing as gt


@pytest.mark.parametrize("prop", gt.PROPERTIES, ids=str)
@given(manifold=gt.manifolds(), seed=gt.seeds())
def test_contract(prop, manifold, seed):
    prop.check(manifold, seed)
