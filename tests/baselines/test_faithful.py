"""The geometry of the paper picks its retraction by the structure of phi and psi."""

from __future__ import annotations

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from baselines.geometry import faithful

A, R = gt.conditioned_symmetric(7, 5.0, 0), gt.conditioned_symmetric(3, 5.0, 1)
INVERSE = np.linalg.inv(R)
MANIFOLDS = {
    "psi = id, definite": go.GeneralizedStiefel(A, 3),
    "psi = id, indefinite": go.HyperbolicStiefel(gt.conditioned_symmetric(7, 5.0, 0, 3), 3),
    "psi not id, definite": go.from_maps(
        (7, 3), lambda X: A @ X @ INVERSE, lambda T: R @ T @ INVERSE, definite=True
    ),
    "psi not id, indefinite": go.BilinearStiefel(gt.conditioned_symmetric(7, 5.0, 0, 3), R),
}


@pytest.mark.parametrize("name", MANIFOLDS)
def test_steps_stay_on_the_manifold(name: str) -> None:
    """Cholesky-QR needs a definite form and psi = id; elsewhere it would lead off M."""
    manifold = MANIFOLDS[name]
    assert faithful.unsupported(manifold) is None
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    Z = Z * (0.1 / float(manifold.norm(Z) * manifold.norm(manifold.phi(X))))
    Y, exact = faithful.places(manifold)(X).ray(Z).point(1.0)
    assert manifold.feasibility(Y) <= 1e-12 * manifold.scale(Y)
    assert exact == (name == "psi = id, definite")
