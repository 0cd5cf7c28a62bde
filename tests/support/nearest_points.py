"""The rows of docs/infeasible.md: nearest points, at rising condition numbers and sizes of f."""

from functools import cache

import numpy as np

import genorth as go
from baselines import SOLVERS
from genorth.testing import conditioned_symmetric

METHODS = [n for n, s in SOLVERS.items() if s.family == "infeasible" and not s.nonsmooth]
#: The columns of the table.
COLUMNS = [*METHODS, "rlbfgs", "cdf-lbfgs", "odf-lbfgs"]
#: What the table says of a run that is over before it is done.
NOT_DONE = "not done"


@cache
def rows() -> dict[str, go.Problem]:
    """The problems by the name of their row."""
    found = {}
    for condition in (1.0, 30.0, 1000.0):
        A = conditioned_symmetric(40, condition, 1, negative=15)
        found[f"hyperbolic, condition {condition:g}"] = nearest(go.HyperbolicStiefel(A, 6))
    for condition in (1.0, 30.0, 1000.0):
        B = conditioned_symmetric(40, condition, 2)
        found[f"generalized, condition {condition:g}"] = nearest(go.GeneralizedStiefel(B, 6))
    found["symplectic"] = nearest(go.SymplecticStiefel(40, 6))
    found["Stiefel, cost times 1e4"] = nearest(go.Stiefel(40, 6), 1e4)
    found["Stiefel, cost times 1e-4"] = nearest(go.Stiefel(40, 6), 1e-4)
    return found


def nearest(manifold: go.GenOrthManifold, factor: float = 1.0) -> go.Problem:
    """Half the squared distance to a Gaussian point, times a factor."""
    T = manifold.random_ambient(3)
    return go.Problem(
        manifold,
        lambda X: factor / 2 * float(np.vdot(X - T, X - T).real),
        lambda X: factor * (X - T),
        lambda X, Z: factor * Z,
    )


def outcome(row: str, name: str, budget: int = 3000) -> int | str:
    """Evaluations until the gradient is that of the start times 1e-6, or `NOT_DONE`."""
    problem = rows()[row].fresh()
    start = problem.manifold.random_point(4)
    first = np.linalg.norm(problem.manifold.gradient(start, problem.euclidean_gradient(start)))
    result = SOLVERS[name](
        problem, start, tol=1e-6 * float(first), max_iterations=budget, max_time=60.0
    )
    return result.evaluations if result.success else NOT_DONE
