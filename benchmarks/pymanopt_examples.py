"""The default of `go.minimize` beside pymanopt's own manifolds and optimizers, on its examples.

Each row: the same cost, start and tolerance on the gradient norm (1e-6), processor time; pymanopt's
best of SteepestDescent, ConjugateGradient and TrustRegions against `go.minimize(problem)`. Both
sides have the same NumPy functions. Grassmann problems run on the Stiefel manifold here.

Run as `python benchmarks/pymanopt_examples.py`.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pymanopt
from _timing import Figure, main
from pymanopt.manifolds import (
    ComplexCircle,
    ComplexGrassmann,
    Grassmann,
    Oblique,
    SpecialOrthogonalGroup,
    Sphere,
    Stiefel,
)
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions

import genorth as go

Array = np.ndarray[Any, Any]
Shape = Callable[[Array], Array]
TOLERANCE, REPEATS = 1e-6, 10
_RNG = np.random.default_rng(0)


class Row:
    """One example: pymanopt's manifold, ours, the way between their points, f with derivatives."""

    def __init__(
        self, theirs: Any, ours: Any, functions: Any, to: Shape = np.array, back: Shape = np.array
    ) -> None:
        self.theirs, self.ours, self.to, self.back = theirs, ours, to, back
        self.cost, self.gradient, self.hessian = functions

    def pymanopt(self, optimizer: Any, start: Array) -> float:
        """Seconds of one of pymanopt's optimizers; infinite if it does not reach the tolerance."""
        function = pymanopt.function.numpy(self.theirs)
        problem = pymanopt.Problem(
            self.theirs,
            function(self.cost),
            euclidean_gradient=function(self.gradient),
            euclidean_hessian=function(self.hessian),
        )
        solver = optimizer(
            max_iterations=5000, min_gradient_norm=TOLERANCE, verbosity=0, max_time=20
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            end = solver.run(problem, initial_point=start.copy()).point
            seconds = time.process_time() - begin
        gradient = problem.riemannian_gradient(end)
        reached = self.theirs.norm(end, gradient) <= 2 * TOLERANCE
        return seconds if reached else math.inf

    def genorth(self, start: Array) -> float:
        """Seconds of the default."""
        to, back = self.to, self.back
        problem = go.Problem(
            self.ours,
            lambda X: self.cost(back(X)),
            lambda X: to(self.gradient(back(X))),
            lambda X, Z: to(self.hessian(back(X), back(Z))),
        )
        begin = time.process_time()
        result = go.minimize(problem, to(start), tol=TOLERANCE, certify=False)
        return time.process_time() - begin if result.success else math.inf


def _linear_in(A: Array) -> tuple[Any, Any, Any]:
    """f = -tr(X^H A X)."""
    return (
        lambda X: -float(np.real(np.vdot(X, A @ X))),
        lambda X: -2 * A @ X,
        lambda X, Z: -2 * A @ Z,
    )


def _nearest(B: Array) -> tuple[Any, Any, Any]:
    """f = |X - B|^2/2."""
    return lambda X: float(np.sum(np.abs(X - B) ** 2)) / 2, lambda X: X - B, lambda X, Z: Z


def _packing(epsilon: float = 0.05) -> tuple[Any, Any, Any]:
    """The soft maximum of the products of different unit columns."""

    def parts(X: Array) -> tuple[Array, float]:
        E = np.exp((X.T @ X - 1) / epsilon)
        np.fill_diagonal(E, 0)
        return E, float(E.sum())

    def hessian(X: Array, Z: Array) -> Array:
        E, s = parts(X)
        D = X.T @ Z + Z.T @ X
        dE = E * D / epsilon
        return 2 * (Z @ E + X @ dE) / s - 2 * (X @ E) * (dE.sum() / s**2)

    return (
        lambda X: epsilon * math.log(parts(X)[1]),
        lambda X: 2 * X @ parts(X)[0] / parts(X)[1],
        hessian,
    )


def _columns(n: int, k: int, dtype: Any = float) -> tuple[Any, Shape, Shape]:
    """k unit columns as a batch of k spheres."""
    ours = go.Power(go.Stiefel(n, 1, dtype), (k,))
    return ours, lambda X: np.ascontiguousarray(X.T)[:, :, None], lambda Y: Y[:, :, 0].T


def _symmetric(n: int, dtype: Any = float) -> Array:
    A = _RNG.standard_normal((n, n)).astype(dtype)
    if dtype is complex:
        A = A + 1j * _RNG.standard_normal((n, n))
    return np.asarray(A + A.conj().T)


def rows() -> dict[str, Row]:
    """The examples at the sizes of pymanopt's."""
    oblique, to, back = _columns(8, 5)
    packing, to2, back2 = _columns(3, 24)
    circle = go.Power(go.Stiefel(1, 1, complex), (50,))
    blocks = go.Power(go.Stiefel(3, 3), (10,))
    samples = _RNG.standard_normal((200, 3)) @ np.diag([3.0, 2.0, 1.0])
    H = _symmetric(50, complex)
    return {
        "nearest unit columns (8,5)": Row(
            Oblique(8, 5), oblique, _nearest(_RNG.standard_normal((8, 5))), to, back
        ),
        "dominant eigenvector (128)": Row(
            Sphere(128),
            go.Stiefel(128, 1),
            _linear_in(_symmetric(128)),
            lambda x: x.reshape(-1, 1),
            lambda X: X.reshape(-1),
        ),
        "dominant subspace (128,3)": Row(
            Grassmann(128, 3), go.Stiefel(128, 3), _linear_in(_symmetric(128))
        ),
        "dominant subspace, complex (50,5)": Row(
            ComplexGrassmann(50, 5), go.Stiefel(50, 5, complex), _linear_in(H)
        ),
        "rotations SO(3)^10": Row(
            SpecialOrthogonalGroup(3, k=10), blocks, _nearest(_RNG.standard_normal((10, 3, 3)))
        ),
        "packing (3,24)": Row(Oblique(3, 24), packing, _packing(), to2, back2),
        "principal components (200,3 to 2)": Row(
            Stiefel(3, 2), go.Stiefel(3, 2), _linear_in(samples.T @ samples)
        ),
        "complex circle (50)": Row(
            ComplexCircle(50),
            circle,
            _linear_in(H),
            lambda z: z.reshape(-1, 1, 1),
            lambda Y: Y.reshape(-1),
        ),
    }


def examples() -> list[Figure]:
    """The default over pymanopt's best, row by row."""
    figures, ratios = [], []
    for name, row in rows().items():
        np.random.seed(0)  # noqa: NPY002  pymanopt draws from the global state
        start = row.theirs.random_point()
        if name.startswith("rotations"):
            start = np.stack([np.linalg.qr(R)[0] for R in start])
            start *= np.sign(np.linalg.det(start))[:, None, None]
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(row.genorth(start))
            theirs.append(
                min(
                    row.pymanopt(optimizer, start)
                    for optimizer in (SteepestDescent, ConjugateGradient, TrustRegions)
                )
            )
        ratios.append(min(ours) / min(theirs))
        figures.append(Figure(f"{name}: time over pymanopt's best", ratios[-1], 2.0))
    median = statistics.median(ratios)
    return [Figure("the default over pymanopt's best, median", median, 1.0), *figures]


#: Each gives its figures.
FIGURES = {"examples": examples}

if __name__ == "__main__":
    sys.exit(main("pymanopt_examples", FIGURES))
