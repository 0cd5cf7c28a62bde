"""Section 3.3 of the paper: the threshold of beta, and the stationary points of h and of f."""

from typing import Any

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from support.arena import Arena, arenas, build, record, run_on
from support.draws import drawn
from support.norms import Matrix
from support.penalty_formulas import Objective, Penalty
from support.section2_constants import ambient_basis

ALL = pytest.mark.parametrize("family", sorted(gt.FAMILIES))


def _t(arena: Arena, M_f: Any) -> Any:
    """(a^3 L^2 M + 15 a L M) / (3 delta), delta/2 times the first quotient of the threshold."""
    return arena.a * arena.L * M_f * (arena.q + 15) / (3 * arena.delta)


def _as_floats(arena: Arena, T: Matrix) -> Matrix:
    return np.asarray(T, dtype=arena.constants.manifold.dtype)


@pytest.mark.statement("the:first")
@drawn(arena=arenas())
def test_points_off_M_are_stationary_below_the_threshold_only(arena):
    """For Y in Omega_X off M and f linear with grad h(Y) = 0, beta is at most the first quotient.

    Both scale with f, so beta = 1 says it for all beta. What is left of grad h(Y) by rounding
    counts as in the proof: beta delta/2 |C| <= t |C| + (q + 15)/6 |grad h|.
    """
    Y, _ = arena.offset()
    f = arena.stationary_off_M(Y)
    M, h, C = arena.M, Penalty(arena.M, f, arena.number(1)), arena.violation(Y)
    left = M.norm(h.gradient(Y))
    if arena.exact:
        assert left <= arena.number(1e-60) * M.norm(h.gradient_of_g(Y))
    else:
        assert left <= arena.noise * (1 + arena.s) ** 2 * (M.norm(f.B) + 1)
    first, _ = arena.quotients(M.norm(f.B))
    record("beta over the first quotient", 1, first)
    assert 3 * arena.delta * C * (1 - first) <= (arena.q + 15) * left


@pytest.mark.statement("the:first")
@drawn(arena=arenas())
def test_gradient_of_h_grows_with_the_violation(arena):
    """The steps of the proof on Omega_X, with D = DA(Y)*, N = DC(Y)*[C(Y)] and t as above.

    |D D G - D G| <= (1/2 + q/4) M |C| <= t |C|;  |D N - N| >= delta/2 |C|;
    |grad h| >= 6/(q + 15) (beta delta/2 - t) |C|.
    """
    M, f = arena.M, arena.objective()
    Y, _ = arena.offset()
    C, M_f = arena.violation(Y), arena.M_f(f)
    noise = arena.noise * (1 + arena.s) ** 2

    def rest(T: Matrix) -> Any:
        once = M.dissolve_adjoint(Y, T)
        return M.norm(M.dissolve_adjoint(Y, once) - once)

    G, N = f.gradient(M.dissolve(Y)), M.constraint_adjoint(Y, M.constraint(Y))
    assert M.norm(G) <= M_f
    left, sharp = rest(G), (2 + arena.q) / 4 * M_f * C
    record("first term", left, sharp + noise * M_f)
    assert left <= sharp + noise * M_f
    assert sharp <= _t(arena, M_f) * C
    assert 2 * M.norm(M.dissolve_adjoint(Y, N) - N) + noise * arena.L * arena.a >= arena.delta * C
    beta = arena.threshold(M_f) * arena.number(arena.rng.choice([0.5, 2.0, 1e3]))
    h, bound = Penalty(M, f, beta), (beta * arena.delta / 2 - _t(arena, M_f)) * C
    assert (arena.q + 15) * M.norm(h.gradient(Y)) + 100 * noise * (M_f + beta) * (
        1 + arena.q
    ) >= 6 * bound


@pytest.mark.statement("const:beta")
@drawn(arena=arenas())
def test_the_threshold_is_above_the_sharp_one(arena):
    """6 beta*(Y) <= the first quotient for stationary Y of M in Omega_X (F8); the third is below 0.

    beta* <= 3/4 |Theta|_2 <= a/4 M and delta <= 2 a L/3.
    """
    Y = arena.moved()
    f, Theta = arena.stationary_on_M(Y)
    first, second = arena.quotients(arena.M_f(f))
    sharp = go.ConstraintDissolving.threshold(
        arena.constants.manifold, arena.X, _as_floats(arena, Theta)
    )
    record("sharp threshold over the first quotient", sharp, float(first))
    assert 6 * sharp <= float(first) * (1 + 1e-6)
    third = arena.constants.beta_terms(float(arena.M_f(f)))[2]
    assert third < 0 < min(first, second)


