"""`plam`: a gradient step on the augmented Lagrangian, its multiplier in closed form."""

from __future__ import annotations

from typing import Any, Unpack

import attrs
import numpy as np

from baselines.infeasible.run import (
    TUBE,
    Point,
    Run,
    Steps,
    march,
    or_word,
    positive,
)
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Place
from genorth.geometry.product import BlockPlace, FreePlace
from genorth.linalg.arrays import Array, ct, norm, plus
from genorth.penalty.cdf import ConstraintDissolving
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep, Settings
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

_ROUNDS = 12  # with a larger beta each
_GROWTH = 4.0  # of beta, from round to round
_HALVINGS = 20  # of a step; one that has to be shorter leads nowhere, and beta is too small


@attrs.frozen(eq=False)
class _Iterate:
    point: Point
    value: float
    gradient: Array
    decrease: float = 0.0

    @property
    def X(self) -> Array:
        return self.point.X


@takes_metric
def plam(
    problem: Problem,
    x0: Any = None,
    *,
    beta: float | str = "auto",
    eta: float | str = "bb",
    tube: float = TUBE,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by the proximal linearised augmented Lagrangian [gao2019parallelizable].

        X <- X - (G - phi(X) Theta + beta/2 phi(X) Phi(C))/eta,  Theta = Phi(G^T X)/2

    Theta is the multiplier at every stationary point: G = phi(X) Theta on M gives X^T G = Theta. On
    the Stiefel manifold the step is G - X sym(X^T G) + beta X C. As in the authors' code, 1/eta is
    Barzilai and Borwein's step, long and short in turn, and no line search looks at f.

    Args:
        problem: The problem.
        x0: Start, with |C(x0)| <= tube. Default: a random point of M.
        beta: Penalty parameter, or "auto": twice the first estimate of the penalty methods,
            raised where no step stays in the tube. The authors leave it to the user.
        eta: The proximal parameter, or "bb".
        tube: The largest |C| of an iterate; a step that leaves the tube is halved.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, or beta, eta or tube is not positive.
    """
    positive(tube=tube, beta=or_word(beta, "auto"), eta=or_word(eta, "bb"))
    run = Run(problem, x0, "plam", tube, **common)
    return run.solve(lambda run: _solve(run, beta, eta))


def direction(at: Any, G: Array, beta: float) -> Array:
    """G - phi(X) Phi(G^T X)/2 + beta/2 phi(X) Phi(C); zero at stationary points of M."""
    if isinstance(at, BlockPlace):
        return at.joined(lambda place, g: direction(place, g, beta), G)
    if isinstance(at, FreePlace):
        return G
    return plus(at.normal((beta * at.constraint - ct(G) @ at.X) / 2), G)


def moved(manifold: GenOrthManifold, at: Place, D: Array, t: float, tube: float) -> Place:
    """X - t D, t halved until it is in the tube.

    C(X - t D) = C - t L + t^2 E, L = DC(X)[D] = Phi(phi(X)^T D), and E is known from the first
    point outside: a shorter step costs no further phi. Raises `NoStep` where none of them is
    inside.
    """
    end = manifold.anywhere(plus(D * -t, at.X))
    if end.feasibility <= tube:
        return end
    L = at.differential(D)
    E = (end.S - at.S + t * L) / t**2
    for _ in range(_HALVINGS):
        t /= 2
        if float(norm(at.constraint - t * L + t * t * E)) <= tube:
            return manifold.anywhere(plus(D * -t, at.X))
    raise NoStep


def _solve(run: Run, beta: float | str, eta: float | str) -> None:
    """March with one beta; where no step stays in the tube, "auto" raises beta and goes on."""
    point = run.start()
    if not isinstance(beta, str):
        _march(run, point, float(beta), eta)
        return
    penalty = ConstraintDissolving(run.problem, 1.0)
    penalty.watched(run.monitor, auto=True)
    weight = 2 * float(np.max(penalty.first(point.X, point.X)[0]))
    for _ in range(_ROUNDS):
        point = _march(run, point, weight, eta)
        weight *= _GROWTH


def _march(run: Run, point: Point, beta: float, eta: float | str) -> Point:
    """Steps with one beta, to the last point in the tube."""

    def iterate(point: Point) -> _Iterate:
        return _Iterate(point, point.f, direction(point.at, point.G, beta))

    def step(at: _Iterate, t: float) -> _Iterate:
        end = moved(run.manifold, at.point.at, at.gradient, t, run.tube)
        return iterate(run.evaluate(end.X, end))

    last, first = point, iterate(point)

    def accept(at: _Iterate) -> None:
        nonlocal last
        last = at.point
        run.accept(last)

    steps: Steps[_Iterate] = (
        Settings(
            first_step=max(0.1, min(0.01 * float(norm(first.gradient)), 1.0)),
            trials=1,
            blind=True,  # accepted without a look at f
            shortest=1e-10,
            longest=1e10,
        )
        if isinstance(eta, str)
        else lambda at: 1 / float(eta)  # noqa: ARG005
    )
    march(first, step, accept, steps)
    return last
