"""Inertia: the numbers of positive and negative eigenvalues, without computing eigenvalues.

By Sylvester's law, the signs of the pivots of a symmetric factorisation give it. Dense matrices
have a stable factorisation (Bunch-Kaufman). For sparse ones SciPy has only LU; the functions below
explain why it can be used.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from genorth.linalg.arrays import Array, namespace, number
from genorth.linalg.krylov import signed_directions

_Matrix = np.ndarray[Any, Any]
_PROBES = 4
_SCALINGS = 3
_POWERS = 4  # of M^-1 on the probes: the norm of M^-1 to within a factor of about n^(1/10)


@attrs.frozen
class Inertia:
    """The numbers of positive and negative eigenvalues, and how close to zero one comes.

    `margin` is min |eigenvalue| / max |eigenvalue|, to within a modest factor. For a skew matrix K
    the counts are those of the Hermitian iK. None: unknown without forming the matrix.
    """

    positive: int | None = None
    negative: int | None = None
    margin: float | None = None


def count(values: Array) -> Inertia:
    """The inertia of diag(values); of values on a device only numbers leave it."""
    xp = namespace(values)
    least, most = (number(end(xp.abs(values))) for end in (xp.min, xp.max))
    positive, negative = (int(xp.count_nonzero(part)) for part in (values > 0, values < 0))
    return Inertia(positive, negative, least / most if most > 0 else 0.0)


def is_skew(M: Any) -> bool:
    """True if M^T is closer to -M than to M."""
    return bool(np.vdot(M, M.mT.conj()).real < 0)


def of_dense(M: _Matrix) -> Inertia:
    """The inertia of a dense matrix, by M = L D L^T, D with blocks of size one and two."""
    M = 1j * M if is_skew(M) else M
    # Hermitian to the last digit: SciPy warns of imaginary parts on the diagonal.
    _, D, _ = scipy.linalg.ldl((M + M.mT.conj()) / 2, hermitian=True)
    # A diagonal unitary scaling makes the 2 x 2 blocks real: D is tridiagonal.
    diagonal, off = np.diagonal(D).real, np.abs(np.diagonal(D, -1))
    return count(scipy.linalg.eigvalsh_tridiagonal(diagonal, off) if off.size else diagonal)


def of_sparse(M: Any) -> Inertia:
    """The inertia of a sparse matrix.

    Gershgorin's discs decide if they exclude zero. Otherwise an LU factorisation without row
    exchanges does; it is that of a nearby M + E. The counts are right if |(M+E)^-1 E| < 1, as then
    no M + tE is singular; this is measured on random vectors. If it fails (a zero on the diagonal
    can cause that), M + i tau I is factorised instead: see `_shifted_count`. Counts that no
    factorisation confirms stay unknown.
    """
    M = scipy.sparse.csc_array(M)
    discs = _by_discs(M)
    if discs is not None:
        return discs
    scaled, scale = _equilibrated(M)
    probes = _gaussian(M)
    lu = _unpivoted(scaled, probes)
    if lu is not None:
        pivots = lu.U.diagonal().real
        return Inertia(int((pivots > 0).sum()), int((pivots < 0).sum()), _margin(M, scale, lu))
    lu = _pivoted(scaled)
    if lu is None:
        return Inertia(margin=0.0)
    negative = _shifted_count(scaled, lu, probes)
    return Inertia(
        None if negative is None else M.shape[0] - negative, negative, _margin(M, scale, lu)
    )


def sparse_margin(M: Any) -> float:
    """The margin alone, for a sparse matrix of any symmetry."""
    M = scipy.sparse.csc_array(M)
    scaled, scale = _equilibrated(M)
    lu = _pivoted(scaled)
    return 0.0 if lu is None else _margin(M, scale, lu)


def sparse_directions(M: Any, least: int, sign: int) -> _Matrix:
    """Directions in which the form of a sparse matrix has a given sign.

    From D M D = L S L^T, S the signed pivots: v = D L^-T e_j has v^T M v = s_j. If that
    factorisation is not confirmed, from Krylov subspaces of the inverse, whose large eigenvalues
    are the small ones of M.

    Args:
        M: A symmetric sparse matrix.
        least: The number of directions wanted.
        sign: +1 or -1.

    Returns:
        Columns V with V^T M V of the given sign, at least `least` of them if M has as many.
    """
    scaled, scale = _equilibrated(scipy.sparse.csc_array(M))
    lu = _unpivoted(scaled, _gaussian(M))
    if lu is not None:
        pivots = sign * lu.U.diagonal().real
        chosen = np.argsort(-pivots)[: 2 * least]
        # (L S L^T)^-1 L e_j = L^-T e_j / s_j, in the order of the rows of M.
        V = lu.solve(lu.L[:, chosen[pivots[chosen] > 0]].toarray()[lu.perm_r])
    else:
        lu = _pivoted(scaled)
        if lu is None:
            return np.zeros((M.shape[0], 0), M.dtype)
        V = lu.solve(signed_directions(lu.solve, M.shape[0], M.dtype, least, sign))
    V = scale[:, None] * V
    return np.asarray(V / np.linalg.norm(V, axis=0))


def _equilibrated(M: Any) -> tuple[Any, _Matrix]:
    """D M D and the diagonal D that brings the largest entry of each row near one.

    A congruence, so the inertia is that of M.
    """
    scale = np.ones(M.shape[0], M.real.dtype)
    for _ in range(_SCALINGS):
        D = scipy.sparse.diags_array(scale)
        rows = abs(D @ M @ D).max(axis=0).toarray().ravel()  # (1, n) in SciPy 1.13
        scale = scale / np.sqrt(np.where(rows > 0, rows, 1))
    D = scipy.sparse.diags_array(scale)
    return scipy.sparse.csc_array(D @ M @ D), scale


def _gaussian(M: Any) -> _Matrix:
    return np.random.default_rng(0).standard_normal((M.shape[0], _PROBES)).astype(M.dtype)


def _pivoted(M: Any) -> Any:
    """The LU factorisation with row exchanges, or None if a pivot is exactly zero."""
    try:
        return scipy.sparse.linalg.splu(M)
    except RuntimeError:
        return None


def _by_discs(M: Any) -> Inertia | None:
    """The inertia by the signs of the diagonal, if every |m_ii| exceeds the sum of its row."""
    diagonal = M.diagonal().real
    radius = np.asarray(abs(M).sum(axis=0)) - np.abs(diagonal)
    near, far = np.abs(diagonal) - radius, np.abs(diagonal) + radius
    if not near.min() > 0:
        return None
    return Inertia(
        int((diagonal > 0).sum()), int((diagonal < 0).sum()), float(near.min() / far.max())
    )


def unpivoted(M: Any) -> Any:
    """The factorisation P M P^T = L U that keeps the diagonal, or None if there is none."""
    try:
        lu = scipy.sparse.linalg.splu(
            M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:
        return None
    return lu if np.array_equal(lu.perm_r, lu.perm_c) else None


def _unpivoted(M: Any, probes: _Matrix) -> Any:
    """The factorisation P M P^T = L U, or None if M^-1 M = I fails on the probes."""
    if (lu := unpivoted(M)) is None:
        return None
    with np.errstate(all="ignore"):  # pivots near zero overflow, and are rejected
        # E|F^-1 E x|^2 = |F^-1 E|_F^2 for Gaussian x: below 0.01 on all probes, it is below 1.
        defect = np.linalg.norm(lu.solve(M @ probes) - probes, axis=0).max()
    return lu if defect < 0.01 else None


def _margin(M: Any, scale: _Matrix, lu: Any) -> float:
    """1 / (|M| |M^-1|), with |M^-1| by inverse iteration."""
    V, growth = _gaussian(M), np.ones(_PROBES)
    for _ in range(_POWERS):
        with np.errstate(all="ignore"):
            V = scale[:, None] * lu.solve(scale[:, None] * (V / np.linalg.norm(V, axis=0)))
            growth = np.linalg.norm(V, axis=0)
    return (
        float(1.0 / (abs(M).sum(axis=0).max() * growth.max()))
        if np.all(np.isfinite(growth))
        else 0.0
    )


def _shifted_count(M: Any, lu: Any, probes: _Matrix) -> int | None:
    """The number of negative eigenvalues, from the pivots d of M + i tau I.

    Every Schur complement of M + i tau I has an imaginary part of at least tau, so no pivot
    vanishes, whatever the diagonal is. The arguments of the pivots, all in (0, pi), sum to those of
    lambda + i tau: the sums are equal for large tau, and both are continuous. So their sum is pi
    times the number of negative eigenvalues, up to sum tau/|lambda|, which tau keeps small.
    """
    n = M.shape[0]
    with np.errstate(all="ignore"):
        inverse_norm = np.linalg.norm(lu.solve(probes), axis=0).max()
        tau = 0.25 / (np.sqrt(n) * inverse_norm)  # sum 1/|lambda| <= sqrt(n) |M^-1|_F
    if not tau > 0:
        return None
    shifted = _unpivoted(
        scipy.sparse.csc_array(M + 1j * tau * scipy.sparse.eye_array(n)), probes + 0j
    )
    if shifted is None:
        return None
    turns = float(np.angle(shifted.U.diagonal()).sum() / np.pi)
    return round(turns) if abs(turns - round(turns)) < 0.25 else None
