"""The three geometries of the baselines: each against the definition that it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from baselines.geometry import GEOMETRIES, faithful
from baselines.geometry.base import cayley_ray
from baselines.geometry.fast import Fast, FastForm
from baselines.geometry.products import Products
from genorth.testing import FAMILIES, manifolds, points, seeds, tangent_vectors

EPS = float(np.finfo(float).eps)
CAYLEY = (
    "hyperbolic",
    "symplectic",
    "indefinite-diagonal",
    "indefinite-dense",
    "bilinear-symmetric",
    "bilinear-skew",
)
FORMS = (*CAYLEY, "generalized", "generalized-complex", "generalized-sparse", "hyperbolic-operator")
SINGLE = tuple(
    sorted(set(FAMILIES) - {"from-maps-blocks", "from-maps-subspace", "complex-orthogonal"})
)


def _rounding(M: go.GenOrthManifold, X: np.ndarray) -> float:
    """Units of roundoff, times size and the scale at X, which bounds the condition."""
    return 100 * EPS * M.shape[-2] * float(M.scale(X)) ** 2


def _step(
    M: go.GenOrthManifold, X: np.ndarray, data: st.DataObject, length: float = 0.5
) -> np.ndarray:
    """A tangent vector of a length that is inside the domain of every retraction.

    Short on the scale of the form.
    """
    Z = data.draw(tangent_vectors(M, X))
    size = float(M.norm(Z) * M.norm(M.phi(X))) + float(M.norm(M.phi(Z)) * M.norm(Z)) ** 0.5
    return Z * (length / max(size, length))  # never longer: where dim M = 0 all of Z is rounding


@given(data=st.data())
def test_the_dense_cayley_transform_is_the_p_x_p_one(data: st.DataObject) -> None:
    """(I - Omega/2)^-1 (I + Omega/2) X with the n x n Omega = cayley of F9."""
    M = data.draw(manifolds(CAYLEY, max_condition=1e3))
    X = data.draw(points(M))
    Z = _step(M, X, data)
    dense = faithful.dense_cayley(M.phi, X, M.phi(X), Z)
    assert M.norm(dense - M.retract(X, Z)) <= _rounding(M, X) * M.norm(X)


@given(data=st.data(), t=st.floats(-1, 1))
def test_a_ray_is_the_retraction_along_it(data: st.DataObject, t: float) -> None:
    """t -> R_X(tZ), with what does not depend on t computed once, = manifold.retract(X, tZ)."""
    M = data.draw(manifolds(max_condition=1e3))
    X = data.draw(points(M))
    Z = _step(M, X, data)
    R, trusted = cayley_ray(M, X, M.phi(X), Z).point(t)
    assert trusted
    assert M.norm(R - M.retract(X, t * Z)) <= _rounding(M, X) * M.norm(X)


@given(data=st.data())
def test_each_faithful_retraction_is_on_the_manifold_and_exact_to_first_order(
    data: st.DataObject,
) -> None:
    """|R_X(tZ) - X - tZ| is of the order of t^2: halving t divides it by four."""
    M = data.draw(manifolds(SINGLE, max_condition=1e2))
    X = data.draw(points(M))
    Z = _step(M, X, data, 0.02)
    ray = GEOMETRIES["faithful"].places(M)(X).ray(Z)
    R, _ = ray.point(1.0)
    assert M.feasibility(R) <= _rounding(M, X)
    whole, half = (float(M.norm(ray.point(t)[0] - X - t * Z)) for t in (1.0, 0.5))
    assert half <= 0.3 * whole + _rounding(M, X) * float(M.norm(X))


@given(data=st.data())
def test_lyapunov_gives_the_theta_of_the_manifold(data: st.DataObject) -> None:
    M = data.draw(manifolds(SINGLE, max_condition=1e3))
    X, D = data.draw(points(M)), M.random_ambient(data.draw(seeds()))
    place = GEOMETRIES["faithful"].places(M)(X)
    K = M.phi(X).conj().mT @ M.phi(X)
    tolerance = _rounding(M, X) * float(np.max(np.linalg.cond(K)))
    assert M.norm(place.transport(D) - M.project(X, D)) <= tolerance * M.norm(D)
    assert M.norm(M.phi(X) @ (place.theta(D) - M.theta(X, D))) <= tolerance * M.norm(D)


@given(data=st.data())
def test_the_metric_of_products(data: st.DataObject) -> None:
    """F12: d is tangent, <w, Z> = <G, Z> for tangent Z, <w, d> = |w|^2, and |w| >= |grad f|."""
    M = data.draw(manifolds(max_condition=1e2))
    X, G = data.draw(points(M)), M.random_ambient(data.draw(seeds()))
    Z = data.draw(tangent_vectors(M, X))
    w, d = Products(M, X).gradient(G)
    unit = _rounding(M, X) * float(M.norm(G))
    size = float(M.norm(w))
    assert M.tangency(X, d) <= unit * float(M.norm(M.phi(X)))
    assert abs(float(M.inner(w, Z) - M.inner(G, Z))) <= unit * (
        1 + float(M.norm(Z))
    )  # Z is projected from size 1
    assert abs(float(M.inner(w, d)) - size**2) <= unit * size
    assert size >= float(M.norm(M.gradient(X, G))) - unit


@given(data=st.data(), t=st.floats(-1, 1))
def test_the_fast_path_is_the_plain_one(data: st.DataObject, t: float) -> None:
    """Where phi(X) = A X Q^-1 with a known A: all as in `Fast`, also the ray along the gradient."""
    M = data.draw(manifolds(FORMS, max_condition=1e3))
    X, G = data.draw(points(M)), M.random_ambient(data.draw(seeds()))
    Z = _step(M, X, data)
    plain, fast = Fast(M, X), GEOMETRIES["fast"].places(M)(X)
    assert type(fast) is FastForm
    unit = _rounding(M, X)
    d = fast.gradient(G)[0]
    assert M.norm(fast.P - plain.P) <= unit * M.norm(plain.P)
    assert M.norm(d - plain.gradient(G)[0]) <= unit * M.norm(G)
    assert M.norm(fast.transport(G) - plain.transport(G)) <= unit * M.norm(G)
    assert M.norm(M.phi(X) @ (fast.theta(G) - plain.theta(G))) <= unit * M.norm(G)
    assert M.norm(fast.ray(Z).point(t)[0] - plain.ray(Z).point(t)[0]) <= unit * M.norm(X)
    s = 0.5 * t / float(M.norm(d) * M.norm(M.phi(X)) + (M.norm(M.phi(d)) * M.norm(d)) ** 0.5 + 1)
    gap = M.norm(fast.ray(d).point(s)[0] - plain.ray(d).point(s)[0])
    assert gap <= unit * (M.norm(X) + M.norm(G))
    D = fast.transport(s * G)  # N^T D is made from p x p matrices
    gap = M.norm(fast.ray(D).point(1.0)[0] - plain.ray(D).point(1.0)[0])
    assert gap <= unit * (M.norm(X) + M.norm(G))


@given(data=st.data())
def test_what_a_place_knows_of_its_point(data: st.DataObject) -> None:
    M = data.draw(manifolds(max_condition=1e2))
    X = data.draw(points(M)) + 1e-4 * M.random_ambient(data.draw(seeds()))
    place = Fast(M, X)
    unit = _rounding(M, X)
    assert place.feasibility == pytest.approx(float(M.feasibility(X)), abs=unit, rel=1e-9)
    assert place.scale() == pytest.approx(M.scale(X))
    assert M.norm(place.dissolved() - M.dissolve(X)) <= unit * M.norm(X)


@pytest.mark.parametrize("geometry", ["fast", "products", "faithful"])
def test_a_step_to_the_edge_of_the_domain_is_refused(geometry: str) -> None:
    """On x^2 - y^2 = 1 the Cayley transform along (0, 1) from (1, 0) has a pole at t = 2."""
    M = go.HyperbolicStiefel([1.0, -1.0], 1)
    place = GEOMETRIES[geometry].places(M)(np.array([[1.0], [0.0]]))
    ray = place.ray(np.array([[0.0], [1.0]]))
    with pytest.raises(go.OutsideDomainError):
        ray.point(2.0)
    assert M.feasibility(ray.point(1.0)[0]) <= 100 * EPS


@pytest.mark.parametrize(
    "M", [go.Stiefel(6, 3), go.Stiefel(6, 3, complex), go.TensorStiefel(5, 2, 4, "dft")], ids=repr
)
def test_the_qr_retraction_of_zero_is_the_point(M: go.GenOrthManifold) -> None:
    """It needs the positive diagonal of R, in every block."""
    X = M.random_point(0)
    assert M.norm(faithful.qr_retraction(X, 0 * X) - X) <= 100 * EPS * M.norm(X)


def test_dependent_columns_have_no_qr_retraction() -> None:
    X = np.eye(3, 2)
    with pytest.raises(go.OutsideDomainError, match="dependent columns"):
        faithful.qr_retraction(X, -X)
    with pytest.raises(go.OutsideDomainError, match="dependent columns"):
        faithful.cholesky_qr(lambda Y: Y, X, -X)


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("from-maps-subspace", "Lyapunov equation"),
        ("from-maps-blocks", "single matrices"),
        ("huge", "289 GB"),
    ],
)
def test_faithful_says_why_it_cannot_run(family: str, reason: str) -> None:
    if family == "huge":
        M = go.SymplecticStiefel(190_000, 2)
    else:
        from genorth.testing import Recipe

        M = Recipe(family, 4, 2, 10.0, 0).build()
    assert reason in str(faithful.unsupported(M))
