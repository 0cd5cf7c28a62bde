"""`pogo`: a tangent step of the landing field, then one step of A."""

from __future__ import annotations

from typing import Any, Unpack

from baselines.infeasible.landing import follow
from baselines.infeasible.run import Run, or_word, positive
from genorth.geometry.product import BlockPlace, FreePlace
from genorth.linalg.arrays import ct, eye_like
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result


@takes_metric
def pogo(
    problem: Problem,
    x0: Any = None,
    *,
    eta: float | str = "bb",
    tube: float = 0.1,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by POGO, with plain gradients [javaloy2026embarrassingly].

        Y = X - eta F(X),  X <- A(Y) = Y + (Y - Y phi(Y)^T Y)/2

    F is the tangent field of `landing`. C(Y) = C(X) + eta^2 F^T phi(F), and A squares it, so
    that the iterates stay next to M: |C| is of order eta^4.

    Args:
        problem: The problem.
        x0: Start, with |C(x0)| <= tube. Default: a random point of M.
        eta: The step size, or "bb", as in `landing`.
        tube: The largest |C| of Y; a step that would leave the tube ends at its wall. It is
            narrower than that of `landing`: A leaves 3/4 |C|^2, and the search takes X for a point
            of M.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, or eta or tube is not positive.
    """
    positive(tube=tube, eta=or_word(eta, "bb"))
    run = Run(problem, x0, "pogo", tube, **common)
    return run.solve(lambda run: follow(run, 0.0, eta, _dissolved))


def _dissolved(at: Any) -> Any:
    """A(Y) = Y W, with phi(Y W) = phi(Y) psi(W) and psi(W) = W^T, as C(Y) is in S1."""
    if isinstance(at, BlockPlace):
        return at.mapped(_dissolved)
    if isinstance(at, FreePlace):
        return at
    W = 1.5 * eye_like(at.S) - 0.5 * ct(at.S)
    X = at.X @ W
    if at.P is at.X:
        return at.manifold.anywhere(X)
    return at.manifold.anywhere(X, at.P @ ct(W), ct(W) @ at.S @ ct(W))
