"""Newton's map A_n(X) = X - D(X), D(X) the smallest D with DC(X)[D] = C(X).

The way back to M by it, and by the map A of the paper, is here too: `restore`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import attrs
import numpy as np

from genorth.errors import NotRestorableError, OutsideDomainError, refuse
from genorth.geometry.place import Place, dissolved
from genorth.linalg.arrays import (
    Array,
    ct,
    eps,
    eye_like,
    inner,
    is_lazy,
    namespace,
    norm,
    number,
    plus,
)
from genorth.linalg.compiled import compiled, compiles
from genorth.linalg.functions import operator_norm

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_STEPS = 60  # of A, or of Newton's map, before a point is said to be too far from M
_RETRACTION_STEPS = 30  # a long step on Stiefel is halved by each of the first ones
_TRACED_STEPS = 6  # enough for |C| < 1/2, where values cannot be looked at
_SAFETY = 100.0  # in the guess of |C| after a step
#: |C| above this is not near M, whatever the size of X.
FAR = 0.01
#: |C| below this is near M, if it is small relative to |X| |phi(X)| too.
NEAR = 1e-6


class NewtonStep:
    """D(X) = phi(X) S at one X, S in S1 with Phi(K S) = C(X), K = phi(X)^T phi(X)."""

    def __init__(self, place: Place) -> None:
        self._place = place = place.general
        self._made: _Made | None = None
        if compiles(place.X) and place.manifold.companion is not None:
            self._made = _Made(*_made(place.manifold, place.X, vars(place).get("P")))
            vars(place)["size"] = max(1.0, number(self._made.size))
            #: C(X).
            self.constraint = self._made.constraint
        else:
            S = ct(place.X) @ place.P
            self.constraint = S - eye_like(S)

    @cached_property
    def regularity(self) -> float:
        """The smallest singular value of phi(X) relative to the largest.

        Zero where phi(X)^T phi(X) overflows or vanishes in rounding.
        """
        if self._made is not None:
            return math.sqrt(max(number(self._made.regularity), 0.0))
        return self._place.regularity if 0 < number(norm(self._place.K)) < math.inf else 0.0

    @cached_property
    def multiplier(self) -> Array:
        """S, or an error where phi(X) does not have full rank."""
        C = self.constraint
        if not is_lazy(C):
            bound = C.shape[-1] * eps(C)
            if not self.regularity > bound:
                refuse(
                    "X",
                    "phi(X) of full rank, so that DC(X) is onto "
                    "(smallest / largest singular value)",
                    self.regularity,
                    bound,
                    "Newton's map is not defined there.",
                    OutsideDomainError,
                )
        return self._place.solve(C) if self._made is None else self._made.multiplier

    @property
    def D(self) -> Array:
        """D(X)."""
        return self._place.P @ self.multiplier

    @property
    def length(self) -> float:
        """|D(X)|."""
        S = self.multiplier
        if self._made is not None:
            return math.sqrt(max(number(self._made.square), 0.0))
        return math.sqrt(max(number(inner(S, self._place.K @ S)), 0.0))

    @property
    def end(self) -> Array:
        """A_n(X) = X - D(X)."""
        S = self.multiplier
        if self._made is not None:
            return self._made.end
        return plus(self._place.P @ -S, self._place.X)

    def chord(self, before: NewtonStep) -> Array:
        """X - phi(X) S, Phi(K S) = C(X) with the K of an earlier step: no factorisation.

        The full step, where that is made already.
        """
        if self._made is not None:
            return self._made.end
        S = before._place.solve(self.constraint)
        return plus(self._place.P @ -S, self._place.X)

    def derivative(self, V: Array, PV: Array | None = None) -> Array:
        """DD(X)[V] = phi(V) S + phi(X) S', Phi(K S') = Phi(phi(X)^T V - K' S).

        K' = phi(V)^T phi(X) + phi(X)^T phi(V). `PV`: phi(V), where it is known.
        """
        place, S = self._place, self.multiplier
        if compiles(V) and self._made is not None:
            return _derivative(place.manifold, place.X, S, V)
        PV = place.manifold.phi(V) if PV is None else PV
        cross = ct(PV) @ place.P
        R = ct(place.P) @ V - (cross + ct(cross)) @ S
        return PV @ S + place.P @ place.solve(place.manifold.symmetrize(R))


class _Made(NamedTuple):
    """What one compiled step of Newton's map returns."""

    end: Array
    constraint: Array
    multiplier: Array
    #: |D|^2, |X| |phi(X)|, and smallest / largest eigenvalue of phi(X)^T phi(X).
    square: Array
    size: Array
    regularity: Array


@compiled
def _made(manifold: GenOrthManifold, X: Array, P: Array | None) -> tuple[Array, ...]:
    place, xp = manifold.anywhere(X, P), namespace(X)
    step = NewtonStep(place)
    S, values = step.multiplier, xp.linalg.eigvalsh(place.K)
    return (
        step.end,
        step.constraint,
        S,
        inner(S, place.K @ S),
        norm(X) * norm(place.P),
        xp.min(values) / xp.max(values),
    )


@compiled
def _derivative(manifold: GenOrthManifold, X: Array, S: Array, V: Array) -> Array:
    step = NewtonStep(manifold.anywhere(X))
    vars(step)["multiplier"] = S
    return step.derivative(V)


def to_manifold(
    manifold: GenOrthManifold, X: Array, P: Array | None = None, keep: bool = True
) -> tuple[Place, list[NewtonStep]]:
    """The limit of Newton's map from X, to rounding, and the steps that led there.

    Only the last step, unless they are to be kept: each holds arrays of the size of X.

    Raises `OutsideDomainError` where |C| does not fall in every step. Traced by JAX, the number of
    steps is fixed, and a block that is not on M after them is NaN.
    """
    steps: list[NewtonStep] = []
    place = manifold.anywhere(X, P)
    if is_lazy(X):
        for _ in range(_TRACED_STEPS):
            steps.append(NewtonStep(place))
            place = manifold.anywhere(steps[-1].end)
        return _or_nan(place), steps
    last = before = math.inf
    step, unit = NewtonStep(place), 4 * eps(X)
    for _ in range(_RETRACTION_STEPS):
        violation, rounding = number(norm(step.constraint)), unit * place.size
        if not violation < math.inf:
            break
        if violation <= rounding or (last <= FAR and violation >= last / 2):
            return place, steps
        if not violation < last:
            break
        if steps and _SAFETY * violation**2 <= rounding * last * steps[-1].regularity ** 2:
            # K has changed by the factor that |C| fell by, times up to the condition number of K
            return manifold.anywhere(step.chord(steps[-1])), steps
        steps = [*steps, step] if keep else [step]
        place = manifold.anywhere(step.end)
        # |C(X - D)| = |D^T phi(D)| is a multiple of |D|^2, about the same one in the next step
        length = step.length
        if before < math.inf and _SAFETY * violation * length**2 <= rounding * before**2:
            return place, steps
        last, before, step = violation, length, NewtonStep(place)
    refuse(
        "X + Z",
        "a step of Newton's map to decrease |C(X)|",
        violation,
        last,
        "Halve the step.",
        OutsideDomainError,
    )


def _or_nan(place: Place) -> Place:
    """NaN in the blocks where |C| is not small."""
    xp, C = namespace(place.X), NewtonStep(place).constraint
    near = xp.max(xp.abs(C), axis=(-2, -1), keepdims=True) <= FAR
    return place.manifold.anywhere(xp.where(near, place.X, xp.nan))


@attrs.frozen(eq=False)
class Restoration:
    """A point of M, and how it was found."""

    #: The point.
    X: Array
    #: "A", "Newton's map", or "none" where X was on M already.
    map: str
    #: How often the map was applied.
    steps: int


def restore(manifold: GenOrthManifold, X: Array, tol: float) -> Restoration:
    """X <- A(X), or where that does not lead to M X <- X - s D(X), until X is on M.

    Before the latter X is multiplied by the number that makes |C| smallest. The step length s
    minimises |C(X - s D)|, C(X - s D) = (1 - s) C + s^2 D^T phi(D); near M it is one, and the
    violation is squared. Where rounding in phi(X) leaves more than tol in |C|, the last A(X) has to
    do.
    """
    with np.errstate(all="ignore"):  # a very long X overflows, which ends the iteration
        found, X1, first = _iterate(manifold, X, tol, _dissolve)
        if found:
            return Restoration(X1, "A" if first[1:] else "none", len(first) - 1)
        reason = "phi(X) became rank-deficient during the iteration."
        with suppress(OutsideDomainError):
            found, X2, last = _iterate(manifold, scaled(manifold, X), tol, _damped_newton)
            if found:
                return Restoration(X2, "Newton's map", len(last) - 1)
            reason = f"After {_STEPS} steps of Newton's map it is {last[-1]:.3g}."
        if first[-1] <= FAR and first[-1] <= rounding(manifold, X1):
            return Restoration(X1, "A", len(first) - 1)
    refuse(
        "X",
        "a point near M: |C(X)| = |X^T phi(X) - I|, all eigenvalues of phi(X)^T X in (0, 3)",
        first[0],
        tol,
        f"After {len(first) - 1} steps of A it is {first[-1]:.3g}. {reason}",
        NotRestorableError,
    )


def rounding(manifold: GenOrthManifold, X: Array) -> float:
    """What rounding in phi(X) leaves in |C(X)|: p eps |phi| |X|^2."""
    size = operator_norm(manifold.phi, X) * number(norm(X)) ** 2
    return X.shape[-1] * eps(X) * size


def scaled(manifold: GenOrthManifold, X: Array) -> Array:
    """The multiple of X with the smallest |C|, so that a long X does not end far out on M."""
    Y = _of_size_one(X)
    S = ct(Y) @ manifold.phi(Y)
    T, size = _of_size_one(S), _largest(S)
    along, square = number(inner(eye_like(T) + 0 * T, T)), number(inner(T, T))
    return Y * math.sqrt(along / square / size) if along > 0 and 0 < square < math.inf else X


def _largest(X: Array) -> float:
    return number(namespace(X).max(abs(X)))


def _of_size_one(X: Array) -> Array:
    """X over its largest entry: squares of the result neither overflow nor vanish."""
    size = _largest(X)
    return X / size if sys.float_info.min <= size < math.inf else X


def _iterate(
    manifold: GenOrthManifold, X: Array, tol: float, step: Callable[[Place, NewtonStep], Array]
) -> tuple[bool, Array, list[float]]:
    """Whether a point of M was found, the last iterate, and |C| of all of them.

    |C| has to be at most tol max(1, |X| |phi(X)|), and at most max(tol, `NEAR`): a growing X alone
    does not bring it to M. Where rounding leaves more, up to `FAR`, the point is taken as soon as a
    step gains nothing.
    """
    violations: list[float] = []
    place = manifold.anywhere(manifold.ambient(X))
    while True:
        newton = NewtonStep(place)
        violations.append(now := number(norm(newton.constraint)))
        stagnant = len(violations) > 1 and now >= violations[-2] / 2
        if now <= min(tol * place.size, FAR if stagnant else max(tol, NEAR)):
            return True, place.X, violations
        lost = now == math.inf or not now <= 10 * violations[0] + 10
        if lost or len(violations) == _STEPS:
            return False, place.X, violations
        place = manifold.anywhere(manifold.ambient(step(place, newton)))


def _dissolve(place: Place, newton: NewtonStep) -> Array:
    """A(X)."""
    return dissolved(place.manifold, place.X, newton.constraint)


def _damped_newton(place: Place, newton: NewtonStep) -> Array:
    """X - s D(X)."""
    D, C = newton.D, newton.constraint
    return place.X - step_length(C, ct(D) @ place.manifold.phi(D)) * D


def step_length(C: Array, E: Array) -> float:
    """The s in (0, 1] with the smallest |(1 - s) C + s^2 E|; 1 where that halves |C|."""
    cc, ce, ee = number(inner(C, C)), number(inner(C, E)), number(inner(E, E))
    if 4 * ee <= cc or not math.isfinite(ee):
        return 1.0
    # (1-s)^2 cc + 2 (1-s) s^2 ce + s^4 ee and its derivative, highest power first
    value = np.array([ee, -2 * ce, cc + 2 * ce, -2 * cc, cc])
    roots = np.roots(np.polyder(value))
    real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)]
    inside = [s for s in real if 0 < s < 1]
    return float(min([*inside, 1.0], key=lambda s: np.polyval(value, s)))
