"""Between points of M: the inverse of the Cayley retraction, and the mean that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from genorth.errors import OutsideDomainError, refuse
from genorth.linalg.arrays import Array, ct, eye_like, is_lazy, norm, number
from genorth.linalg.functions import condition, inverse, require_condition

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_ROUNDS = 200  # of the fixed-point iteration, which takes about ten for points that are near
_FORMULA = "(I + <<X, Y>>)/2"
_HINT = "Y is too far from X for one step of Cayley: go by points between them."


def inverse_retract(manifold: GenOrthManifold, X: Array, Y: Array) -> Array:
    """Z with R_X(Z) = Y for the Cayley retraction, see `GenOrthManifold.inverse_retract`."""
    if not is_lazy(X) and manifold.component(X) != manifold.component(Y):
        got = f"components {manifold.component(X)} and {manifold.component(Y)}"
        refuse("Y", "a point of the component of X", got, None, "", OutsideDomainError)
    D = Y - X
    W = ct(manifold.phi(X)) @ D
    B = inverse(eye_like(W) + W / 2, _FORMULA, _HINT)
    if not is_lazy(B):  # near -X the sum is rounding, which may be well conditioned
        require_condition(condition(eye_like(W) + abs(W), B), B, _FORMULA, _HINT)
    E = W @ B
    return D @ B - X @ ((E + ct(manifold.psi(E))) / 2)


def mean(manifold: GenOrthManifold, points: Sequence[Array], weights: Any, tol: float) -> Array:
    """The zero of sum_i w_i R_X^-1(Y_i), see `GenOrthManifold.mean`."""
    w = np.ones(len(points)) if weights is None else np.asarray(weights, float)
    if not (len(points) and w.shape == (len(points),) and np.all(w >= 0) and 0 < w.sum() < np.inf):
        need = "at least one point, and for each a weight >= 0, not all zero"
        refuse("points", need, f"{len(points)} points, weights {weights!r}")
    w /= w.sum()
    X, step, before = points[int(np.argmax(w))], 1.0, np.inf
    for _ in range(_ROUNDS):
        Z = sum(float(a) * manifold.inverse_retract(X, Y) for a, Y in zip(w, points, strict=True))
        size = number(norm(Z))
        if size <= tol * max(1.0, number(norm(X))):
            return X
        step = min(1.0, 1.2 * step) if size < 0.9 * before else step / 2
        X, before = manifold.retract(X, step * Z), size
    need = "points so near to each other that X <- R_X(Z), Z the mean of R_X^-1(Y_i), converges"
    refuse("points", need, size, tol, "", OutsideDomainError)
