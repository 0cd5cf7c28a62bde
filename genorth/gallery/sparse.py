"""Problems with a nonsmooth term: sparse PCA, compressed modes, sparse symplectic and other bases.

No truth is known for them but by many starts and, where they are small, by enumeration of supports:
so they are functions, not instances of the gallery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

import genorth as go
from genorth.gallery.base import trace_problem
from genorth.gallery.wave import projection_problem
from genorth.linalg.arrays import Array
from genorth.optional import installed, optional


def sparse_pca(A: Array, p: int, mu: Any) -> go.Problem:
    """Sparse principal components of the data A [chen2020proximal].

        min -|A X|^2 + mu |X|_1, X^T X = I

    Args:
        A: The data, one column for each variable.
        p: The number of components.
        mu: The weight of the sparse term.

    Returns:
        The problem.
    """

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        AX = A @ X
        return -float(np.vdot(AX, AX)), -2 * (A.T @ AX)

    return go.Problem(
        go.Stiefel(A.shape[1], p),
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=lambda _, Z: -2 * (A.T @ (A @ Z)),
        nonsmooth=go.L1(mu),
        name="sparse PCA",
    )


def random_data(n: int, rng: Any = None, rows: int = 50) -> Array:
    """Gaussian data as in [chen2020proximal]: columns of mean zero and length one."""
    return _standardised(np.random.default_rng(rng).standard_normal((rows, n)))


def digits_data() -> Array:
    """The digits of scikit-learn, 1797 x 61: pixels that vary, of mean zero and length one."""
    A = optional("sklearn.datasets", "gallery", "the digits").load_digits().data
    return _standardised(A[:, A.std(axis=0) > 0])


def gene_data(n: int, rng: Any = None, rows: int = 50, groups: int = 5) -> Array:
    """Like expressions of n genes in some samples: groups of genes go together, the rest is noise.

    Each sample has a Gaussian activity for each group; a group holds n/20 genes, with loadings
    between 1 and 2 of either sign, and all genes have Gaussian noise of size one. Columns of mean
    zero and length one.

    Args:
        n: The number of genes.
        rng: A seed or a Generator.
        rows: The number of samples.
        groups: The number of groups.
    """
    rng = np.random.default_rng(rng)
    loadings = np.zeros((groups, n))
    for k, genes in enumerate(np.array_split(rng.permutation(n)[: groups * (n // 20)], groups)):
        loadings[k, genes] = rng.uniform(1, 2, genes.size) * rng.choice([-1.0, 1.0], genes.size)
    activity = rng.standard_normal((rows, groups))
    return _standardised(activity @ loadings + rng.standard_normal((rows, n)))


def _standardised(A: Array) -> Array:
    A = A - A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


def sparse_cca(A: Array, B: Array, p: int, mu: float) -> go.Problem:
    """Sparse canonical correlations between two sets of variables, seen on the same samples.

        min -tr(U^T A^T B V) + mu (|U|_1 + |V|_1), U^T K U = I, V^T L V = I

    K = A^T A + I/10 and L = B^T B + I/10.

    Args:
        A: The first data, one column for each variable.
        B: The second data, with the rows of A.
        p: The number of pairs of components.
        mu: The weight of the sparse terms.

    Returns:
        The problem, on the product of two generalized Stiefel manifolds, "U" and "V".
    """
    cross = A.T @ B
    sides = (go.GeneralizedStiefel(D.T @ D + np.eye(D.shape[1]) / 10, p) for D in (A, B))
    return go.Problem(
        go.Product(**dict(zip("UV", sides, strict=True))),
        cost=lambda U, V: -float(np.vdot(U, cross @ V)),
        euclidean_gradient=lambda U, V: (-cross @ V, -cross.T @ U),
        euclidean_hessian=lambda U, V, Y, Z: (-cross @ Z, -cross.T @ Y),  # noqa: ARG005
        nonsmooth={"U": go.L1(mu), "V": go.L1(mu)},
        name="sparse CCA",
    )


def joint_diagonalisation(matrices: Any, p: int, mu: float) -> go.Problem:
    """Directions on few variables in which several symmetric matrices are nearly diagonal.

        min -sum_k |diag(X^T A_k X)|^2 + mu sum_i |row i of X|, X^T X = I

    Args:
        matrices: The matrices A_k, as one array.
        p: The number of directions.
        mu: The weight of the sparse term, which makes rows vanish.

    Returns:
        The problem.
    """
    A = np.asarray(matrices)

    def parts(X: Array, Z: Array) -> tuple[Array, Array]:
        AZ = A @ Z
        return AZ, np.sum(X * AZ, axis=-2)[:, None, :]

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        AX, d = parts(X, X)
        return -float(np.sum(d**2)), -4 * np.sum(AX * d, axis=0)

    def hessian(X: Array, Z: Array) -> Array:
        (AX, d), (AZ, e) = parts(X, X), parts(X, Z)
        return -4 * np.sum(AZ * d + 2 * AX * e, axis=0)

    return go.Problem(
        go.Stiefel(A.shape[-1], p),
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=hessian,
        nonsmooth=go.L21(mu),
        name="joint diagonalisation",
    )


def random_spectra(n: int, count: int, rng: Any = None) -> Array:
    """Symmetric matrices with nearly the same eigenvectors, on a quarter of the variables."""
    rng = np.random.default_rng(rng)
    m = n // 4
    Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
    A = np.zeros((count, n, n))
    A[:, :m, :m] = np.einsum("ij,kj,lj->kil", Q, rng.uniform(0, 2, (count, m)), Q)
    noise = rng.standard_normal((count, n, n)) * 0.02
    return A + noise + noise.transpose(0, 2, 1)


def compressed_modes(n: int, p: int, mu: float, length: float = 50.0) -> go.Problem:
    """Compressed modes of the free electron on a circle [ozolins2013compressed].

        min tr(X^T H X) + mu |X|_1, X^T X = I

    H is -1/2 d^2/dx^2, by second differences.

    Args:
        n: The number of grid points.
        p: The number of modes.
        mu: The weight of the sparse term.
        length: The length of the circle.

    Returns:
        The problem; its solutions have compact support.
    """
    ones = np.ones(n)
    ring = scipy.sparse.diags_array([-ones[1:], 2 * ones, -ones[1:]], offsets=[-1, 0, 1]).tolil()
    ring[0, n - 1] = ring[n - 1, 0] = -1.0
    H = scipy.sparse.csr_array(ring) * (n / length) ** 2 / 2
    return trace_problem(2 * H, go.Stiefel(n, p), nonsmooth=go.L1(mu), name="compressed modes")


def sparse_symplectic_basis(n: int, p: int, mu: float) -> go.Problem:
    """A sparse symplectic basis for the snapshots S of a wave on a string.

        min |S - V V^+ S|^2/|S|^2 + mu |V|_1, V^T J V = J

    Args:
        n: The size of the state, positions and momenta: even.
        p: The number of basis vectors: even.
        mu: The weight of the sparse term.

    Returns:
        The problem.
    """
    points, modes = n // 2, np.arange(1, 9)
    x, times = np.arange(1, points + 1) / (points + 1), np.linspace(0, 1, 40)
    shapes = np.sin(np.pi * np.outer(x, modes)) / modes**2
    phases = np.pi * np.outer(modes, times)
    S = np.vstack([shapes @ np.cos(phases), -(shapes * np.pi * modes) @ np.sin(phases)])
    S /= np.linalg.norm(S)
    return projection_problem(S, p, nonsmooth=go.L1(mu), name="symplectic basis")


def sparse_indefinite(n: int, p: int, mu: float, rng: Any = None) -> go.Problem:
    """Sparse directions of least energy in a space of signature (n/2, n/2).

        min tr(X^T H X) + mu |X|_1, X^T A X = J

    H is positive definite, A diagonal and J = diag(+-1).

    Args:
        n: The number of variables, even.
        p: The number of directions.
        mu: The weight of the sparse term.
        rng: A seed or a Generator, for H and A.

    Returns:
        The problem.
    """
    rng = np.random.default_rng(rng)
    B = rng.standard_normal((n, 20))
    signs = np.repeat([1.0, -1.0], n // 2) * rng.uniform(1, 5, n)
    manifold = go.IndefiniteStiefel(signs, np.where(np.arange(p) < p // 2, 1.0, -1.0))
    H = B @ B.T / 20 + np.eye(n)
    return trace_problem(2 * H, manifold, nonsmooth=go.L1(mu), name="indefinite directions")


def sparse_tensor(n: int, p: int, slices: int, mu: float, rng: Any = None) -> go.Problem:
    """Sparse tensors of least energy, orthonormal for the t-product.

        min sum_k tr(X_k^T H X_k) + mu |X|_1, X^T * X = I

    H is positive definite, the same for each slice X_k.

    Args:
        n: The number of rows.
        p: The number of columns.
        slices: The number of slices.
        mu: The weight of the sparse term.
        rng: A seed or a Generator, for H.

    Returns:
        The problem.
    """
    B = np.random.default_rng(rng).standard_normal((n, 20))
    H = B @ B.T / 20 + np.eye(n)
    return trace_problem(
        2 * H, go.TensorStiefel(n, p, slices), nonsmooth=go.L1(mu), name="sparse tensors"
    )


def problems(by: int = 1) -> Iterator[go.Problem]:
    """One problem of each kind, at the sizes of the comparison divided by a number.

    The first ones have the sizes and weights of [chen2020proximal].

    Args:
        by: The divisor.

    Yields:
        The problems, each with another name.
    """
    n, p = max(500 // by, 60), 10 if by == 1 else 3
    data = {
        "sparse PCA": (random_data(n, 1), p, 0.6),
        "sparse PCA, genes": (gene_data(n, 1), p, 0.3),
    }
    if installed("sklearn"):
        data["sparse PCA, digits"] = digits_data(), p, 0.2
    for name, given in data.items():
        problem = sparse_pca(*given)
        problem.name = name
        yield problem
    yield compressed_modes(max(128 // by, 32), 4 if by == 1 else 2, 0.1)
    left, right = gene_data(max(100 // by, 20), 2, 60), gene_data(max(80 // by, 20), 3, 60)
    yield sparse_cca(left, right, 2, 0.05)
    yield joint_diagonalisation(random_spectra(max(80 // by, 20), 5, 0), 4 if by == 1 else 2, 1.0)
    yield sparse_symplectic_basis(max(100 // by, 20), 4, 1e-3)
    yield sparse_indefinite(max(200 // by, 20), 4, 0.3, 0)
    yield sparse_tensor(max(60 // by, 20), 3 if by == 1 else 2, 3, 0.3, 0)
