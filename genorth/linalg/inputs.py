"""What a user may pass as a matrix, checked once, when a manifold is made.

A matrix is dense, a diagonal (1-D), SciPy sparse, or a LinearOperator. Dense and sparse matrices
are factorised once, for the signs of their eigenvalues. For a LinearOperator only products are
known, so its signs are checked when the first point is drawn. If the factors of a sparse B do not
fit in memory, pass `scipy.sparse.linalg.aslinearoperator(B)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from genorth.errors import EmptyManifoldError, refuse, require
from genorth.linalg.arrays import (
    Array,
    all_finite,
    is_array,
    is_complex,
    is_floating,
    namespace,
    stays,
)
from genorth.linalg.inertia import Inertia, is_skew
from genorth.linalg.krylov import signed_directions
from genorth.linalg.operators import Dense, Diagonal, Operator, Products, Sparse

_Matrix = np.ndarray[Any, Any]
#: Symmetry is asked for to this many units of roundoff, relative to |M|.
_SYMMETRY_UNITS = 1e3
_DEFINITENESS_ROUNDS = 3  # of Krylov subspaces, in search of a direction in which B is negative


def check_size(p: Any, n: int, name: str = "p") -> int:
    """Check that p is an integer with 1 <= p <= n.

    Args:
        p: The value to check.
        n: Its upper bound.
        name: The name of the argument, for the error message.

    Returns:
        p as an int.
    """
    require(
        not isinstance(p, bool) and isinstance(p, int | np.integer) and p >= 1,
        name,
        "a positive integer",
        repr(p),
    )
    require(p <= n, name, f"{name} <= n = {n}", int(p), "A point is an n x p matrix.", tolerance=0)
    return int(p)


def as_generator(rng: Any) -> np.random.Generator:
    """A Generator from a seed; a Generator as it is.

    Raises:
        ValueError: If rng is neither.
    """
    try:
        if not isinstance(rng, bool | float | str):
            return np.random.default_rng(rng)
    except (TypeError, ValueError):
        pass
    refuse("rng", "a seed (an integer >= 0), a numpy.random.Generator or None", repr(rng))


def check_width(A: Operator, Q: Operator) -> None:
    """Refuse a right-hand side that is larger than the left one."""
    require(
        Q.size <= A.size,
        Q.name,
        f"size p <= n = {A.size}, the size of {A.name}",
        Q.size,
        "A point is an n x p matrix.",
        tolerance=0,
    )


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Check that a dtype is real or complex, in single or double precision, as LAPACK needs."""
    try:
        kind = None if dtype is None else np.dtype(dtype)
    except TypeError:
        kind = None
    if kind is None or kind.char not in "fdFD":
        refuse("dtype", "float32, float64, complex64 or complex128", kind or repr(dtype))
    return kind


