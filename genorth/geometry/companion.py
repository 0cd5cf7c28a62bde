"""The companion psi(T) = Q T Q^-1 with Q^T = +-Q, and how Q is read off psi.

On the full matrix algebra every psi of Assumption 1 has this form (F5), so that a user who
gives only phi and psi gets the same fast paths as the manifolds of this library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.linalg.arrays import Array, untraced
from genorth.linalg.operators import Dense, Identity, Operator

_LARGEST = 24  # p up to which Q is looked for on an algebra: p^2 unknowns


@attrs.frozen(eq=False, slots=False)
class Companion:
    """The companion psi in terms of a matrix Q and its sign e (F5).

        psi(T) = Q T Q^-1, Q^T = e Q, S1 = Q {Y : Y^T = e Y}

    For complex entries Q is scaled to be Hermitian, with sign +1.
    """

    Q: Operator
    sign: int

    @cached_property
    def Qinv(self) -> Operator:
        """The inverse of Q."""
        return self.Q.inverse()

    def psi(self, T: Array) -> Array:
        """The map psi.

            psi(T) = Q T Q^-1

        Args:
            T: A p x p matrix.

        Returns:
            psi(T).
        """
        return self.Qinv.right(self.Q.left(T))

    @property
    def trivial(self) -> bool:
        """True if psi = id: then S1 is the set of symmetric matrices."""
        return isinstance(self.Q, Identity)


def read_companion(psi: Callable[[Array], Array], sample: np.ndarray[Any, Any]) -> Companion | None:
    """Read Q off psi by p evaluations.

        psi(E_i1) = (Q e_i) (e_1^T Q^-1)

    This has rank one. Its columns are multiples of Q e_i, with factors that do not depend on i, so
    one column of each gives Q up to one factor per block.

    Args:
        psi: The companion map.
        sample: A random matrix of the shape (..., p, p) that psi takes, on which Q is verified.

    Returns:
        The companion, or None if psi is not of the form Q T Q^-1.
    """
    Q, j = np.empty_like(sample), None
    with untraced():
        for i in range(sample.shape[-1]):
            T = np.zeros_like(sample)
            T[..., i, 0] = 1
            image = np.asarray(psi(T))
            if j is None:  # the longest column, the same for all i
                j = (np.abs(image) ** 2).sum(axis=-2).argmax(axis=-1)[..., None, None]
            Q[..., i] = np.take_along_axis(image, j, axis=-1)[..., 0]
        return _verified(psi, Q, sample)


def read_companion_on(
    psi: Callable[[Array], Array], draw: Callable[[int], np.ndarray[Any, Any]]
) -> Companion | None:
    """Read Q off psi where it is known on an algebra G of matrices only.

    Q is in the kernel of Q -> psi(T) Q - Q T for two random T of G, which generate it. With Q the
    kernel contains Q^T, as psi(psi(T^T)^T) = T. So Q is the symmetric or the skew part of a random
    element, whichever is better conditioned, block by block.

    Args:
        psi: The companion map.
        draw: draw(seed) is a random element of G, of shape (..., p, p).

    Returns:
        The companion, or None if psi is not of the form Q T Q^-1 on G, or p is too large to tell.
    """
    with untraced():
        T = np.stack([draw(0), draw(1)])
        image = np.stack([np.asarray(psi(T[0])), np.asarray(psi(T[1]))])
        p, unit = T.shape[-1], float(np.finfo(T.dtype).eps)
        if np.linalg.norm(image - T) <= 1e3 * p * unit * np.linalg.norm(T):
            return Companion(Identity(p, T.dtype), 1)
        if p > _LARGEST:
            return None
        Q = np.empty(T.shape[1:], T.dtype)
        for block in np.ndindex(*Q.shape[:-2]):
            here = (slice(None), *block)
            Q[block] = _kernel_element(T[here], image[here])
        return _verified(psi, Q, draw(2))


def _kernel_element(T: np.ndarray[Any, Any], image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A symmetric or skew Q with image_i Q = Q T_i."""
    p, eye = T.shape[-1], np.eye(T.shape[-1])
    pairs = zip(T, image, strict=True)
    system = np.concatenate([np.kron(B, eye) - np.kron(eye, A.T) for A, B in pairs])
    _, values, Vh = np.linalg.svd(system, full_matrices=False)
    kernel = Vh[values <= 1e3 * p * np.finfo(T.dtype).eps * max(values[0], 1e-300)].conj()
    Q = (np.random.default_rng(0).standard_normal(len(kernel)) @ kernel).reshape(p, p)
    signs = (1,) if T.dtype.kind == "c" else (1, -1)
    return min((Q + sign * Q.mT.conj() for sign in signs), key=np.linalg.cond)


def _verified(
    psi: Callable[[Array], Array], Q: np.ndarray[Any, Any], T: np.ndarray[Any, Any]
) -> Companion | None:
    """The companion of Q, if psi(T) Q = Q T for a random T."""
    p, unit = Q.shape[-1], float(np.finfo(Q.dtype).eps)
    length = np.linalg.norm(Q, axis=(-2, -1), keepdims=True)
    if not np.all((length > 0) & (length < np.inf)):
        return None
    Q = Q * (math.sqrt(p) / length)
    star = Q.mT.conj()
    turn = (np.conj(Q) * star).sum(axis=(-2, -1), keepdims=True) / p  # Q^T = turn Q
    if Q.dtype.kind == "c":
        Q, sign = Q * np.exp(0.5j * np.angle(turn)), 1
    else:
        sign = 1 if turn.flat[0] > 0 else -1
    Q = (Q + sign * Q.mT.conj()) / 2
    condition = float(np.max(np.linalg.cond(Q)))
    if not condition < 1 / (p * unit):
        return None
    defect = np.linalg.norm(np.asarray(psi(T)) @ Q - Q @ T) / (
        np.linalg.norm(Q) * np.linalg.norm(T)
    )
    if not defect <= 1e3 * p * unit * condition:
        return None
    scalar = np.einsum("...ii->...", Q)[..., None, None] / p * np.eye(p)
    if np.linalg.norm(Q - scalar) <= 1e3 * p * unit * np.linalg.norm(Q):
        return Companion(Identity(p, Q.dtype), 1)
    return Companion(Dense(Q), sign)
