"""Problems for the tests, on any manifold: traces, linear and smooth costs."""

from typing import Any

import numpy as np

import genorth as go
from support.norms import Matrix


def smooth(manifold: go.GenOrthManifold, seed: int) -> go.Problem:
    """f(X) = Re<B, X> + 1/2 sum w |X|^2 + 1/4 sum c |X|^4, real or complex."""
    rng = np.random.default_rng([3, seed])
    B = manifold.random_ambient(rng)
    w, c = rng.standard_normal(manifold.shape), rng.standard_normal(manifold.shape)

    def cost(X: Matrix) -> float:
        square = np.abs(X) ** 2
        return float(np.vdot(B, X).real + np.sum(w * square) / 2 + np.sum(c * square**2) / 4)

    def gradient(X: Matrix) -> Matrix:
        return B + (w + c * np.abs(X) ** 2) * X

    def hessian(X: Matrix, Z: Matrix) -> Matrix:
        return (w + c * np.abs(X) ** 2) * Z + 2 * c * np.real(np.conj(X) * Z) * X

    return go.Problem(manifold, cost, gradient, hessian, name="smooth")


def trace(
    manifold: go.GenOrthManifold,
    A: Matrix,
    weights: Any = 1.0,
    name: str = "trace",
    fused: bool = True,
) -> go.Problem:
    """f(X) = Re tr(X^T A X N), N diagonal; `fused`: cost and gradient as one function only."""

    def both(X: Matrix) -> tuple[float, Matrix]:
        AXN = (A @ X) * weights
        return float(np.vdot(X, AXN).real), 2 * AXN

    def hessian(X: Matrix, Z: Matrix) -> Matrix:
        return 2 * (A @ Z) * weights

    if fused:
        return go.Problem(manifold, None, None, hessian, both, name=name)
    return go.Problem(manifold, lambda X: both(X)[0], lambda X: both(X)[1], hessian, name=name)


def linear(manifold: go.GenOrthManifold, B: Matrix) -> go.Problem:
    """f(X) = <B, X>."""
    return go.Problem(
        manifold,
        lambda X: float(np.vdot(B, X).real),
        lambda X: B,
        lambda X, Z: np.zeros_like(Z),
        name="linear",
    )


def nearest(manifold: go.GenOrthManifold, C: Matrix) -> go.Problem:
    """f(X) = |X - C|^2."""
    return go.Problem(
        manifold,
        lambda X: float(np.sum(np.abs(X - C) ** 2)),
        lambda X: 2 * (X - C),
        lambda X, Z: 2 * Z,
        name="nearest",
    )


def spd(n: int, condition: float, rng: Any) -> Matrix:
    """A symmetric positive definite matrix with eigenvalues from 1 down to 1/condition."""
    U = np.linalg.qr(np.random.default_rng(rng).standard_normal((n, n)))[0]
    return np.asarray((U * np.logspace(0, -np.log10(condition), n)) @ U.T)


def stationary(manifold: go.GenOrthManifold, X: Matrix, seed: int) -> tuple[go.Problem, Matrix]:
    """A smooth problem with grad f(X) = phi(X) Theta at X on M, and Theta."""
    base = smooth(manifold, seed)
    T = X.mT.conj() @ manifold.random_ambient(np.random.default_rng([4, seed]))
    Theta = np.asarray(manifold.symmetrize(T)) / float(1 + np.linalg.norm(T))
    shift = np.asarray(manifold.phi(X)) @ Theta - base.euclidean_gradient(X)

    def both(Y: Matrix) -> tuple[float, Matrix]:
        f, G = base.cost_and_gradient(Y)
        return f + float(np.vdot(shift, Y).real), G + shift

    return go.Problem(manifold, None, None, base.euclidean_hessian, both, name="stationary"), Theta


def spoiled(
    problem: go.Problem, after: int, cost: float = 0.0, gradient: float = 0.0, sign: int = 1
) -> go.Problem:
    """The problem with f + cost and sign G + gradient from evaluation `after` + 1 on."""

    def both(X: Matrix) -> tuple[float, Matrix]:
        f, G = problem.evaluate(X)
        return (f + cost, sign * G + gradient) if problem.counts.nfev > after else (f, G)

    return go.Problem(problem.manifold, None, None, problem.euclidean_hessian, both)
