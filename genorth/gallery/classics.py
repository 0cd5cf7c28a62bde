"""SciPy alone: instances that papers of 2020 to 2026 compare on, at their sizes or at others.

`load("classics/pca", (200, 150))`. Data is drawn here by the printed recipes, so that the truth is
that of our draw. Where a recipe or a claim is defective, "-printed" is what is printed, and the
name without it is corrected; the functions say what is wrong.

Several truths are planted. Let f be a quadratic, and X a point of M with G = -phi(X) S there, S in
S1. Then X is stationary, and f + <S, C>/2 has the Hessian Z -> f''[Z] + phi(Z) S: where that is
positive, X is the only minimum (weak duality).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse

import genorth as go
from genorth.gallery import sparse
from genorth.gallery.base import Entry, Instance, Source, least_trace, orthonormal, trace_problem
from genorth.gallery.wave import projection_problem
from genorth.linalg.arrays import Array
from genorth.linalg.matrices import conditioned_symmetric

_SEED = 33
_HALF = 0.5  # of the largest S that leaves a planted truth the only minimum
_PLANTED = "construction: a convex Lagrangian"


def _haar(n: int, rng: np.random.Generator) -> Array:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def _with_eigenvalues(values: Array, rng: np.random.Generator) -> Array:
    Q = _haar(len(values), rng)
    return np.asarray((Q * values) @ Q.T)


def _planted(manifold: go.GenOrthManifold, A: Any, weights: Any, phi: float = 1.0) -> Instance:
    """Minimise tr(X^T A X N)/2 - <B, X>, B such that a random point is the minimum.

    Args:
        manifold: The manifold.
        A: A matrix with smallest eigenvalue 1.
        weights: The diagonal of N, at least 1.
        phi: A bound of |phi|.

    Returns:
        The instance.
    """
    X = manifold.random_point(_SEED)
    S = manifold.symmetrize(np.random.default_rng(_SEED).standard_normal((X.shape[1],) * 2))
    S *= _HALF / (phi * np.linalg.norm(S, 2))
    B = A @ X * weights + manifold.phi(X) @ S
    problem = trace_problem(A, manifold, weights, linear=B)
    start = manifold.random_point(_SEED + 1)
    return Instance(problem=problem, start=start, truth=problem.cost(X), truth_by=_PLANTED)


# ---------------------------------------------------------------------- symplectic


def _nearest(n: int, p: int) -> Instance:
    """The nearest symplectic matrix: scenario 1 of spopt's demo [gao2021riemannian].

    A = B + J B K is in the normal space at a symplectic B. The demo says that the minimum is 0; it
    is |A - B|^2, and B is it only for small K. Here f = |X - A|^2/2 - |A|^2/2.
    """
    return _planted(go.SymplecticStiefel(n, p), scipy.sparse.eye_array(n), 1.0)


def _brockett(n: int, p: int) -> Instance:
    """Brockett's cost with a linear term, spopt's third problem [gao2021riemannian]."""
    A = conditioned_symmetric(n, 100.0, _SEED) * 100
    return _planted(go.SymplecticStiefel(n, p), A, np.arange(p, 0, -1.0))


def _mean(n: int, p: int, count: int = 20) -> Instance:
    """The extrinsic mean of symplectic matrices, spopt's second problem [gao2021riemannian].

    min of the mean of |X - A_i|^2, A_i = Y exp(H) and Y exp(-H), Y^T Y = I and H a symmetric
    Hamiltonian matrix. The mean of the A_i is Y C, C that of cosh(H), which commutes with J: so
    Y C - Y is normal, and Y is the minimum where |C - I| < 1.
    """
    rng, h = np.random.default_rng(_SEED), p // 2
    manifold = go.SymplecticStiefel(n, p)
    Y, total, squares = np.eye(n)[:, np.r_[:h, n // 2 : n // 2 + h]], np.zeros((p, p)), 0.0
    for _ in range(count):
        a, b = rng.standard_normal((2, h, h)) * 0.5 / np.sqrt(p)
        H = np.block([[a + a.T, b + b.T], [b + b.T, -a - a.T]])
        total += scipy.linalg.coshm(H) / count
        squares += float(np.sum(scipy.linalg.expm(H) ** 2)) / count  # as large as that of -H
    problem = trace_problem(
        2 * scipy.sparse.eye_array(n), manifold, constant=squares, linear=2 * Y @ total
    )
    start, truth = manifold.random_point(_SEED + 1), problem.cost(Y)
    return Instance(problem=problem, start=start, truth=truth, truth_by=_PLANTED)


def _eigenvalues(n: int, p: int) -> Instance:
    """Symplectic eigenvalues 1, 2, ... of Q diag(D, D) Q^T, Q = K L [son2021computing].

    K is orthogonal and symplectic, L a symplectic Gauss transformation. The minimum of tr(X^T A X)
    is twice the sum of the p/2 smallest; 30 at (200, 10), as in [jensen2024riemannian].
    """
    rng, m = np.random.default_rng(_SEED), n // 2
    U = np.linalg.qr(rng.standard_normal((m, m)) + 1j * rng.standard_normal((m, m)))[0]
    K, L, at = np.block([[U.real, -U.imag], [U.imag, U.real]]), np.eye(n), max(m // 5, 2)
    pair, c, d = np.r_[at - 2, at - 1], 1.2, -np.sqrt(m / 5)
    L[pair, pair], L[m + pair, m + pair] = c, 1 / c
    L[pair, m + pair[::-1]] = d
    Q = K @ L
    A = (Q * np.tile(np.arange(1.0, m + 1), 2)) @ Q.T
    manifold = go.SymplecticStiefel(n, p)
    return Instance(
        problem=trace_problem(A + A.T, manifold),
        start=manifold.random_point(_SEED + 1),
        truth=float(p // 2 * (p // 2 + 1)),
        truth_by="construction: 2 (1 + ... + p/2)",
        metric=(A + A.T) / 2,
    )


def _decomposition(n: int, p: int) -> Instance:
    """Proper symplectic decomposition of snapshots in a symplectic space of p dimensions.

    S = B c, |c| = 1, c uniform, and the best basis is B [jensen2024riemannian].
    """
    B = go.SymplecticStiefel(n, p).random_point(_SEED)
    c = np.random.default_rng(_SEED).uniform(size=(p, 100))
    problem = projection_problem(B @ (c / np.linalg.norm(c)), p)
    start = problem.manifold.random_point(_SEED + 1)
    return Instance(problem=problem, start=start, truth=0.0, truth_by="construction: B")


def _nearest_random(n: int, p: int) -> Instance:
    """The nearest symplectic matrix to a uniform A, |A| = 1 [jensen2024riemannian].

    The bound is the nearest one that is orthogonal too, a complex polar factor. A solution has
    |Theta| < 1, and so is the minimum, by the duality above.
    """
    manifold, m, h = go.SymplecticStiefel(n, p), n // 2, p // 2
    A = np.random.default_rng(_SEED).uniform(size=(n, p))
    A /= np.linalg.norm(A)
    linear = (A[:m, :h] + A[m:, h:]) / 2 + 1j * (A[m:, :h] - A[:m, h:]) / 2
    return Instance(
        problem=trace_problem(scipy.sparse.eye_array(n), manifold, constant=0.5, linear=A),
        start=manifold.random_point(_SEED + 1),
        truth=(p + 1) / 2 - 2 * float(np.linalg.svd(linear, compute_uv=False).sum()),
        truth_by="numpy.linalg.svd: the nearest unitary one",
        bound=True,
    )


# ---------------------------------------------------------------------- Stiefel


def _generalized(n: int, p: int, printed: bool = False) -> Instance:
    """The largest eigenvalues of (A, B), of condition 100 and norm one [vary2024optimization].

    Those of A are equidistant, those of B decay exponentially. The published code does not use the
    condition number for B: it is n^(1 - 1/n), 993 for n = 1000.
    """
    rng = np.random.default_rng(_SEED)
    A = _with_eigenvalues(np.linspace(1.0, 0.01, n), rng)
    last = n ** (1 / n - 1) if printed else 0.01
    B = _with_eigenvalues(np.geomspace(1.0, last, n), rng)
    A, B = (M / np.linalg.norm(M) for M in (A, B))
    manifold = go.GeneralizedStiefel((B + B.T) / 2, p)
    return Instance(
        problem=trace_problem(-A, manifold),
        start=orthonormal(manifold, rng.standard_normal((n, p))),
        truth=least_trace(-A, B, np.ones(p)),
        truth_by="scipy.linalg.eigh",
        metric="B",
    )


def _components(n: int, p: int, printed: bool = False) -> Instance:
    """Principal components, min -tr(X^T A X)/2, of A with condition 1000 [han2025efficient].

    The published code has A = (M + M^T)/2, M = Q D Q without a transpose: half of its eigenvalues
    are negative, and it has no condition number by design. [javaloy2026embarrassingly] have the
    same problem and size.
    """
    rng = np.random.default_rng(_SEED)
    Q = _haar(n, rng)
    A = (Q * np.geomspace(0.01, 10.0, n)) @ (Q if printed else Q.T)
    A = (A + A.T) / 2
    return Instance(
        problem=trace_problem(-A, go.Stiefel(n, p)),
        start=np.linalg.qr(rng.standard_normal((n, p)))[0],
        truth=least_trace(-A, None, np.ones(p)),
        truth_by="scipy.linalg.eigh",
    )


def _procrustes(n: int, p: int) -> Instance:
    """Orthogonal Procrustes, min |X A - B|^2/(2p), A and B Gaussian [han2025efficient].

    For n = p a curve keeps the determinant. The published code draws a start of either sign; from
    the wrong one no feasible method comes nearer to the minimum than 2 s/p, s the smallest singular
    value of B A^T. Here the start has the right one.
    """
    rng = np.random.default_rng(_SEED)
    A, B = rng.standard_normal((p, p)), rng.standard_normal((n, p))
    start = np.linalg.qr(rng.standard_normal((n, p)))[0]
    U, values, V = np.linalg.svd(B @ A.T, full_matrices=False)
    if n == p and np.linalg.det(start) * np.linalg.det(U @ V) < 0:
        start[:, 0] *= -1
    constant = float(np.sum(B**2)) / (2 * p)
    identity = scipy.sparse.eye_array(n)
    return Instance(
        problem=trace_problem(identity, go.Stiefel(n, p), A @ A.T / p, constant, B @ A.T / p),
        start=start,
        # |X A| = |A| on M, where the problem is to maximise <B A^T, X>
        truth=float(np.sum(A**2)) / (2 * p) + constant - float(values.sum()) / p,
        truth_by="numpy.linalg.svd",
    )


def _assignment(n: int) -> Instance:
    """Relaxed quadratic assignment, W = X o X, A and B Gaussian [han2025efficient].

        f(X) = tr(A^T W B W^T)/2, G = X o (A W B^T + A^T W B)

    The paper measures from -38464.5 at n = 1000, what its own runs reached. The bound here is a
    permutation [vogelstein2015fast].
    """
    rng = np.random.default_rng(_SEED)
    A, B = rng.standard_normal((2, n, n))

    def slopes(W: Array) -> Array:
        return np.asarray(A @ W @ B.T + A.T @ W @ B)

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        W = X * X
        E = slopes(W)
        return float(np.vdot(W, E)) / 4, X * E

    def hessian(X: Array, Z: Array) -> Array:
        return Z * slopes(X * X) + X * slopes(2 * X * Z)

    best = scipy.optimize.quadratic_assignment(A, B, options={"rng": np.random.default_rng(0)})
    return Instance(
        problem=go.Problem(
            go.Stiefel(n, n), cost_and_gradient=cost_and_gradient, euclidean_hessian=hessian
        ),
        start=_haar(n, rng),
        truth=float(best.fun) / 2,
        truth_by="scipy.optimize.quadratic_assignment",
        bound=True,
        several=True,
    )


# ---------------------------------------------------------------------- indefinite


def _response(n: int, p: int) -> Instance:
    """Linear response, min tr(U^T K U + V^T M V)/2, U^T V + V^T U = I [tiep2024riemannian].

    The minimum is half the sum of the p smallest positive eigenvalues of (diag(K, M), [0 I; I 0]),
    square roots of those of K M [bai2012minimization]. Sizes and spectra are ours.
    """
    K, M = (conditioned_symmetric(n // 2, 100.0, _SEED + i) for i in (0, 1))
    swap = scipy.sparse.eye_array(n, k=n // 2) + scipy.sparse.eye_array(n, k=-(n // 2))
    manifold = go.HyperbolicStiefel(swap.tocsc(), p)
    L = np.linalg.cholesky(M)
    squares = scipy.linalg.eigvalsh(L.T @ K @ L)
    A = scipy.linalg.block_diag(K, M)
    return Instance(
        problem=trace_problem(A, manifold),
        start=manifold.random_point(_SEED + 1),
        truth=float(np.sqrt(squares[:p]).sum()) / 2,
        truth_by="scipy.linalg.eigvalsh",
        metric=A,
    )


def _least_squares(n: int, p: int) -> Instance:
    """Procrustes on the indefinite manifold, min |G X - B|^2/2 [tiep2024riemannian].

    X^T A X = diag(I, -I), A diagonal in +-[1, 5]; B planted, sizes ours.
    """
    rng = np.random.default_rng(_SEED)
    form = np.repeat([1.0, -1.0], n // 2) * rng.uniform(1, 5, n)
    manifold = go.IndefiniteStiefel(form, np.repeat([1.0, -1.0], [p - p // 2, p // 2]))
    return _planted(manifold, conditioned_symmetric(n, 100.0, rng) * 100, 1.0, phi=5.0)


# ---------------------------------------------------------------------- sparse


def _sparse_components(n: int, p: int, mu: float = 0.8) -> Instance:
    """Sparse principal components [chen2020proximal].

    The bound is the best that truncation of the principal components reaches.
    """
    A = sparse.random_data(n, _SEED)
    problem = sparse.sparse_pca(A, p, mu)
    start = np.linalg.svd(A, full_matrices=False)[2][:p].T
    levels = np.quantile(np.abs(start), np.linspace(0, 0.95, 20))
    cut = (start * (np.abs(start) >= level) for level in levels)
    return Instance(
        problem=problem,
        start=start,
        truth=min(problem.objective(orthonormal(problem.manifold, X)) for X in cut),
        truth_by="truncated principal components",
        bound=True,
        several=True,
    )


def _modes(n: int, p: int, mu: float = 0.1, length: float = 50.0) -> Instance:
    """Compressed modes of the free electron [chen2020proximal].

    The bound is the closed form [ozolins2013compressed]: bumps 1 - cos(w x) of width 2 pi/w side by
    side, w^2 = 2 e, e^(5/2) = 3 pi m^2/32^(1/2), m = mu/h^(1/2), h the mesh size, of energy 5 e/3.
    They fit where p widths are at most the length.
    """
    problem, h = sparse.compressed_modes(n, p, mu, length), length / n
    w = np.sqrt(2 * (3 * np.pi * mu**2 / h / np.sqrt(32)) ** 0.4)
    x = np.arange(n) * h - length / p * np.arange(p)[:, None]
    X = np.where((x >= 0) & (x <= min(2 * np.pi / w, length / p)), 1 - np.cos(w * x), 0.0).T
    return Instance(
        problem=problem,
        start=problem.manifold.random_point(_SEED),
        truth=problem.objective(orthonormal(problem.manifold, X)),
        truth_by="closed form of the free electron",
        bound=True,
        several=True,
    )


_ENTRIES: dict[str, tuple[str, Any, tuple[int, ...]]] = {
    "symplectic-nearest": ("The nearest symplectic matrix, spopt's demo.", _nearest, (400, 80)),
    "symplectic-mean": ("The extrinsic mean of symplectic matrices.", _mean, (200, 40)),
    "symplectic-brockett": ("Brockett's cost with a linear term.", _brockett, (200, 10)),
    "symplectic-eigenvalues": (
        "The five smallest symplectic eigenvalues.",
        _eigenvalues,
        (200, 10),
    ),
    "symplectic-decomposition": (
        "Proper symplectic decomposition of 100 snapshots.",
        _decomposition,
        (2000, 80),
    ),
    **{
        f"symplectic-nearest-{p}": (
            f"The nearest symplectic matrix with {p} columns, Jensen and Zimmermann's.",
            _nearest_random,
            (2000, p),
        )
        for p in (20, 100, 200)
    },
    "generalized-eigenvalues": (
        "500 eigenvalues of a pair, condition 100.",
        _generalized,
        (1000, 500),
    ),
    "generalized-eigenvalues-printed": (
        "The same with the condition number of the published code, 993.",
        partial(_generalized, printed=True),
        (1000, 500),
    ),
    "pca": ("1500 principal components of condition 1000.", _components, (2000, 1500)),
    "pca-printed": (
        "The same with Q D Q of the published code.",
        partial(_components, printed=True),
        (2000, 1500),
    ),
    "procrustes": ("The orthogonal Procrustes problem.", _procrustes, (2000, 2000)),
    "quadratic-assignment": ("Relaxed quadratic assignment.", _assignment, (1000,)),
    "linear-response": ("Five excitations of a linear response problem.", _response, (1000, 5)),
    "indefinite-procrustes": (
        "Least squares on the indefinite manifold.",
        _least_squares,
        (1000, 10),
    ),
    "sparse-pca": ("Sparse principal components of 50 samples.", _sparse_components, (1000, 4)),
    "compressed-modes": ("Compressed modes on a circle.", _modes, (128, 4)),
}
SOURCE = Source(
    package="scipy",
    module="scipy",
    oldest="1.13",
    instances={f"classics/{name}": Entry(*entry) for name, entry in _ENTRIES.items()},
)
