"""The group {T : T*T = I}, T* = psi(T)^T, which acts on M from the right: X T is on M with X."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from genorth.errors import refuse
from genorth.linalg.arrays import Array, as_like, ct, eps, eye_like, namespace
from genorth.linalg.functions import eigh, inverse

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


def random_skew(manifold: GenOrthManifold, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A random element of norm 1 of the Lie algebra {S : S* = -S}; zero where there is none."""
    W = manifold._random_small(int(rng.integers(2**62)))
    S = W - ct(np.asarray(manifold.psi(W)))
    size = float(np.linalg.norm(S))
    return np.asarray(S / size if size > 1e-8 * float(np.linalg.norm(W)) else np.zeros_like(S))


def random_element(manifold: GenOrthManifold, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A random T with T*T = I: (I - S)^-1 (I + S), S* = -S and |S| = 1/2."""
    S = random_skew(manifold, rng) / 2
    return np.asarray(inverse(eye_like(S) - S, "I - S") @ (eye_like(S) + S))


def horizontal(manifold: GenOrthManifold, X: Array) -> Callable[[Array], Array] | None:
    """The orthogonal projection onto the complement of {X S : S* = -S}; None where Q is not known.

        Z - N W, N = X Q^-1, N^T N W + W N^T N = N^T Z - e Z^T N, W^T = -e W

    As S* = -S where W = Q S has W^T = -e W, this is the equation of the normal space with -e for e.
    """
    companion = manifold.companion
    if companion is None:
        return None
    N = companion.Qinv.right(X)
    values, U = eigh(ct(N) @ N)
    frame, sums = N @ U, values[..., :, None] + values[..., None, :]

    def project(Z: Array) -> Array:
        R = ct(frame) @ Z @ U
        return Z - frame @ ((R - companion.sign * ct(R)) / sums) @ ct(U)

    return project


def balance(manifold: GenOrthManifold, X: Array) -> Array:
    """The representative of least norm, see `GenOrthManifold.balance`."""
    companion = manifold.companion
    if companion is None:
        refuse("manifold", "psi(T) = Q T Q^-1 with a matrix Q", repr(manifold))
    if companion.trivial:
        return X
    Q = as_like(np.asarray(companion.Q.left(np.eye(companion.Q.size))), X)
    size = _power(ct(Q) @ Q, 0.25)  # |Q|^(1/2)
    less = _power(ct(Q) @ Q, -0.25)
    J = less @ Q @ less  # orthogonal
    root = _power(less @ (ct(X) @ X) @ less, 0.5)
    inv = inverse(root, "X^T X")
    dual = ct(J) @ inv @ inv @ J
    mean = root @ _power(inv @ dual @ inv, 0.5) @ root
    return manifold.restore(X @ (less @ _power(mean, -0.5) @ size))


def _power(K: Array, exponent: float) -> Array:
    """K^exponent of a Hermitian positive definite K, its eigenvalues at least eps |K|."""
    xp = namespace(K)
    values, U = xp.linalg.eigh((K + ct(K)) / 2)
    least = eps(K) * values[..., -1:]
    return (U * xp.where(values > least, values, least)[..., None, :] ** exponent) @ ct(U)
