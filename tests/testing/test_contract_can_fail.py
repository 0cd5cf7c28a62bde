"""The contract finds what it states: each formula fails where the method behind it is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import ConjugateGradients


def _check(name: str, manifold: GenOrthManifold) -> None:
    next(prop for prop in gt.PROPERTIES if prop.name == name).check(manifold)


def test_maps_that_break_the_theory():
    """The contract has the findings of `check_assumptions`, whose tests break each of them."""
    turned = go.from_maps((7, 3), lambda X: X, lambda T: T.mT)
    with pytest.raises(AssertionError, match=r"^assumption-1: .*psi\(.* fails"):
        _check("assumption-1", turned)


def _scaled(original: Any) -> Any:
    if not callable(original):
        return property(lambda self: original.__get__(self) + 1)
    return lambda *arguments, **more: 1.001 * original(*arguments, **more)


def _instead(wrong: str, other: str) -> Callable[..., Any]:
    """A retraction that takes the place of another."""
    return lambda original: (
        lambda self, X, Z, kind, **more: original(
            self, X, Z, kind=other if kind == wrong else kind, **more
        )
    )


#: What becomes of a method, and the formulas that say so.
METHODS = [
    ("constraint", _scaled, "constraint: C(Y) = Y^T phi(Y) - I"),
    ("feasibility", _scaled, "constraint: |C(Y)|"),
    ("feasibility", lambda old: lambda self, X: np.nan, "constraint: |C(Y)|"),
    ("constraint_differential", _scaled, "constraint: DC(Y)[Z] = "),
    ("tangency", _scaled, "constraint: |DC(Y)[Z]|"),
    ("constraint_adjoint", _scaled, "constraint: <DC(Y)[Z], T> = "),
    ("dissolve", _scaled, "dissolving: A(Y) = "),
    ("dissolve_differential", _scaled, "dissolving: A(Y+Z) - A(Y-Z) = "),
    ("dissolve_adjoint", _scaled, "dissolving: <DA(Y)[Z], T> = "),
    ("dissolve_second_adjoint", _scaled, "dissolving: DA(Y+Z)*[T] - "),
    ("restore", _scaled, "F6: |C(restore(Y))|"),
    ("project", lambda old: lambda self, X, D: D, "projection: DC(X)[P_X D] = 0"),
    ("project", _scaled, "projection: P_X D = D - phi(X) Theta_X(D)"),
    ("gradient", _scaled, "projection: gradient = P_X(egrad)"),
    ("gradient", _scaled, "gradient: slope of the first-order error"),
    ("theta", _scaled, "theta: Theta = argmin"),
    ("dim", _scaled, "F10: dim M = trace of P_X on F"),
    ("hessian", _scaled, "hessian: slope of the second-order error"),
    ("retract", lambda old: lambda self, X, Z, kind: X + Z, "retractions: |C(R(Z))|"),
    ("retract", lambda old: lambda *args, kind: -old(*args, kind=kind), "retractions: R(0) = X"),
    (
        "retract",
        lambda old: lambda self, X, Z, kind: old(self, X, 1.1 * Z, kind=kind),
        "retractions: slope of |R(tZ) - X - tZ|",
    ),
    ("retract", _instead("cayley", "polar"), "F9: (I - Omega/2) R = (I + Omega/2) X"),
    ("retract", _instead("exp", "cayley"), "F9: R = exp(Omega) X"),
    ("retract", _instead("polar", "cayley"), "F9: <<R,Y>>^2 = <<Y,Y>>"),
    ("transport", _scaled, "transport: transport = P_Y(Z)"),
    ("random_point", _scaled, "random-point: |C(X)|"),
    (
        "random_point",
        lambda old: lambda self, rng=None: old(self, 0),
        "random-point: largest |X' - X| >= |X|/10",
    ),
]


@pytest.mark.parametrize(("method", "wrong", "said"), METHODS, ids=[each[2] for each in METHODS])
def test_a_wrong_method_is_found_by_its_formula(monkeypatch, method, wrong, said):
    manifold, name = gt.Recipe("bilinear-symmetric", 7, 3, 4.0, 1).build(), said.partition(":")[0]
    _check(name, manifold)
    monkeypatch.setattr(GenOrthManifold, method, wrong(getattr(GenOrthManifold, method)))
    with pytest.raises(AssertionError) as caught:
        _check(name, manifold)
    assert str(caught.value).startswith(said)


def test_wrong_conjugate_gradients_are_found(monkeypatch):
    manifold = gt.Recipe("bilinear-symmetric", 7, 3, 4.0, 1).build()
    monkeypatch.setattr(ConjugateGradients, "theta", _scaled(ConjugateGradients.theta))
    with pytest.raises(AssertionError, match="conjugate gradients = oracle"):
        _check("theta", manifold)
