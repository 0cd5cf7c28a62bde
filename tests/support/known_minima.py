"""Problems whose minimum linear algebra knows, one for each family of manifolds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.linalg

import genorth as go
from genorth.testing import conditioned_skew, conditioned_symmetric
from support.problems import Matrix, spd, trace

_Matrix = np.ndarray[Any, Any]


@attrs.frozen
class Known:
    """min tr(X^T M X) over the manifold, M symmetric positive definite."""

    manifold: go.GenOrthManifold
    M: _Matrix
    minimum: float

    def problem(self) -> go.Problem:
        return go.Problem(
            self.manifold,
            lambda X: float(np.vdot(X, self.M @ X).real),
            lambda X: 2 * self.M @ X,
            lambda X, Z: 2 * self.M @ Z,
            lambda X: (float(np.vdot(X, self.M @ X).real), 2 * self.M @ X),
        )


def _definite(n: int, seed: int, dtype: Any = float) -> _Matrix:
    """Eigenvalues from 1 to 4, at distances of a quarter and more.

    Every solver has a gap to work with.
    """
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(
        rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype is complex else 0)
    )[0]
    M = (U * np.linspace(1, 4, n)) @ U.conj().T
    return (M + M.conj().T) / 2


def _smallest(M: _Matrix, A: _Matrix, count: int) -> _Matrix:
    """The `count` smallest positive eigenvalues of M v = lambda A v, M definite."""
    inverse = scipy.linalg.eigvalsh(A, M)  # 1/lambda
    return np.sort(1 / inverse[inverse > 0])[:count]


def stiefel() -> Known:
    M = _definite(9, 0)
    return Known(go.Stiefel(9, 3), M, float(np.linalg.eigvalsh(M)[:3].sum()))


def stiefel_complex() -> Known:
    M = _definite(8, 1, complex)
    return Known(go.Stiefel(8, 2, dtype=complex), M, float(np.linalg.eigvalsh(M)[:2].sum()))


def generalized() -> Known:
    M, B = _definite(9, 2), conditioned_symmetric(9, 3.0, 3)
    return Known(go.GeneralizedStiefel(B, 3), M, float(_smallest(M, B, 3).sum()))


def hyperbolic() -> Known:
    M, H = _definite(9, 4), conditioned_symmetric(9, 3.0, 5, negative=4)
    return Known(go.HyperbolicStiefel(H, 2), M, float(_smallest(M, H, 2).sum()))


def indefinite() -> Known:
    M, A = _definite(9, 6), conditioned_symmetric(9, 3.0, 7, negative=4)
    minimum = _smallest(M, A, 2).sum() + _smallest(M, -A, 1).sum()
    return Known(go.IndefiniteStiefel(A, [1.0, 1.0, -1.0]), M, float(minimum))


def bilinear() -> Known:
    """X^T A X = diag(r): the largest weights |r_i| meet the smallest eigenvalues of their sign."""
    M, A, r = (
        _definite(8, 8),
        conditioned_symmetric(8, 3.0, 9, negative=3),
        np.array([2.0, 1.0, -1.5]),
    )
    minimum = np.dot([2.0, 1.0], _smallest(M, A, 2)) + 1.5 * _smallest(M, -A, 1)[0]
    return Known(go.BilinearStiefel(A, r), M, float(minimum))


def bilinear_skew() -> Known:
    """X^T A X = J with a skew A.

    Twice the sum of the smallest symplectic eigenvalues of M for the form A.
    """
    M, A = _definite(8, 10), conditioned_skew(8, 3.0, 11)
    return Known(go.BilinearStiefel(A, [[0.0, 1.0], [-1.0, 0.0]]), M, _williamson(M, A, 1))


def symplectic() -> Known:
    M = _definite(8, 12)
    J = np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(4))
    return Known(go.SymplecticStiefel(8, 4), M, _williamson(M, J, 2))


def _williamson(M: _Matrix, J: _Matrix, count: int) -> float:
    """2 sum of the `count` smallest d > 0 with i d an eigenvalue of M relative to J."""
    return 2 * float(_smallest(M, 1j * J, count).sum())


def tensor() -> Known:
    M = np.stack([_definite(6, 13 + k) for k in range(3)])
    return Known(go.TensorStiefel(6, 2, 3), M, float(np.linalg.eigvalsh(M)[:, :2].sum()))


def tensor_fourier() -> Known:
    """Blocks k and -k are conjugates, of M as of X."""
    real, pair = _definite(6, 16), _definite(6, 17, complex)
    M = np.stack([real.astype(complex), pair, pair.conj()])
    return Known(go.TensorStiefel(6, 2, 3, "dft"), M, float(np.linalg.eigvalsh(M)[:, :2].sum()))


def two_maps() -> Known:
    """The hyperbolic problem, told by phi and psi alone."""
    known = hyperbolic()
    return Known(
        go.from_maps(known.manifold.shape, known.manifold.phi, lambda T: T), known.M, known.minimum
    )


KNOWN: dict[str, Callable[[], Known]] = {
    make.__name__: make
    for make in (
        stiefel,
        stiefel_complex,
        generalized,
        hyperbolic,
        indefinite,
        bilinear,
        bilinear_skew,
        symplectic,
        tensor,
        tensor_fourier,
        two_maps,
    )
}


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
