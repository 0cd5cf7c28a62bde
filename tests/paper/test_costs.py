"""Table 2 of the paper: the costs of retraction and transport, by counted operations."""

from typing import Any

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from baselines.paper import geometry as paper
from baselines.paper.geometry import PaperPlace, dense_phi
from support.flops import flops
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
