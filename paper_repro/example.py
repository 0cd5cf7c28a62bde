"""A worked example: three problems with a known minimum, each solved by the penalty and on the manifold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse

import genorth as go
from baselines import SOLVERS

_Matrix = np.ndarray[Any, Any]
_CostAndGradient = Callable[[_Matrix], tuple[float, _Matrix]]

#: One solver of each family, and what the table calls it.
FAMILIES: Mapping[str, str] = MappingProxyType(
    {"cdf-lbfgs": "by the penalty", "rlbfgs-fast": "on the manifold"}
)
_TOLERANCE = 1e-7  # relative to |grad f| at the start


@attrs.frozen
class Example:
    """A problem on a manifold, and the minimum that linear algebra gives for it."""

    manifold: go.GenOrthManifold
    constraint: str
    objective: str
    fun: _CostAndGradient
    minimum: float
    known_from: str


@attrs.frozen
class Row:
    """How the solvers ended on one example, by name."""

    example: Example
    results: dict[str, go.Result]

    def relative_error(self, solver: str) -> float:
        """|f - minimum| / |minimum|."""
        return abs(self.results[solver].fun - self.example.minimum) / abs(self.example.minimum)


def _trace(A: Any) -> _CostAndGradient:
    """X -> tr(X^T A X) and its gradient 2 A X, for a symmetric A."""

    def fun(X: _Matrix) -> tuple[float, _Matrix]:
        AX = A @ X
        return float(np.vdot(X, AX)), 2 * AX

    return fun


def generalized_eigenvalues(n: int = 1000, p: int = 8) -> Example:
    """Min tr(X^T A X) over X^T B X = I: the sum of the p smallest eigenvalues of A v = l B v.

    A is the stiffness of an elastic string on springs, B its mass in linear finite elements; both
    stay sparse.
    """
    springs = np.random.default_rng(1).uniform(0, 1, n)
    A = scipy.sparse.diags_array([-1.0, 2.0 + springs, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    B = scipy.sparse.diags_array([1 / 6, 2 / 3, 1 / 6], offsets=[-1, 0, 1], shape=(n, n))
    values = scipy.linalg.eigh(
        A.toarray(), B.toarray(), eigvals_only=True, subset_by_index=(0, p - 1)
    )
    manifold, minimum = go.GeneralizedStiefel(B, p), float(values.sum())
    return Example(manifold, "X^T B X = I", "tr(X^T A X)", _trace(A), minimum, "eigh(A, B)")


def symplectic_eigenvalues(n: int = 600, p: int = 10) -> Example:
    """Min tr(X^T A X) over X^T J X = J.

    Twice the sum of the p/2 smallest symplectic eigenvalues of A (Williamson).

    They are the positive eigenvalues of i L^T J L, for A = L L^T.
    """
    G = np.random.default_rng(2).standard_normal((n, n))
    A = G @ G.T / n + np.eye(n)
    L = np.linalg.cholesky(A)
    J = np.kron([[0, 1], [-1, 0]], np.eye(n // 2))
    values = np.linalg.eigvalsh(1j * (L.T @ J @ L))[n // 2 :]
    manifold, minimum = go.SymplecticStiefel(n, p), 2 * float(values[: p // 2].sum())
    return Example(manifold, "X^T J X = J", "tr(X^T A X)", _trace(A), minimum, "Williamson form")


def nearest_tensor(n: int = 100, p: int = 10, l: int = 24) -> Example:  # noqa: E741  the paper's name
    """Min |X - C|^2 / 2 over X^T * X = I.

    The sum of (s - 1)^2 / (2l) over the singular values s of the blocks of C.

    The blocks are those of the Fourier transform, so that |X|^2 of a tensor is 1/l of |X|^2 of its
    blocks (Parseval).
    """
    manifold = go.TensorStiefel(n, p, l, transform="dft")
    C = manifold.from_tensor(np.random.default_rng(3).standard_normal((n, p, l)))
    values = np.linalg.svd(C, compute_uv=False)

    def fun(X: _Matrix) -> tuple[float, _Matrix]:
        D = X - C
        return float(np.vdot(D, D).real) / (2 * l), D / l

    minimum = float(((values - 1) ** 2).sum()) / (2 * l)
    return Example(manifold, "X^T * X = I", "|X - C|^2 / 2", fun, minimum, "SVD of the blocks")


EXAMPLES = (generalized_eigenvalues, symplectic_eigenvalues, nearest_tensor)


def solve(example: Example, rng: int = 0) -> Row:
    """Both families from the same random point of the manifold, to the same tolerance."""
    M = example.manifold
    problem = go.Problem(M, cost_and_gradient=example.fun)
    X = M.random_point(rng)
    tol = _TOLERANCE * float(M.norm(M.gradient(X, problem.euclidean_gradient(X))))
    return Row(example, {name: SOLVERS[name](problem, X, tol=tol) for name in FAMILIES})
