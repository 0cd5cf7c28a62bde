"""`rlbfgs`: a Riemannian limited-memory BFGS method that transports no pair, and a memory of pairs (S, Y)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from baselines.riemannian.run import Iterate, Run
from baselines.riemannian.wolfe import Conditions, search
from genorth.errors import refuse
from genorth.geometry.multiplier import realvec
from genorth.linalg.arrays import Array, norm
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep
from genorth.solve.options import Common
from genorth.solve.result import Result

#: preconditioner(X, V): an approximation of the inverse Hessian at X applied to V, symmetric and
#: positive definite; as in pymanopt.
Preconditioner = Callable[[Array, Array], Array]

_Vector = np.ndarray[Any, Any]
_CAUTION = 1e-8
_FIRST = 0.01  # the first step, relative to |X|


def rlbfgs(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    memory: int = 10,
    preconditioner: Preconditioner | None = None,
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by a limited-memory BFGS method.

    The direction is -P_X H(w): H is the BFGS matrix of the last `memory` pairs S = X_new - X and Y
    = w_new - w, held in the ambient space, w the differential of f, and P_X the projection onto the
    tangent space (DA(X) in "products"). H is symmetric and positive definite, and w = P_X* w, hence
    <w, P_X H w> = <w, H w> > 0: the direction is one of descent. To carry all pairs along by
    projection, as is usual [Huang, Gallivan and Absil 2015], costs 2 memory projections for each
    step and saves no iterations (docs/baselines.md has the figures).

    H starts from the identity times <S,Y>/<Y,Y>, with a preconditioner V -> preconditioner(X, V)
    from that, times <S,Y>/<Y, preconditioner(Y)>. A pair is stored only if <S,Y> >= 1e-8 |S||Y|
    |w|/|w_0| (the cautious update of Li and Fukushima, without a unit). Steps satisfy the
    conditions of `baselines.riemannian.wolfe`, with curvature 0.9; the first trial is t = 1.

    geometry: "fast", "products" or "faithful". The other arguments are those of
    `genorth.minimize`; x0 must be near M.
    """
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        refuse("memory", "an integer, memory >= 1", repr(memory))
    if preconditioner is not None and not callable(preconditioner):
        refuse("preconditioner", "a callable, preconditioner(X, V)", repr(preconditioner))
    run = Run(problem, x0, "rlbfgs", geometry, **common)
    chosen = Conditions() if conditions is None else conditions
    return run.solve(lambda run: _solve(run, Pairs(memory), preconditioner, chosen))


def _solve(
    run: Run, pairs: Pairs, preconditioner: Preconditioner | None, conditions: Conditions
) -> None:
    point = run.start()
    first = math.sqrt(point.decrease)
    while True:
        Z = _direction(run, pairs, point, preconditioner)
        slope = point.slope(Z)
        t = 1.0 if len(pairs) else _FIRST * float(norm(point.X)) / float(norm(Z))
        try:
            if not slope < 0:
                raise NoStep  # rounding, or a preconditioner that is not positive definite
            trial, t = search(point, Z, slope, t, run.line(point, Z), conditions)
        except NoStep:
            if not len(pairs):
                return
            pairs.clear()
            continue
        run.accept(trial)
        pairs.add(
            trial.X - point.X,
            trial.covector - point.covector,
            _CAUTION * math.sqrt(trial.decrease) / first,
        )
        point = trial


def _direction(
    run: Run, pairs: Pairs, point: Iterate, preconditioner: Preconditioner | None
) -> Array:
    """-P_X H(w)."""
    shape, dtype = point.X.shape, point.covector.dtype

    def matrix(v: _Vector) -> Array:
        return v.view(dtype).reshape(shape)

    def start(v: _Vector) -> _Vector:
        return v if preconditioner is None else realvec(preconditioner(point.X, matrix(v)))

    if preconditioner is None and not len(pairs):
        return -point.gradient
    HW = matrix(pairs.inverse(realvec(point.covector), start))
    with run.phases.projection:
        return -point.place.transport(HW)


class Pairs:
    """The last pairs (s, y) as real vectors, and the BFGS matrix that they make."""

    def __init__(self, memory: int) -> None:
        self._pairs: deque[tuple[_Vector, _Vector, float]] = deque(maxlen=memory)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all."""
        self._pairs.clear()

    def add(self, S: Array, Y: Array, caution: float) -> None:
        """Store a pair, if <S,Y> >= caution |S||Y|."""
        s, y = realvec(S), realvec(Y)
        sy = float(np.dot(s, y))
        if sy > 0 and sy >= caution * float(np.linalg.norm(s)) * float(np.linalg.norm(y)):
            self._pairs.append((s, y, sy))

    def inverse(self, w: _Vector, start: Callable[[_Vector], _Vector]) -> _Vector:
        """H w by the two loops over the pairs [Nocedal 1980].

        `start` is the first matrix, up to a factor.
        """
        q, weights = (
            w.copy(),
            [],
        )  # NumPy's BLAS alone: threads of SciPy's would wait for it by spinning
        for s, y, sy in reversed(self._pairs):
            weights.append(float(np.dot(s, q)) / sy)
            q -= weights[-1] * y
        if self._pairs:
            _, y, sy = self._pairs[-1]
            scale = sy / float(np.dot(y, start(y)))
            q = start(q) * scale
        else:
            q = start(q).copy()
        for s, y, sy in self._pairs:
            q += (weights.pop() - float(np.dot(y, q)) / sy) * s
        return q