@pytest.mark.statement("R3", "le:sec1")
@drawn(arena=arenas())
def test_second_adjoint_of_the_gradients(arena):
    """D2A*[Z, grad f] = D2A*[Z, egrad] + 1/2 phi(Z) Phi(Theta^T) + 1/2 phi(X) (W Theta - Theta W).

    Z is tangent, W = Z^T phi(X). The last term is missing in print; it vanishes in <Z, .>.
    """
    M, X, Z = arena.M, arena.X, arena.tangent()
    P, PZ, Theta = M.phi(X), M.phi(Z), arena.symmetric()
    W = Z.mT.conj() @ P
    printed, missing = PZ @ M.symmetrize(Theta.mT.conj()) / 2, P @ (W @ Theta - Theta @ W) / 2
    noise = arena.noise * (1 + arena.s) * (1 + M.norm(P)) * arena.L
    for share in (0, 1):  # of the tangent part of the Euclidean gradient: zero is the "moreover"
        gradient = arena.tangent() * share
        egrad = gradient + P @ Theta
        left, right = (M.dissolve_second_adjoint(X, Z, D) for D in (gradient, egrad))
        assert M.norm(left - right - printed - missing) <= noise
        assert abs(M.inner(Z, left - right - printed)) <= noise


def _crossed(arena: Arena) -> tuple[Penalty, Matrix, Matrix, Any]:
    """h with f stationary at some X of M in Omega_X, X, Theta, and the rounding of hess h."""
    X = arena.moved()
    f, Theta = arena.stationary_on_M(X)
    beta = arena.number(10 ** arena.rng.uniform(-2, 2))
    size = (
        1
        + abs(f.w)
        + arena.M.norm(f.gradient(X)) * arena.L * arena.M.norm(X)
        + beta * arena.L * arena.q
    )
    return Penalty(arena.M, f, beta), X, Theta, arena.noise * (1 + arena.s) ** 2 * size


@pytest.mark.statement("theorem:second")
@drawn(arena=arenas())
def test_hessian_of_h_splits(arena):
    """<T, hess h[T]> = <Z, hess f[Z]> + 4 beta |S|^2 - 3 Re tr(S^2 Theta), T = Z + X S^T.

    The rest is positive from the threshold on, so that both are semidefinite or neither is.
    """
    h, X, Theta, rounding = _crossed(arena)
    M, Z, S = arena.M, arena.tangent(X), arena.symmetric()
    V = X @ S.mT.conj()
    along = h.f.w * M.inner(Z, Z) - M.inner(Z, M.phi(Z) @ Theta)
    cubic = M.inner(S.mT.conj(), S @ Theta)
    total = M.inner(Z + V, h.hessian(X, Z + V))
    size = rounding * (1 + M.norm(V)) ** 2
    assert abs(total - along - 4 * h.beta * M.inner(S, S) + 3 * cubic) <= size
    assert 4 * arena.threshold(arena.M_f(h.f)) * M.inner(S, S) > 3 * cubic


@pytest.mark.statement("theorem:second")
@ALL
@pytest.mark.parametrize("shift", [-0.1, 0.1])
def test_both_have_a_second_order_point_or_neither(family, shift):
    """At the threshold the least eigenvalue of hess h on F has the sign of that of hess f."""
    arena = build(gt.Recipe(family, 4, 2, 1.5, 11), exact=False)
    M, X = arena.M, arena.X
    _, Theta = arena.stationary_on_M(X)
    basis = ambient_basis(M)
    values, vectors = np.linalg.eigh(_form(basis, lambda Z: M.project(X, Z)))
    tangent = np.tensordot(vectors[:, values > 0.5].T, basis, axes=1)
    assert len(tangent) == M.dim
    w = shift + float(np.linalg.eigvalsh(_form(tangent, lambda Z: M.phi(Z) @ Theta)).max())
    f = Objective(M.phi(X) @ Theta - w * X, w)
    problem = go.Problem(M, lambda Y: float(f.cost(M, Y)), f.gradient, lambda Y, Z: w * Z)
    hess_f = _form(tangent, lambda Z: M.hessian(X, f.gradient(X), w * Z, Z))
    assert np.linalg.eigvalsh(hess_f).min() == pytest.approx(shift, rel=1e-6)
    beta = float(arena.threshold(arena.M_f(f)))
    hess_h = _form(basis, lambda Z: go.ConstraintDissolving(problem, beta).hessian_product(X, Z))
    assert np.sign(np.linalg.eigvalsh(hess_h).min()) == np.sign(shift)
    sharp = go.exactness_threshold(problem, X)
    assert sharp == pytest.approx(go.ConstraintDissolving.threshold(M, X, Theta), rel=1e-6)


def _form(basis: Matrix, linear: Any) -> Matrix:
    """The symmetric matrix <E_i, linear(E_j)>."""
    images = [linear(E) for E in basis]
    form = np.array([[np.vdot(E, image).real for image in images] for E in basis])
    return np.asarray(form + form.T) / 2


@pytest.mark.statement("the:first", "const:beta", "le:sec1", "theorem:second")
@ALL
def test_all_of_it_on_every_family(family):
    for test in (
        test_points_off_M_are_stationary_below_the_threshold_only,
        test_gradient_of_h_grows_with_the_violation,
        test_the_threshold_is_above_the_sharp_one,
        test_second_adjoint_of_the_gradients,
        test_hessian_of_h_splits,
    ):
        run_on(family, test)
