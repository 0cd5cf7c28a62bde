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


def _known(
    manifold: go.GenOrthManifold, M: _Matrix, *terms: tuple[_Matrix, list[float]]
) -> Callable[[], Known]:
    """The minimum is the sum over (A, w) of w times the smallest positive eigenvalues of (M, A).

    For X^T A X = diag(r) the largest weights |r_i| meet the smallest eigenvalues of their sign;
    with a skew form they are twice its symplectic eigenvalues, d > 0 with i d an eigenvalue.
    """
    minimum = 0.0
    for A, weights in terms:
        for block in M.reshape(-1, *M.shape[-2:]):
            inverse = scipy.linalg.eigvalsh(A, block)  # 1/lambda
            minimum += float(np.sort(1 / inverse[inverse > 0])[: len(weights)] @ weights)
    return lambda: Known(manifold, M, minimum)


_PAIR, _BLOCKS = _definite(6, 17, complex), np.stack([_definite(6, 13 + k) for k in range(3)])
#: Blocks k and -k are conjugates, of M as of X.
_FOURIER = np.stack([_definite(6, 16).astype(complex), _PAIR, _PAIR.conj()])
_B, _H = conditioned_symmetric(9, 3.0, 3), conditioned_symmetric(9, 3.0, 5, negative=4)
_A, _R = (
    conditioned_symmetric(9, 3.0, 7, negative=4),
    conditioned_symmetric(8, 3.0, 9, negative=3),
)
_K, _J = conditioned_skew(8, 3.0, 11), np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(4))
_HYPERBOLIC = go.HyperbolicStiefel(_H, 2)
KNOWN: dict[str, Callable[[], Known]] = {
    "stiefel": _known(go.Stiefel(9, 3), _definite(9, 0), (np.eye(9), [1, 1, 1])),
    "stiefel_complex": _known(
        go.Stiefel(8, 2, dtype=complex), _definite(8, 1, complex), (np.eye(8), [1, 1])
    ),
    "generalized": _known(go.GeneralizedStiefel(_B, 3), _definite(9, 2), (_B, [1, 1, 1])),
    "hyperbolic": _known(_HYPERBOLIC, _definite(9, 4), (_H, [1, 1])),
    "indefinite": _known(
        go.IndefiniteStiefel(_A, [1.0, 1.0, -1.0]), _definite(9, 6), (_A, [1, 1]), (-_A, [1])
    ),
    "bilinear": _known(
        go.BilinearStiefel(_R, [2.0, 1.0, -1.5]), _definite(8, 8), (_R, [2, 1]), (-_R, [1.5])
    ),
    "bilinear_skew": _known(
        go.BilinearStiefel(_K, [[0.0, 1.0], [-1.0, 0.0]]), _definite(8, 10), (1j * _K, [2])
    ),
    "symplectic": _known(go.SymplecticStiefel(8, 4), _definite(8, 12), (1j * _J, [2, 2])),
    "tensor": _known(go.TensorStiefel(6, 2, 3), _BLOCKS, (np.eye(6), [1, 1])),
    "tensor_fourier": _known(go.TensorStiefel(6, 2, 3, "dft"), _FOURIER, (np.eye(6), [1, 1])),
    # the hyperbolic problem, told by phi and psi alone
    "two_maps": _known(
        go.from_maps((9, 2), _HYPERBOLIC.phi, lambda T: T), _definite(9, 4), (_H, [1, 1])
    ),
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
