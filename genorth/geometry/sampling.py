"""Random points of M, from phi and Q alone; no n x n array is formed unless n <= 4p.

If the form is definite, a Gaussian matrix is made orthonormal for the form by its polar factor.
Otherwise M is {X : X^T A X = Q}, block by block (F13). The sampler draws a random subspace of 4p
dimensions and diagonalises A on it, and Q. It makes one Gaussian matrix orthonormal in the
positive part of the subspace and another in the negative part. M is unbounded then, so a random
step of the exponential retraction moves the point along the unbounded directions too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from genorth.errors import EmptyManifoldError, OutsideDomainError, refuse, require
from genorth.geometry.form import forms
from genorth.geometry.retractions import polar_factor, step_size
from genorth.linalg.arrays import Array, ct, norm
from genorth.linalg.functions import inverse_sqrt, operator_norm
from genorth.linalg.inputs import refuse_signature, require_positive_products
from genorth.linalg.matrices import gaussian
from genorth.linalg.operators import Operator
from genorth.optional import optional

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_Matrix = np.ndarray[Any, Any]
# Random starts and steps from each, before a form of unknown structure is said to have no point. On
# some manifolds every second start fails (square pairs, X1^T X2 = I: where det X1 det X2 < 0), so
# that five were not enough.
_DRAWS, _STEPS = 30, 30
# relative to the largest: directions as weak as that make long points; stronger ones are looked for
_WEAK = 0.01
_ROWS = 4096  # that share a seed: a start does not depend on the number of devices


class Sampler:
    """Draws points of one manifold.

    Made when the first point is drawn; all draws share what it computes.
    """

    def __init__(self, manifold: GenOrthManifold) -> None:
        self.manifold = manifold
        manifold._require_finite_maps(X=manifold.random_ambient(0))
        if manifold.definite and manifold.form is not None:
            require_positive_products(manifold.form)
        self.blocks = (
            [] if manifold.definite else [_Block(A, Q, manifold) for A, Q in forms(manifold)]
        )

    def draw(self, rng: np.random.Generator) -> _Matrix:
        """Draw a point that spreads over M.

        Args:
            rng: A NumPy Generator.

        Returns:
            A point of M.

        Raises:
            EmptyManifoldError: If M has no point, or none was found.
        """
        if self.blocks:
            X = np.stack([block.draw(rng) for block in self.blocks]).reshape(self.manifold.shape)
        else:
            X = _by_polar_factor(self.manifold, partial(self.manifold.random_ambient, rng))
        if not self.manifold.definite:
            X = random_walk(self.manifold, X, rng)
        X = self.manifold.to_component(self.manifold.restore(self.manifold.ambient(X)))
        # A last step, to be nearer to M than `restore` asks for (rounding may have it otherwise).
        return np.asarray(
            min((X, self.manifold.dissolve(X)), key=lambda Y: float(self.manifold.feasibility(Y)))
        )


def draw_on(device: Any, manifold: GenOrthManifold, rng: np.random.Generator) -> Array:
    """Draw a point on a device of JAX, or on those of a sharding; only numbers leave them.

    The polar factor of a random Y, which subspace iteration has led to where phi is positive.

    Args:
        device: A device, or a sharding.
        manifold: The manifold.
        rng: A NumPy Generator.

    Returns:
        A point of M.
    """

    def draw() -> Array:
        return manifold.random_ambient(rng, device)

    X = _by_polar_factor(manifold, draw)
    if not manifold.definite:
        X = random_walk(manifold, X, rng, manifold.project(X, draw()))
    return manifold.to_component(manifold.restore(X))


def gaussian_on(
    device: Any, shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator
) -> Array:
    """A Gaussian array of JAX, each block of rows from a seed of its own where it stays.

    Args:
        device: A device, or a sharding.
        shape: The shape (..., n, p).
        dtype: The type of the entries; single precision where JAX has no other.
        rng: Gives the seed.

    Returns:
        The array.
    """
    jax = optional("jax", "jax", "device=")
    single = isinstance(device, jax.Device)
    sharding = jax.sharding.SingleDeviceSharding(device) if single else device
    require(
        isinstance(sharding, jax.sharding.Sharding),
        "device",
        "a jax.Device or a jax.sharding.Sharding",
        repr(device),
    )
    seed, kind = int(rng.integers(2**62)), jax.dtypes.canonicalize_dtype(dtype)
    *batch, n, p = shape

    def rows(index: tuple[slice, ...]) -> _Matrix:
        first, last, _ = index[-2].indices(n)
        blocks = range(first // _ROWS, -(-last // _ROWS))
        drawn = [
            gaussian((*batch, _ROWS, p), dtype, np.random.default_rng((seed, block)))
            for block in blocks
        ]
        offset = blocks.start * _ROWS
        piece = np.concatenate(drawn, axis=-2)[..., first - offset : last - offset, :]
        return piece[(*index[:-2], slice(None), index[-1])].astype(kind)

    return jax.make_array_from_callback(tuple(shape), sharding, rows)


def random_walk(
    manifold: GenOrthManifold, X: Array, rng: np.random.Generator, Z: Array | None = None
) -> Array:
    """Move X by a random step of the exponential retraction, about as long as X.

    The step is shorter if its exponent would be larger than one. Its length is never near zero:
    where all eigenvalues of one sign are small, points without the directions of the others suffer
    most from rounding, as |A| |X|^2 is far above |X| |phi(X)|.

    Args:
        manifold: The manifold.
        X: A point of M.
        rng: A NumPy Generator.
        Z: A random tangent vector. Default: a Gaussian one.

    Returns:
        A point of M.
    """
    if Z is None:
        Z = manifold.random_tangent(X, rng)
    size = max(step_size(manifold, X, Z), float(norm(Z) / norm(X)))
    if not size > 0:
        return X
    return manifold.retract(X, Z * (rng.uniform(0.5, 1.5) / size), kind="exp")


def _by_polar_factor(manifold: GenOrthManifold, draw: Callable[[], Array]) -> Array:
    """Y <<Y,Y>>^(-1/2) for a random Y, Y^T Y = I.

    If it does not exist, subspace iteration with id + phi/|phi| moves Y into directions in which
    phi is positive.
    """
    reason: Exception | None = None
    for _ in range(_DRAWS):
        Y, size = _orthonormal(draw()), 0.0
        for _ in range(_STEPS):
            try:
                return polar_factor(manifold, Y)
            except OutsideDomainError as error:
                reason = error
            size = size or 1.5 * operator_norm(manifold.phi, Y)
            Y = _orthonormal(Y + manifold.phi(Y) / (size or 1.0))
    raise EmptyManifoldError(
        f"{manifold}: no X with X^T phi(X) = I was found from {_DRAWS} random starts; "
        f"the last one failed with: {reason} Is phi positive definite?"
    )


def _orthonormal(Y: Array) -> Array:
    """Y (Y^T Y)^(-1/2): in F if Y is, and Haar distributed for a Gaussian Y."""
    if type(Y) is not np.ndarray:
        return Y @ inverse_sqrt(ct(Y) @ Y, hermitian=True)
    U, _, Vh = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(U @ Vh)


def _eigh(K: _Matrix, sign: int) -> tuple[_Matrix, _Matrix]:
    """Eigenvalues and eigenvectors of the Hermitian K, or of iK for a skew K."""
    return np.linalg.eigh((K + ct(K)) / 2 if sign > 0 else 0.5j * (K - ct(K)))


def _real_pairs(V: _Matrix) -> _Matrix:
    """[b, a] for eigenvectors (a + ib)/sqrt(2) of iK: [b, a]^T K [b, a] = s J, s the eigenvalue."""
    return np.concatenate([V.imag, V.real], axis=-1) * 2**0.5


class _Block:
    """One block: X^T A X = Q, both Hermitian (sign 1) or both real and skew (sign -1)."""

    def __init__(self, A: Operator, Q: _Matrix, manifold: GenOrthManifold) -> None:
        assert manifold.companion is not None
        self.A, self.sign, self.name = A, manifold.companion.sign, manifold.companion.Q.name
        self.dtype, (self.n, self.p) = manifold.dtype, manifold.shape[-2:]
        values, V = _eigh(Q, self.sign)
        # Q = R^T S R, S = diag(I, -I), or (skew Q, whose eigenvalues come in pairs) S = J.
        order = np.argsort(-values)[: self.p if self.sign > 0 else self.p // 2]
        V, values = V[:, order] * np.sqrt(np.abs(values[order])), values[order]
        self.right = ct(V if self.sign > 0 else _real_pairs(V))
        self.needs = {1: int((values > 0).sum()), -1: int((values < 0).sum())}
        self._known: dict[int, _Matrix] = {}

    def draw(self, rng: np.random.Generator) -> _Matrix:
        """A random X with X^T A X = Q."""
        m = min(
            self.n, (4 if self.sign > 0 else 2) * self.p
        )  # half of them, or more, have a wanted sign
        Y = gaussian((self.n, m), self.dtype, rng) / self.dtype.type(np.sqrt(self.n))
        E, g = self._diagonalized(Y)
        weak = [self._directions(sign) for sign in (1, -1) if self._is_weak(g, sign)]
        if weak:
            E, g = self._diagonalized(np.concatenate([Y, *weak], axis=1))
        L = np.concatenate([self._orthonormal_part(E, g, sign, rng) for sign in (1, -1)], axis=1)
        return np.asarray((L if self.sign > 0 else _real_pairs(L)) @ self.right)

    def _diagonalized(self, Y: _Matrix) -> tuple[_Matrix, _Matrix]:
        """E = Y W and g with E^T A E = diag(g), without the g whose sign is rounding.

        For a skew A it is iA, and g > 0. Random columns that are at least twice as long as many are
        orthonormal up to a factor below six; otherwise QR is used.
        """
        if self.n < 2 * Y.shape[1]:
            Y = np.linalg.qr(Y)[0]
        g, W = _eigh(ct(Y) @ self.A.left(Y), self.sign)
        noise = g.size * np.finfo(g.dtype).eps * np.abs(g).max()
        sure = np.abs(g) > noise if self.sign > 0 else g > noise
        return Y @ W[:, sure], g[sure]

    def _is_weak(self, g: _Matrix, sign: int) -> bool:
        """True if the subspace lacks strong directions of a sign and a larger one may have them."""
        k, strengths = self.needs[sign], np.sort(sign * g)[::-1]
        if k == 0 or self.sign < 0 or self.n <= 4 * self.p:
            return False
        return strengths.size < k or bool(strengths[k - 1] < _WEAK * np.abs(g).max())

    def _directions(self, sign: int) -> _Matrix:
        """The strongest directions of a sign, orthonormal; computed once."""
        if sign not in self._known:
            self._known[sign] = np.linalg.qr(self.A.directions(self.needs[sign], sign))[0]
        return self._known[sign]

    def _orthonormal_part(
        self, E: _Matrix, g: _Matrix, sign: int, rng: np.random.Generator
    ) -> _Matrix:
        """X in the span of the directions E of one sign, X^T A X = +-I.

        It is the polar factor, for the form, of a Gaussian N: D^-1 times the polar factor of D N,
        with D = |g|^(1/2). Singular values give the latter to full accuracy.
        """
        k, chosen = self.needs[sign], sign * g > 0
        if chosen.sum() < k:
            self._refuse(g)
        D = np.sqrt(np.abs(g[chosen]))[:, None]
        U, _, Vh = np.linalg.svd(D * gaussian((D.size, k), E.dtype, rng), full_matrices=False)
        return np.asarray(E[:, chosen] @ ((U @ Vh) / D))

    def _refuse(self, g: _Matrix) -> None:
        if self.sign > 0:
            has = int((g > 0).sum()), int((g < 0).sum())
            refuse_signature(self.A, self.name, has, (self.needs[1], self.needs[-1]))
        refuse(
            self.A.name,
            f"rank at least {self.p}, that of {self.name}",
            f"rank {2 * g.size}",
            0,
            "The manifold is empty.",
            EmptyManifoldError,
        )
