"""Problems for the tests: a smooth cost on any manifold, and costs whose minimum is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

import genorth as go

Matrix = np.ndarray[Any, Any]


def smooth(manifold: go.GenOrthManifold, seed: int) -> go.Problem:
    """f(X) = Re<B, X> + 1/2 sum w |X|^2 + 1/4 sum c |X|^4.

    Not quadratic, not symmetric, real or complex.
    """
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
    manifold: go.GenOrthManifold, A: Matrix, name: str = "trace", fused: bool = True
) -> go.Problem:
    """f(X) = Re tr(X^T A X)."""

    def both(X: Matrix) -> tuple[float, Matrix]:
        AX = A @ X
        return float(np.vdot(X, AX).real), 2 * AX

    def hessian(X: Matrix, Z: Matrix) -> Matrix:
        return 2 * (A @ Z)

    if fused:
        return go.Problem(manifold, None, None, hessian, both, name=name)
    return go.Problem(manifold, lambda X: both(X)[0], lambda X: both(X)[1], hessian, name=name)


def spd(n: int, condition: float, rng: Any) -> Matrix:
    """A symmetric positive definite matrix with eigenvalues from 1 down to 1/condition."""
    U = np.linalg.qr(np.random.default_rng(rng).standard_normal((n, n)))[0]
    return np.asarray((U * np.logspace(0, -np.log10(condition), n)) @ U.T)


def symplectic_eigenvalues(A: Matrix) -> Matrix:
    """The d_i > 0 of Williamson's form of A > 0, ascending.

    Sizes of the imaginary spectrum of J A.
    """
    half = A.shape[0] // 2
    J = np.block([[np.zeros((half, half)), np.eye(half)], [-np.eye(half), np.zeros((half, half))]])
    return np.sort(np.abs(scipy.linalg.eigvals(J @ A).imag))[::2]


def known_minima() -> dict[str, tuple[go.Problem, float]]:
    """Problems with the value of their global minimum; none has another local minimum."""
    rng = np.random.default_rng(5)
    S = rng.standard_normal((12, 12))
    S = S + S.T
    H = rng.standard_normal((10, 10)) + 1j * rng.standard_normal((10, 10))
    H = H + H.conj().T
    A, B = spd(12, 20, 1), spd(12, 10, 2)
    C = rng.standard_normal((9, 3))
    blocks = np.stack([spd(7, 10, k) for k in range(4)])
    signs = np.r_[np.ones(7), -np.ones(5)]
    pencil = scipy.linalg.eigvals(A, np.diag(signs))
    positive = np.sort(pencil.real[pencil.real > 0])
    negative = np.sort(-pencil.real[pencil.real < 0])
    procrustes = go.Problem(
        go.Stiefel(9, 3),
        lambda X: float(np.sum((X - C) ** 2)),
        lambda X: 2 * (X - C),
        lambda X, Z: 2 * Z,
    )
    best = float(3 + np.sum(C**2) - 2 * np.linalg.svd(C, compute_uv=False).sum())
    real_tensors = go.TensorStiefel(6, 2, 4, "dft")
    circulant = real_tensors.from_tensor(
        np.concatenate([spd(6, 5, 8)[:, :, None], np.zeros((6, 6, 3))], axis=2)
    )
    ordinary = go.from_maps((12, 3), lambda X: B @ X, lambda T: T, name="own")
    return {
        "smallest eigenvalues": (
            trace(go.Stiefel(12, 3), S),
            float(np.linalg.eigvalsh(S)[:3].sum()),
        ),
        "square Stiefel": (trace(go.Stiefel(4, 4), S[:4, :4]), float(np.trace(S[:4, :4]))),
        "complex eigenvalues": (
            trace(go.Stiefel(10, 2, complex), H),
            float(np.linalg.eigvalsh(H)[:2].sum()),
        ),
        "generalized eigenvalues": (
            trace(go.GeneralizedStiefel(B, 3), S),
            float(scipy.linalg.eigvalsh(S, B)[:3].sum()),
        ),
        "from_maps": (trace(ordinary, A), float(scipy.linalg.eigvalsh(A, B)[:3].sum())),
        "procrustes": (procrustes, best),
        "symplectic eigenvalues": (
            trace(go.SymplecticStiefel(12, 4), A),
            float(2 * symplectic_eigenvalues(A)[:2].sum()),
        ),
        "hyperbolic": (trace(go.HyperbolicStiefel(signs, 3), A), float(positive[:3].sum())),
        "indefinite": (
            trace(go.IndefiniteStiefel(signs, np.array([1.0, 1.0, -1.0])), A),
            float(positive[:2].sum() + negative[0]),
        ),
        "bilinear": (
            trace(go.BilinearStiefel(signs, np.array([2.0, 0.5, -1.0])), A),
            float(2.0 * positive[0] + 0.5 * positive[1] + negative[0]),
        ),
        "tensor, cosine": (
            trace(go.TensorStiefel(7, 2, 4), blocks),
            float(np.linalg.eigvalsh(blocks)[:, :2].sum()),
        ),
        "tensor, Fourier": (
            trace(real_tensors, circulant),
            float(np.linalg.eigvalsh(circulant)[:, :2].sum()),
        ),
    }


def stationary(manifold: go.GenOrthManifold, X: Matrix, seed: int) -> tuple[go.Problem, Matrix]:
    """A smooth problem that is stationary at X on M, and its multiplier Theta there.

    Grad f(X) = phi(X) Theta.
    """
    base = smooth(manifold, seed)
    T = X.mT.conj() @ manifold.random_ambient(np.random.default_rng([4, seed]))
    Theta = np.asarray(manifold.symmetrize(T)) / float(1 + np.linalg.norm(T))
    shift = np.asarray(manifold.phi(X)) @ Theta - base.euclidean_gradient(X)

    def both(Y: Matrix) -> tuple[float, Matrix]:
        f, G = base.cost_and_gradient(Y)
        return f + float(np.vdot(shift, Y).real), G + shift

    return go.Problem(manifold, None, None, base.euclidean_hessian, both, name="stationary"), Theta
