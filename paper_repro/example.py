"""A worked example: three problems with a known minimum, solved with `gradient` and `retract` alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse

import genorth as go

_Matrix = np.ndarray[Any, Any]
_CostAndGradient = Callable[[_Matrix], tuple[float, _Matrix]]


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
    """Where the descent ended on one example, and what it took."""

    example: Example
    iterations: int
    cost: float
    gradient_norm: float
    feasibility: float
    seconds: float

    @property
    def relative_error(self) -> float:
        """|f - minimum| / |minimum|."""
        return abs(self.cost - self.example.minimum) / abs(self.example.minimum)


def descend(
    manifold: go.GenOrthManifold, fun: _CostAndGradient, X: _Matrix, tol: float = 1e-7, max_iterations: int = 5000
) -> tuple[_Matrix, int]:
    """Gradient descent until |grad f| <= tol times its first value; the point and the number of iterations.

    Barzilai-Borwein steps, <S,S>/<S,Y> and <S,Y>/<Y,Y> in turn, S and Y the last changes of X and of grad f;
    a step is accepted by comparison with a running mean of the costs [Zhang and Hager 2004], else halved.
    """
    cost, egrad = fun(X)
    grad = manifold.gradient(X, egrad)
    size = first = float(manifold.norm(grad))
    step, mean, weight = 1e-2 / size, cost, 1.0
    for iteration in range(max_iterations):
        if size <= tol * first:
            return X, iteration
        new, cost, egrad = _line_search(manifold, fun, X, grad, step, mean)
        weight, mean = 0.85 * weight + 1, (0.85 * weight * mean + cost) / (0.85 * weight + 1)
        new_grad = manifold.gradient(new, egrad)
        S, Y = new - X, new_grad - grad
        SY = abs(float(manifold.inner(S, Y)))
        step = float(manifold.inner(S, S)) / SY if iteration % 2 else SY / float(manifold.inner(Y, Y))
        X, grad, size = new, new_grad, float(manifold.norm(new_grad))
    return X, max_iterations


def _line_search(
    manifold: go.GenOrthManifold, fun: _CostAndGradient, X: _Matrix, grad: _Matrix, step: float, mean: float
) -> tuple[_Matrix, float, _Matrix]:
    """The first of the steps t, t/2, t/4, ... with f <= mean - 1e-4 t |grad|^2, up to rounding in f.

    It ends, because f(X) <= mean holds for the X of every iteration.
    """
    slope, rounding = 1e-4 * float(manifold.inner(grad, grad)), 1e-14 * abs(mean)
    while True:
        try:
            new = manifold.retract(X, -step * grad)
            cost, egrad = fun(new)
            if cost <= mean - step * slope + rounding:
                return new, cost, egrad
        except go.OutsideDomainError:
            pass  # the retraction does not reach that far
        step /= 2


def _trace(A: Any) -> _CostAndGradient:
    """X -> tr(X^T A X) and its gradient 2 A X, for a symmetric A."""

    def fun(X: _Matrix) -> tuple[float, _Matrix]:
        AX = A @ X
        return float(np.vdot(X, AX)), 2 * AX

    return fun


def generalized_eigenvalues(n: int = 1000, p: int = 8) -> Example:
    """min tr(X^T A X) over X^T B X = I: the sum of the p smallest eigenvalues of A v = l B v.

    A is the stiffness of an elastic string on springs, B its mass in linear finite elements; both stay sparse.
    """
    springs = np.random.default_rng(1).uniform(0, 1, n)
    A = scipy.sparse.diags_array([-1.0, 2.0 + springs, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    B = scipy.sparse.diags_array([1 / 6, 2 / 3, 1 / 6], offsets=[-1, 0, 1], shape=(n, n))
    values = scipy.linalg.eigh(A.toarray(), B.toarray(), eigvals_only=True, subset_by_index=(0, p - 1))
    manifold, minimum = go.GeneralizedStiefel(B, p), float(values.sum())
    return Example(manifold, "X^T B X = I", "tr(X^T A X)", _trace(A), minimum, "eigh(A, B)")


def symplectic_eigenvalues(n: int = 600, p: int = 10) -> Example:
    """min tr(X^T A X) over X^T J X = J: twice the sum of the p/2 smallest symplectic eigenvalues of A (Williamson).

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
    """min |X - C|^2 / 2 over X^T * X = I: the sum of (s - 1)^2 / (2l) over the singular values s of the blocks of C.

    The blocks are those of the Fourier transform, so that |X|^2 of a tensor is 1/l of |X|^2 of its blocks (Parseval).
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
    """Descend from a random point of the manifold."""
    M = example.manifold
    start = time.perf_counter()
    X, iterations = descend(M, example.fun, M.random_point(rng))
    seconds = time.perf_counter() - start
    cost, egrad = example.fun(X)
    return Row(example, iterations, cost, float(M.norm(M.gradient(X, egrad))), float(M.feasibility(X)), seconds)
