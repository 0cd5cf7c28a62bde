"""The checks that users run on their own manifold: what is broken is named, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.checks.report import Finding
from genorth.geometry.companion import Companion
from genorth.geometry.retractions import RETRACTIONS, Ray
from genorth.linalg.operators import Identity

B = gt.conditioned_symmetric(7, 10, 0)
K = gt.conditioned_skew(8, 3, 0)
MASK = np.kron(np.eye(2), np.ones((4, 2)))


def _oblique(Y: np.ndarray) -> np.ndarray:
    """A projector onto the block-diagonal matrices along others than the orthogonal ones."""
    Z = MASK * Y
    Z[:4, :2] += 0.5 * Y[4:, :2]
    return Z


class _Stated(go.GenOrthManifold):
    """X^T B X = I, with facts stated about it that may be wrong."""

    shape = (7, 3)
    companion = None

    def __init__(self, psi=lambda T: T, **facts: object) -> None:
        self._psi = psi
        vars(self).update(facts)

    def phi(self, X):
        return B @ X

    def psi(self, T):
        return self._psi(T)


BROKEN = {
    "1 closed": go.from_maps((8, 4), lambda X: X, lambda T: T, ambient=lambda Y: np.triu(Y)),
    "2 phi linear": go.from_maps((7, 3), lambda X: X + 0.01 * X**3, lambda T: T),
    "2 phi into F": go.from_maps((8, 4), lambda X: K @ X, lambda T: T, ambient=lambda Y: MASK * Y),
    "2 phi one-to-one": go.from_maps(
        (7, 3), lambda X: np.diag([0.0, 1, 1, 1, 1, 1, 1]) @ X, lambda T: T
    ),
    "2 phi self-adjoint": go.from_maps((7, 3), lambda X: np.triu(B) @ X, lambda T: T),
    "3 psi linear": go.from_maps((7, 3), lambda X: X, lambda T: T + 0.1 * T**2),
    "3 companion": go.from_maps((7, 3), lambda X: X @ np.diag([1.0, 2, 3]), lambda T: T),
    "3 symmetry": go.from_maps(
        (8, 4), lambda X: K @ X @ np.kron([[0, 1], [-1, 0]], np.eye(2)), lambda T: T
    ),
    "psi symmetric": go.from_maps((7, 3), lambda X: B @ X, lambda T: 2 * T),
    "psi multiplicative": go.from_maps((7, 3), lambda X: X, lambda T: T.mT),
    "psi unit": go.from_maps((7, 3), lambda X: X, lambda T: 0.5 * T),
    "psi self-adjoint": go.from_maps((7, 3), lambda X: X, lambda T: np.triu(np.ones((3, 3))) @ T),
    "psi inverse": go.from_maps((7, 3), lambda X: X, lambda T: 3 * T),
    "M has points": go.from_maps((7, 3), lambda X: -B @ X, lambda T: T),
    "Q of psi": go.from_maps((7, 3), lambda X: X, lambda T: T, companion=[1.0, 2.0, 3.0]),
    "projector onto F": go.from_maps((8, 4), lambda X: X, lambda T: T, ambient=lambda Y: Y / 2),
    "projector orthogonal": go.from_maps((8, 4), lambda X: X, lambda T: T, ambient=_oblique),
    "definite": go.from_maps((7, 3), lambda X: -B @ X, lambda T: T, definite=True),
    "Q symmetric or skew": _Stated(companion=Companion(Identity(3), -1)),
    "A of phi": _Stated(form=Identity(7), companion=Companion(Identity(3), 1)),
    "isometric": _Stated(isometric=True, psi=lambda T: 2 * T),
    "isometric on M": _Stated(isometric=True),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_fails_is_named(name):
    report = go.check_assumptions(BROKEN[name], rng=0)
    assert not report.passed
    assert not report[name].passed, str(report)
    assert "FAIL  " + name in str(report)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("M has points", set()),
        ("2 phi one-to-one", set()),
        ("2 phi self-adjoint", {"3 symmetry", "psi symmetric", "M has points"}),  # C is not in S1
    ],
)
def test_only_what_fails_is_named(name, others):
    failures = go.check_assumptions(BROKEN[name], rng=0).failures
    assert {finding.name for finding in failures} == {name} | others


@pytest.mark.parametrize("kind", RETRACTIONS)
@given(manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_every_retraction_is_one(kind, manifold, seed):
    report = go.check_retraction(manifold, kind, rng=seed)
    assert report.passed, str(report)


def test_the_order_is_reported_and_never_a_failure():
    """Here a t^2 - b t^3 of the tangential part have a slope of 1.82 together."""
    manifold = gt.Recipe("bilinear-symmetric", 2, 2, 1.2409377607517196, 0).build()
    report = go.check_retraction(manifold, rng=0)
    assert report.passed and report["order"].value == 1, str(report)


def test_order_of_a_retraction():
    """The polar factor is the nearest point of Stiefel: no tangential acceleration."""
    manifold = go.Stiefel(8, 3)
    assert go.check_retraction(manifold, "polar", rng=0)["order"].note.startswith("2")
    assert go.check_retraction(manifold, "cayley", rng=0)["order"].note.startswith("1")


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("on M", lambda T, Z: T.X + Z),
        ("start", lambda T, Z: -RETRACTIONS["polar"](T, Z).point(1.0)),
        ("first order", lambda T, Z: RETRACTIONS["polar"](T, 1.01 * Z).point(1.0)),
    ],
)
def test_a_broken_retraction_is_named(monkeypatch, name, broken):
    class Broken(Ray):
        def point(self, t: float):
            return broken(self.place, t * self.Z)

        def velocity(self, t: float):
            return self.Z

    monkeypatch.setitem(RETRACTIONS, "broken", Broken)
    report = go.check_retraction(go.Stiefel(8, 3), "broken", rng=0)
    assert not report[name].passed


def test_steps_outside_the_domain_are_counted():
    """On the circle of the negative direction the polar step leaves the domain."""
    manifold = go.HyperbolicStiefel([1.0, -1.0], 1)
    X, Z = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    report = go.check_retraction(manifold, "polar", X, Z)
    assert report.passed and "outside the domain" in report["on M"].note


def test_rounding_that_psi_magnifies_is_no_violation():
    """psi(T) = R T R^-1 with a condition number of 1e6: figures of 1e-6 are rounding."""
    R = gt.conditioned_symmetric(3, 1e6, 0)
    report = go.check_assumptions(go.BilinearStiefel(gt.conditioned_symmetric(7, 10, 1), R), rng=0)
    assert report.passed, str(report)


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-9, 1e-11])
def test_a_small_violation_is_found_and_measured(size):
    E = np.triu(np.ones((7, 7)), 1)
    manifold = go.from_maps((7, 3), lambda X: (B + size * E) @ X, lambda T: T)
    finding = go.check_assumptions(manifold, rng=0)["2 phi self-adjoint"]
    assert not finding.passed and 1e-3 * size < finding.value < 10 * size


def test_homogeneous_is_not_linear():
    """phi(aX) = a phi(X) holds, phi(U + V) = phi(U) + phi(V) does not."""
    manifold = go.from_maps((7, 3), lambda X: X + X**3 / np.vdot(X, X), lambda T: T)
    assert not go.check_assumptions(manifold, rng=0)["2 phi linear"].passed


def test_a_point_that_is_not_on_M_is_none(monkeypatch):
    manifold = go.Stiefel(7, 3)
    monkeypatch.setattr(go.GenOrthManifold, "random_point", lambda self, rng: 2 * np.eye(7, 3))
    assert not go.check_assumptions(manifold, rng=0)["M has points"].passed


def test_at_large_sizes_phi_is_not_formed_and_may_stay_undecided():
    def finding(d: np.ndarray) -> Finding:
        manifold = go.from_maps((400, 3), lambda X: d[:, None] * X, lambda T: T)
        return go.check_assumptions(manifold, rng=0)["2 phi one-to-one"]

    regular = finding(np.linspace(1, 10, 400))
    assert regular.passed and "shortest U" in regular.note
    undecided = finding(np.geomspace(1, 1e-12, 400))
    assert undecided.passed and "not decided" in undecided.note
    assert not finding(np.arange(400) != 7).passed


@pytest.mark.parametrize(
    ("n", "minus", "least"), [(12, 1, 1.0), (12, 2, 1.0), (300, 1, 1e-7), (600, 1, 0.1)]
)
def test_a_false_definite_is_found_by_eigenvalues(n, minus, least):
    """Signatures (11, 1) and (10, 2) pass every sample."""
    signs = np.where(np.arange(n) < minus, -least, np.geomspace(1.0, 1e-3, n))[:, None]
    for values in (signs, np.abs(signs)):
        manifold = go.from_maps((n, 3), lambda X, d=values: d * X, lambda T: T, definite=True)
        assert go.check_assumptions(manifold, rng=0)["definite"].passed == (values is not signs)


def test_the_report_says_where_only_conjugate_gradients_are_left():
    conjugations = go.from_maps((5, 2), np.conj, np.conj, dtype=complex)
    report = go.check_assumptions(conjugations, rng=0)
    assert report.passed and "companion=Q" in str(report)
    assert "conjugate gradients" in repr(conjugations)
    quick = go.check_assumptions(go.Stiefel(5, 2), rng=0)
    assert not quick.notes and "conjugate" not in repr(go.Stiefel(5, 2))
