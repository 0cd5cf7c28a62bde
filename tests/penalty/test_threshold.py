"""F8: the quadratic form of hess h at stationary points, and the exactness threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import symmetric_basis
from genorth.penalty import forms
from genorth.penalty.cdf import largest_form
from support.problems import Matrix, spd, stationary, trace

EPS = np.finfo(float).eps
MANIFOLDS = gt.manifolds(max_n=7, max_condition=1e2)


def _form(S: Matrix, Theta: Matrix) -> float:
    """Re tr(S^2 Theta), summed over the blocks."""
    return float(np.trace(S @ S @ Theta, axis1=-2, axis2=-1).sum().real)


def _rounding(manifold: go.GenOrthManifold, X: Matrix, h: go.ConstraintDissolving) -> float:
    """Rounding of a quadratic form of hess h at X, for unit S and Z."""
    size = float(manifold.scale(X)) ** 3 * (1 + float(np.linalg.norm(X))) ** 4
    return 1e4 * EPS * size * float(np.prod(manifold.shape)) * (1 + h.beta)


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_quadratic_form_across_M(data, manifold, seed):
    """<V, hess h V> = 4 beta |S|^2 - 3 Re tr(S^2 Theta), V = X S^T; no cross term with T_X M.

    X is stationary for h.
    """
    X = data.draw(gt.points(manifold))
    problem, Theta = stationary(manifold, X, seed)
    h = go.ConstraintDissolving(problem, data.draw(st.floats(0.01, 10)))
    bound = _rounding(manifold, X, h)
    assert np.linalg.norm(h.gradient(X)) <= bound
    T = X.mT.conj() @ manifold.random_ambient(seed)
    S = np.asarray(manifold.symmetrize(T))
    S = S / max(float(np.linalg.norm(S)), EPS)
    H = h.hessian_product(X, X @ S.mT.conj())
    expected = 4 * h.beta * np.linalg.norm(S) ** 2 - 3 * _form(S, Theta)
    assert abs(np.vdot(X @ S.mT.conj(), H).real - expected) <= bound
    Z = np.asarray(manifold.random_tangent(X, seed))
    assert abs(np.vdot(Z, H).real) <= bound * (1 + float(np.linalg.norm(Z)))


@given(data=st.data(), manifold=MANIFOLDS, seed=gt.seeds())
def test_threshold_is_the_largest_form(data, manifold, seed):
    """beta* = 3/4 max of Re tr(S^2 Theta) over a dense basis of S1, at most 3/4 |Theta|_2."""
    X = data.draw(gt.points(manifold))
    problem, Theta = stationary(manifold, X, seed)
    basis = symmetric_basis(manifold)
    form = np.array(
        [[(_form(S + T, Theta) - _form(S - T, Theta)) / 4 for T in basis] for S in basis]
    )
    largest = float(np.linalg.eigvalsh(form).max()) if len(basis) else 0.0
    bound = (
        1e4 * EPS * float(manifold.scale(X)) ** 2 * len(form) * (1 + float(np.linalg.norm(Theta)))
    )
    bound *= (
        np.linalg.cond(np.asarray(manifold.companion.Q.left(np.eye(manifold.shape[-1])))).max() ** 2
        if (manifold.companion is not None)
        else 1.0
    )
    got = go.exactness_threshold(problem, X)
    assert abs(got - 0.75 * max(0.0, largest)) <= bound
    assert got <= 0.75 * np.linalg.norm(Theta, ord=2, axis=(-2, -1)).max() + bound


@pytest.mark.parametrize(
    "family", ["symplectic", "indefinite-dense", "bilinear-symmetric", "bilinear-skew", "stiefel"]
)
def test_lanczos_agrees_with_the_dense_form(family, monkeypatch):
    manifold = gt.Recipe(family, 24, 16, 10.0, 3).build()
    X = manifold.random_point(0)
    Theta = np.asarray(manifold.theta(X, manifold.random_ambient(1)))

    def both() -> tuple[float, float]:
        return (
            go.ConstraintDissolving.threshold(manifold, X, Theta),
            go.OrthogonalDissolving.threshold(manifold, X, Theta),
        )

    iterated, rough = both(), go.OrthogonalDissolving.threshold(manifold, X, Theta, 0.05)
    monkeypatch.setattr(forms, "_DENSE", 16)
    dense = both()
    assert iterated == pytest.approx(dense, rel=1e-6)
    assert rough == pytest.approx(dense[1], rel=0.1)
    assert min(dense) > 0


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_threshold_is_sharp(family):
    """Just above beta* the form of hess h across M is positive, just below it is not.

    On every family.
    """
    manifold = gt.Recipe(family, 6, 4, 4.0, 7).build()
    X = manifold.random_point(2)
    problem, Theta = stationary(manifold, X, 3)
    beta = go.exactness_threshold(problem, X)
    if beta == 0:
        assert largest_form(manifold, Theta) <= 0
        return
    basis = symmetric_basis(manifold)
    images = [X @ S.mT.conj() for S in basis]
    for factor, positive in ((1.01, True), (0.99, False)):
        h = go.ConstraintDissolving(problem, factor * beta)
        form = np.array(
            [[np.vdot(U, h.hessian_product(X, V)).real for V in images] for U in images]
        )
        assert bool(np.linalg.eigvalsh((form + form.T) / 2).min() > 0) is positive


def test_identity_companion_is_the_largest_eigenvalue():
    """Psi = id: 3/4 max(0, lambda_max(Theta)).

    For the smallest eigenvalues of A it is 3/2 lambda_p.
    """
    A = spd(8, 10, 0)
    values, vectors = np.linalg.eigh(A)
    problem = trace(go.Stiefel(8, 3), A)
    assert go.exactness_threshold(problem, vectors[:, :3]) == pytest.approx(
        1.5 * values[2], rel=1e-12
    )
    assert go.exactness_threshold(trace(go.Stiefel(8, 3), -A), vectors[:, -3:]) == 0.0


def test_a_point_off_M_is_restored_first():
    problem = trace(go.Stiefel(8, 3), spd(8, 10, 0))
    X = problem.manifold.random_point(0)
    assert go.exactness_threshold(problem, 1.1 * X) == pytest.approx(
        go.exactness_threshold(problem, X), rel=1e-10
    )


def test_which_threshold_is_asked_for():
    """Oblique is the default; on Stiefel 3/4 lambda_max(Theta) and max(0, -lambda_min(Theta))."""
    A = spd(8, 10, 0)
    values, vectors = np.linalg.eigh(A)
    problem = trace(go.Stiefel(8, 3), -A)
    X = vectors[:, -3:]
    assert go.exactness_threshold(problem, X, "orthogonal") == pytest.approx(2 * values[-1])
    assert go.exactness_threshold(problem, X, "oblique") == 0.0


def test_threshold_of_blocks_is_the_largest():
    """F8 on a product of manifolds: the largest threshold of the factors, each with its own psi."""
    A = np.stack([gt.conditioned_symmetric(5, 3.0, k, negative=2) for k in range(3)])
    R = np.stack([gt.conditioned_symmetric(3, 3.0, k + 9, negative=1) for k in range(3)])
    inverse = np.linalg.inv(R)
    product = go.from_maps((3, 5, 3), lambda X: A @ X @ inverse, lambda T: R @ T @ inverse)
    assert product.companion is not None
    X = product.random_point(0)
    Theta = np.asarray(product.theta(X, product.random_ambient(1)))
    single = [
        go.ConstraintDissolving.threshold(go.BilinearStiefel(*pair), x, T)
        for *pair, x, T in zip(A, R, X, Theta, strict=True)
    ]
    assert len({round(value, 6) for value in single}) == 3
    assert go.ConstraintDissolving.threshold(product, X, Theta) == pytest.approx(
        max(single), rel=1e-9
    )
