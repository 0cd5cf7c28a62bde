"""The thresholds against their definition, over a basis of S1, where the structure is unusual."""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.penalty.cdf import largest_form

MANIFOLDS = {
    "complex Q": go.BilinearStiefel(
        gt.conditioned_symmetric(6, 4.0, 0, 2, complex),
        gt.conditioned_symmetric(3, 3.0, 1, 1, complex),
    ),
    "no Q": gt.Recipe("complex-orthogonal", 5, 2, 4.0, 1).build(),
    "no Q, complex": gt.Recipe("complex-orthogonal", 5, 3, 1.0, 1).build(),
    "blocks": gt.Recipe("from-maps-blocks", 5, 2, 4.0, 1).build(),
    "skew": gt.Recipe("bilinear-skew", 6, 4, 4.0, 1).build(),
}


def _trace(M: np.ndarray) -> float:
    return float(np.trace(M, axis1=-2, axis2=-1).sum().real)


def _largest(values: np.ndarray, metric: np.ndarray) -> float:
    L = np.linalg.inv(np.linalg.cholesky(metric))
    return float(np.linalg.eigvalsh(L @ (values + values.T) @ L.T / 2).max())


@pytest.mark.parametrize("name", MANIFOLDS)
@pytest.mark.parametrize("seed", range(3))
def test_both_forms_are_those_of_their_definition(name, seed):
    """max Re tr(S^2 Theta), |S| = 1; and max of -<V, phi(V) Theta>, V = phi(X) S, |V| = 1."""
    manifold = MANIFOLDS[name]
    X = manifold.random_point(seed)
    Theta = np.asarray(manifold.theta(X, manifold.random_ambient(seed + 9)))
    basis = list(symmetric_basis(manifold))
    form = [[_trace(S @ T @ Theta) for T in basis] for S in basis]
    expected = _largest(np.array(form), np.eye(len(basis)))
    bound = 1e-9 * (1 + np.linalg.norm(Theta))
    assert largest_form(manifold, Theta) == pytest.approx(expected, abs=bound)
    normal = [np.asarray(manifold.phi(X)) @ S for S in basis]
    images = [np.asarray(manifold.phi(V)) @ Theta for V in normal]
    values = [[-np.vdot(V, image).real for image in images] for V in normal]
    metric = [[float(realvec(U) @ realvec(V)) for V in normal] for U in normal]
    expected = max(0.0, _largest(np.array(values), np.array(metric)))
    found = go.OrthogonalDissolving.threshold(manifold, X, Theta)
    assert found == pytest.approx(expected, rel=1e-6, abs=bound)
