"""`Objective`: h of a real vector, as SciPy's unconstrained solvers want it.

It keeps the budgets inside line searches and tells the run of each iteration. And it lets any
solver work:

- Values are differences to the start of the solver, and where two values differ by no more than
  rounding, their difference is taken from the gradients, (g + g0)/2 . (v - v0), exact to third
  order. A line search then works down to gradients of the size of rounding, not of its square root.
- h may be unbounded below far from M. A trial step that is farther from M than the penalty admits
  gets a higher value and an upward slope, and f is not called: the line search turns back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.linalg.arrays import eps, inner, norm, number
from genorth.penalty.base import Point
from genorth.penalty.run import Flat, OnSpace
from genorth.solve.monitor import Stop
from genorth.solve.result import Status
from genorth.solve.wolfe import in_noise

_Vector = np.ndarray[Any, Any]
_REJECTIONS = 30  # steps of a trust region, each a quarter of the last


class Objective:
    """h on real vectors: complex entries are two real ones, blocks follow one another.

    Args:
        run: The run on h.
    """

    def __init__(self, run: OnSpace) -> None:
        self.run, self.h, self.monitor = run, run.h, run.monitor
        self._shape = run.h.manifold.shape
        self._dtype = np.dtype(complex if run.h.manifold.dtype.kind == "c" else float)
        self._rejected = 0
        #: The last iterate.
        self.last: _Vector | None = None
        # v, gradient, raw and repaired value
        self._reference: tuple[_Vector, _Vector, float, float] | None = None

    def vector(self, X: _Vector) -> _Vector:
        """X as a real vector."""
        return np.ascontiguousarray(X, self._dtype).reshape(-1).view(float)

    def matrix(self, v: _Vector) -> _Vector:
        """The point that a real vector stands for."""
        return np.ascontiguousarray(v).view(self._dtype).reshape(self._shape)

    def begin(self, v: _Vector) -> None:
        """v is the start of a solver: values are differences to it; to the trace, if it is new."""
        if not self._is_last(v):
            self.iteration(v)
        assert self._reference is not None
        self._reference = (*self._reference[:3], 0.0)

    def value_and_gradient(self, v: _Vector) -> tuple[float, _Vector]:
        """h, repaired, and its gradient."""
        self.monitor.check()
        point = self._admitted(v)
        if point is None or self._outside(self.h.value_at(self.h.complete(point))):
            return self._turn_back(v)
        value, g = self._evaluated(point)
        return self._repaired(value, v, g), g

    def _outside(self, value: float) -> bool:
        """Whether the cost says that a trial is outside the domain of f."""
        return self._reference is not None and value == math.inf

    def _evaluated(self, point: Point) -> tuple[float, _Vector]:
        """h and its gradient at an admitted point."""
        value, g = self.h.value_at(self.h.complete(point)), self.vector(point.gradient)
        self._require_finite(value, g)
        return value, g

    def value(self, v: _Vector) -> float:
        """h, repaired."""
        self.monitor.check()
        point = self._admitted(v)
        if point is None:
            return self._turn_back(v)[0]
        value = self.h.value(point.X)
        if self._outside(value):
            return self._turn_back(v)[0]
        self._require_finite(value)
        noisy = self._reference is not None and in_noise(value, self._reference[2], eps(v))
        return self._repaired(value, v, self.gradient(v) if noisy else None)

    def gradient(self, v: _Vector) -> _Vector:
        """The gradient of h."""
        g = self.vector(self.h.gradient(self.matrix(v)))
        self._require_finite(0.0, g)
        return g

    def hessian_product(self, v: _Vector, w: _Vector) -> _Vector:
        """The Hessian of h times w."""
        self.monitor.check()
        product = self.vector(self.h.hessian_product(self.matrix(v), self.matrix(w)))
        self._require_finite(0.0, product)
        return product

    def iteration(self, v: _Vector) -> None:
        """v is the new iterate: to the run, and the new reference of values.

        Raises:
            Stop: If it is the last iterate.
        """
        point = self._admitted(v)
        if point is None:
            raise Stop(Status.DIVERGED)  # a line search that ended in rounding, at the limit
        self._count_rejections(v)
        value, g = self._evaluated(point)
        self._reference = (v.copy(), g, float(value), self._repaired(value, v, g))
        self.last = self._reference[0]
        self.run.accept(self.run.known(Flat(self.h, point)))

    def _count_rejections(self, v: _Vector) -> None:
        """A trust region that rejects every step never ends: its radius is rounding then."""
        self._rejected = self._rejected + 1 if self._is_last(v) else 0
        if self._rejected > _REJECTIONS:
            raise Stop(Status.STALLED)

    def _is_last(self, v: _Vector) -> bool:
        """Whether v is the last iterate."""
        return self.last is not None and np.array_equal(v, self.last)

    def _admitted(self, v: _Vector) -> Point | None:
        """The point, or None where it is so far from M that f should not be called."""
        point = self.h.at(self.matrix(v))
        return point if self._reference is None or self.h.admits(point) else None

    def _turn_back(self, v: _Vector) -> tuple[float, _Vector]:
        """repaired + |g0| |d|/2 with gradient |g0| d/|d|, d = v - v0; where d = 0, g0."""
        assert self._reference is not None
        self.run.turned_back = True
        v0, g0, _, repaired = self._reference
        d = v - v0
        size, slope = number(norm(d)), number(norm(g0))
        return repaired + slope * size / 2, d * (slope / size) if size > 0 else g0

    def _repaired(self, value: float, v: _Vector, g: _Vector | None) -> float:
        if self._reference is None:
            return float(value)
        v0, g0, raw, repaired = self._reference
        if g is None or not in_noise(value, raw, eps(v)):
            return repaired + (float(value) - raw)
        return repaired + 0.5 * number(inner(g + g0, v - v0))

    def _require_finite(self, value: float, g: _Vector | None = None) -> None:
        """Of f and its gradient; |g|^2 overflows only where the gradient is of no use either."""
        with np.errstate(over="ignore"):
            finite = math.isfinite(value) and (g is None or math.isfinite(number(inner(g, g))))
        if not finite:
            raise Stop(Status.NOT_FINITE)
