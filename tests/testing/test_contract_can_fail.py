"""The contract finds what it states: each formula fails where the method behind it is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import ConjugateGradients

B = gt.conditioned_symmetric(7, 10, 0)


def _check(name: str, manifold: GenOrthManifold) -> None:
    next(prop for prop in gt.PROPERTIES if prop.name == name).check(manifold)


def _same(X: Any) -> Any:
    return X


def test_maps_that_break_the_theory():
    """The contract has the findings of `check_assumptions`, whose tests break each of them."""
    turned = go.from_maps((7, 3), _same, lambda T: T.mT)
    with pytest.raises(AssertionError, match=r"^assumption-1: .*psi\(.* fails"):
        _check("assumption-1", turned)


def _scaled(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **more: 1.001 * original(*arguments, **more)


def _one_more(original: property) -> property:
    return property(lambda self: original.__get__(self) + 1)


def _instead(kind: str, other: str) -> Callable[..., Any]:
    """A retraction that takes the place of another."""

    def replaced(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, X, Z, kind=kind, **more: original(
            self, X, Z, kind=other if kind == wrong else kind, **more
        )

    wrong = kind
    return replaced


def _longer(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, X, Z, kind: original(self, X, 1.1 * Z, kind=kind)


def _kept(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, rng=None: original(self, 0)


#: (property, formula, method, what becomes of the method).
METHODS = [
    ("constraint", "C(Y) = Y^T phi(Y) - I", "constraint", _scaled),
    ("constraint", "|C(Y)|", "feasibility", _scaled),
    ("constraint", "DC(Y)[Z] = Y^T phi(Z) + Z^T phi(Y)", "constraint_differential", _scaled),
    ("constraint", "|DC(Y)[Z]|", "tangency", _scaled),
    ("constraint", "<DC(Y)[Z], T> = <Z, DC(Y)*[T]>", "constraint_adjoint", _scaled),
    ("dissolving", "A(Y) = 3/2 Y - 1/2 Y phi(Y)^T Y", "dissolve", _scaled),
    ("dissolving", "A(Y+Z) - A(Y-Z) = 2 DA(Y)[Z]", "dissolve_differential", _scaled),
    ("dissolving", "<DA(Y)[Z], T> = <Z, DA(Y)*[T]>", "dissolve_adjoint", _scaled),
    ("dissolving", "DA(Y+Z)*[T] - DA(Y-Z)*[T]", "dissolve_second_adjoint", _scaled),
    ("F6", "|C(restore(Y))|", "restore", _scaled),
    ("projection", "DC(X)[P_X D] = 0", "project", lambda old: lambda self, X, D: D),
    ("projection", "P_X D = D - phi(X) Theta_X(D)", "project", _scaled),
    ("projection", "gradient = P_X(egrad)", "gradient", _scaled),
    ("theta", "Theta = argmin |phi(X) S - D| over S1", "theta", _scaled),
    ("F10", "dim M = trace of P_X on F", "dim", _one_more),
    ("gradient", "slope of the first-order error", "gradient", _scaled),
    ("hessian", "slope of the second-order error", "hessian", _scaled),
    ("retractions", "|C(R(Z))|", "retract", lambda old: lambda self, X, Z, kind: X + Z),
    ("retractions", "R(0) = X", "retract", lambda old: lambda *args, kind: -old(*args, kind=kind)),
    ("retractions", "slope of |R(tZ) - X - tZ|", "retract", _longer),
    ("F9", "(I - Omega/2) R = (I + Omega/2) X", "retract", _instead("cayley", "polar")),
    ("F9", "R = exp(Omega) X", "retract", _instead("exp", "cayley")),
    ("F9", "<<R,Y>>^2 = <<Y,Y>>", "retract", _instead("polar", "cayley")),
    ("transport", "transport = P_Y(Z)", "transport", _scaled),
    ("random-point", "|C(X)|", "random_point", _scaled),
    ("random-point", "largest |X' - X| >= |X|/10", "random_point", _kept),
    ("constraint", "|C(Y)|", "feasibility", lambda old: lambda self, X: np.nan),
]


@pytest.mark.parametrize(
    ("name", "formula", "method", "wrong"), METHODS, ids=[f"{m[0]}: {m[1]}" for m in METHODS]
)
def test_a_wrong_method_is_found_by_its_formula(monkeypatch, name, formula, method, wrong):
    manifold = gt.Recipe("bilinear-symmetric", 7, 3, 4.0, 1).build()
    _check(name, manifold)
    monkeypatch.setattr(GenOrthManifold, method, wrong(getattr(GenOrthManifold, method)))
    with pytest.raises(AssertionError) as caught:
        _check(name, manifold)
    assert str(caught.value).startswith(f"{name}: {formula}")


def test_wrong_conjugate_gradients_are_found(monkeypatch):
    manifold = gt.Recipe("bilinear-symmetric", 7, 3, 4.0, 1).build()
    monkeypatch.setattr(ConjugateGradients, "theta", _scaled(ConjugateGradients.theta))
    with pytest.raises(AssertionError, match="conjugate gradients = oracle"):
        _check("theta", manifold)
