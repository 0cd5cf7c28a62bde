"""Square matrices known by their products: identity, diagonal, dense, sparse, LinearOperator, J.

A manifold holds its matrices as operators, so that a diagonal stays a diagonal and a sparse
matrix stays sparse: no n x n array is formed that the user did not pass in. Symmetry, finiteness
and inertia are checked here, once, when the manifold is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, final

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from genorth._array import Array, as_like, namespace
from genorth.errors import EmptyManifoldError, refuse

#: Symmetry is asked for to this many units of roundoff, relative to |M|.
_SYMMETRY_UNITS = 1e3


class Operator(ABC):
    """A square matrix M, by its products with the last two axes of an array."""

    size: int
    dtype: np.dtype[Any]

    @abstractmethod
    def left(self, X: Array) -> Array:
        """M X."""

    @abstractmethod
    def right(self, X: Array) -> Array:
        """X M."""

    def inverse(self) -> Operator:
        """M^-1, where it is cheap: identity, diagonal, J, and small dense matrices."""
        raise NotImplementedError(f"{type(self).__name__} has no inverse here")

    def inertia(self) -> Inertia:
        """Numbers of positive and negative eigenvalues; all unknown where only products are known."""
        return Inertia(None, None, None)

    @final
    @property
    def is_identity(self) -> bool:
        """True for the identity, so that whole products can be left out."""
        return isinstance(self, Identity)


@attrs.frozen
class Inertia:
    """How many eigenvalues are positive and negative, and how near to zero one comes.

    `margin` is the smallest pivot (or entry) relative to the largest. For a skew matrix K the
    counts are those of the Hermitian iK. None: not known without forming the matrix.
    """

    positive: int | None
    negative: int | None
    margin: float | None


@attrs.frozen(eq=False)
class Identity(Operator):
    """I."""

    size: int
    dtype: np.dtype[Any] = np.dtype(float)

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
    """diag(d), kept as the vector d."""

    d: Array = attrs.field(repr=lambda d: f"<{d.shape[0]} entries>")

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.d.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.asarray(self.d).dtype

    def left(self, X: Array) -> Array:
        return as_like(self.d, X)[:, None] * X

    def right(self, X: Array) -> Array:
        return X * as_like(self.d, X)

    def inverse(self) -> Operator:
        return Diagonal(1.0 / self.d)

    def inertia(self) -> Inertia:
        return _count(np.asarray(self.d))


@attrs.frozen(eq=False)
class SymplecticUnit(Operator):
    """J = [[0, I], [-I, 0]], or -J for a negative factor: a signed permutation, applied without any product."""

    size: int
    factor: float = 1.0
    dtype: np.dtype[Any] = np.dtype(float)

    def left(self, X: Array) -> Array:
        upper, lower = X[..., : self.size // 2, :], X[..., self.size // 2 :, :]
        return namespace(X).concat([lower, -upper] if self.factor > 0 else [-lower, upper], axis=-2)

    def right(self, X: Array) -> Array:
        first, second = X[..., : self.size // 2], X[..., self.size // 2 :]
        return namespace(X).concat([-second, first] if self.factor > 0 else [second, -first], axis=-1)

    def inverse(self) -> Operator:
        return SymplecticUnit(self.size, -self.factor, self.dtype)

    def inertia(self) -> Inertia:
        return Inertia(self.size // 2, self.size // 2, 1.0)


@attrs.frozen(eq=False)
class Dense(Operator):
    """A matrix given entry by entry (or, for Q of a block manifold, a batch of them)."""

    M: Array = attrs.field(repr=lambda M: f"<{'x'.join(map(str, M.shape))} array>")

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.M.shape[-1])

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.asarray(self.M).dtype

    def left(self, X: Array) -> Array:
        return as_like(self.M, X) @ X

    def right(self, X: Array) -> Array:
        return X @ as_like(self.M, X)

    def inverse(self) -> Operator:
        M = np.asarray(self.M)
        inv = np.linalg.inv(M)
        # The inverse keeps the symmetry exactly: phi stays self-adjoint to the last digit.
        sign = -1.0 if np.vdot(M, M.mT.conj()).real < 0 else 1.0
        return Dense((inv + sign * inv.mT.conj()) / 2)

    def inertia(self) -> Inertia:
        M = np.asarray(self.M)
        if np.vdot(M, M.mT.conj()).real < 0:
            M = 1j * M
        _, D, _ = scipy.linalg.ldl(M, hermitian=True)
        # D has blocks of size one and two, so it is tridiagonal up to a diagonal unitary scaling.
        diagonal, off = np.diagonal(D).real, np.abs(np.diagonal(D, -1))
        return _count(scipy.linalg.eigvalsh_tridiagonal(diagonal, off) if off.size else diagonal)


@attrs.frozen(eq=False)
class SciPy(Operator):
    """A SciPy sparse matrix or LinearOperator; NumPy arrays only."""

    M: Any = attrs.field(repr=lambda M: f"<{'x'.join(map(str, M.shape))} {type(M).__name__}>")

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.M.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.dtype(self.M.dtype)

    def left(self, X: Array) -> Array:
        if not isinstance(X, np.ndarray):
            raise ValueError(
                f"X: a manifold made from a {type(self.M).__name__} takes NumPy arrays; got "
                f"{type(X).__module__}.{type(X).__name__}. Pass the matrix as an array of that library."
            )
        return self.M @ X

    def right(self, X: Array) -> Array:
        raise NotImplementedError("a SciPy operator stands on the left only")

    def inertia(self) -> Inertia:
        return _sparse_inertia(self.M) if scipy.sparse.issparse(self.M) else Inertia(None, None, None)


def _count(values: np.ndarray[Any, Any]) -> Inertia:
    sizes = np.abs(values)
    margin = float(sizes.min() / sizes.max()) if sizes.max() > 0 else 0.0
    return Inertia(int((values > 0).sum()), int((values < 0).sum()), margin)


def _sparse_inertia(M: Any) -> Inertia:
    """Inertia by Sylvester's law, from a symmetric sparse LU without row exchanges where it is stable.

    A zero on the diagonal can break that factorisation down although M is regular (J does); then a
    factorisation with row exchanges tells the margin, and the counts stay unknown.
    """
    M = scipy.sparse.csc_matrix(M)
    probe = np.cos(np.arange(M.shape[0]))  # a fixed vector without structure
    try:
        lu = scipy.sparse.linalg.splu(
            M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        unpivoted = np.array_equal(lu.perm_r, lu.perm_c)
        if unpivoted and np.allclose(lu.solve(M @ probe), probe, rtol=0, atol=1e-4):
            return _count(lu.U.diagonal().real)
        pivots = np.abs(scipy.sparse.linalg.splu(M).U.diagonal())
    except RuntimeError:  # SuperLU: a pivot is exactly zero
        return Inertia(None, None, 0.0)
    return Inertia(None, None, float(pivots.min() / pivots.max()))


def extreme_eigenpairs(
    matvec: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    size: int,
    dtype: np.dtype[Any],
    k: int,
    which: str,
    rng: np.random.Generator,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Ritz pairs of the k largest ("LA") or smallest ("SA") eigenvalues, from products alone.

    A Ritz value is a Rayleigh quotient: k positive ones prove k positive eigenvalues
    (Cauchy's interlacing), also where the iteration has not converged.
    """
    v0 = rng.standard_normal(size).astype(dtype)
    A = scipy.sparse.linalg.LinearOperator((size, size), matvec=matvec, dtype=dtype)
    try:
        values, vectors = scipy.sparse.linalg.eigsh(A, k=k, which=which, v0=v0, tol=1e-6)
    except scipy.sparse.linalg.ArpackNoConvergence as failure:
        values, vectors = failure.eigenvalues, failure.eigenvectors
    return values, vectors


