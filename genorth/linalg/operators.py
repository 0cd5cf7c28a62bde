"""Square matrices known by their products: identity, diagonal, dense, sparse, LinearOperator, J.

A manifold holds its matrices as operators, so that a diagonal stays a diagonal and a sparse matrix
stays sparse. No n x n array is formed unless the user passed one. `genorth.linalg.inputs` checks
what the user passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, final

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from genorth.errors import refuse
from genorth.linalg import inertia
from genorth.linalg.arrays import Array, as_like, is_complex, namespace, numpy_dtype
from genorth.linalg.inertia import Inertia
from genorth.linalg.krylov import signed_directions

_Matrix = np.ndarray[Any, Any]
FEW_COLUMNS = (
    32  # up to here a row is too short to be copied by halves: the product with J is faster
)
_TURN = np.array([[1.0], [-1.0]])
_ROUNDS = 5  # of Krylov subspaces, before a sparse matrix is factorised


def _name() -> Any:
    """The argument that the matrix was passed as; Q is that of psi(T) = Q T Q^-1."""
    return attrs.field(default="Q", kw_only=True, repr=False)


def _repr(M: Any) -> str:
    return f"<{'x'.join(map(str, M.shape))} {type(M).__name__}>"


class Operator(ABC):
    """A square matrix, by its products with the last two axes of an array."""

    #: The entries, where there are any.
    M: Any
    name: str
    #: True where M X only scales or exchanges entries, so that it costs no more than reading X.
    by_entries: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.M.shape[-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries, of a precision that LAPACK knows."""
        kind = numpy_dtype(self.M)
        return kind if kind.char in "fdFD" else np.dtype(complex if kind.kind == "c" else float)

    @abstractmethod
    def left(self, X: Array) -> Array:
        """The product M X."""

    def right(self, X: Array) -> Array:
        """The product X M, where it is needed: for a p x p matrix."""
        raise NotImplementedError(f"{type(self).__name__} stands on the left only")

    def inverse(self) -> Operator:
        """The inverse, where it is cheap: identity, diagonal, J, and small dense matrices."""
        raise NotImplementedError(f"{type(self).__name__} has no inverse here")

    def inertia(self) -> Inertia:
        """The numbers of positive and negative eigenvalues; unknown if only products are known."""
        return Inertia()

    def directions(self, least: int, sign: int) -> _Matrix:
        """Directions in which the form of a symmetric M has a given sign.

        Args:
            least: The number of directions wanted.
            sign: +1 or -1.

        Returns:
            Columns V with V^T M V of the given sign; fewer than `least` if no more were found.
        """
        return signed_directions(self.left, self.size, self.dtype, least, sign)

    @final
    def matrix(self) -> _Matrix:
        """M, formed."""
        return np.asarray(self.left(np.eye(self.size, dtype=self.dtype)))


@attrs.frozen(eq=False)
class Identity(Operator):
    """The identity."""

    by_entries = True

    size: int
    dtype: np.dtype[Any] = np.dtype(float)
    name: str = _name()

    def left(self, X: Array) -> Array:
        return X

    def right(self, X: Array) -> Array:
        return X

    def inverse(self) -> Operator:
        return self

    def inertia(self) -> Inertia:
        return Inertia(self.size, 0, 1.0)


@attrs.frozen(eq=False)
class Diagonal(Operator):
    """A diagonal matrix diag(d), kept as the vector M = d."""

    by_entries = True

    M: Array = attrs.field(repr=_repr)
    name: str = _name()

    def left(self, X: Array) -> Array:
        return as_like(self.M, X)[:, None] * X

    def right(self, X: Array) -> Array:
        return X * as_like(self.M, X)

    def inverse(self) -> Operator:
        return Diagonal(
            1.0 / np.asarray(self.M)
        )  # NumPy: inside jax.jit a quotient of JAX arrays would be a tracer

    def inertia(self) -> Inertia:
        return inertia.count(namespace(self.M).real(self.M) if is_complex(self.M) else self.M)

    def directions(self, least: int, sign: int) -> _Matrix:
        d = sign * np.asarray(self.M).real
        rows = np.argsort(-d)[: 2 * least]
        rows = rows[d[rows] > 0]
        V = np.zeros((self.size, rows.size), self.dtype)
        V[rows, np.arange(rows.size)] = 1
        return V


@lru_cache
def symplectic_units(size: int, dtype: np.dtype[Any]) -> tuple[_Matrix, _Matrix]:
    """J and -J as matrices."""
    half = size // 2
    J = np.eye(size, k=half, dtype=dtype) - np.eye(size, k=-half, dtype=dtype)
    return J, -J


