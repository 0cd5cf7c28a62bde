"""The components of M: their number, and in which one a point is."""

import hypothesis
import numpy as np
import pytest

import genorth as go
import genorth.testing as gt

#: Manifolds and their number of components, known from the groups that act on them.
KNOWN = {
    "orthogonal": (lambda: go.Orthogonal(3), 2),
    "rotations": (lambda: go.Rotations(3), 1),
    "unitary": (lambda: go.Unitary(3), 1),
    "stiefel": (lambda: go.Stiefel(4, 3), 1),
    "two points": (lambda: go.Stiefel(1, 1), 2),
    "two sheets": (lambda: go.HyperbolicStiefel(np.array([1.0, -1.0, -1.0]), 1), 2),
    "one sheet": (lambda: go.HyperbolicStiefel(np.array([1.0, 1.0, -1.0]), 1), 1),
    "O(1,1)": (lambda: go.IndefiniteStiefel(np.array([1.0, -1]), np.array([1.0, -1])), 4),
    "O(2,1)": (lambda: go.IndefiniteStiefel(np.array([1.0, 1, -1]), np.array([1.0, 1, -1])), 4),
    "a negative line": (
        lambda: go.IndefiniteStiefel(np.array([1.0, 1, -1]), np.array([1.0, -1])),
        2,
    ),
    "symplectic": (lambda: go.SymplecticStiefel(4, 4), 1),
    "tensor": (lambda: go.TensorStiefel(2, 2, 3), 8),
    "power": (lambda: go.Power(go.Orthogonal(2), 3), 8),
    "rotations, many": (lambda: go.Power(go.Rotations(2), 3), 1),
    "product": (lambda: go.Product(go.Orthogonal(2), go.Euclidean(2), go.Orthogonal(3)), 4),
    "oblique": (lambda: go.Oblique(1, 3), 8),
    "not known": (lambda: go.from_maps((3, 3), np.conj, np.conj, dtype=complex), None),
}


@pytest.mark.parametrize("name", KNOWN)
def test_random_points_meet_all_components(name):
    make, count = KNOWN[name]
    M = make()
    assert M.components == count
    found = {M.component(M.random_point(k)) for k in range(60)}
    assert found == set(range(count or 1))


@hypothesis.given(gt.recipes(max_condition=1e3), gt.seeds())
def test_paths_stay_in_a_component(recipe, seed):
    """Along curves on M the number does not change; X T has another one where T turns a sign."""
    M = recipe.build()
    X = Y = M.random_point((seed, 0))
    for k in range(3):
        Z = M.random_tangent(Y, (seed, 1, k))
        length = 0.5 / max(float(M.norm(M.phi(Y))) * float(M.norm(Z)), 1e-8)
        Y = M.retract(Y, Z * min(length, 1e8), "exp")
    assert M.component(X) == M.component(Y)


def test_reflections_change_it():
    M = go.Orthogonal(4)
    X = M.random_point(0)
    assert M.component(X) != M.component(X * np.array([-1.0, 1, 1, 1]))
    assert (M.component(X) == 1) == (np.linalg.det(X) < 0)
    both = go.IndefiniteStiefel(np.array([1.0, 1, -1]), np.array([1.0, 1, -1]))
    signs = [np.diag(d) for d in ([1.0, 1, 1], [-1.0, 1, 1], [1.0, 1, -1], [-1.0, 1, -1])]
    assert len({both.component(D) for D in signs}) == 4
