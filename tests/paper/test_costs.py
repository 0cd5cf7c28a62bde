"""Costs by counted operations: Table 2, and grad h beside its Riemannian rivals (Section 4.2)."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines.paper import geometry as paper
from baselines.paper.geometry import PaperPlace, dense_phi
from genorth.geometry.bases import dense_theta, symmetric_basis
from support.flops import CountingManifold, flops, recast
from support.norms import EPS, Matrix

_GRID = [(40, 4), (80, 4), (160, 4), (80, 8), (160, 16), (320, 8)]


def _orders(counts: list[float], models: list[float]) -> float:
    """How far count / model varies over the grid: bounded iff the model is the order."""
    quotients = np.array(counts) / np.array(models)
    return float(quotients.max() / quotients.min())


def _drawn(manifold: go.GenOrthManifold) -> tuple[Matrix, Matrix]:
    X = manifold.random_point(0)
    return X, np.asarray(manifold.random_tangent(X, 1)) / 10


def _transport(manifold: go.GenOrthManifold, X: Matrix, Z: Matrix) -> float:
    """Operations of the orthogonal projection as the paper ran it, phi(X) included."""
    phi = dense_phi(manifold)
    return flops(lambda X, Z: PaperPlace(manifold, X, phi).project(Z), X, Z)


@pytest.mark.statement("tab:man:stiefel")
def test_costs_on_the_stiefel_manifold():
    retraction, transport = [], []
    for n, p in _GRID:
        M = go.Stiefel(n, p)
        X, Z = _drawn(M)
        retraction.append(flops(paper.qr_retraction, X, Z))
        transport.append(_transport(M, X, Z))
    models = [n * p**2 for n, p in _GRID]
    assert _orders(retraction, models) <= 1.01
    assert _orders(transport, models) <= 1.01
    assert M.theta_solver.name == "closed form"


@pytest.mark.statement("tab:man:generalized")
def test_costs_on_the_generalized_stiefel_manifold():
    """With a dense B, QR needs B(X + Z): O(n^2 p + np^2), not the printed O(np^2)."""
    retraction, transport = [], []
    for n, p in _GRID:
        M = go.GeneralizedStiefel(gt.conditioned_symmetric(n, 10, 0), p)
        X, Z = _drawn(M)
        retraction.append(flops(lambda X, Z, M=M: paper.cholesky_qr(M.phi, X, Z), X, Z))
        transport.append(_transport(M, X, Z))
    printed, corrected = [n * p**2 for n, p in _GRID], [n**2 * p + n * p**2 for n, p in _GRID]
    assert _orders(retraction, printed) >= 3  # grows with n/p: from 10 to 40 on this grid
    assert _orders(retraction, corrected) <= 1.5
    assert _orders(transport, [m + p**3 for m, (n, p) in zip(corrected, _GRID, strict=True)]) <= 1.5


@pytest.mark.statement("tab:man:symplectic")
def test_costs_on_the_symplectic_stiefel_manifold():
    """Dense Cayley O(n^3), projection at most O(n^2 p + p^3), retraction of F9 O(np^2)."""
    _check_cayley([go.SymplecticStiefel(n, p) for n, p in _GRID], [n * p**2 for n, p in _GRID])


@pytest.mark.statement("tab:man:indefinite", "Ta:comp")
def test_costs_on_the_indefinite_stiefel_manifold():
    """As on the symplectic one; F9 costs two phi, O(n^2 p) for a dense A, besides O(np^2)."""
    manifolds = [
        go.IndefiniteStiefel(
            gt.conditioned_symmetric(n, 10, 0, n // 2), np.where(np.arange(p) % 2, -1.0, 1.0)
        )
        for n, p in _GRID
    ]
    _check_cayley(manifolds, [n**2 * p + n * p**2 for n, p in _GRID])


def _check_cayley(manifolds: list[Any], fast_models: list[int]) -> None:
    dense, transport, fast = [], [], []
    for M in manifolds:
        X, Z = _drawn(M)
        dense.append(flops(lambda X, Z, M=M: paper.dense_cayley(M.phi, X, M.phi(X), Z), X, Z))
        transport.append(_transport(M, X, Z))
        fast.append(flops(lambda X, Z, M=M: M.retract(X, Z, kind="cayley"), X, Z))
        assert dense[-1] >= 2 / 3 * M.shape[0] ** 3
    assert _orders(dense, [n**3 for n, p in _GRID]) <= 3
    assert _orders(transport, [n**2 * p + p**3 for n, p in _GRID]) <= 3
    assert _orders(fast, fast_models) <= 1.5
    assert dense[-1] >= 5 * fast[-1]


@pytest.mark.statement("tab:man:tensor")
def test_costs_on_the_tensor_stiefel_manifold():
    """Two dense transforms, O(npl^2), and l QR decompositions or projections, O(np^2 l)."""
    grid = [(20, 2, 4), (40, 2, 4), (40, 4, 4), (40, 4, 8), (40, 4, 32)]
    retraction, transport = [], []
    for n, p, l in grid:  # noqa: E741
        M = go.TensorStiefel(n, p, l)
        X, Z = (np.asarray(M.to_tensor(Y)) for Y in _drawn(M))

        def retract(X: Matrix, Z: Matrix, M: go.TensorStiefel = M) -> Any:
            return M.to_tensor(
                paper.qr_retraction(M.from_tensor(X), M.from_tensor(Z)).view(type(X))
            )

        def project(X: Matrix, Z: Matrix, M: go.TensorStiefel = M) -> Any:
            return M.to_tensor(M.transport(M.from_tensor(X), M.from_tensor(X), M.from_tensor(Z)))

        retraction.append(flops(retract, X, Z))
        transport.append(flops(project, X, Z))
        assert M.feasibility(M.from_tensor(retract(X, Z))) <= 100 * X.size * EPS
    models = [n * p**2 * l + n * p * l**2 for n, p, l in grid]  # noqa: E741
    assert _orders(retraction, models) <= 2
    assert _orders(transport, models) <= 2


def _rows_of_the_table(
    phi: Callable[[Matrix], Matrix], X: Matrix, B: Matrix, beta: float
) -> Matrix:
    """grad h for f = <B, .> by the rows of Ta:cost, with each product and phi where it has it."""
    P = phi(X)
    S = X.mT.conj() @ P
    A = 1.5 * X - 0.5 * (X @ S.mT.conj())
    G = B + 0 * A
    first = G @ (1.5 * np.eye(S.shape[-1]) - 0.5 * S)
    R = G.mT.conj() @ X
    second = P @ R.mT.conj() + phi(X @ R)
    C = S - np.eye(S.shape[-1])
    third = P @ C.mT.conj() + phi(X @ C)
    return np.asarray(first - second / 2 + beta * third)


def _linear(manifold: go.GenOrthManifold, B: Matrix) -> go.Problem:
    """F = <B, .>, which takes no product."""
    return go.Problem(
        manifold, cost_and_gradient=lambda X: (float(np.vdot(B, np.asarray(X)).real), recast(B, X))
    )


def _products(manifold: go.GenOrthManifold) -> int:
    """N p^2, summed over the blocks."""
    return int(np.prod(manifold.shape)) * manifold.shape[-1]


@pytest.mark.statement("F11", "Ta:cost", "pro:nah")
@given(manifold=gt.manifolds(max_condition=1e2), seed=gt.seeds(), beta=st.floats(0.1, 10))
def test_operations_of_the_gradient_of_h(manifold, seed, beta):
    """The table: 3 phi and 16 np^2 flops. The library (F11): one phi and 10 np^2."""
    free, rng = CountingManifold(manifold), np.random.default_rng(seed)
    X, B = manifold.random_point(rng), manifold.random_ambient(rng)
    X = X + 0.1 * manifold.random_ambient(rng)
    table = flops(lambda X: _rows_of_the_table(free.phi, X, B, beta), X)
    assert (free.calls, table) == (3, 16 * _products(manifold))
    h = go.ConstraintDissolving(_linear(free, B), beta)
    free.calls = 0
    ours = flops(h.value_and_gradient, X)
    assert (free.calls, ours) == (1, 10 * _products(manifold))
    printed, gradient = _rows_of_the_table(free.phi, X, B, beta), h.gradient(X)
    size = float(manifold.scale(X)) ** 2 * (
        np.linalg.norm(B) + beta * np.linalg.norm(manifold.phi(X))
    )
    psi = np.linalg.norm(manifold.psi(X.mT.conj() @ X)) / np.linalg.norm(X) ** 2 + 1
    assert np.linalg.norm(gradient - printed) <= 1e3 * X.size * EPS * size * psi


def _indefinite(n: int, p: int, dense: bool) -> go.GenOrthManifold:
    """ISt with a dense A and a dense J, or with both diagonal."""
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(p) < p // 2, -1.0, 1.0)
    A = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    if not dense:
        return go.IndefiniteStiefel(A, signs)
    U, V = (np.linalg.qr(rng.standard_normal((k, k)))[0] for k in (n, p))
    return go.IndefiniteStiefel((U * A) @ U.T, (V * signs) @ V.T)


@pytest.mark.statement("Ta:comp", "R16")
@pytest.mark.parametrize(("n", "p"), [(12, 4), (24, 4), (24, 8), (8, 8), (60, 4)])
def test_the_gradient_of_h_on_the_indefinite_manifold(n, p):
    """Ta:cost with phi(X) = A X J, and the library; Phi on p x p matrices comes on top.

    6 n^2 p + 22 np^2 flops for dense A and J (the library: 2 n^2 p + 12 np^2), the printed 28 np^2
    for n = p only: one phi is more than that once n > 14 p. 16 (10) np^2 where both are diagonal.
    """
    B = np.zeros((n, p))
    for dense in (True, False):
        manifold = _indefinite(n, p, dense)
        X, h = manifold.random_point(0), go.ConstraintDissolving(_linear(manifold, B), 1.0)
        table = flops(lambda X, phi=manifold.phi: _rows_of_the_table(phi, X, B, 1.0), X)
        phi = (2 * n**2 * p + 2 * n * p**2) * dense
        assert table == 3 * phi + 16 * n * p**2
        assert (table == 28 * n * p**2) is (dense and n == p)
        assert (phi > 28 * n * p**2) is (dense and n > 14 * p)
        assert flops(h.value_and_gradient, X) == phi + 10 * n * p**2 + 4 * p**3 * dense


@pytest.mark.statement("Ta:comp")
@pytest.mark.parametrize("dense", [True, False])
def test_the_riemannian_gradient_on_the_indefinite_manifold(dense):
    """By a Lyapunov solver: one phi, and at most 8 np^2 flops beside the p x p part."""
    for n, p in ((12, 4), (24, 4), (24, 8)):
        manifold = _indefinite(n, p, dense)
        X, D = manifold.random_point(0), manifold.random_ambient(1)
        phi = dense_phi(manifold)
        total = flops(lambda X, D, M=manifold, phi=phi: PaperPlace(M, X, phi).project(D), X, D)
        product = 2 * n**2 * p + 2 * n * p**2 * dense  # A is formed there, also a diagonal one
        solver = 25 * p**3
        assert 6 * n * p**2 <= total - product - solver <= 8 * n * p**2 + 2 * p**3


@pytest.mark.statement("complexity:theta")
@pytest.mark.parametrize(("n", "p"), [(6, 2), (9, 4)])
def test_theta_on_stiefel_is_one_product(n, p):
    """Theta = (X^T D + D^T X)/2: 2 np^2 flops."""
    manifold = go.Stiefel(n, p)
    X, D = manifold.random_point(0), manifold.random_ambient(1)
    assert flops(lambda X, D: manifold.at(X).theta(D), X, D) == 2 * n * p**2


@pytest.mark.statement("complexity:theta")
def test_dense_least_squares_grows_with_the_fifth_power_of_p(monkeypatch):
    """np rows and dim S1 <= p^2 columns: np (p^2)^2 = np^5 flops, where the print has np^4."""
    shapes = []
    solve = np.linalg.lstsq

    def recorded(A: Matrix, *args: Any, **kwargs: Any) -> Any:
        shapes.append(A.shape)
        return solve(A, *args, **kwargs)

    monkeypatch.setattr(np.linalg, "lstsq", recorded)
    n = 16
    for p in (2, 4, 8):
        manifold = _indefinite(n, p, dense=False)
        X, D = manifold.random_point(0), manifold.random_ambient(1)
        oracle = dense_theta(manifold, manifold.phi(X), D)
        assert shapes[-1] == (n * p, len(symmetric_basis(manifold)))
        bound = 1e3 * EPS * X.size * float(manifold.scale(X)) ** 2 * np.linalg.norm(D)
        assert np.linalg.norm(oracle - manifold.theta(X, D)) <= bound
    work = [rows * columns**2 for rows, columns in shapes]
    assert all(later > 2**4.3 * earlier for earlier, later in pairwise(work))
    assert all(
        rows * columns**2 <= n * p**5 for (rows, columns), p in zip(shapes, (2, 4, 8), strict=True)
    )
