"""`python -m paper_repro example`: problems with a known minimum, solved by both families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse

import genorth as go
from baselines import SOLVERS
from genorth.compare import pinned
from genorth.compare.render import aligned

_Matrix = np.ndarray[Any, Any]
_CostAndGradient = Callable[[_Matrix], tuple[float, _Matrix]]

#: One solver of each family, and what the table calls it.
FAMILIES: Mapping[str, str] = MappingProxyType(
    {"cdf-lbfgs": "by the penalty", "rlbfgs-fast": "on the manifold"}
)
_TOLERANCE = 1e-7  # relative to |grad f| at the start
#: With it f is known to about the square of the tolerance.
ACCURACY = 1e-9


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

    Args:
        n: Rows of a point.
        p: Columns of a point.

    Returns:
        The problem with its minimum.
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
    """Min tr(X^T A X) over X^T J X = J: twice the sum of p/2 symplectic eigenvalues of A.

    The smallest ones (Williamson): they are the positive eigenvalues of i L^T J L, for A = L L^T.

    Args:
        n: Rows of a point.
        p: Columns of a point.

    Returns:
        The problem with its minimum.
    """
    G = np.random.default_rng(2).standard_normal((n, n))
    A = G @ G.T / n + np.eye(n)
    L = np.linalg.cholesky(A)
    J = np.kron([[0, 1], [-1, 0]], np.eye(n // 2))
    values = np.linalg.eigvalsh(1j * (L.T @ J @ L))[n // 2 :]
    manifold, minimum = go.SymplecticStiefel(n, p), 2 * float(values[: p // 2].sum())
    return Example(manifold, "X^T J X = J", "tr(X^T A X)", _trace(A), minimum, "Williamson form")


def nearest_tensor(n: int = 100, p: int = 10, l: int = 24) -> Example:  # noqa: E741  as the paper
    """Min |X - C|^2 / 2 over X^T * X = I: the sum of (s - 1)^2 / (2l) over singular values s.

    They are those of the blocks of C in the Fourier transform, by which |X|^2 of a tensor is 1/l of
    |X|^2 of its blocks (Parseval).

    Args:
        n: Rows of a point.
        p: Columns of a point.
        l: Blocks of a point.

    Returns:
        The problem with its minimum.
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
    """Both families from the same random point of the manifold, to the same tolerance.

    Args:
        example: The problem.
        rng: The seed of the start.

    Returns:
        The results.
    """
    M = example.manifold
    problem = go.Problem(M, cost_and_gradient=example.fun)
    X = M.random_point(rng)
    tol = _TOLERANCE * float(M.norm(M.gradient(X, problem.euclidean_gradient(X))))
    return Row(example, {name: SOLVERS[name](problem, X, tol=tol) for name in FAMILIES})


# ---------------------------------------------------------------------- the table


def _table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The header and the lines of the table: what is listed, and one cell per row."""
    lines = [
        ("", *(type(row.example.manifold).__name__ for row in rows)),
        ("constraint", *(row.example.constraint for row in rows)),
        ("minimise", *(row.example.objective for row in rows)),
        ("shape of X", *(" x ".join(map(str, row.example.manifold.shape)) for row in rows)),
        ("dim M", *(str(row.example.manifold.dim) for row in rows)),
        ("Theta_X by", *(row.example.manifold.theta_solver.name for row in rows)),
        ("f known", *(f"{row.example.minimum:.10f}" for row in rows)),
        ("  from", *(row.example.known_from for row in rows)),
    ]
    for name, family in FAMILIES.items():
        results = [row.results[name] for row in rows]
        lines += [
            (family, *[name] * len(rows)),
            ("  f found", *(f"{result.fun:.10f}" for result in results)),
            ("  relative error", *(f"{row.relative_error(name):.1e}" for row in rows)),
            ("  |grad f|", *(f"{result.gradient_norm:.1e}" for result in results)),
            ("  |C(X)|", *(f"{result.feasibility:.1e}" for result in results)),
            ("  evaluations", *(str(result.evaluations) for result in results)),
            ("  seconds", *(f"{result.time:.2f}" for result in results)),
        ]
    return lines


def _one_thread() -> AbstractContextManager[object]:
    """One BLAS thread, where the extra `report` is installed.

    NumPy and SciPy bring a BLAS each, and the threads of the one that waits spin.
    """
    try:
        return pinned(1)
    except ImportError:
        return nullcontext()


def show(seed: int = 0) -> int:
    """Solve and print the examples.

    Args:
        seed: Of the starts.

    Returns:
        0 where all known minima were reached, else 1.
    """
    print("Three problems with a known minimum, both families from the same random point:")
    with _one_thread():
        rows = [solve(make(), seed) for make in EXAMPLES]
    lines = _table(rows)
    print("\n".join(aligned(lines, [False] * len(lines[0]))))
    missed = [
        f"{name} on {type(row.example.manifold).__name__}"
        for row in rows
        for name in FAMILIES
        if not row.relative_error(name) <= ACCURACY
    ]
    end = f"Both reached the three known minima to {ACCURACY:.0e}."
    print(f"Not within {ACCURACY:.0e} of the minimum: {', '.join(missed)}." if missed else end)
    return int(bool(missed))
