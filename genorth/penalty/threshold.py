"""`exactness_threshold`: the smallest beta for which a penalty function is exact at X."""

from __future__ import annotations

from typing import Any

import numpy as np

from genorth.errors import refuse, require_known
from genorth.geometry.product import Blockwise
from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array
from genorth.penalty.registry import PENALTIES
from genorth.problem.problem import Problem


def exactness_threshold(problem: Problem, X: Array, dissolving: str = "oblique") -> Any:
    """The exactness threshold at X.

        oblique: beta*(X) = 3/4 max(0, max over S in S1, |S| = 1, of Re tr(S^2 Theta))
        orthogonal: beta_n*(X) = max(0, -min over normal V, |V| = 1, of <V, phi(V) Theta>)

    At a stationary X on M, the Hessian of the penalty function is positive semidefinite exactly if
    hess f(X) is so on T_X M and beta is at least the threshold. It costs one gradient where X is
    not the last point of the problem.

    Args:
        problem: The problem, with a gradient.
        X: A point on M or near it; it is restored first.
        dissolving: "oblique" for `ConstraintDissolving`, "orthogonal" for `OrthogonalDissolving`.

    Returns:
        The smallest exact beta; zero where every beta > 0 is exact. On a product a tuple, one for
        each factor with a constraint.

    Raises:
        ValueError: If `dissolving` is unknown.
        NotRestorableError: If X is too far from M.
    """
    require_known("dissolving", dissolving, PENALTIES)
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem", f"a {type(problem).__name__}")
    problem.manifold._check(X=X)
    manifold, X = in_blocks(problem.manifold, X)
    X = np.asarray(manifold.restore(np.asarray(X)))
    Theta = np.asarray(manifold.theta(X, problem.in_blocks.euclidean_gradient(X)))
    penalty = PENALTIES[dissolving]
    if isinstance(manifold, Blockwise):
        joined: Any = penalty(problem, 1.0)
        return tuple(map(float, joined.threshold(manifold, X, Theta)))
    return penalty.threshold(manifold, X, Theta)
