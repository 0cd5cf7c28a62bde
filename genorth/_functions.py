"""Functions of small square matrices: inverse, inverse square root, exponential.

Batched over leading axes and written against the array API. Where values can be looked at, a
matrix outside the domain raises `OutsideDomainError`; under JAX the result is NaN instead.
"""

from __future__ import annotations

import math
from typing import Any

from genorth._array import Array, ct, eps, eye_like, is_lazy, namespace, norm
from genorth.errors import OutsideDomainError, refuse

_SQRT_STEPS = 40  # quadratic convergence after log2(log cond) halvings: 40 is far beyond any domain
_EXP_SQUARINGS = 32
# Coefficients and radius of the diagonal Padé approximant of degree 13 [Higham 2005].
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_PADE_RADIUS = 5.371920351148152


def _inverse(B: Array) -> Array:
    """B^-1, or None where an exact zero pivot was met."""
    try:
        return namespace(B).linalg.inv(B)
    except Exception as error:  # each library has its own class, all of them named so
        if type(error).__name__ not in ("LinAlgError", "_LinAlgError"):
            raise
        return None


def inverse(B: Array, formula: str) -> Array:
    """B^-1, refused where |B| |B^-1| leaves no correct digit."""
    inv = _inverse(B)
    if inv is not None and is_lazy(B):
        return inv
    limit = 1.0 / (100.0 * B.shape[-1] * eps(B))
    condition = math.inf if inv is None else float(norm(B) * norm(inv))
    if not condition < limit:
        refuse(formula, "an invertible matrix (the step is inside the domain)",
               condition, limit, "Halve the step.", OutsideDomainError)
    return inv


def inverse_sqrt(M: Array, hermitian: bool = False) -> Array:
    """M^(-1/2), the principal one: it exists where no eigenvalue lies on (-inf, 0].

    Hermitian M: by eigenvalues. Else by the product form of the Denman-Beavers iteration,
    Y <- Y (I + M^-1)/2, M <- (I + (M + M^-1)/2)/2, which ends at Y = M^(-1/2), M = I [Higham 2008].
    """
    return _hermitian_inverse_sqrt(M) if hermitian else _denman_beavers(M)


def _hermitian_inverse_sqrt(M: Array) -> Array:
    xp = namespace(M)
    values, U = xp.linalg.eigh((M + ct(M)) / 2)
    if not is_lazy(M):
        least, most = float(xp.min(values)), float(xp.max(xp.abs(values)))
        bound = M.shape[-1] * eps(M) * most
        if not least > bound:
            _outside("smallest eigenvalue", least, bound)
    return (U / xp.sqrt(values)[..., None, :]) @ ct(U)


def _denman_beavers(M: Array) -> Array:
    eye, Y = eye_like(M), None
    lazy, tolerance = is_lazy(M), 10.0 * M.shape[-1] * eps(M)
    rest = math.inf
    for _ in range(_SQRT_STEPS):
        inv = _inverse(M)
        if inv is None:
            break
        half = (eye + inv) / 2
        Y = half if Y is None else Y @ half
        M = (eye + (M + inv) / 2) / 2
        if lazy:
            continue
        before, rest = rest, float(norm(M - eye))
        # At the end either the bound is met or rounding no longer lets the rest shrink.
        if rest <= tolerance or (rest <= 1e-3 and rest >= before / 2):
            return Y
        if not math.isfinite(rest):
            break
    if lazy:
        return Y
    _outside("|M_k - I| of the iteration for the square root", rest, tolerance)


def _outside(what: str, measured: float, tolerance: float) -> Any:
    refuse("<<X+Z, X+Z>>", f"no eigenvalue on (-inf, 0], so that its inverse square root exists ({what})",
           measured, tolerance, "Halve the step.", OutsideDomainError)


def expm(M: Array) -> Array:
    """exp(M) by scaling and squaring with the Padé approximant of degree 13 [Higham 2005]."""
    xp, eye, b = namespace(M), eye_like(M), _PADE
    size = xp.max(xp.sum(xp.abs(M), axis=-2))
    if is_lazy(M):
        s = xp.ceil(xp.log2(xp.maximum(size / _PADE_RADIUS, xp.ones_like(size))))
        steps, scale = _EXP_SQUARINGS, 2.0 ** (-s)
    else:
        steps = max(0, math.ceil(math.log2(max(float(size), 1e-300) / _PADE_RADIUS))) if math.isfinite(float(size)) else 0
        s, scale = steps, 2.0**-steps
    M = M * scale
    M2 = M @ M
    M4 = M2 @ M2
    M6 = M4 @ M2
    U = M @ (M6 @ (b[13] * M6 + b[11] * M4 + b[9] * M2) + b[7] * M6 + b[5] * M4 + b[3] * M2 + b[1] * eye)
    V = M6 @ (b[12] * M6 + b[10] * M4 + b[8] * M2) + b[6] * M6 + b[4] * M4 + b[2] * M2 + b[0] * eye
    E = xp.linalg.solve(V - U, V + U)
    for k in range(steps):
        E = xp.where(k < s, E @ E, E) if is_lazy(M) else E @ E
    return E
