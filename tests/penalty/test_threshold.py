"""The exactness thresholds (F8, F16): forms of their definition, sharp from both sides."""

import numpy as np
import pytest
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.penalty import forms
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import Matrix, norm, spectral
from support.problems import linear, spd, trace

KINDS = {"oblique": go.ConstraintDissolving, "orthogonal": go.OrthogonalDissolving}
UNUSUAL = [
    go.BilinearStiefel(
        gt.conditioned_symmetric(6, 4.0, 0, 2, complex),
        gt.conditioned_symmetric(3, 3.0, 1, 1, complex),
    ),
    gt.Recipe("complex-orthogonal", 5, 2, 4.0, 1).build(),  # without Q
    gt.Recipe("complex-orthogonal", 5, 3, 1.0, 1).build(),
    gt.Recipe("from-maps-blocks", 5, 2, 4.0, 1).build(),
    gt.Recipe("bilinear-skew", 6, 4, 4.0, 1).build(),
]


def _trace(M: Matrix) -> float:
    return float(np.trace(M, axis1=-2, axis2=-1).sum().real)


def _largest(form: list[list[float]], metric: Matrix) -> float:
    """The largest eigenvalue of a form relative to a metric."""
    values, L = np.array(form), np.linalg.inv(np.linalg.cholesky(metric))
    return float(np.linalg.eigvalsh(L @ (values + values.T) @ L.T / 2).max())


@pytest.mark.statement("F8", "F16")
@drawn(
    manifold=st.one_of(gt.manifolds(max_n=5, max_condition=1e4), st.sampled_from(UNUSUAL)),
    seed=gt.seeds(),
)
def test_both_thresholds_are_those_of_their_definition(manifold, seed):
    """3/4 max Re tr(S^2 Theta), |S| = 1; and max of -<V, phi(V) Theta>, V = phi(X) S, |V| = 1.

    They are at most 3/4 |Theta|_2 and |phi| |Theta|_2; on Stiefel manifolds eigenvalues of Theta.
    """
    s = Sample(manifold, seed)
    Theta, basis = s.symmetric(), symmetric_basis(manifold)
    oblique, orthogonal = (kind.threshold(manifold, s.X, Theta) for kind in KINDS.values())
    if not len(basis):
        assert oblique == orthogonal == 0
        return
    form = [[_trace((S @ T + T @ S) @ Theta) / 2 for T in basis] for S in basis]
    largest = _largest(form, np.eye(len(basis)))
    rest = 100 * s.u * s.q**3 * len(basis) * (1 + norm(Theta))
    assert abs(oblique - 0.75 * max(0.0, largest)) <= rest
    assert largest <= spectral(Theta) + rest
    normal = [s.P @ S for S in basis]
    images = [manifold.phi(V) @ Theta for V in normal]
    form = [[-np.vdot(V, image).real for image in images] for V in normal]
    metric = np.array([[float(realvec(U) @ realvec(V)) for V in normal] for U in normal])
    rounding = 100 * s.q * s.kappa * (s.u * s.g + s.c) * len(basis) * (1 + s.L * norm(Theta))
    assert abs(orthogonal - max(0.0, _largest(form, metric))) <= rounding
    assert orthogonal <= s.L * spectral(Theta) + rounding
    if manifold.companion is not None and manifold.companion.trivial:
        assert abs(largest - np.linalg.eigvalsh(Theta).max()) <= rest
    if manifold.isometric:
        assert abs(orthogonal - max(0.0, -np.linalg.eigvalsh(Theta).min())) <= rounding


@pytest.mark.statement("F8", "F16")
@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_threshold_is_sharp_from_both_sides(family, kind):
    """Above it the Hessian is positive across M; below it is not, and h (or h_n) falls."""
    manifold = gt.Recipe(family, 6, 4, 4.0, 7).build()
    s = Sample(manifold, 2)
    basis, B = symmetric_basis(manifold), s.P @ s.symmetric()
    problem, beta = max(  # with one of the signs it is positive
        (
            (f, go.exactness_threshold(f, s.X, kind))
            for f in (linear(manifold, B), linear(manifold, -B))
        ),
        key=lambda found: found[1],
    )
    assert beta > 0
    across = np.stack([s.X @ ct(S) if kind == "oblique" else s.P @ S for S in basis])
    for factor, sign in ((0.99, -1), (1.01, 1)):
        h = KINDS[kind](problem, factor * beta)
        images = [h.hessian_product(s.X, V) for V in across]
        form = np.array([[np.vdot(U, image).real for image in images] for U in across])
        values, vectors = np.linalg.eigh(form + form.T)
        assert np.sign(values[0]) == sign
        if factor < 1:
            V = np.tensordot(vectors[:, 0], across, axes=1)
            V *= 1e-3 * float(s.singular[0]) / norm(V)
        change = h.value(s.X + V) + h.value(s.X - V) - 2 * h.value(s.X)
        assert np.sign(change) == sign


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
