"""Section 3 of the paper up to h and its derivatives: idempotence, distances, the map A.

In double precision on every family, and in decimals at condition numbers up to 1e8 (`arena`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import genorth.testing as gt
from support.arena import Arena, arenas, record, run_on
from support.decimal_manifold import FAMILIES as EXACT_FAMILIES
from support.decimal_manifold import ExactManifold, exactly, floats
from support.draws import drawn
from support.norms import EPS, Matrix
from support.penalty_formulas import Objective, Penalty

ALL = pytest.mark.parametrize("family", sorted(gt.FAMILIES))


def _bounded(name: str, left: Any, right: Any, noise: Any) -> bool:
    """Left <= right up to the noise, with the ratio recorded where it is not noise."""
    if noise < right:
        record(name, left, right)
    return bool(left <= right + noise)


def _slope(along: Callable[[int], Any], steps: int = 3) -> Any:
    """The derivative at 0 of a polynomial of degree at most 6, by central differences."""
    weights = {1: 45, 2: -9, 3: 1}
    return sum(weights[k] * (along(k) - along(-k)) for k in range(1, steps + 1)) / 60


@drawn(recipe=gt.recipes(EXACT_FAMILIES, max_n=5), seed=gt.seeds())
def test_the_library_agrees_with_decimals(recipe, seed):
    """Every map that the statements are made of, up to the rounding of its terms."""
    manifold, rng = recipe.build(), np.random.default_rng(seed)
    exact, X = ExactManifold(manifold), manifold.random_point(rng)
    X = X + 0.1 * np.linalg.norm(X) * rng.standard_normal() * _unit(manifold.random_ambient(rng))
    Z, T = _unit(manifold.random_ambient(rng)), _unit(manifold.random_ambient(rng))
    S = _unit(X.T @ T)
    dX, dZ, dT, dS = map(exactly, (X, Z, T, S))
    Qinv, Q = floats(exact.Qinv), floats(exact.Q)
    q = np.linalg.norm(Qinv) * np.linalg.norm(Q)
    x, L = 1 + np.linalg.norm(X), np.linalg.norm(floats(exact.A)) * np.linalg.norm(Qinv)
    unit = 1e2 * X.size * EPS * q**2  # an involution J is its own inverse only up to rounding
    for name, args, terms in (
        ("phi", (X,), L * x),
        ("psi", (S,), q),
        ("symmetrize", (S,), q),
        ("constraint", (X,), 1 + L * x**2),
        ("constraint_differential", (X, Z), q * L * x),
        ("constraint_adjoint", (X, S), q * L * x),
        ("dissolve", (X,), x + L * x**3),
        ("dissolve_differential", (X, Z), 1 + q * L * x**2),
        ("dissolve_adjoint", (X, T), 1 + q * L * x**2),
        ("dissolve_second_adjoint", (X, Z, T), q * L * x),
    ):
        images = [{id(X): dX, id(Z): dZ, id(T): dT, id(S): dS}[id(A)] for A in args]
        ours, theirs = getattr(manifold, name)(*args), getattr(exact, name)(*images)
        assert np.linalg.norm(floats(exactly(ours) - theirs)) <= unit * terms, name
    f, beta = Objective(T, 0.3), 0.7
    h, dh = (
        Penalty(manifold, f, beta),
        Penalty(exact, Objective(dT, exactly(0.3)[()]), exactly(beta)[()]),
    )
    size = unit * (1 + q * L * x**2) ** 3 * x**2
    assert abs(float(exactly(h.value(X))[()] - dh.value(dX))) <= size
    assert np.linalg.norm(floats(exactly(h.gradient(X)) - dh.gradient(dX))) <= size
    assert np.linalg.norm(floats(exactly(h.hessian(X, Z)) - dh.hessian(dX, dZ))) <= size


def _unit(E: Matrix) -> Matrix:
    return np.asarray(E / np.linalg.norm(E))


@pytest.mark.statement("le:cbo")
@drawn(arena=arenas())
def test_violation_and_distance_bound_each_other(arena):
    """3/(2 a L) |C(Y)| <= dist(Y, M) <= 2/delta |C(Y)| on Omega_X; the print has |Y - X|."""
    Y, distance = arena.offset()
    C = arena.violation(Y)
    assert distance > 0
    assert arena.M.norm(Y - arena.X) <= arena.epsilon * (1 + arena.unit)
    assert _bounded("lower", 3 * C, 2 * arena.a * arena.L * distance, arena.noise)
    assert _bounded("upper", arena.delta * distance, 2 * C, arena.noise)


@pytest.mark.statement("them:noe", "R15")
@drawn(arena=arenas())
def test_A_squares_the_violation(arena):
    """|C(A(Y))| <= 8 b L/delta^2 |C(Y)|^2 <= 1/2 |C(Y)| on Omega_X, b = alpha_{C,A}."""
    Y, _ = arena.offset()
    before, after = arena.violation(Y), arena.violation(arena.M.dissolve(Y))
    bound = 8 * arena.b * arena.L / arena.delta**2 * before**2
    assert _bounded("after", after, bound, arena.noise)
    assert bound <= before / 2 + arena.noise
    # F6 says what it is, and shows how much is given away: |C(A(Y))| <= 3/4 |C|^2 + 1/4 |C|^3, on
    # all of F.
    assert _bounded("sharp", 4 * after, 3 * before**2 + before**3, arena.noise)


def _around(arena: Arena, reach: float) -> tuple[Matrix, Matrix]:
    """A point off M and a direction: X + kZ, |k| <= 3, in a ball of about the given size."""
    size = arena.number(reach) * arena.M.norm(arena.X)
    E, Z = arena.direction(), arena.direction()
    return arena.X + E * (size / arena.M.norm(E)), Z * (size / arena.M.norm(Z) / 3)


def _penalty(arena: Arena) -> tuple[Penalty, Any]:
    """A random h, and the size of its terms within twice |X|, for a rounding bound."""
    f, beta = arena.objective(), arena.number(10 ** arena.rng.uniform(-2, 2))
    length = 2 * arena.M.norm(arena.X)
    A = length * (2 + 2 * arena.s)
    return Penalty(arena.M, f, beta), A * (arena.M.norm(f.B) + abs(f.w) * A) + beta * (
        1 + 4 * arena.s
    ) ** 2


@pytest.mark.statement("pro:2h")
@drawn(arena=arenas())
def test_hessian_of_h(arena):
    """(eq:nabh), by exact differences: along a line grad h is a polynomial of degree 5."""
    h, size = _penalty(arena)
    X, Z = _around(arena, 0.3)
    product = h.hessian(X, Z)
    bound = arena.unit * size * (1 + arena.s) / arena.M.norm(arena.X)
    assert arena.M.norm(product - h.printed_hessian(X, Z)) <= bound
    assert arena.M.norm(_slope(lambda k: h.gradient(X + k * Z)) - product) <= 10 * bound


@pytest.mark.statement("pro:sta")
@drawn(arena=arenas(), exponent=st.one_of(st.none(), st.integers(-6, 2)))
def test_stationary_on_M_for_both_or_for_neither(arena, exponent):
    """|grad f(X)| <= |grad h(X)| <= (3/2 + a^2 L/6) |grad f(X)| on M, for every beta.

    grad f(X) is given: a tangent vector t, and f with the Euclidean gradient t + phi(X) Theta at X.
    """
    M, X = arena.M, arena.X
    t = arena.tangent() * arena.number(0 if exponent is None else 10.0**exponent)
    f, Theta = arena.stationary_on_M(X)
    f = Objective(f.B + t, f.w)
    h = Penalty(M, f, arena.number(10 ** arena.rng.uniform(-2, 2)))
    small, large = M.norm(t), M.norm(h.gradient(X))
    noise = arena.noise * (1 + arena.s) * (1 + h.beta + M.norm(f.B) + abs(f.w) * M.norm(X))
    if not arena.exact:
        assert M.norm(M.gradient(X, f.gradient(X)) - t) <= noise
        assert M.norm(M.theta(X, f.gradient(X)) - Theta) <= noise * (1 + M.norm(X))
    assert _bounded("lower", small, large, noise)
    assert _bounded("upper", 6 * large, (9 + arena.q) * small, 6 * noise)


@pytest.mark.statement("le:cbo", "them:noe", "pro:2h", "pro:sta")
@ALL
def test_all_of_it_on_every_family(family):
    for test in (
        test_violation_and_distance_bound_each_other,
        test_A_squares_the_violation,
        test_hessian_of_h,
    ):
        run_on(family, test)
    run_on(family, test_stationary_on_M_for_both_or_for_neither, exponent=0)