def as_operator(M: Any, name: str, symmetry: int, reason: str = "") -> Operator:
    """Check a matrix and wrap it as an operator.

    Args:
        M: A dense matrix, a diagonal (1-D), a SciPy sparse matrix or a LinearOperator.
        name: The name of the argument, for error messages.
        symmetry: +1 if M^T = M is required, -1 if M^T = -M is.
        reason: Why, for the error message.

    Returns:
        The operator.

    Raises:
        ValueError: If M is not square, finite and of that symmetry.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # refused, as |M|^2 has to be finite
        return _as_operator(M, name, symmetry, reason)


def _as_operator(M: Any, name: str, symmetry: int, reason: str) -> Operator:
    if isinstance(M, scipy.sparse.linalg.LinearOperator):
        _require_square(M, name)
        products = Products(M, name=name)
        _require_symmetric_products(products, symmetry)
        return products
    if scipy.sparse.issparse(M):
        _require_square(M, name)
        M = scipy.sparse.csr_array(M)  # products are fastest, and all formats have them
        M = scipy.sparse.csr_array((as_array(M.data, name)[1], M.indices, M.indptr), M.shape)
        _require_symmetry(name, symmetry, (M - symmetry * M.conj().T).data, M.data, reason)
        return Sparse(M, name=name)
    if stays(M) and M.ndim == 1 and is_floating(M) and not is_complex(M) and symmetry > 0:
        require(all_finite(M), name, "finite entries", "NaN or infinity", tolerance=0)
        return Diagonal(M, name=name)  # not a copy: it may be spread over machines
    M, values = as_array(M, name)
    if values.ndim == 1:
        _require_real_diagonal(values, name, symmetry, reason)
        if values.dtype.kind == "c":  # without imaginary parts that are rounding
            M = values.real.astype(values.dtype)
        return Diagonal(M, name=name)
    _require_square(values, name)
    _require_symmetry(name, symmetry, values - symmetry * values.conj().T, values, reason)
    return Dense(M, name=name)


def as_small_operator(
    M: Any, name: str, symmetries: tuple[int, ...] = (1, -1)
) -> tuple[Operator, int]:
    """Check a nonsingular p x p matrix Q and wrap it as a dense or diagonal operator.

    Args:
        M: The matrix, or a diagonal (1-D).
        name: The name of the argument, for error messages.
        symmetries: The signs allowed.

    Returns:
        The operator, and the sign in Q^T = +-Q.

    Raises:
        ValueError: If M is singular or has no allowed symmetry.
    """
    if isinstance(M, scipy.sparse.linalg.LinearOperator):
        M = M @ np.eye(M.shape[1], dtype=M.dtype)
    elif scipy.sparse.issparse(M):
        M = M.toarray()
    values = as_array(M, name)[1]
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    sign = -1 if -1 in symmetries and square and is_skew(values) else 1
    Q = as_operator(
        M, name, sign, f" or {name}^T = -{name}" if sign > 0 and -1 in symmetries else ""
    )
    require(
        sign >= 0 or Q.dtype.kind != "c",
        name,
        f"{name} Hermitian where entries are complex",
        f"a skew-Hermitian {name}",
        f"Multiply {name} and the form by 1j.",
    )
    regular_inertia(Q)
    return Q, sign


def check_array(name: str, value: Any, shape: tuple[int, ...], real: bool, hint: str = "") -> None:
    """Refuse what is not an array of floating-point numbers of this shape.

    Args:
        name: What the value is.
        value: The value.
        shape: The shape it needs.
        real: True where entries have to be real.
        hint: What to do about a value that is not an array.
    """
    if not is_array(value):
        refuse(name, f"an array of shape {shape}", f"a {type(value).__name__}", None, hint)
    if tuple(value.shape) != shape:
        refuse(name, f"an array of shape {shape}", f"shape {tuple(value.shape)}")
    if not is_floating(value):
        need = "floating-point entries of single or double precision"
        refuse(name, need, f"dtype {value.dtype}")
    if real and is_complex(value):
        refuse(name, "real entries (the manifold is real)", f"dtype {value.dtype}")


def check_returned(name: str, value: Any, shape: tuple[int, ...], real: bool) -> None:
    """As `check_array`, for what the user's function `name` returned."""
    check_array(name, value, shape, real, "Return a plain array.")


def as_array(M: Any, name: str) -> tuple[Any, _Matrix]:
    """Check that M is an array of finite real or complex numbers.

    Args:
        M: The array, or nested lists.
        name: The name of the argument, for error messages.

    Returns:
        M in its own library, and as a NumPy array.
    """
    require(not isinstance(M, np.ma.MaskedArray), name, "an array without a mask", "a MaskedArray")
    try:
        values = np.asarray(M)
    except ValueError:
        refuse(name, "rows of equal length", "rows of different lengths")
    require(values.dtype.kind in "fciub", name, "real or complex numbers", f"dtype {values.dtype}")
    require(values.size != 0, name, "at least one entry", f"shape {values.shape}")
    if values.dtype.char not in "fdFD":
        M = values = values.astype(complex if values.dtype.kind == "c" else float)
    require_finite(name, values)
    return (M if hasattr(M, "shape") and hasattr(M, "dtype") else values), values


def _require_square(M: Any, name: str) -> None:
    require(
        len(M.shape) == 2 and M.shape[0] == M.shape[1] and M.shape[0] != 0,
        name,
        "a square matrix (n, n), or a diagonal as a 1-D array",
        f"shape {tuple(M.shape)}",
    )


def require_finite(name: str, X: Array) -> None:
    """Refuse an array with entries that are NaN or infinite, and say how many there are."""
    if not all_finite(X):
        xp = namespace(X)
        bad, size = int(xp.sum(xp.astype(~xp.isfinite(X), xp.int64))), math.prod(X.shape)
        refuse(name, "finite entries", f"{bad} of {size} entries NaN or infinite", 0)


def _require_real_diagonal(d: _Matrix, name: str, symmetry: int, reason: str) -> None:
    require(
        symmetry >= 0,
        name,
        f"{name}^T = -{name}{reason}",
        "a diagonal (1-D array), which is symmetric",
    )
    imaginary = float(np.abs(d.imag).max())
    bound = _SYMMETRY_UNITS * float(np.finfo(d.dtype).eps) * float(np.abs(d).max())
    require(
        imaginary <= bound,
        name,
        f"{name}^T = {name}{reason}",
        f"imaginary part {imaginary:.3g} on the diagonal",
        tolerance=bound,
    )


