"""Functions of small square matrices: inverse, inverse square root, exponential.

Batched over leading axes and written against the array API. A matrix outside the domain raises
`OutsideDomainError`. Inside a JAX trace, where values cannot be inspected, the result is NaN.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from genorth.errors import OutsideDomainError, refuse
from genorth.linalg.arrays import (
    Array,
    all_finite,
    as_like,
    ct,
    eps,
    eye_like,
    is_jax,
    is_lazy,
    namespace,
    norm,
    number,
    stays,
)
from genorth.optional import optional

# Newton-Schulz contracts for |M - I| < 1. Up to here its few products are cheaper than an inverse
# or eigenvalues.
_NEAR = 0.5
# The scaled iteration takes at most 9 steps for condition numbers up to 1/eps, and one more for
# every halving of the angle between an eigenvalue and the negative axis: a matrix that takes more
# has no useful root.
_SQRT_STEPS = 12
# Y* M Y differs from I by rounding for a root Y of M, and by more than 1/2 for what is none.
_DEFECT = 0.01
_POWERS = 30  # of a map, for its norm
_BEYOND = 0.1  # a norm at which PyTorch's exponential is accurate
_TINY = 32  # up to here NumPy's call costs as much as LAPACK's work, and BLAS takes one thread


def eigh(K: Array) -> tuple[Array, Array]:
    """Eigenvalues, the smallest first, and eigenvectors of a symmetric matrix.

    Args:
        K: A symmetric matrix, or a batch of them.

    Returns:
        The eigenvalues and the matrix of eigenvectors; NaN where K is not finite.
    """
    if type(K) is np.ndarray and K.dtype == np.float64 and K.ndim == 2 and len(K) <= _TINY:
        values, U, failed = scipy.linalg.lapack.dsyevd(K, lower=1)
        if not failed:
            return values, U
    try:
        return tuple(namespace(K).linalg.eigh(K))
    except np.linalg.LinAlgError:
        return K[..., 0].real * math.nan, K * math.nan


def _inverse(B: Array) -> Array:
    """B^-1, or None if a pivot is exactly zero."""
    try:
        return namespace(B).linalg.inv(B)
    except Exception as error:  # each library has its own class, all of them named so
        if type(error).__name__ not in ("LinAlgError", "_LinAlgError"):
            raise
        return None


def inverse(B: Array, formula: str, hint: str = "Halve the step.") -> Array:
    """The inverse of B.

    Args:
        B: A square matrix, or a batch of them.
        formula: What B is, for the error message.
        hint: What the message says besides.

    Returns:
        B^-1.

    Raises:
        OutsideDomainError: If |B| |B^-1| is so large that no digit is correct.
    """
    inv = _inverse(B)
    if inv is not None and is_lazy(B):
        return inv
    require_condition(math.inf if inv is None else condition(B, inv), B, formula, hint)
    return inv


def condition(B: Array, inv: Array) -> float:
    """The largest |B| |B^-1| in a batch, over that of I, so that neither p nor the batch counts."""
    xp, p = namespace(B), B.shape[-1]
    if B.ndim == 2:
        return number(norm(B) * norm(inv)) / p
    sizes = [xp.linalg.vector_norm(M, axis=(-2, -1)) for M in (B, inv)]
    return number(xp.max(sizes[0] * sizes[1])) / p


def require_condition(size: float, B: Array, formula: str, hint: str = "Halve the step.") -> None:
    """Refuse a matrix like B whose `condition` is so large, as `inverse` does."""
    limit = 1.0 / (100.0 * B.shape[-1] * eps(B))
    if not size < limit:
        refuse(
            formula,
            "an invertible matrix (the step is inside the domain)",
            size,
            limit,
            hint,
            OutsideDomainError,
        )


def inverse_sqrt(
    M: Array, hermitian: bool = False, star: Callable[[Array], Array] = lambda T: T
) -> Array:
    """The principal inverse square root M^(-1/2).

    It exists if no eigenvalue lies on (-inf, 0]. Near I, Newton-Schulz iteration needs products
    only. Elsewhere, a Hermitian M is diagonalised; for any other M, the scaled product form of the
    Denman-Beavers iteration [higham2008functions] runs until it is near I.

    Args:
        M: A square matrix, or a batch of them.
        hermitian: True if M is Hermitian.
        star: An involution of the algebra that fixes M. A root Y must satisfy Y* M Y = I.

    Returns:
        M^(-1/2).

    Raises:
        OutsideDomainError: If the root does not exist.
    """
    if is_lazy(M):
        return _traced_inverse_sqrt(M, star)
    E = M - eye_like(M)
    if (size := number(norm(E))) < _NEAR:
        return _newton_schulz(E, size)
    return _hermitian_inverse_sqrt(M) if hermitian else _denman_beavers(M, star)


def _newton_schulz(E: Array, size: float, Y: Array | None = None) -> Array:
    """Y (I + E)^(-1/2), |E| = size < 1: Y <- Y (I - E/2), E <- E^2 (E - 3I)/4.

    The last factor is I - E/2 + 3/8 E^2, once the next term 5/16 E^3 is below rounding.
    """
    eye, last = eye_like(E), eps(E) ** (1 / 3)
    while True:
        W, square = eye - E / 2, E @ E
        if size <= last:
            W = W + 0.375 * square
        Y = W if Y is None else Y @ W
        if size <= last:
            return Y
        E = square @ (0.25 * E - 0.75 * eye)
        size = number(norm(E))


def _hermitian_inverse_sqrt(M: Array) -> Array:
    xp = namespace(M)
    values, U = xp.linalg.eigh((M + ct(M)) / 2)
    least, most = number(xp.min(values)), number(xp.max(xp.abs(values)))
    bound = M.shape[-1] * eps(M) * most
    if not least > bound:
        _outside("smallest eigenvalue", least, bound)
    return (U / xp.sqrt(values)[..., None, :]) @ ct(U)


def _denman_beavers(M: Array, star: Callable[[Array], Array]) -> Array:
    """Iterate until M_k is near I; then M^(-1/2) = Y_k M_k^(-1/2).

    Rounding can split a double negative eigenvalue, which skew forms have, into a conjugate pair,
    and so find a root that M does not have. The involution does not fix such a root: Y* M Y is not
    I.
    """
    start, eye, Y, size = M, eye_like(M), None, math.inf
    for _ in range(_SQRT_STEPS):
        inv = _inverse(M)
        if inv is None or not all_finite(inv):
            break
        W, M = _denman_beavers_step(M, inv, eye)
        Y = W if Y is None else Y @ W
        E = M - eye
        size = number(norm(E))
        if size < _NEAR:
            Y = _newton_schulz(E, size, Y)
            defect = number(norm(star(Y) @ start @ Y - eye))
            return (
                Y if defect <= _DEFECT else _outside("|Y* M Y - I| of the root Y", defect, _DEFECT)
            )
    _outside("|M_k - I| of the iteration for the square root", size, _NEAR)


def _denman_beavers_step(M: Array, inv: Array, eye: Array) -> tuple[Array, Array]:
    """W and the next M: M <- (2I + m M + (m M)^-1)/4, with M^(-1/2) = W M_next^(-1/2).

    W = (I + (m M)^-1) m^(1/2)/2. The scaling m = (|M^-1|/|M|)^(1/2), block by block, moves the
    eigenvalues to both sides of 1.
    """
    xp = namespace(M)
    m = xp.sqrt(_block_norm(inv)) / xp.sqrt(_block_norm(M))
    M, inv = m * M, inv / m
    return xp.sqrt(m) * (eye + inv) / 2, (2 * eye + M + inv) / 4


def _block_norm(M: Array) -> Array:
    """The largest entry of each block: squares would overflow before the matrix does."""
    return namespace(M).max(abs(M), axis=(-2, -1), keepdims=True)


def _traced_inverse_sqrt(M: Array, star: Callable[[Array], Array]) -> Array:
    """A fixed number of steps, as values cannot be inspected; NaN if they are not enough.

    No eigenvectors, not even for Hermitian M: they have no derivative where eigenvalues meet, as
    they do at M = I.
    """
    xp, start, eye = namespace(M), M, eye_like(M)
    Y = eye + xp.zeros_like(M)
    for _ in range(_SQRT_STEPS):
        W, M = _denman_beavers_step(M, xp.linalg.inv(M), eye)
        Y = Y @ W
    return xp.where(_block_norm(star(Y) @ start @ Y - eye) <= _DEFECT, Y, xp.nan)


def _outside(what: str, measured: float, tolerance: float) -> Any:
    refuse(
        "<<X+Z, X+Z>>",
        f"no eigenvalue on (-inf, 0], so that its inverse square root exists ({what})",
        measured,
        tolerance,
        "Halve the step.",
        OutsideDomainError,
    )


def expm(M: Array) -> Array:
    """The exponential, by the library of M.

    Args:
        M: A square matrix, or a batch of them.

    Returns:
        exp(M).

    Raises:
        OutsideDomainError: If exp(M), or its fourth power, overflows: |C|^2 would, too.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        E = _library_expm(M)
        size = 0.0 if is_lazy(E) else number(norm(E))
    largest = float(namespace(E).finfo(E.dtype).max) ** 0.25
    if not size <= largest:
        refuse(
            "exp(E)",
            f"|exp(E)| <= {largest:.1g}, so that |C|^2 does not overflow",
            f"|exp(E)| = {size:.3g}, |E| = {number(norm(M)):.3g}",
            None,
            "Halve the step.",
            OutsideDomainError,
        )
    return E


def _library_expm(M: Array) -> Array:
    if is_jax(M):
        return optional("jax.scipy.linalg", "jax", "expm").expm(M)
    if stays(M):
        # PyTorch's polynomial for norms of about 0.01 to 0.05 has ten digits only: a further
        # diagonal entry keeps the norm above them
        torch, n = sys.modules["torch"], M.shape[-1]
        pad = torch.nn.functional.pad
        entry = pad(torch.full_like(M[..., :1, :1], _BEYOND), (n, 0, n, 0))
        return torch.linalg.matrix_exp(pad(M, (0, 1, 0, 1)) + entry)[..., :n, :n]
    return as_like(scipy.linalg.expm(np.asarray(M)), M)


def operator_norm(function: Callable[[Array], Array], X: Array) -> float:
    """The norm of a self-adjoint map by the power method, whose quotients rise to it.

    Args:
        function: The map.
        X: A random start.

    Returns:
        The largest quotient |function(X)| / |X|, zero only if function(X) = 0 at the start.
    """
    largest = 0.0
    for _ in range(_POWERS):
        if not (length := number(norm(X))) > 0:
            break
        X = function(X / length)
        largest = max(largest, number(norm(X)))
    return largest