def as_operator(M: Any, name: str, symmetry: int = 0) -> Operator:
    """M (dense, 1-D diagonal, sparse, LinearOperator) as an operator, checked where it enters.

    `symmetry` is +1 for M^T = M, -1 for M^T = -M, 0 for unchecked.
    """
    if isinstance(M, Operator):
        return M
    if scipy.sparse.issparse(M):
        M = M if M.dtype.kind in "fc" else M.astype(float)
        _require_finite(M.data, name)
        _require_square(M, name)
        if symmetry:
            defect = scipy.sparse.linalg.norm(M - symmetry * M.conj().T)
            _require_symmetry(name, symmetry, float(defect), float(scipy.sparse.linalg.norm(M)), M.dtype)
        return SciPy(M)
    if isinstance(M, scipy.sparse.linalg.LinearOperator):
        _require_square(M, name)
        return SciPy(M)  # its symmetry is checked by `require_symmetric_products`
    if not hasattr(M, "shape") or not hasattr(M, "dtype"):
        M = np.asarray(M)
    values = np.asarray(M)
    if values.dtype.kind not in "fc":
        if values.dtype.kind not in "iub":
            refuse(name, "real or complex numbers", f"dtype {values.dtype}")
        M = values = values.astype(float)
    _require_finite(values, name)
    if values.ndim == 1:
        if symmetry < 0:
            refuse(name, f"{name}^T = -{name}", "a diagonal (1-D array), which is symmetric")
        if values.dtype.kind == "c" and np.abs(values.imag).max(initial=0.0) > 0:
            refuse(name, f"{name}^T = {name}", f"imaginary part {np.abs(values.imag).max():.3g} on the diagonal", 0)
        return Diagonal(M)
    _require_square(values, name)
    if symmetry:
        defect = np.linalg.norm(values - symmetry * values.conj().T)
        _require_symmetry(name, symmetry, float(defect), float(np.linalg.norm(values)), values.dtype)
    return Dense(M)


