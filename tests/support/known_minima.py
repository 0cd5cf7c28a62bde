"""Problems whose minimum linear algebra knows, one for each family of manifolds."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.linalg

import genorth as go
from genorth.testing import conditioned_skew, conditioned_symmetric
from support.problems import nearest, trace

_Matrix = np.ndarray[Any, Any]


@attrs.frozen
class Known:
    """min tr(X^T M X) over the manifold, M symmetric positive definite."""

    manifold: go.GenOrthManifold
    M: _Matrix
    minimum: float

    def problem(self) -> go.Problem:
        return trace(self.manifold, self.M)


def _definite(n: int, seed: int, dtype: Any = float) -> _Matrix:
    """Eigenvalues from 1 to 4, at distances of a quarter and more, for every solver."""
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
    """X^T A X = J, A skew: twice the smallest symplectic eigenvalues of M for the form A."""
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


def known_minima() -> dict[str, tuple[go.Problem, float]]:
    """Problems with the value of their global minimum; none has another local minimum."""
    S, C = _definite(4, 20), np.random.default_rng(5).standard_normal((9, 3))
    distance = float(3 + np.sum(C**2) - 2 * np.linalg.svd(C, compute_uv=False).sum())
    own = {
        "square Stiefel": (trace(go.Stiefel(4, 4), S), float(np.trace(S))),
        "procrustes": (nearest(go.Stiefel(9, 3), C), distance),
    }
    return own | {name: (make().problem(), make().minimum) for name, make in KNOWN.items()}
