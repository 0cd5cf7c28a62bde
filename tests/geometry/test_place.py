"""How Theta_X is solved (F5): the choice, what is read off psi, and what is reused at one X."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry import place
from genorth.geometry.companion import read_companion
from genorth.geometry.place import (
    ClosedForm,
    ConjugateGradients,
    Eigendecomposition,
    FormEigendecomposition,
)
from genorth.geometry.retractions import Cayley

INNER = tuple(
    name
    for name in gt.FAMILIES
    if name not in ("from-maps-subspace", "complex-orthogonal", "tensor-dft")
)


_OF_FORMS = (
    "hyperbolic symplectic indefinite-diagonal indefinite-dense bilinear-symmetric "
    "bilinear-skew generalized generalized-complex generalized-sparse hyperbolic-operator"
)
FORMS = tuple(_OF_FORMS.split())


@pytest.mark.parametrize(
    ("solver", "name", "families"),
    [
        (ClosedForm, "closed form", "stiefel stiefel-complex tensor-dct tensor-dft"),
        (FormEigendecomposition, "eigendecomposition", " ".join(FORMS)),
        (Eigendecomposition, "eigendecomposition", "from-maps from-maps-subspace"),
        (ConjugateGradients, "conjugate gradients", "complex-orthogonal"),
    ],
)
def test_choice_is_made_from_structure_and_visible(solver, name, families):
    for family in families.split():
        manifold = gt.Recipe(family, 6, 4, 10.0, 1).build()
        assert manifold.theta_solver is solver and solver.name == name


@given(manifold=gt.manifolds(families=INNER))
def test_F5_companion_is_read_off_psi(manifold):
    """psi(T) = Q T Q^-1 and Q^T = e Q, from p evaluations of psi."""
    *batch, _, p = manifold.shape
    read = read_companion(manifold.psi, manifold._random_small(0))
    declared = manifold.companion
    assert read is not None and declared is not None
    eye = np.eye(p, dtype=manifold.dtype)
    Q, known = np.asarray(read.Q.left(eye)), np.asarray(declared.Q.left(eye))
    condition = np.linalg.cond(known).max()
    tolerance = 100 * p * np.finfo(float).eps * condition
    assert np.linalg.norm(Q.mT.conj() - read.sign * Q) <= tolerance * np.linalg.norm(Q)
    if manifold.dtype.kind == "f" and p > 1:
        assert read.sign == declared.sign
    T = np.random.default_rng(0).standard_normal((*batch, p, p)).astype(manifold.dtype)
    assert np.linalg.norm(read.psi(T) - manifold.psi(T)) <= tolerance * condition * np.linalg.norm(
        T
    )


@pytest.mark.parametrize(
    "psi", [lambda T: np.conj(T), lambda T: T.mT, lambda T: 2 * T, lambda T: 0 * T]
)
def test_maps_of_another_form_are_not_read_as_inner(psi):
    assert read_companion(psi, go.Stiefel(3, 3, complex)._random_small(0)) is None


class _Counted(go.GenOrthManifold):
    """X^T B X = I that counts phi."""

    shape = (20, 4)

    def __init__(self) -> None:
        self.B = gt.conditioned_symmetric(20, 10, 0)
        self.calls = 0

    def phi(self, X):
        self.calls += 1
        return self.B @ X

    def psi(self, T):
        return T


def test_one_factorisation_serves_projection_gradient_hessian_and_transport(monkeypatch):
    manifold, rng = _Counted(), np.random.default_rng(0)
    X, Y = manifold.random_point(rng), manifold.random_point(rng)
    D, Z = manifold.random_ambient(rng), manifold.random_tangent(X, rng)
    factored = []
    eigh = place.eigh
    monkeypatch.setattr(place, "eigh", lambda K: factored.append(1) or eigh(K))
    manifold.project(Y, D)
    factored.clear()
    manifold.calls = 0
    manifold.project(X, D)
    manifold.theta(X, Z)
    manifold.gradient(X.copy(), D)  # the same entries, another array
    manifold.transport(Y, X, Z)
    assert (len(factored), manifold.calls) == (1, 1)
    for _ in range(3):
        manifold.hessian(X, D, Z, Z)
    assert (len(factored), manifold.calls) == (1, 4)  # one phi(Z) for each Hessian product


def test_conjugate_gradients_at_a_size_where_the_oracle_is_slow():
    manifold, rng = go.SymplecticStiefel(200, 30), np.random.default_rng(3)
    X, D = manifold.random_point(rng), manifold.random_ambient(rng)
    P = manifold.phi(X)
    bound = 1e3 * X.size**0.5 * np.finfo(float).eps * np.linalg.cond(P) ** 2 * np.linalg.norm(D)
    assert (
        np.linalg.norm(ConjugateGradients(manifold, X, P).theta(D) - manifold.theta(X, D)) <= bound
    )


@pytest.mark.parametrize("manifold", [go.SymplecticStiefel(8, 4), go.Stiefel(7, 3)], ids=repr)
def test_what_is_decomposed_is_N_T_N(manifold):
    """N = phi(X) Q. A wrong sign would be mended by the singular values, at their price."""
    X = manifold.random_point(0) + 0.1 * manifold.random_ambient(1)
    P = manifold.phi(X)
    N = manifold.companion.Q.right(P)
    gram = Eigendecomposition(manifold, X, P).gram
    np.testing.assert_allclose(gram, N.T @ N, atol=1e-14 * float(np.linalg.norm(N)) ** 2)


@given(
    manifold=gt.manifolds(families=FORMS, max_condition=1e3), seed=gt.seeds(), t=st.floats(-1, 1)
)
def test_the_frame_of_the_form_changes_nothing(manifold, seed, t):
    """With the frame A X in place of phi(X): theta, project, paired, and the ray along them."""
    rng = np.random.default_rng(seed)
    X, G = manifold.random_point(rng), manifold.random_ambient(rng)
    plain, fast = Eigendecomposition(manifold, X), manifold.place(X)
    assert type(fast) is FormEigendecomposition
    norm = np.linalg.norm
    unit = 100 * np.finfo(float).eps * X.shape[-2] * float(manifold.scale(X)) ** 2
    P = manifold.phi(X)
    assert norm(fast.P - plain.P) <= unit * norm(P)
    assert norm(P @ (fast.theta(G) - plain.theta(G))) <= unit * norm(G)
    d, T = fast.split(G)
    assert norm(d - plain.project(G)) <= unit * norm(G)
    assert norm(fast.N @ T - P @ plain.theta(G)) <= unit * norm(G)
    # <<X, d>> of the last projection is made from p x p matrices
    assert norm(fast.paired(d)[0] - P.conj().T @ d) <= unit * norm(P) * norm(G)
    s = 0.5 * t / float(norm(d) * norm(P) + (norm(manifold.phi(d)) * norm(d)) ** 0.5 + 1)
    gap = norm(Cayley(fast, d).point(s) - Cayley(plain, d.copy()).point(s))
    assert gap <= unit * (norm(X) + norm(G))


def test_the_rounding_in_what_is_paired_is_that_of_what_was_projected():
    """<<X, Z>> of a short Z = P_X(G) is a difference of p x p matrices of the size of G."""
    manifold = go.SymplecticStiefel(20, 4)
    X = manifold.random_point(0)
    place, P = manifold.place(X), manifold.phi(X)
    normal = 1e6 * manifold.constraint_adjoint(X, np.ones((4, 4)) + np.eye(4, k=1))
    Z, _ = place.split(normal + manifold.random_ambient(1))
    A, rounding = place.paired(Z)
    error = np.linalg.norm(A - P.T @ Z)
    product = np.finfo(float).eps * np.linalg.norm(P) * np.linalg.norm(Z)
    assert error <= 10 * (4 * rounding + product) and rounding > 1e3 * product


@given(manifold=gt.manifolds(max_condition=1e2), seed=gt.seeds())
def test_what_a_place_knows_of_its_point(manifold, seed):
    rng = np.random.default_rng(seed)
    X = manifold.random_point(rng) + 1e-4 * manifold.random_ambient(rng)
    here = manifold.place(X)
    unit = 100 * np.finfo(float).eps * X.shape[-2] * float(manifold.scale(X)) ** 2
    assert here.feasibility == pytest.approx(float(manifold.feasibility(X)), abs=unit, rel=1e-9)
    assert here.size == pytest.approx(manifold.scale(X))
    assert here.length == pytest.approx(float(manifold.norm(X)))
    assert manifold.norm(here.dissolved() - manifold.dissolve(X)) <= unit * manifold.norm(X)


@given(manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_a_projection_for_many_vectors_is_the_projection(manifold, seed):
    """In whatever frame; and a Hessian for many directions is `hessian`."""
    X = manifold.random_point(seed)
    place, D = manifold.place(X), manifold.random_ambient(seed + 1)
    G, H = manifold.random_ambient(seed + 2), manifold.random_ambient(seed + 3)
    Z = manifold.random_tangent(X, seed + 4)
    bound = 1e4 * np.finfo(float).eps * float(np.linalg.cond(manifold.phi(X)).max()) ** 2
    bound *= float(manifold.scale(X))
    error = np.linalg.norm(place.projection()(D) - place.project(D))
    assert error <= bound * np.linalg.norm(D)
    found = place.curvature(place.split(G)[1])(H, Z)
    size = np.linalg.norm(H) + np.linalg.norm(place.lagrangian(place.split(G)[1], H, Z))
    assert np.linalg.norm(found - manifold.hessian(X, G, H, Z)) <= bound * size
