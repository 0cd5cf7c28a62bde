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

from genorth.linalg.arrays import Array, eps, inner, norm, number
from genorth.linalg.krylov import conjugate_gradients

_NEWTON = 100  # steps
_TRIALS = 30  # of the step length along a Newton direction
_SLOPE = 0.25  # the share of the slope that may be left
_GAIN = 0.9  # a step that lowers |E| by this is taken at once
_RESIDUAL = 0.1  # of a Newton equation, relative
_SHIFT = 1e-3  # the largest multiple of the identity that is added to the derivative
_STAGNANT = 100.0  # of the rounding in |E|: where this is left and no step gains, it is rounding
_PROJECTED = 4.0  # of the normal part that a projection leaves: so is this, where P is inexact
_TINY = 1e-150  # a t that only an X without a size gives
_ROUNDING = 8.0  # units of roundoff of |X| in |E|


@attrs.frozen(eq=False)
class ProximalStep:
    """The solution Z, or an approximation of it.

    Attributes:
        V: X + Z before Z is projected, a value of the prox: with its zeros.
        Z: The tangent vector.
        E: The normal part of V - X.
        U: t phi(X) S, the multiplier.
        length: |V - X|.
        error: |E|.
        newton: How many Newton steps it took.
        products: How many conjugate gradient steps these took.
    """

    V: Array = attrs.field(repr=False)
    Z: Array = attrs.field(repr=False)
    E: Array = attrs.field(repr=False)
    U: Array = attrs.field(repr=False)
    length: float
    error: float
    newton: int = 0
    products: int = 0


def natural_step(X: Array, G: Array, value: float) -> float:
    """The t of the stopping measure: |X|^2/(|X| |G| + |r(X)|), from the value r(X)."""
    length = number(norm(X))
    size = length * number(norm(G)) + abs(value)
    t = length**2 / size if size > 0 else 0.0
    return t if t > _TINY else 1.0


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
        R = V - X
        Z = place.project(R)
        E = R - Z
        return ProximalStep(V, Z, E, U, number(norm(R)), number(norm(E)))

    length = number(norm(X)) or 1.0

    def newton_direction(step: ProximalStep) -> tuple[Array, int]:
        D, shift = term.derivative(B + step.U, t), min(_SHIFT, step.error / length)

        def product(W: Array) -> Array:
            return normal(D(W)) + shift * W

        return conjugate_gradients(product, -step.E, _RESIDUAL * step.error)

    step = at(t * normal(G) if U is None else U)
    newton = products = 0
    while newton < _NEWTON and not (step.error <= floor or (enough is not None and enough(step))):
        d, count = newton_direction(step)
        newton, products = newton + 1, products + count
        before, step = step, _searched(step, d, at)
        if step.error > _GAIN * before.error:
            rough = _PROJECTED * number(norm(normal(step.Z)))
            if before.error <= max(_STAGNANT * floor, rough):  # E is what rounding leaves
                step = min(before, step, key=lambda one: one.error)
                break
    return attrs.evolve(step, newton=newton, products=products)


def _searched(step: ProximalStep, d: Array, at: Callable[[Array], ProximalStep]) -> ProximalStep:
    """The next multiplier along d, by the slope <E, d> of the convex function that falls there.

    The whole step, unless the slope has turned at its end; then one between, at which little of
    the slope is left.
    """
    low, high, falls, rises, s = 0.0, 1.0, number(inner(step.E, d)), 0.0, 1.0
    limit = -_SLOPE * falls
    for _ in range(_TRIALS):
        trial = at(step.U + s * d)
        slope = number(inner(trial.E, d))
        good = slope <= limit and (s == 1 or slope >= -limit)
        if good or trial.error <= _GAIN * step.error or not limit > 0:
            break
        if slope > 0:
            high, rises = s, slope
        else:
            low, falls = s, slope
        share = falls / (falls - rises)
        s = low + (high - low) * min(max(share, 0.1), 0.9)
    return trial