@attrs.frozen(eq=False)
class SymplecticUnit(Operator):
    """J = [[0, I], [-I, 0]], or -J for a negative factor; products permute rows or columns."""

    by_entries = True

    size: int
    factor: float = 1.0
    dtype: np.dtype[Any] = np.dtype(float)
    name: str = _name()

    def left(self, X: Array) -> Array:
        if type(X) is np.ndarray and self.size <= FEW_COLUMNS:
            return symplectic_units(self.size, X.dtype)[self.factor < 0] @ X
        upper, lower = X[..., : self.size // 2, :], X[..., self.size // 2 :, :]
        return namespace(X).concat([lower, -upper] if self.factor > 0 else [-lower, upper], axis=-2)

    def right(self, X: Array) -> Array:
        if type(X) is np.ndarray and self.size <= FEW_COLUMNS:
            return X @ symplectic_units(self.size, X.dtype)[self.factor < 0]
        first, second = X[..., : self.size // 2], X[..., self.size // 2 :]
        return namespace(X).concat(
            [-second, first] if self.factor > 0 else [second, -first], axis=-1
        )

    def inverse(self) -> Operator:
        return SymplecticUnit(self.size, -self.factor, self.dtype)

    def inertia(self) -> Inertia:
        return Inertia(self.size // 2, self.size // 2, 1.0)


@attrs.frozen(eq=False)
class SymplecticPairs(Operator):
    """J of neighbours: [[0, 1], [-1, 0]] on rows 2i and 2i + 1, so that it moves no row far."""

    by_entries = True

    size: int
    dtype: np.dtype[Any] = np.dtype(float)
    name: str = _name()

    def left(self, X: Array) -> Array:
        if type(X) is np.ndarray:
            Y = np.empty_like(X)
            Y[..., 0::2, :] = X[..., 1::2, :]
            np.negative(X[..., 0::2, :], out=Y[..., 1::2, :])
            return Y
        xp, (*batch, n, p) = namespace(X), X.shape
        pairs = xp.reshape(X, (*batch, n // 2, 2, p))
        return xp.reshape(xp.flip(pairs, axis=-2) * as_like(_TURN, X), X.shape)

    def inertia(self) -> Inertia:
        return Inertia(self.size // 2, self.size // 2, 1.0)


@attrs.frozen(eq=False)
class Dense(Operator):
    """A matrix given by its entries; for the Q of a block manifold, a batch of them."""

    M: Array = attrs.field(repr=_repr)
    name: str = _name()

    def left(self, X: Array) -> Array:
        return as_like(self.M, X) @ X

    def right(self, X: Array) -> Array:
        return X @ as_like(self.M, X)

    def inverse(self) -> Operator:
        M = np.asarray(self.M)
        inv = np.linalg.inv(M)
        # The inverse keeps the symmetry exactly: phi stays self-adjoint to the last digit.
        return Dense((inv - inv.mT.conj() if inertia.is_skew(M) else inv + inv.mT.conj()) / 2)

    def inertia(self) -> Inertia:
        return inertia.of_dense(np.asarray(self.M))

    def directions(self, least: int, sign: int) -> _Matrix:
        width = min(self.size, 2 * least)
        span = (self.size - width, self.size - 1) if sign > 0 else (0, width - 1)
        values, V = scipy.linalg.eigh(np.asarray(self.M), subset_by_index=span)
        if values.size < width:  # LAPACK's dsyevr may lose eigenvalues next to a large cluster
            values, V = scipy.linalg.eigh(np.asarray(self.M))
            order = np.argsort(-sign * values)[:width]
            values, V = values[order], V[:, order]
        return np.asarray(V[:, sign * values > 0])


def scipy_product(product: Callable[[_Matrix], _Matrix], X: Array, name: str) -> _Matrix:
    """A product of SciPy's in the precision of X; blocks are multiplied side by side.

    Args:
        product: Multiplies a matrix.
        X: A NumPy array; others are refused.
        name: The argument that the product is with.

    Returns:
        The product, of the shape of X.
    """
    if not isinstance(X, np.ndarray):
        refuse(
            "X",
            f"a NumPy array, as {name} is a SciPy matrix or operator",
            f"{type(X).__module__.partition('.')[0]} {type(X).__name__}",
            None,
            f"Pass {name} as an array of that library.",
        )
    if X.ndim > 2:
        columns = np.moveaxis(X, -2, 0)
        flat = scipy_product(product, columns.reshape(len(columns), -1), name)
        return np.moveaxis(flat.reshape(columns.shape), 0, -2)
    Y = np.asarray(product(X))
    kind = X.dtype if X.dtype.kind == Y.dtype.kind else np.result_type(X.dtype, np.complex64)
    return Y.astype(kind, copy=False)


@attrs.frozen(eq=False)
class _OfSciPy(Operator):
    """What SciPy multiplies NumPy arrays with. Abstract."""

    M: Any = attrs.field(repr=_repr)
    name: str = _name()

    @final
    def left(self, X: Array) -> Array:
        return scipy_product(self.M.__matmul__, X, self.name)


@attrs.frozen(eq=False)
class Sparse(_OfSciPy):
    """A SciPy sparse matrix."""

    def inertia(self) -> Inertia:
        skew = (self.M.conj().T.multiply(self.M)).sum().real < 0
        return Inertia(margin=inertia.sparse_margin(self.M)) if skew else inertia.of_sparse(self.M)

    def directions(self, least: int, sign: int) -> _Matrix:
        V = signed_directions(self.left, self.size, self.dtype, least, sign, _ROUNDS)
        if V.shape[1] >= least:
            return V
        return inertia.sparse_directions(self.M, least, sign)


@attrs.frozen(eq=False)
class Products(_OfSciPy):
    """A SciPy LinearOperator, known by its products only."""
