"""`Joined`: a penalty on a product of manifolds, one of each factor, with one beta each.

    h(X) = f(Y_1(X_1), Y_2(X_2), ...) + sum of beta_i/2 |R_i(X_i)|^2

The maps of a factor see its part alone, and f is evaluated once. So the threshold of a factor is
that of its own multiplier, and a free variable has neither map nor penalty.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, final

import attrs
import numpy as np

from genorth.geometry.product import Blockwise
from genorth.linalg.arrays import Array
from genorth.penalty.base import Local, NewBeta, Penalty, Point, check_beta, sent
from genorth.problem.problem import Problem
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor
from genorth.solve.result import Status

_Vector = np.ndarray[Any, Any]


@attrs.define(eq=False, kw_only=True)
class _Point(Point):
    """The points of the factors."""

    parts: list[Any]


class _Free:
    """The part of a free variable: Y = X, and no penalty."""

    def point(self, X: Array) -> Point:
        """X itself."""
        return Point(X=X, Y=X, C=X.reshape(-1)[:0], violation=0.0, penalty=0.0)

    def _assemble(self, point: Point) -> None:
        point.gradient = point.G

    def _derivative(self, point: Point, Z: Array) -> Generator[Array, Array, Array]:  # noqa: ARG002
        dG = yield Z
        return dG


@final
class Joined(Penalty[_Point]):
    """A penalty on a product; made by `ConstraintDissolving(problem, beta)` and the others there.

    Args:
        kind: The penalty of each factor.
        problem: f on a product, with its gradient.
        beta: Penalty parameter, one for all factors with a constraint or one each. Neighbouring
            factors that are the same manifold are one factor here.
        keep: Number of points whose results are kept; a trust region uses two.
    """

    product: Blockwise
    parts: list[Any]
    penalties: list[Any]
    _lead: Any

    def __init__(
        self, kind: type[Penalty[Any]], problem: Problem, beta: Any, keep: int = 1
    ) -> None:
        flat = problem.in_blocks
        self.name, self.prefix, self.along = kind.name, kind.prefix, kind.along  # type: ignore[misc]
        self.product = flat.manifold
        # the rule for beta at the start, on the product as a whole; the penalty of each factor
        self._lead = _bare(kind, flat, self.product)
        self._lead.estimate = self._estimates
        self.parts = [
            _bare(kind, flat, M) if hasattr(M, "phi") else _Free() for M in self.product.factors
        ]
        self.penalties = [part for part in self.parts if isinstance(part, Penalty)]
        super().__init__(problem, beta, keep)

    @property
    def beta(self) -> Any:
        """The penalty parameters, one for each factor with a constraint."""
        return np.array([part.beta for part in self.penalties])

    @beta.setter
    def beta(self, beta: Any) -> None:
        values = np.broadcast_to(beta, (len(self.penalties),))
        for part, value in zip(self.penalties, values, strict=True):
            part.beta = check_beta(value)
        self._lead.beta = values

    # ------------------------------------------------------------------ maps

    def residual(self, *arrays: Any) -> Array:  # type: ignore[override]
        """Not for the product as a whole: the parts have their own."""
        raise NotImplementedError

    corrected = residual  # type: ignore[assignment]

    def _dissolved(self, X: Array) -> _Point:
        points = self.product.each(lambda _, part, x: part.point(x), self.parts, X)
        return _Point(
            X=X,
            Y=self.product.points.join([point.Y for point in points]),
            C=self.product.matrices.join([point.C for point in points]),
            violation=sum(point.violation for point in points),
            penalty=sum(point.penalty for point in points),
            parts=points,
        )

    def weighted(self, point: _Point) -> Any:
        """The sum of beta_i |R_i|^2."""
        parts = zip(self.parts, point.parts, strict=True)
        return sum(part.weighted(own) for part, own in parts if isinstance(part, Penalty))

    def over_beta(self, V: Array) -> Array:
        """V_i/beta_i; a free variable has no normal directions."""
        split = zip(self.parts, self.product.points.split(V), strict=True)
        divided = [part.over_beta(v) if isinstance(part, Penalty) else v for part, v in split]
        return self.product.points.join(divided)

    def _assemble(self, point: _Point) -> None:
        gradients = self.product.points.split(point.G)
        for part, own, G in zip(self.parts, point.parts, gradients, strict=True):
            own.G = G
            part._assemble(own)
        point.gradient = self.product.points.join([own.gradient for own in point.parts])

    def _derivative(self, point: _Point, Z: Array) -> Generator[Array, Array, Array]:
        """One Hessian product of f for all factors."""
        each, join = self.product.each, self.product.points.join
        steps = each(lambda _, part, own, z: part._derivative(own, z), self.parts, point.parts, Z)
        dG = yield join([next(step) for step in steps])
        return join(each(lambda _, step, dg: sent(step, dg), steps, dG))

    # ------------------------------------------------------------------ thresholds and beta

    def threshold(  # type: ignore[override]
        self,
        manifold: Any,  # noqa: ARG002
        X: Array,
        Theta: Array,
        accuracy: float = 1e-8,
    ) -> _Vector:
        """Those of the factors."""
        split = zip(
            self.parts,
            self.product.points.split(X),
            self.product.matrices.split(Theta),
            strict=True,
        )
        return np.array(
            [
                part.threshold(part.manifold, x, theta, accuracy)
                for part, x, theta in split
                if isinstance(part, Penalty)
            ]
        )

    def estimate(self, here: Local) -> Any:
        """That of each factor."""
        return self._estimates(here)

    def _estimates(self, here: Local) -> Any:
        if not here.finite:
            return np.ones(len(self.penalties))
        locals_ = zip(self.parts, here.parts(self.product), strict=True)
        found = []
        for part, own in locals_:
            if isinstance(part, Penalty):
                part.scale = self._lead.scale
                found.append(part.estimate(own))
        return np.array(found)

    def watched(self, monitor: Monitor, auto: bool) -> None:
        """A run begins."""
        super().watched(monitor, auto)
        for part in (self._lead, *self.penalties):
            part.watched(monitor, auto)

    def first(self, x: Array, X: Array) -> tuple[Any, Array]:
        """The rule of the penalty on the whole product, with an estimate for each factor."""
        found = self._lead.first(x, X)
        self.scale, self.last = self._lead.scale, self._lead.last
        return found

    def begin(self, point: _Point) -> None:
        """A solver starts here."""
        self._near = point.X
        for part, own in self._each(point):
            part.begin(own)

    def admits(self, point: _Point) -> bool:
        """Whether all factors do."""
        return all(part.admits(own) for part, own in self._each(point))

    def watch(self, point: _Point, gradient_norm: float) -> None:
        """As each factor does; a new beta of one leaves the others as they are."""
        for i, (part, own) in enumerate(self._each(point)):
            try:
                part.watch(own, gradient_norm)
            except NewBeta as signal:
                beta = self.beta
                beta[i] = signal.beta
                here = signal.X is own.X
                raise NewBeta(beta, point.X if here else self._near) from None
        self._near = point.X

    def _each(self, point: _Point) -> Any:
        parts = zip(self.parts, point.parts, strict=True)
        return [(part, own) for part, own in parts if isinstance(part, Penalty)]

    def next(self, threshold: Any, status: Status, end: End) -> Any:
        """The rule of the penalty; where some are below their threshold, for these alone."""
        beta = self.beta
        raised = self._lead.next(threshold, status, end)
        short = beta < threshold
        return np.where(short, raised, beta) if short.any() else raised


def _bare(kind: type[Penalty[Any]], problem: Problem, manifold: Any) -> Any:
    """The penalty of a factor: its maps and rules, without a problem of its own."""
    part = object.__new__(kind)
    part.__init__(problem, 1.0)  # type: ignore[misc]
    part.manifold = manifold
    return part


Penalty.joined = Joined
