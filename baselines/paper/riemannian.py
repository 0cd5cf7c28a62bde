"""`rgd_paper` and `rcg_paper`: our loops in the geometry as the paper ran it."""

from __future__ import annotations

from typing import Any, Unpack

from baselines.paper.geometry import PaperPlace, PaperRay, dense_phi, unsupported
from genorth.errors import require
from genorth.geometry.retractions import Ray
from genorth.linalg.arrays import Array
from genorth.problem.problem import Problem
from genorth.riemannian.run import OnManifold
from genorth.solve.cg import cg
from genorth.solve.descent import Settings, gd
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.wolfe import Conditions


class _PaperRun(OnManifold):
    """A run on M with a Lyapunov solver for Theta and the retractions of the literature."""

    def __init__(self, problem: Problem, x0: Any, method: str, **common: Unpack[Common]) -> None:
        reason = unsupported(problem.manifold) if isinstance(problem, Problem) else None
        require(reason is None, "problem", f"a manifold on which {method} can run", reason)
        super().__init__(problem, x0, method, on_device=False, **common)
        self._phi = dense_phi(self.manifold)

    def place(self, X: Array) -> PaperPlace:
        """The place of X."""
        return PaperPlace(self.manifold, X, self._phi)

    def ray(self, place: Any, Z: Array) -> PaperRay:
        """The retraction of the literature."""
        return PaperRay(place, Z)

    def arrive(self, ray: Ray, X: Array) -> Any:
        """The place of X, which the ray needs to project onto."""
        assert isinstance(ray, PaperRay)
        ray.end = super().arrive(ray, X)
        return ray.end


@takes_metric
def rgd_paper(
    problem: Problem,
    x0: Any = None,
    *,
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by gradient descent as the paper ran it; see `genorth.riemannian.rgd`.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        settings: The constants of the line search.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the paper's geometry cannot run on the manifold, or an argument is wrong.
    """
    return _PaperRun(problem, x0, "rgd-paper", **common).solve(gd, settings)


@takes_metric
def rcg_paper(
    problem: Problem,
    x0: Any = None,
    *,
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by conjugate gradients as the paper ran it; see `genorth.riemannian.rcg`.

    Directions are carried by projection.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        conditions: The constants of the line search.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the paper's geometry cannot run on the manifold, or an argument is wrong.
    """
    return _PaperRun(problem, x0, "rcg-paper", **common).solve(cg, conditions)
