"""The proximal step on the tangent space: what a nonsmooth term needs in place of the gradient.

    min over tangent Z of <G, Z> + |Z|^2/(2t) + r(X + Z)

Its solution is X + Z = prox_{tr}(X - t G + U) with a normal vector U = t phi(X) S, the multiplier,
at which the normal part E(U) of Z vanishes. E is the gradient of a convex function of U, and its
derivative P_N D P_N, D that of the prox, is self-adjoint and positive semidefinite: so U is found
by a semismooth Newton method [chen2020proximal], each step by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from genorth.geometry.support import conjugate_gradients
from genorth.linalg.arrays import Array, eps, inner, norm, number

_NEWTON = 100  # steps
_HALVINGS = 8  # of a Newton step, before the gradient step that always descends
_ARMIJO = 1e-4
_GAIN = 0.9  # a step that lowers |E| by this is taken at once
_RESIDUAL = 0.1  # of a Newton equation, relative
_SHIFT = 1e-3  # the largest multiple of the identity that is added to the derivative
_ROUNDING = 8.0  # units of roundoff of |X| in |E|


@attrs.frozen(eq=False)
class ProximalStep:
    """The solution Z, or an approximation of it.

    Attributes:
        V: X + Z before Z is projected, a value of the prox: with its zeros.
        Z: The tangent vector.
        U: t phi(X) S, the multiplier.
        length: |V - X|.
        error: |E|, the distance of V - X from the tangent space.
        newton: How many Newton steps it took.
        products: How many conjugate gradient steps these took.
    """

    V: Array = attrs.field(repr=False)
    Z: Array = attrs.field(repr=False)
    U: Array = attrs.field(repr=False)
    length: float
    error: float
    newton: int = 0
    products: int = 0


def natural_step(term: Any, X: Array, G: Array) -> float:
    """The t of the stopping measure: |X|^2/(|X| |G| + |r(X)|), which has the scale of both."""
    length = number(norm(X))
    size = length * number(norm(G)) + abs(term(X))
    return length**2 / size if size > 0 else 1.0


def proximal_step(
    place: Any,
    term: Any,
    G: Array,
    t: float,
    U: Array | None = None,
    enough: Callable[[ProximalStep], bool] | None = None,
) -> ProximalStep:
    """Solve the subproblem at a place of M.

    Args:
        place: The place of X.
        term: The nonsmooth term.
        G: The Euclidean gradient of the smooth part.
        t: The step.
        U: A multiplier to start from. Default: that of r = 0.
        enough: Whether an approximation will do. Default: none but to rounding.

    Returns:
        The step.
    """
    X = place.X
    B = X - t * G
    floor = _ROUNDING * eps(X) * max(number(norm(X)), t * number(norm(G)))

    def normal(V: Array) -> Array:
        return V - place.project(V)

    def at(U: Array) -> ProximalStep:
        V = term.prox(B + U, t)
        Z = place.project(V - X)
        return ProximalStep(V, Z, U, number(norm(V - X)), number(norm(V - X - Z)))

    def dual(step: ProximalStep) -> float:
        """The function whose gradient is E: t r*(..) in other words."""
        V = step.V
        return number(inner(B + step.U, V) - inner(V, V) / 2 - inner(step.U, X)) - t * term(V)

    step = at(t * normal(G) if U is None else U)
    newton = products = 0
    while newton < _NEWTON and not (step.error <= floor or (enough is not None and enough(step))):
        E = step.V - X - step.Z
        D, shift = term.derivative(B + step.U, t), min(_SHIFT, step.error / number(norm(X)))
        d, count = conjugate_gradients(
            lambda W, D=D, shift=shift: normal(D(W)) + shift * W, -E, _RESIDUAL * step.error
        )
        newton, products = newton + 1, products + count
        step = _searched(step, d, E, at, dual)
    return attrs.evolve(step, newton=newton, products=products)


def _searched(
    step: ProximalStep,
    d: Array,
    E: Array,
    at: Callable[[Array], ProximalStep],
    dual: Callable[[ProximalStep], float],
) -> ProximalStep:
    """The next multiplier along d; U - E where no step along d is accepted.

    The dual function has a derivative with the Lipschitz constant 1, so that U - E lowers it.
    """
    s, value, slope = 1.0, None, number(inner(E, d))
    for _ in range(_HALVINGS):
        trial = at(step.U + s * d)
        if trial.error <= _GAIN * step.error:
            return trial
        value = dual(step) if value is None else value
        if dual(trial) <= value + _ARMIJO * s * slope:
            return trial
        s /= 2
    return at(step.U - E)
