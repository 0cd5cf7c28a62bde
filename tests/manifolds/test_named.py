"""Manifolds under the names that people know: shapes, minima, components."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.riemannian import rgd
from support.problems import nearest, trace

RNG = np.random.default_rng(0)
A = RNG.standard_normal((8, 8))
A = A + A.T
B = RNG.standard_normal((4, 6))
H = RNG.standard_normal((5, 5)) + 1j * RNG.standard_normal((5, 5))
H = H + H.conj().T

SHAPED = {
    "sphere": (go.Sphere(8), (8,), 7),
    "complex sphere": (go.Sphere(4, complex), (4,), 7),
    "oblique": (go.Oblique(4, 6), (4, 6), 18),
    "complex oblique": (go.Oblique(3, 2, complex), (3, 2), 10),
    "circle": (go.ComplexCircle(5), (5,), 5),
    "points": (go.Sphere(1), (1,), 0),
}
METHODS = ["auto", "rgd", "rcg", "rlbfgs", "rtr", "odf-lbfgs", "cdf-lbfgs", "odf-tr"]


def sphere() -> go.Problem:
    return trace(go.Sphere(8), A, fused=False)


def oblique() -> go.Problem:
    return nearest(go.Oblique(4, 6), B)


@pytest.mark.parametrize("name", SHAPED)
def test_points_have_their_natural_shape(name: str) -> None:
    M, shape, dim = SHAPED[name]
    assert M.shape == shape and M.dim == dim
    X, D = M.random_point(0), M.random_ambient(1)
    Z = M.random_tangent(X, 2)
    arrays = [X, D, Z, M.project(X, D), M.retract(X, 0.1 * Z), M.gradient(X, D), M.phi(X)]
    arrays += [M.hessian(X, D, D, Z), M.transport(X, X, Z), M.newton_step(X), M.dissolve(X)]
    assert {np.shape(V) for V in (*arrays, M.restore(X + 0.01 * D))} == {shape}
    assert M.feasibility(X) < 1e-12 and M.tangency(X, Z) < 1e-12
    assert M.inner(X, X) == pytest.approx(float(np.vdot(X, X).real))
    np.testing.assert_array_equal(M.outward(M.inward(D)), D)
    assert go.check_assumptions(M, rng=0).passed
    assert go.check_retraction(M, X=X, Z=Z).passed and go.check_retraction(M, rng=0).passed


@pytest.mark.parametrize("method", METHODS)
def test_every_edge_of_a_run_has_the_natural_shape(method: str) -> None:
    seen: list[tuple[int, ...]] = []
    problem = sphere()
    how = {"keep_points": True, "callback": lambda progress: seen.append(progress.x.shape)}
    result = go.minimize(problem, np.ones(8), method=method, **how)
    assert result.success and result.fun == pytest.approx(np.linalg.eigvalsh(A)[0])
    assert result.x.shape == (8,) and set(seen) == {(8,)}
    assert result.trace.points is not None
    assert {X.shape for X in result.trace.points} == {(8,)}
    assert problem.cost(result.x) == pytest.approx(result.fun)
    assert problem.counts.evaluations >= result.evaluations - 1


def test_unit_columns() -> None:
    result = go.minimize(oblique(), rng=0)
    np.testing.assert_allclose(result.x, B / np.linalg.norm(B, axis=0), atol=1e-6)
    assert go.minimize(oblique(), rng=0, metric=[1.0, 2.0, 3.0, 4.0]).x.shape == (4, 6)
    for report in (go.check_gradient(oblique(), rng=0), go.check_gradient(oblique(), result.x)):
        assert report.passed
    assert go.check_hessian(sphere(), rng=0).passed


def test_the_complex_circle() -> None:
    problem = trace(go.ComplexCircle(5), H)
    assert go.check_gradient(problem, rng=0).passed
    result = go.minimize(problem, rng=0)
    assert result.success
    np.testing.assert_allclose(np.abs(result.x), 1, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda X: go.Oblique(4, 6).project(X, B),
        lambda X: go.Oblique(4, 6).project(B, X),
        lambda X: go.Oblique(4, 6).retract(B, X),
        lambda X: go.minimize(oblique(), X),
        lambda X: go.check_gradient(oblique(), X),
        lambda X: go.check_retraction(go.Oblique(4, 6), X=X),
        lambda X: oblique().cost(X),
    ],
)
def test_the_shape_of_the_blocks_is_refused(call: Any) -> None:
    for X in (B.T, B.T[..., None]):
        with pytest.raises(ValueError, match=r"an array of shape \(4, 6\)"):
            call(X)


def test_a_gradient_of_the_shape_of_the_blocks_is_refused() -> None:
    problem = go.Problem(go.Sphere(8), lambda x: x @ A @ x, lambda x: 2 * (A @ x)[:, None])
    with pytest.raises(ValueError, match="euclidean_gradient"):
        go.minimize(problem)


def test_solvers_called_directly_ask_for_blocks() -> None:
    with pytest.raises(ValueError, match=r"go\.minimize"):
        rgd(sphere())
    assert rgd(sphere().in_blocks, rng=0).x.shape == (8, 1)
    assert go.OrthogonalDissolving(sphere(), 1.0).gradient(np.ones((8, 1))).shape == (8, 1)
    plain = go.Problem(go.Stiefel(3, 1), lambda X: 0.0, np.zeros_like)
    assert plain.in_blocks is plain


def test_they_can_be_copied() -> None:
    M = go.Oblique(4, 6)
    for other in (copy.copy(M), pickle.loads(pickle.dumps(M))):
        assert other.shape == (4, 6) and repr(other) == "<Oblique: 4 x 6, real>"
    with pytest.raises(AttributeError):
        _ = M.nothing


@pytest.mark.parametrize(
    "make", [go.Sphere, go.Orthogonal, go.Unitary, go.Rotations, go.ComplexCircle]
)
def test_sizes_are_checked(make: Any) -> None:
    for n in (0, -1, 2.5, "3", True):
        with pytest.raises(ValueError, match="n: need a positive integer"):
            make(n)
    with pytest.raises(ValueError, match="k: need"):
        go.Oblique(3, 0)
    with pytest.raises(ValueError, match="batch: need"):
        go.Power(go.Stiefel(3, 1), (2, 0))
    with pytest.raises(ValueError, match="manifold: need"):
        go.Power(go.Sphere(3), 2)  # type: ignore[arg-type]


def test_groups() -> None:
    assert go.Orthogonal(3).dim == go.Rotations(3).dim == 3 and go.Unitary(3).dim == 9
    assert go.Unitary(2).random_point(0).dtype == complex
    assert {round(np.linalg.det(go.Orthogonal(3).random_point(s))) for s in range(9)} == {-1, 1}


@pytest.mark.parametrize("method", METHODS)
def test_rotations_stay_rotations(method: str) -> None:
    """The nearest orthogonal matrix to -I has det -1: on the rotations it is out of reach."""
    for M, f in ((go.Rotations(3), 4.0), (go.Power(go.Rotations(3), 4), 16.0)):
        target = -np.eye(3) + np.zeros(M.shape)
        problem = nearest(M, target)
        for seed in range(3):
            np.testing.assert_allclose(np.linalg.det(M.random_point(seed)), 1, atol=1e-12)
            result = go.minimize(problem, method=method, rng=seed)
            assert result.fun == pytest.approx(f)
            np.testing.assert_allclose(np.linalg.det(result.x), 1, atol=1e-9)
        with pytest.raises(ValueError, match="x0: need a point of the component"):
            go.minimize(problem, target, method=method)
        assert go.minimize(problem, M.to_component(target), method=method).x.shape == M.shape
