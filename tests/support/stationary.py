"""Problems with a stationary point whose Hessian on T_x M has given eigenvalues."""

from typing import Any

import numpy as np

import genorth as go
from genorth.geometry.bases import realvec


def tangent_basis(M: go.GenOrthManifold, X: Any, rng: np.random.Generator) -> list[Any]:
    """An orthonormal basis of T_X M."""
    vectors = [M.random_tangent(X, rng) for _ in range(M.dim)]
    R = np.linalg.qr(np.stack([realvec(V) for V in vectors], axis=1))[1]
    return list(np.tensordot(np.linalg.inv(R).T, np.stack(vectors), 1))


def stationary(
    M: go.GenOrthManifold, eigenvalues: Any, seed: int, *, hessian: str = "auto"
) -> tuple[go.Problem, Any]:
    """A problem and its stationary point x, where hess f on T_x M has these eigenvalues.

    f(X) = <phi(x) S, X> + <X - x, B (X - x)>/2 with S in S1, so that the multiplier counts too.
    """
    rng = np.random.default_rng((seed, 28))
    x = M.random_point(rng)
    S = M.symmetrize(M._random_small(seed))
    S = S * (0.3 * np.max(np.abs(eigenvalues)) / max(float(np.linalg.norm(S)), 1e-8))
    V = np.stack(tangent_basis(M, x, rng)) if M.dim else np.zeros((0, *M.shape), M.dtype)

    def coefficients(Z: Any) -> Any:
        return (V.reshape(len(V), -1).conj() @ Z.ravel()).real

    bent = [coefficients(M.phi(v) @ S) for v in V]
    H = np.diag(eigenvalues) + np.reshape(bent, (len(V), len(V))).T
    linear = np.asarray(M.phi(x)) @ S

    def image(D: Any) -> Any:
        return np.tensordot(H @ coefficients(D), V, 1)

    problem = go.Problem(
        M,
        lambda X: float(np.vdot(linear, X).real + np.vdot(X - x, image(X - x)).real / 2),
        lambda X: linear + image(X - x),
        lambda X, Z: image(Z),
        hessian=hessian,
    )
    return problem, x


def spectrum(dim: int, negative: int, condition: float, rng: np.random.Generator) -> Any:
    """Eigenvalues of sizes from 1/condition to 1, so many of them negative."""
    sizes = condition ** -rng.uniform(0, 1, dim)
    sizes[:2] = sizes[:2] if dim < 3 else [1.0, sizes[1]]
    order = rng.permutation(dim)[:negative]
    sizes[order] *= -1
    return sizes