def _require_symmetry(
    name: str, sign: int, difference: _Matrix, values: _Matrix, reason: str
) -> None:
    defect, size = float(np.linalg.norm(difference)), float(np.linalg.norm(values))
    bound = _SYMMETRY_UNITS * float(np.finfo(values.dtype).eps) * size
    _require_size(name, size)
    if not defect <= bound:
        minus, other, plus = ("", "-", "+") if sign > 0 else ("-", "+", "-")
        refuse(
            name,
            f"{name}^T = {minus}{name}{reason}",
            f"|{name} {other} {name}^T| = {defect:.3g}",
            bound,
            f"Pass ({name} {plus} {name}.T)/2 if the difference is rounding.",
        )


def _require_size(name: str, size: float) -> None:
    require(size < np.inf, name, f"|{name}|^2 finite", f"|{name}| that overflows when squared")


def _require_symmetric_products(op: Products, sign: int) -> None:
    """Check <u, Mv> = <Mu, v> for a matrix known by its products only."""
    rng, name = np.random.default_rng(0), op.name
    U, V = rng.standard_normal((2, op.size, 2)).astype(op.dtype)
    MU, MV = op.left(U), op.left(V)
    require_finite(f"{name} u for a random vector u", MU)
    defect = float(np.abs(U.conj().T @ MV - sign * (MU.conj().T @ V)).max())
    size = float(np.linalg.norm(U) * np.linalg.norm(MV) + np.linalg.norm(MU) * np.linalg.norm(V))
    bound = _SYMMETRY_UNITS * float(np.finfo(op.dtype).eps) * size
    _require_size(name, size)
    require(
        defect <= bound,
        name,
        f"<u, {name} v> = {'' if sign > 0 else '-'}<{name} u, v>",
        f"a difference of {defect:.3g} for random u and v",
        f"The LinearOperator is not {'symmetric' if sign > 0 else 'skew'}.",
        tolerance=bound,
    )


def regular_inertia(op: Operator) -> Inertia:
    """The inertia of a matrix; a singular one is refused, as phi would not be one-to-one."""
    inertia, bound = op.inertia(), op.size * float(np.finfo(op.dtype).eps)
    if inertia.margin is not None and not inertia.margin > bound:
        refuse(
            op.name,
            f"{op.name} nonsingular",
            f"smallest / largest |eigenvalue| about {inertia.margin:.3g}",
            bound,
        )
    return inertia


def require_positive(op: Operator) -> None:
    """Refuse a matrix that is not positive definite, if more than its products is known."""
    inertia = regular_inertia(op)
    unknown = inertia.positive is None and inertia.margin is not None
    if unknown or inertia.negative:
        got = "a zero or negative pivot"
        if not unknown:
            got = f"{inertia.negative} of {op.size} eigenvalues negative"
        refuse(op.name, f"{op.name} positive definite", got, 0)


def require_positive_products(op: Operator) -> None:
    """Refuse a matrix known by its products if a few steps find a negative direction.

    Nothing else is proved.
    """
    if isinstance(op, Products):
        V = signed_directions(op.left, op.size, op.dtype, 1, -1, _DEFINITENESS_ROUNDS)[:, :1]
        if V.size:
            quotient = float(np.vdot(V, op.left(V)).real)
            refuse(
                op.name,
                f"{op.name} positive definite",
                f"v^T {op.name} v = {quotient:.3g} for a unit vector v",
                0,
            )


def require_signature(op: Operator, other: str, positive: int, negative: int) -> None:
    """Refuse a symmetric matrix with too few positive or negative directions: M would be empty."""
    inertia = regular_inertia(op)
    plus, minus = inertia.positive, inertia.negative
    if plus is None or minus is None:
        if inertia.margin is None:
            return  # known by products alone: looked at when the first point is drawn
        plus, minus = (
            op.directions(k, sign).shape[1] if k else 0
            for k, sign in ((positive, 1), (negative, -1))
        )
    if plus < positive or minus < negative:
        refuse_signature(op, other, (plus, minus), (positive, negative))


def refuse_signature(
    op: Operator, other: str, has: tuple[int, int], needs: tuple[int, int]
) -> None:
    """Raise: M is empty, as X^T A X = Q needs at least the signature of Q in A."""
    hint = "The manifold is empty."
    if not isinstance(op, Dense | Diagonal | Sparse):
        hint = (
            "The manifold is empty, as far as products show; "
            f"if {op.name} has more, pass the matrix itself."
        )
    refuse(
        op.name,
        f"at least {needs[0]} positive and {needs[1]} negative eigenvalues, as many as {other} has",
        f"{has[0]} positive and {has[1]} negative",
        0,
        hint,
        EmptyManifoldError,
    )
