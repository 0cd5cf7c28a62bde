"""The contract of genorth.testing on every family.

Sizes, square cases, condition numbers up to 1e8.
"""

import hypothesis
import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt

PROPERTIES = {prop.name: prop for prop in gt.PROPERTIES}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "assumption-1",
            marks=pytest.mark.statement("ass_1:1", "ass_1:2", "ass_1:3", "F1", "F2"),
        ),
        pytest.param("F3", marks=pytest.mark.statement("F3")),
        pytest.param("F4", marks=pytest.mark.statement("F4", "def:Phi")),
        pytest.param("constraint", marks=pytest.mark.statement("eq:C", "le1")),
        pytest.param("dissolving", marks=pytest.mark.statement("eq:A", "le2")),
        pytest.param("composition", marks=pytest.mark.statement("le3")),
        pytest.param("F6", marks=pytest.mark.statement("F6", "eq:CA")),
        pytest.param(
            "constraint-dissolving", marks=pytest.mark.statement("ass:dissolving", "Th:cdm")
        ),
        pytest.param("F7", marks=pytest.mark.statement("F7", "le:mi")),
        pytest.param("projection", marks=pytest.mark.statement("prop:projection")),
        pytest.param("theta", marks=pytest.mark.statement("prop:projection", "F5")),
        pytest.param("F10", marks=pytest.mark.statement("F10")),
        pytest.param("F12", marks=pytest.mark.statement("F12")),
        pytest.param("F13", marks=pytest.mark.statement("F13")),
        pytest.param("gradient", marks=pytest.mark.statement("pro:rg")),
        pytest.param("hessian", marks=pytest.mark.statement("pro:rg")),
        pytest.param("retractions", marks=pytest.mark.statement("prop:tangent")),
        pytest.param("F9", marks=pytest.mark.statement("F9")),
        pytest.param("F15", marks=pytest.mark.statement("F15")),
        pytest.param("F18", marks=pytest.mark.statement("F18")),
        pytest.param("F19", marks=pytest.mark.statement("F19")),
        "transport",
        pytest.param("F25", marks=pytest.mark.statement("F25")),
        pytest.param("random-point", marks=pytest.mark.statement("ocp")),
    ],
)
# there are about twenty families
@hypothesis.settings(max_examples=4 * hypothesis.settings().max_examples)
@given(manifold=gt.manifolds(), seed=gt.seeds())
def test_contract(name, manifold, seed):
    if reason := PROPERTIES[name].check(manifold, seed):
        hypothesis.event(reason)


def test_no_property_is_left_out():
    (cases,) = (mark for mark in test_contract.pytestmark if mark.name == "parametrize")
    named = [case if isinstance(case, str) else case.values[0] for case in cases.args[1]]
    assert named == list(PROPERTIES)


@pytest.mark.parametrize("family", gt.FAMILIES)
def test_every_family_keeps_the_whole_contract(family):
    """One fixed manifold of each family, so that no property is left to chance."""
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    left_out = [prop.name for prop in gt.PROPERTIES if prop.check(manifold, rng=11)]
    without_Q = family in ("tensor-dft", "from-maps-subspace", "complex-orthogonal")
    assert left_out == (["F13"] if without_Q else [])


def test_the_whole_contract_is_one_loop():
    """As in docs/custom-manifold.md: on large manifolds without Q no property ends the loop."""
    mask = np.kron(np.eye(2), np.ones((30, 4)))
    manifold = go.from_maps((60, 8), lambda X: X, lambda T: T, ambient=lambda Y: mask * Y)
    reasons = {prop.name: prop.check(manifold) for prop in gt.PROPERTIES}
    assert len(reasons) == len(gt.PROPERTIES)
    assert {name for name, reason in reasons.items() if reason} == {"theta", "F10", "F13"}
    assert "F is not the whole space" in reasons["F13"] and "400" in reasons["theta"]
