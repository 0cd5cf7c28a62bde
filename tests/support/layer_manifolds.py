"""Manifolds that layers may have, for the tests of PyTorch and Optax; off M, but near it."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import genorth as go

_RNG = np.random.default_rng(7)
_SYMMETRIC = np.linalg.qr(_RNG.standard_normal((8, 8)))[0]
_POSITIVE = (_SYMMETRIC * np.linspace(1, 2, 8)) @ _SYMMETRIC.T
_POSITIVE = (_POSITIVE + _POSITIVE.T) / 2
_SKEW = np.kron(np.diag([1.0, 1.5, 2.0, 2.5]), np.array([[0.0, 1.0], [-1.0, 0.0]]))

MANIFOLDS: dict[str, go.GenOrthManifold] = {
    "stiefel": go.Stiefel(8, 4),
    "complex": go.Stiefel(8, 4, complex),
    "generalized": go.GeneralizedStiefel(_POSITIVE, 4),
    "symplectic": go.SymplecticStiefel(8, 4),
    "bilinear": go.BilinearStiefel(_SKEW, _SKEW[:4, :4]),
    "indefinite": go.IndefiniteStiefel(np.r_[np.ones(6), -np.ones(2)], np.r_[np.ones(3), -1.0]),
    "tensor": go.TensorStiefel(8, 4, 3),
}
KINDS = {"oblique": go.ConstraintDissolving, "orthogonal": go.OrthogonalDissolving}


def near(manifold: go.GenOrthManifold, seed: int, distance: float = 0.02) -> Any:
    """A point near M, but off M."""
    rng = np.random.default_rng(seed)
    return manifold.random_point(rng) + distance * manifold.random_ambient(rng)


def target(manifold: go.GenOrthManifold, seed: int) -> Any:
    """A point of F that a weight is to be near to."""
    return manifold.random_ambient(np.random.default_rng(seed))


def distance(manifold: go.GenOrthManifold, T: Any) -> go.Problem:
    """f(X) = |X - T|^2/2."""
    return go.Problem(manifold, lambda X: float(np.linalg.norm(X - T) ** 2) / 2, lambda X: X - T)


def with_momentum(
    M: go.GenOrthManifold, X: Any, T: Any, lr: float, momentum: float, nesterov: bool
) -> Any:
    """Three steps of SGD for |X - T|^2/2; the momentum is transported by projection."""
    V = 0 * X
    for _ in range(3):
        G = M.gradient(X, X - T)
        V = momentum * M.project(X, V) + G
        X = M.dissolve(M.retract(X, -lr * (G + momentum * V if nesterov else V)))
    return X


def refuses(call: Callable[[], Any], argument: str, *parts: str) -> None:
    """The call raises a ValueError "argument: need ...", with all parts in it."""
    with pytest.raises(ValueError, match=re.escape(argument)) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"{argument}: need "), message
    assert all(part in message for part in parts), message
