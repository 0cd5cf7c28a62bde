"""Back to M without filling zeros, and the equations in the normal space that this needs.

With the orthogonal projector P_N onto the normal space and a self-adjoint D, 0 <= D <= I, the map
W -> P_N D W of normal vectors is self-adjoint and between 0 and 1. For D = I it is the identity:
P_N has solved the p x p equation of Theta_X, so that conjugate gradients need no preconditioner.
"""

from __future__ import annotations

import math
from typing import Any

from genorth.errors import NotRestorableError, OutsideDomainError, refuse
from genorth.linalg.arrays import Array, namespace, norm, number
from genorth.linalg.krylov import conjugate_gradients

_STEPS = 30  # of Newton's map on the support
_ACCURACY = 1e-3  # of a Newton step: its residual is what the next one starts from
_LONG = 10.0  # a step longer than this, relative to |X|, says that the support is too small


def restore_on_support(manifold: Any, X: Array, tol: float) -> Array:
    """The point of M near X with the zeros of X, by Newton's map on the support.

        X <- X - D, DC(X)[D] = C(X)

    D is the smallest one with zeros where X has them.

    D is W with its entries outside of the support dropped, W normal. It exists unless the support
    is too small for the constraint: it has at least dim S1 entries in general.

    Args:
        manifold: The manifold.
        X: An element of F near M.
        tol: On |C(X)|, relative to max(1, |X| |phi(X)|).

    Returns:
        The point.

    Raises:
        NotRestorableError: If the iteration does not lead to M.
    """
    mask = namespace(X).astype(X != 0, X.dtype)
    last = math.inf
    for _ in range(_STEPS):
        place = manifold.anywhere(X)
        violation = place.feasibility
        if violation <= tol * place.size:
            return X
        if not violation < last:
            break
        try:
            D = _step(place, mask, manifold.newton_step(X))
        except OutsideDomainError:
            break
        if not number(norm(D)) <= _LONG * place.length:
            break
        last, X = violation, X - D
    need = (
        f"a support of {int(number(namespace(X).sum(mask.real)))} entries that holds a point of M"
    )
    refuse("X", f"{need}: |C(X)|", violation, tol * place.size, error=NotRestorableError)


def _step(place: Any, mask: Array, D: Array) -> Array:
    """The smallest step on the support with the DC(X) of D."""
    project = place.general.project

    def product(W: Array) -> Array:
        return mask * W - project(mask * W)

    return mask * conjugate_gradients(product, D, _ACCURACY * number(norm(D)))[0]
