"""What loops make of a preconditioner: the direction, the steps of gd, and the map on all of F."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given

import genorth as go
from genorth.linalg.arrays import inner, norm
from genorth.penalty.run import Flat, OnSpace
from genorth.riemannian.run import OnManifold
from genorth.solve.descent import _preconditioned
from genorth.solve.monitor import Monitor
from genorth.testing import conditioned_symmetric, seeds
from support.problems import smooth

MANIFOLD = go.SymplecticStiefel(8, 4)


@given(seed=seeds())
def test_steps_of_gd_are_those_in_the_variables_in_which_M_is_the_identity(seed: int) -> None:
    """<S,MS>/<S,Y> and <S,Y>/<Y,M^-1 Y>: Barzilai and Borwein's quotients of M^(1/2) X."""
    rng, n, t = np.random.default_rng(seed), 5, 0.3
    M, A = conditioned_symmetric(n, 10.0, rng), conditioned_symmetric(n, 10.0, rng)
    X = rng.standard_normal((n, 1))
    before = SimpleNamespace(X=X, gradient=A @ X)

    def steepest(point: SimpleNamespace) -> tuple[np.ndarray, float]:
        return np.linalg.solve(M, point.gradient), 0.0

    X = X - t * steepest(before)[0]
    point = SimpleNamespace(X=X, gradient=A @ X)
    S, Y = point.X - before.X, point.gradient - before.gradient
    for count, wanted in (
        (2, inner(S, M @ S) / inner(S, Y)),
        (3, inner(S, Y) / inner(Y, np.linalg.solve(M, Y))),
    ):
        over, under = _preconditioned(point, before, t, count, steepest)
        assert abs(over / under) == pytest.approx(wanted, rel=1e-9)


def test_the_direction_is_the_projected_one() -> None:
    """D = P_X M^-1 g, with <g, d>."""
    problem, d = smooth(MANIFOLD, 0), np.linspace(1, 3, 8)[:, None]
    run = OnManifold(
        problem, MANIFOLD.random_point(0), "rgd", precondition=lambda X, V: V / (d + X[:1] ** 2)
    )
    point = run.evaluate(run.place(run._start))
    D, fall = run.steepest(point)
    wanted = MANIFOLD.project(point.X, point.gradient / (d + point.X[:1] ** 2))
    assert norm(D - wanted) <= 1e-10 * norm(wanted)
    assert fall == pytest.approx(float(inner(point.gradient, wanted)), rel=1e-9)


def test_on_the_whole_space_it_acts_along_M_and_beta_across() -> None:
    """P M^-1 P + (I - P)/beta, with P and M at Y(X)."""
    problem, d = smooth(MANIFOLD, 0), np.linspace(1, 3, 8)[:, None]
    h = go.OrthogonalDissolving(problem, 7.0)
    X, V = 1.01 * MANIFOLD.random_point(0), MANIFOLD.random_ambient(1)
    run = OnSpace(h, Monitor(problem), X, lambda X, V: V / (d + X[:1] ** 2))
    point = run.known(Flat(h, h.point(X)))
    Y = X - MANIFOLD.newton_step(X)
    place = MANIFOLD.at(Y).general
    tangent = place.project(V)
    wanted = place.project(tangent / (d + Y[:1] ** 2)) + (V - tangent) / 7.0
    inverse = run.inverse(point)
    assert inverse is not None and norm(inverse(V) - wanted) <= 1e-9 * norm(wanted)
