"""The paper's geometry against ours: its retractions, Theta by a Lyapunov solver, its runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import rcg_paper, rgd_paper
from baselines.paper import geometry as paper
from baselines.paper.geometry import PaperPlace, PaperRay
from genorth.riemannian import rcg, rgd
from genorth.solve.wolfe import Conditions
from genorth.testing import FAMILIES, manifolds, points, seeds, tangent_vectors
from support.known_minima import KNOWN

EPS = float(np.finfo(float).eps)
CAYLEY = (
    "hyperbolic",
    "symplectic",
    "indefinite-diagonal",
    "indefinite-dense",
    "bilinear-symmetric",
    "bilinear-skew",
)
SINGLE = tuple(
    sorted(set(FAMILIES) - {"from-maps-blocks", "from-maps-subspace", "complex-orthogonal"})
)


def _rounding(M: go.GenOrthManifold, X: np.ndarray) -> float:
    """Units of roundoff, times size and the scale at X, which bounds the condition."""
    return 100 * EPS * M.shape[-2] * float(M.scale(X)) ** 2


def _place(M: go.GenOrthManifold, X: np.ndarray) -> PaperPlace:
    return PaperPlace(M, X, paper.dense_phi(M))


def _step(
    M: go.GenOrthManifold, X: np.ndarray, data: st.DataObject, length: float = 0.5
) -> np.ndarray:
    """A tangent vector of a length that is inside the domain of every retraction.

    Short on the scale of the form.
    """
    Z = data.draw(tangent_vectors(M, X))
    size = float(M.norm(Z) * M.norm(M.phi(X))) + float(M.norm(M.phi(Z)) * M.norm(Z)) ** 0.5
    return Z * (length / max(size, length))  # never longer: where dim M = 0 all of Z is rounding


@pytest.mark.statement("R10")
@given(data=st.data())
def test_the_dense_cayley_transform_is_the_p_x_p_one(data):
    """(I - Omega/2)^-1 (I + Omega/2) X with the n x n Omega = cayley of F9."""
    M = data.draw(manifolds(CAYLEY, max_condition=1e3))
    X = data.draw(points(M))
    Z = _step(M, X, data)
    dense = paper.dense_cayley(M.phi, X, M.phi(X), Z)
    assert M.norm(dense - M.retract(X, Z)) <= _rounding(M, X) * M.norm(X)


@given(data=st.data())
def test_each_retraction_of_the_paper_is_on_the_manifold_and_exact_to_first_order(data):
    """|R_X(tZ) - X - tZ| is of the order of t^2: halving t divides it by four."""
    M = data.draw(manifolds(SINGLE, max_condition=1e2))
    X = data.draw(points(M))
    Z = _step(M, X, data, 0.02)
    ray = PaperRay(_place(M, X), Z)
    R = ray.point(1.0)
    assert M.feasibility(R) <= _rounding(M, X)
    whole, half = (float(M.norm(ray.point(t) - X - t * Z)) for t in (1.0, 0.5))
    assert half <= 0.3 * whole + _rounding(M, X) * float(M.norm(X))


@pytest.mark.statement("R10")
@given(data=st.data())
def test_lyapunov_gives_the_theta_of_the_manifold(data):
    M = data.draw(manifolds(SINGLE, max_condition=1e3))
    X, D = data.draw(points(M)), M.random_ambient(data.draw(seeds()))
    place = _place(M, X)
    K = M.phi(X).conj().mT @ M.phi(X)
    tolerance = _rounding(M, X) * float(np.max(np.linalg.cond(K)))
    assert M.norm(place.project(D) - M.project(X, D)) <= tolerance * M.norm(D)
    assert M.norm(M.phi(X) @ (place.theta(D) - M.theta(X, D))) <= tolerance * M.norm(D)


@pytest.mark.parametrize(
    "M", [go.Stiefel(6, 3), go.Stiefel(6, 3, complex), go.TensorStiefel(5, 2, 4, "dft")], ids=repr
)
def test_the_qr_retraction_of_zero_is_the_point(M):
    """It needs the positive diagonal of R, in every block."""
    X = M.random_point(0)
    assert M.norm(paper.qr_retraction(X, 0 * X) - X) <= 100 * EPS * M.norm(X)


def test_dependent_columns_have_no_qr_retraction():
    X = np.eye(3, 2)
    with pytest.raises(go.OutsideDomainError, match="dependent columns"):
        paper.qr_retraction(X, -X)
    with pytest.raises(go.OutsideDomainError, match="dependent columns"):
        paper.cholesky_qr(lambda Y: Y, X, -X)


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("complex-orthogonal", "Lyapunov equation"),
        ("from-maps-blocks", "single matrices"),
        ("huge", "289 GB"),
    ],
)
def test_it_says_why_it_cannot_run(family, reason):
    if family == "huge":
        M = go.SymplecticStiefel(190_000, 2)
    else:
        M = gt.Recipe(family, 4, 2, 10.0, 0).build()
    assert reason in str(paper.unsupported(M))


A, R = gt.conditioned_symmetric(7, 5.0, 0), gt.conditioned_symmetric(3, 5.0, 1)
INVERSE = np.linalg.inv(R)
STRUCTURES = {
    "psi = id, definite": go.GeneralizedStiefel(A, 3),
    "psi = id, indefinite": go.HyperbolicStiefel(gt.conditioned_symmetric(7, 5.0, 0, 3), 3),
    "psi not id, definite": go.from_maps(
        (7, 3), lambda X: A @ X @ INVERSE, lambda T: R @ T @ INVERSE, definite=True
    ),
    "psi not id, indefinite": go.BilinearStiefel(gt.conditioned_symmetric(7, 5.0, 0, 3), R),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_steps_stay_on_the_manifold(name):
    """Cholesky-QR needs a definite form and psi = id; elsewhere it would lead off M."""
    manifold = STRUCTURES[name]
    assert paper.unsupported(manifold) is None
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    Z = Z * (0.1 / float(manifold.norm(Z) * manifold.norm(manifold.phi(X))))
    ray = PaperRay(_place(manifold, X), Z)
    Y = ray.point(1.0)
    assert manifold.feasibility(Y) <= 1e-12 * manifold.scale(Y)
    assert ray.trusted == (name == "psi = id, definite")


@pytest.mark.parametrize(
    "family", ["symplectic", "indefinite", "bilinear", "hyperbolic", "bilinear_skew"]
)
@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (rgd, rgd_paper, {"max_iterations": 8}),
        (rcg, rcg_paper, {"max_iterations": 1, "conditions": Conditions(curvature=1e6)}),
    ],
    ids=["rgd", "rcg"],
)
def test_ours_take_the_steps_of_the_paper(ours, theirs, options, family):
    """With the Cayley transform they differ by rounding, which grows from step to step.

    Conjugate gradients carry directions otherwise from the second step on; in the first one the
    slope at its end, which is that of another curve, must not count.
    """
    known = KNOWN[family]()
    options |= {"tol": 0, "keep_points": True}
    one = ours(known.problem(), known.manifold.random_point(3), retraction="cayley", **options)
    two = theirs(known.problem(), known.manifold.random_point(3), **options)
    assert len(one.trace) == len(two.trace) == options["max_iterations"] + 1
    for X, Y in zip(one.trace.points, two.trace.points, strict=True):
        assert known.manifold.norm(X - Y) <= 1e-8 * known.manifold.norm(X)
