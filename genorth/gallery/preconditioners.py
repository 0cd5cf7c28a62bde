"""Preconditioners that two fields have: orbital energies in chemistry, multigrid in mechanics.

Each function returns `preconditioner(X, V)` for `Problem` or `minimize`, an approximation of the
inverse Hessian at X applied to V, symmetric and positive definite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from genorth.errors import require
from genorth.linalg.arrays import Array
from genorth.linalg.cache import ContentCache
from genorth.optional import optional
from genorth.solve.run import Preconditioner


def orbital_levels(F: Array, S: Array, C: Array) -> tuple[Array, Array, Array, Array]:
    """The energies and orbitals that diagonalise F among the occupied orbitals and the others.

    Args:
        F: The Fock matrix.
        S: The overlap matrix.
        C: The occupied orbitals, C^T S C = I.

    Returns:
        The energies of the occupied orbitals, these orbitals, and the same of the empty ones.
    """
    empty = scipy.linalg.null_space((S @ C).T)
    below, U = np.linalg.eigh(C.T @ F @ C)
    above, V = scipy.linalg.eigh(empty.T @ F @ empty, empty.T @ S @ empty)
    return below, C @ U, above, empty @ V


def orbital_preconditioner(
    fock: Callable[[Array], Array], S: Array, smallest_gap: float = 0.5
) -> Preconditioner:
    """The gaps of empty and occupied orbitals [vanvoorhis2002geometric].

    The Hessian of the Hartree-Fock energy E(C) = tr(C^T (h + F) C) is about 4 (e_a - e_i) for the
    rotation of the occupied orbital i and the empty one a. V is divided by that; far from the
    solution gaps may be negative, so that they are taken as at least `smallest_gap`.

    Args:
        fock: C -> the Fock matrix F(C). It is called once for each C: remember it, if the cost
            forms it too.
        S: The overlap matrix, C^T S C = I.
        smallest_gap: In hartree.

    Returns:
        preconditioner(C, V).
    """
    require(callable(fock), "fock", "a callable, fock(C)", repr(fock))
    both = unrestricted_preconditioner(lambda C: (fock(C),), S, smallest_gap)
    return lambda C, V: both((C,), (V,))[0] / 2


def unrestricted_preconditioner(
    fock: Callable[..., Sequence[Array]], S: Array, smallest_gap: float = 0.5
) -> Callable[[Any, Any], tuple[Array, ...]]:
    """As `orbital_preconditioner`, for orbitals of each spin: a product of two manifolds.

    With one electron in an orbital, the Hessian of the energy is about 2 (e_a - e_i).

    Args:
        fock: (C_a, C_b) -> their Fock matrices. It is called once for each pair.
        S: The overlap matrix, C_s^T S C_s = I.
        smallest_gap: In hartree.

    Returns:
        preconditioner(C, V), with a part for each spin.
    """
    require(callable(fock), "fock", "a function of C", repr(fock))
    require(smallest_gap > 0, "smallest_gap", "smallest_gap > 0", smallest_gap)
    known = ContentCache()

    def levels(C: Sequence[Array]) -> list[tuple[Array, Array, Array, Array]]:
        return [orbital_levels(F, S, c) for F, c in zip(fock(*C), C, strict=True)]

    def precondition(C: Any, V: Any) -> tuple[Array, ...]:
        parts = zip(known.get(np.hstack(C), lambda _: levels(C)), C, V, strict=True)
        return tuple(_by_gaps(own, S, c, v, smallest_gap) for own, c, v in parts)

    return precondition


def _by_gaps(levels: Any, S: Array, C: Array, V: Array, smallest_gap: float) -> Array:
    """V divided by 2 (e_a - e_i)."""
    below, occupied, above, empty = levels
    gaps = np.maximum(np.abs(above[:, None] - below), smallest_gap)
    U = C.T @ S @ occupied
    V = V @ U
    return np.asarray((empty @ (empty.T @ V / gaps) + occupied @ (occupied.T @ V)) @ U.T / 2)


def amg_preconditioner(A: Any, near_null: Any = None, **options: Any) -> Preconditioner:
    """One V-cycle of algebraic multigrid for a sparse A [bell2023pyamg].

    For costs such as tr(X^T A X) with A a stiffness matrix or a Laplacian, whose curvature is about
    2 A: the cycle is an approximation of A^-1 that costs a few products with A.

    Args:
        A: A sparse symmetric positive definite matrix.
        near_null: Columns on which A is small, such as rigid motions. Default: constants.
        **options: Of `pyamg.smoothed_aggregation_solver`.

    Returns:
        preconditioner(X, V); its attribute `cycle` is the V-cycle as a LinearOperator.
    """
    pyamg = optional("pyamg", "gallery", "amg_preconditioner")
    # the weights of "diagonal", the default, are drawn with the global random state
    smooth = options.pop("smooth", ("jacobi", {"weighting": "local"}))
    cycle = pyamg.smoothed_aggregation_solver(
        A.tocsr(), near_null, smooth=smooth, **options
    ).aspreconditioner()

    def precondition(X: Array, V: Array) -> Array:  # noqa: ARG001  the same everywhere
        return np.asarray(cycle.matmat(V)) / 2

    precondition.cycle = cycle  # type: ignore[attr-defined]
    return precondition
