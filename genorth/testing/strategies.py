"""Hypothesis strategies: inputs are constructed, never filtered.

A `Recipe` holds what was drawn (family, sizes, condition number, seed) and builds the manifold from
it, so that a failing example can be read and rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import hypothesis
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import strategies as st

import genorth as go
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import norm
from genorth.linalg.matrices import (
    conditioned_skew,
    conditioned_symmetric,
    orthogonal,
    signed_sizes,
)

_Matrix = np.ndarray[Any, Any]


@attrs.frozen
class Recipe:
    """What was drawn: family, sizes, condition number and seed."""

    family: str
    n: int
    p: int
    condition: float
    seed: int

    def build(self) -> GenOrthManifold:
        """Build the manifold."""
        return FAMILIES[self.family](self)

    @property
    def rng(self) -> np.random.Generator:
        """A generator that belongs to this recipe."""
        return np.random.default_rng([self.seed, self.n, self.p])


def _even(r: Recipe) -> tuple[int, int]:
    return 2 * max(r.n // 2, 1), 2 * min(max(r.p // 2, 1), max(r.n // 2, 1))


def _spare_negatives(r: Recipe, needed_positive: int, needed_negative: int = 0) -> int:
    """A number of negative eigenvalues that leaves M nonempty."""
    return int(r.rng.integers(needed_negative, r.n - needed_positive + 1))


def _generalized(r: Recipe, dtype: Any = float) -> GenOrthManifold:
    return go.GeneralizedStiefel(conditioned_symmetric(r.n, r.condition, r.rng, dtype=dtype), r.p)


def _generalized_sparse(r: Recipe) -> GenOrthManifold:
    d = np.abs(signed_sizes(r.n, r.condition, r.rng, 0))
    band = (
        scipy.sparse.diags_array([np.full(r.n - 1, 0.3), np.full(r.n - 1, 0.3)], offsets=[-1, 1])
        if r.n > 1
        else 0
    )
    scaling = scipy.sparse.diags_array(np.sqrt(d))
    return go.GeneralizedStiefel(
        scipy.sparse.csr_array(scaling @ (scipy.sparse.eye_array(r.n) + band) @ scaling), r.p
    )


def _hyperbolic(r: Recipe, kind: Callable[[_Matrix], Any] = np.asarray) -> GenOrthManifold:
    H = conditioned_symmetric(r.n, r.condition, r.rng, _spare_negatives(r, r.p))
    return go.HyperbolicStiefel(kind(H), r.p)


def _symplectic(r: Recipe) -> GenOrthManifold:
    return go.SymplecticStiefel(*_even(r))


def _indefinite_diagonal(r: Recipe) -> GenOrthManifold:
    minus = int(r.rng.integers(0, r.p + 1))
    negative = _spare_negatives(r, r.p - minus, minus)
    return go.IndefiniteStiefel(
        signed_sizes(r.n, r.condition, r.rng, negative),
        np.where(np.arange(r.p) < minus, -1.0, 1.0),
    )


def _indefinite_dense(r: Recipe) -> GenOrthManifold:
    minus = int(r.rng.integers(0, r.p + 1))
    A = conditioned_symmetric(r.n, r.condition, r.rng, _spare_negatives(r, r.p - minus, minus))
    U = orthogonal(r.p, r.rng, np.dtype(float))
    J = (U * np.where(np.arange(r.p) < minus, -1.0, 1.0)) @ U.T
    return go.IndefiniteStiefel(A, (J + J.T) / 2)


def _bilinear_symmetric(r: Recipe) -> GenOrthManifold:
    minus = int(r.rng.integers(0, r.p + 1))
    R = conditioned_symmetric(r.p, r.condition**0.25, r.rng, minus)
    return go.BilinearStiefel(
        conditioned_symmetric(r.n, r.condition, r.rng, _spare_negatives(r, r.p - minus, minus)), R
    )


def _bilinear_skew(r: Recipe) -> GenOrthManifold:
    n, p = _even(r)
    return go.BilinearStiefel(
        conditioned_skew(n, r.condition, r.rng), conditioned_skew(p, r.condition**0.25, r.rng)
    )


def _weighted(r: Recipe) -> GenOrthManifold:
    """X^T X = W: A is the identity, and psi is not."""
    W = conditioned_symmetric(r.p, r.condition**0.5, r.rng)
    return go.BilinearStiefel(np.eye(r.n), W)


def _tensor_matrix(r: Recipe) -> GenOrthManifold:
    return go.TensorStiefel(r.n, r.p, 2, np.array([[1.0, 0.5], [-0.25, 2.0]]))


def _from_maps(r: Recipe) -> GenOrthManifold:
    """phi(X) = A X R^-1 as two bare functions: the structure has to be read off psi."""
    M = _bilinear_symmetric(r) if r.seed % 2 else _bilinear_skew(r)
    return go.from_maps(M.shape, M.phi, M.psi)


def _from_maps_blocks(r: Recipe) -> GenOrthManifold:
    """Three blocks, each with its own indefinite form."""
    A = np.stack(
        [
            conditioned_symmetric(r.n, min(r.condition, 1e4), (r.seed, k), r.n - r.p)
            for k in range(3)
        ]
    )
    return go.from_maps((3, r.n, r.p), lambda X: A @ X, lambda T: T)


def _from_maps_subspace(r: Recipe) -> GenOrthManifold:
    """F = block-diagonal matrices, phi(X) = B X: G is smaller, and nothing else is known."""
    n, p = 2 * r.n, 2 * r.p
    mask = scipy.linalg.block_diag(np.ones((r.n, r.p)), np.ones((r.n, r.p)))
    B = scipy.linalg.block_diag(
        *(conditioned_symmetric(r.n, min(r.condition, 1e3), (r.seed, k)) for k in range(2))
    )
    return go.from_maps(
        (n, p), lambda X: B @ X, lambda T: T, ambient=lambda Y: mask * Y, definite=True
    )


def _complex_orthogonal(r: Recipe) -> GenOrthManifold:
    """X^t X = I without conjugation: phi and psi are conjugations, linear over the reals only."""
    return go.from_maps((r.n, r.p), np.conj, np.conj, dtype=complex)


#: How each family is built from a recipe.
FAMILIES: dict[str, Callable[[Recipe], GenOrthManifold]] = {
    "stiefel": lambda r: go.Stiefel(r.n, r.p),
    "stiefel-complex": lambda r: go.Stiefel(r.n, r.p, dtype=complex),
    "generalized": _generalized,
    "generalized-complex": partial(_generalized, dtype=complex),
    "generalized-sparse": _generalized_sparse,
    "hyperbolic": _hyperbolic,
    "hyperbolic-operator": partial(_hyperbolic, kind=scipy.sparse.linalg.aslinearoperator),
    "symplectic": _symplectic,
    "indefinite-diagonal": _indefinite_diagonal,
    "indefinite-dense": _indefinite_dense,
    "bilinear-symmetric": _bilinear_symmetric,
    "bilinear-skew": _bilinear_skew,
    "weighted": _weighted,
    "tensor-dct": lambda r: go.TensorStiefel(r.n, r.p, 3),
    "tensor-dft": lambda r: go.TensorStiefel(r.n, r.p, 3 + r.seed % 2, "dft"),
    "tensor-matrix": _tensor_matrix,
    "from-maps": _from_maps,
    "from-maps-blocks": _from_maps_blocks,
    "from-maps-subspace": _from_maps_subspace,
    "complex-orthogonal": _complex_orthogonal,
}


def seeds() -> st.SearchStrategy[int]:
    """Seeds of random generators."""
    return st.integers(0, 2**32 - 1)


@st.composite
def recipes(
    draw: st.DrawFn,
    families: tuple[str, ...] | None = None,
    max_n: int = 9,
    max_condition: float = 1e8,
) -> Recipe:
    """Recipes with sizes 1 <= p <= n <= max_n, square cases included.

    Args:
        draw: Supplied by hypothesis.
        families: The names of the families. Default: all of `FAMILIES`.
        max_n: The largest n.
        max_condition: The largest condition number.

    Returns:
        A strategy for recipes.
    """
    family = draw(st.sampled_from(sorted(families or FAMILIES)))
    n = draw(st.integers(1, max_n))
    p = draw(st.integers(1, n))
    exponent = draw(st.floats(0, float(np.log10(max_condition))))
    return Recipe(family, n, p, float(10**exponent), draw(seeds()))


@st.composite
def manifolds(
    draw: st.DrawFn,
    families: tuple[str, ...] | None = None,
    max_n: int = 9,
    max_condition: float = 1e8,
) -> GenOrthManifold:
    """Manifolds of all families; a failing one is noted with its recipe.

    Args:
        draw: Supplied by hypothesis.
        families: The names of the families. Default: all of `FAMILIES`.
        max_n: The largest n.
        max_condition: The largest condition number.

    Returns:
        A strategy for manifolds.
    """
    recipe = draw(recipes(families, max_n, max_condition))
    hypothesis.note(f"manifold = {recipe}.build()")
    return recipe.build()


@st.composite
def products(
    draw: st.DrawFn,
    families: tuple[str, ...] | None = None,
    max_n: int = 6,
    max_condition: float = 1e4,
) -> go.Product:
    """Products of one to three manifolds, with a free variable or without, some factors equal.

    Args:
        draw: Supplied by hypothesis.
        families: The names of the families. Default: all of `FAMILIES`.
        max_n: The largest n of a factor.
        max_condition: The largest condition number.

    Returns:
        A strategy for products; `points`, `tangent_vectors` and `near_points` take them too.
    """
    drawn = draw(st.lists(manifolds(families, max_n, max_condition), min_size=1, max_size=2))
    factors: list[Any] = [*drawn, *drawn[-1:]] if draw(st.booleans()) else drawn
    free = draw(st.lists(st.integers(1, 4).map(go.Euclidean), max_size=1))
    return go.Product(*factors, *free)


@st.composite
def points(draw: st.DrawFn, manifold: Any) -> Any:
    """Points of M.

    Args:
        draw: Supplied by hypothesis.
        manifold: The manifold, or a product.

    Returns:
        A strategy for points.
    """
    return manifold.random_point(draw(seeds()))


@st.composite
def near_points(draw: st.DrawFn, manifold: Any, distance: float = 0.1) -> Any:
    """Points X + E near M, with X on M: off M, and close enough for A to lead back.

    Args:
        draw: Supplied by hypothesis.
        manifold: The manifold.
        distance: |C(X + E)| is at most about twice this.

    Returns:
        A strategy for elements of F.
    """
    if isinstance(manifold, go.Euclidean):
        return manifold.random_ambient(draw(seeds()))
    if isinstance(manifold, go.Product):
        parts = [draw(near_points(M, distance)) for M in manifold.blocks.factors]
        return manifold.outward(manifold.blocks.points.join(parts))
    X = draw(points(manifold))
    E = manifold.random_ambient(draw(seeds()))
    size = float(norm(manifold.phi(X)) * norm(E)) + float(norm(manifold.phi(E)) * norm(E)) ** 0.5
    return X + E * (distance * draw(st.floats(0, 1)) / size)


@st.composite
def tangent_vectors(draw: st.DrawFn, manifold: Any, X: Any) -> Any:
    """Gaussian tangent vectors.

    Args:
        draw: Supplied by hypothesis.
        manifold: The manifold.
        X: A point of M.

    Returns:
        A strategy for tangent vectors at X.
    """
    return manifold.random_tangent(X, draw(seeds()))