def _require_square(M: Any, name: str) -> None:
    if len(M.shape) != 2 or M.shape[0] != M.shape[1] or M.shape[0] == 0:
        refuse(name, "a square matrix (n, n), or a diagonal as a 1-D array", f"shape {tuple(M.shape)}")


def _require_finite(values: np.ndarray[Any, Any], name: str) -> None:
    bad = int(values.size - np.isfinite(values).sum())
    if bad:
        refuse(name, "finite entries", f"{bad} entries that are NaN or infinite", 0)


def _require_symmetry(name: str, sign: int, defect: float, size: float, dtype: np.dtype[Any]) -> None:
    bound = _SYMMETRY_UNITS * float(np.finfo(dtype).eps) * size
    if not defect <= bound:
        minus, other = ("", "-") if sign > 0 else ("-", "+")
        refuse(name, f"{name}^T = {minus}{name}", f"|{name} {other} {name}^T| = {defect:.3g}", bound,
               f"Pass ({name} {'+' if sign > 0 else '-'} {name}.T)/2 if the difference is rounding.")


def require_symmetric_products(op: Operator, name: str, sign: int) -> None:
    """Symmetry of a matrix that is known by products alone: <u, Mv> against <Mu, v>."""
    if not isinstance(op, SciPy) or scipy.sparse.issparse(op.M):
        return
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((2, op.size, 2))
    MU, MV = op.left(U), op.left(V)
    _require_finite(np.asarray(MU), name)
    defect = float(np.abs(U.T @ MV - sign * (MU.conj().T @ V)).max())
    size = float(np.linalg.norm(U) * np.linalg.norm(MV) + np.linalg.norm(MU) * np.linalg.norm(V))
    bound = _SYMMETRY_UNITS * float(np.finfo(op.dtype).eps) * size
    if not defect <= bound:
        refuse(name, f"<u, {name} v> = {'' if sign > 0 else '-'}<{name} u, v>", defect, bound,
               "The LinearOperator is not symmetric." if sign > 0 else "The LinearOperator is not skew.")


def require_regular(op: Operator, name: str, inertia: Inertia) -> None:
    """Refuse a singular matrix: phi would not be one-to-one."""
    bound = op.size * float(np.finfo(op.dtype).eps)
    if inertia.margin is not None and not inertia.margin > bound:
        refuse(name, f"{name} nonsingular", f"smallest pivot / largest = {inertia.margin:.3g}", bound)


def require_positive(op: Operator, name: str) -> None:
    """Refuse a matrix that is not positive definite (where more than products is known)."""
    inertia = op.inertia()
    require_regular(op, name, inertia)
    if inertia.positive is None:
        if inertia.margin is None:
            return
        measured = "a zero or negative pivot in its LDL^T"
    elif inertia.positive == op.size:
        return
    else:
        measured = f"{op.size - inertia.positive} eigenvalues that are not positive"
    refuse(name, f"{name} positive definite", measured, 0)


def require_signature(op: Operator, name: str, other: str, positive: int, negative: int) -> None:
    """Refuse a symmetric matrix with too few positive or negative directions: M would be empty."""
    inertia = op.inertia()
    require_regular(op, name, inertia)
    plus, minus = inertia.positive, inertia.negative
    if plus is None or minus is None:
        if inertia.margin is None:
            return  # known by products alone: looked at when the first point is drawn
        plus, minus = (_enough(op, k, sign) for k, sign in ((positive, 1), (negative, -1)))
    if plus < positive or minus < negative:
        refuse_signature(name, other, (plus, minus), (positive, negative))


def refuse_signature(name: str, other: str, has: tuple[int, int], needs: tuple[int, int]) -> None:
    """M is empty: X^T A X = Q needs as many positive and negative directions in A as Q has."""
    refuse(name, f"at least {needs[0]} positive and {needs[1]} negative eigenvalues, as many as {other} has",
           f"{has[0]} positive and {has[1]} negative", 0, "The manifold is empty.", EmptyManifoldError)


def _enough(op: Operator, k: int, sign: int) -> int:
    """The number of positive (sign 1) or negative eigenvalues, counted up to k."""
    if k == 0:
        return 0
    if k >= op.size - 1:
        values = np.linalg.eigvalsh(op.left(np.eye(op.size, dtype=op.dtype)))
    else:
        rng = np.random.default_rng(0)
        values, _ = extreme_eigenpairs(op.left, op.size, op.dtype, k, "LA" if sign > 0 else "SA", rng)
    return int((sign * values > 0).sum())
