"""Further constraints: what they become, known minima under them, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import baselines  # noqa: F401  registers slsqp and trust-constr
import genorth as go
import genorth.alm
import genorth.testing as gt
from genorth.alm import _Lagrangian, polished
from genorth.errors import StepTooLong
from genorth.problem.constraints import as_constraint
from genorth.problem.kkt import KKT, Cone
from genorth.problem.measure import Measure
from genorth.testing.contract import Sample
from support.norms import norm

_Matrix = np.ndarray[Any, Any]
METHODS = ("ralm", "odf-alm", "cdf-alm")
_SPHERE = go.Sphere(3)


def _quadratic(manifold: Any, A: _Matrix, constraints: Any) -> go.Problem:
    """-tr(X^T A X)."""
    return go.Problem(
        manifold,
        lambda X: -float(np.vdot(X, A @ X)),
        lambda X: -2 * (A @ X),
        lambda X, Z: -2 * (A @ Z),
        constraints=constraints,
    )


def _cap(bound: float) -> go.Problem:
    """The highest point of the sphere with x_0 <= bound, in the direction (1, 1, 0)."""
    return go.Problem(
        go.Sphere(3),
        lambda x: -x[0] - x[1],
        lambda x: -np.array([1.0, 1.0, 0.0]),
        lambda x, z: 0 * z,
        constraints=LinearConstraint([[1.0, 0.0, 0.0]], -np.inf, bound),
    )


def _norm_of_rows() -> NonlinearConstraint:
    """|first row|^2 = 1/4, and the product of two entries at most 0.1."""

    def jacobian(X: _Matrix) -> _Matrix:
        J = np.zeros((2, *X.shape))
        J[0, 0] = 2 * X[0]
        J[1, 1, 0], J[1, 2, 1] = X[2, 1], X[1, 0]
        return J

    return NonlinearConstraint(
        lambda X: np.array([X[0] @ X[0], X[1, 0] * X[2, 1]]), [0.25, -np.inf], [0.25, 0.1], jacobian
    )


# ---------------------------------------------------------------------- the maps


@given(seed=st.integers(0, 1000))
def test_the_maps_are_the_derivatives_of_c(seed):
    """J Z, J^T y and the derivative of J^T y along Z, of all kinds together."""
    rng = np.random.default_rng(seed)
    manifold = go.Stiefel(5, 2)
    low = np.where(rng.random((5, 2)) < 0.5, np.nan, -0.3)
    kinds = [
        Bounds(low, np.inf),
        LinearConstraint(scipy.sparse.csr_array(rng.standard_normal((3, 10))), -1, 1),
        _norm_of_rows(),
    ]
    c = as_constraint(kinds, manifold)
    X, Z = rng.standard_normal((2, 5, 2))
    y, t = rng.standard_normal(c.lower.size), 1e-5
    assert np.allclose((c.value(X + t * Z) - c.value(X - t * Z)) / (2 * t), c.push(X, Z), atol=1e-8)
    assert float(y @ c.push(X, Z)) == pytest.approx(float(np.vdot(c.pull(X, y), Z)), abs=1e-10)
    second = (c.pull(X + t * Z, y) - c.pull(X - t * Z, y)) / (2 * t)
    assert c.second is not None
    assert np.allclose(c.second(X, Z, y), second, atol=1e-5)


def test_nan_is_no_bound():
    c = as_constraint(Bounds([np.nan, 0.0, np.nan], [0.5, np.nan, np.nan]), go.Sphere(3))
    assert c.value(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0]
    assert c.nearest(np.array([-9.0, 9.0])).tolist() == [-9.0, 9.0]
    assert c.violation(np.array([0.7, -0.1])) == pytest.approx(0.2)


@given(seed=st.integers(0, 1000), rho=st.floats(0.1, 100))
def test_the_augmented_lagrangian_has_these_derivatives(seed, rho):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 5))
    problem = _quadratic(go.Stiefel(5, 2), A + A.T, [Bounds(-0.2, 0.4), _norm_of_rows()])
    y = rng.standard_normal(problem.constraints.lower.size)
    inner = _Lagrangian(problem, y, rho)
    X, Z = rng.standard_normal((2, 5, 2))
    t = 1e-6
    (above, G), (below, H) = (inner.value_and_gradient(X + s * t * Z) for s in (1, -1))
    _, G0 = inner.value_and_gradient(X)
    size = (1 + rho) * 100
    assert (above - below) / (2 * t) == pytest.approx(float(np.vdot(G0, Z)), abs=1e-6 * size)
    if np.array_equal(inner.excess(X + t * Z) != 0, inner.excess(X - t * Z) != 0):
        assert np.allclose((G - H) / (2 * t), inner.hessian(X, Z), atol=1e-5 * size)


# ---------------------------------------------------------------------- F30


def _at_a_solution(family: str, seed: int) -> tuple[go.Problem, Sample, _Matrix, _Matrix, _Matrix]:
    """A linear f and two equations, for which X fulfils the conditions with y; J^T y, Theta."""
    rng = np.random.default_rng(seed)
    s = Sample(gt.Recipe(family, 6, 2, 3.0, seed % 9).build(), seed)
    A, y, Theta = rng.standard_normal((2, s.X.size)), rng.standard_normal(2), s.symmetric()
    back = (A.T @ y).reshape(s.X.shape)
    G, values = s.P @ Theta - back, A @ s.X.ravel()
    problem = go.Problem(
        s.M,
        lambda X: float(np.vdot(G, X)),
        lambda X: G,
        lambda X, Z: 0 * Z,
        constraints=LinearConstraint(A, values, values),
    )
    return problem, s, y, back, Theta


_FAMILIES = st.sampled_from(["stiefel", "generalized", "symplectic", "indefinite-dense"])
_PENALTIES = st.sampled_from([go.ConstraintDissolving, go.OrthogonalDissolving])


@pytest.mark.statement("F30")
@given(family=_FAMILIES, penalty=_PENALTIES, seed=st.integers(0, 1000))
def test_F30_the_normal_block_knows_the_multipliers_and_not_rho(family, penalty, seed):
    """4 beta |S|^2 - 3 Re tr(S^2 Theta), beta |V|^2 + <V, phi(V) Theta>; no cross terms."""
    problem, s, y, _, Theta = _at_a_solution(family, seed)
    S, Z, beta = s.symmetric(), s.tangent(), 2.0
    if penalty is go.ConstraintDissolving:
        V = s.X @ S.T
        form = 4 * beta * np.vdot(S, S) - 3 * np.trace(S @ S @ Theta)
    else:
        V = s.P @ S
        form = beta * np.vdot(V, V) + np.vdot(V, s.M.phi(V) @ Theta)
    bound = 1e-9 * (1 + norm(V)) * (1 + norm(V) + norm(Z)) * (1 + norm(Theta)) * s.kappa**2
    for rho in (1.0, 100.0):
        h = penalty(_Lagrangian(problem, y, rho).smooth(), beta)
        assert norm(h.gradient(s.X)) <= bound * rho
        HV = h.hessian_product(s.X, V)
        assert abs(np.vdot(V, HV) - form) <= bound * rho
        assert abs(np.vdot(Z, HV)) <= bound * rho


@pytest.mark.statement("F30")
@given(family=_FAMILIES, penalty=_PENALTIES, seed=st.integers(0, 1000))
def test_F30_constraints_at_X_itself_leave_the_solution(family, penalty, seed):
    """The gradient there is J^T y - DY*[J^T y], whatever beta is."""
    problem, s, _, back, _ = _at_a_solution(family, seed)
    M, X = s.M, s.X
    oblique = penalty is go.ConstraintDissolving
    left = back - (M.dissolve_adjoint(X, back) if oblique else M.project(X, back))
    for beta in (1.0, 100.0):
        rest = penalty(problem, beta).gradient(X) + back - left
        assert norm(rest) <= 1e-9 * beta * (1 + norm(back)) * s.kappa**2
    assert norm(left) > 1e-3 * norm(back)


@pytest.mark.statement("F30")
@given(family=_FAMILIES, seed=st.integers(0, 1000))
def test_F30_newtons_map_for_both_squares_the_distance(family, seed):
    problem, s, y, _, _ = _at_a_solution(family, seed)
    E, c = s.ambient(), problem.constraints
    missed = []
    for t in (1e-3, 1e-4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(genorth.alm, "_POLISH", 1)
            x = polished(problem, s.X + t * E / norm(E), y)
        missed.append(norm(s.M.constraint(x)) + c.violation(c.value(x)))
    assert missed[1] <= missed[0] / 50 + 1e-11 * s.kappa**2, missed


@pytest.mark.statement("F30")
@given(seed=st.integers(0, 1000))
def test_F30_newtons_equation_on_the_critical_cone(seed):
    """P hess(f + y^T c)[Z] = -P grad(f + y^T c), with the bounds that have a multiplier."""
    rng = np.random.default_rng(seed)
    A = np.diag(np.linspace(1, 4, 6)) + 0.1 * rng.standard_normal((6, 6))
    M, A = go.Stiefel(6, 1), A + A.T
    x = np.eye(6)[:, :1] + 0.05 * rng.standard_normal((6, 1))
    x /= norm(x)
    bent = NonlinearConstraint(
        lambda X: X[3] + X[1] ** 2,
        *[x[3] + x[1] ** 2] * 2,
        jac=lambda X: (np.eye(6)[3:4].T + 2 * np.eye(6)[1:2].T * X[1])[None],
    )
    cone = Cone(_quadratic(M, -A, bent), x, rng.uniform(-0.3, 0.3, 1))
    Z, lagrangian = cone.newton(1e-12, 100), cone.lagrangian()
    _, G = lagrangian.evaluate(x)
    H = M.hessian(x, G, lagrangian.euclidean_hessian(x, Z), Z)
    g = cone.project(M.gradient(x, G))
    assert norm(g) > 1e-3 and norm(cone.project(H) + g) <= 1e-6 * norm(g)
    assert abs(np.vdot(x, Z)) <= 1e-10 and abs(float(cone.constraint.push(x, Z)[0])) <= 1e-10
    with pytest.raises(StepTooLong):
        Cone(_quadratic(M, A, bent), x, np.zeros(1)).newton(1e-12, 100)


# ---------------------------------------------------------------------- known minima


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", [0.3, 0.9])
def test_a_cap_of_the_sphere(method, bound):
    """Active at 0.3, where x = (0.3, sqrt(1 - 0.09), 0); not at 0.9."""
    result = go.minimize(_cap(bound), method=method, rng=1, tol=1e-7)
    best = bound + np.sqrt(1 - bound**2) if bound < np.sqrt(0.5) else np.sqrt(2)
    assert result.success and -result.fun == pytest.approx(best, abs=1e-6), result
    assert (abs(result.kkt.multipliers[0]) > 0.1) == (bound < np.sqrt(0.5))


@pytest.mark.parametrize("method", METHODS)
def test_nonnegative_orthogonal_factors_find_the_clusters(method):
    """Rows of X >= 0 with X^T X = I have one entry each: the cluster."""
    rng, k, n = np.random.default_rng(0), 3, 24
    labels = np.repeat(np.arange(k), n // k)
    Y = np.eye(k)[labels] / np.sqrt(n // k)
    A = Y @ np.diag([3.0, 2.5, 2.0]) @ Y.T + 0.05 * rng.standard_normal((n, n))
    problem = _quadratic(go.Stiefel(n, k), A + A.T, Bounds(0, np.inf))
    start = problem.manifold.restore(np.abs(problem.manifold.random_point(1)) + 0.3 * Y)
    result = go.minimize(problem, start, method=method, tol=1e-6)
    assert result.success and result.kkt.violation <= 1e-6, result
    found = np.argmax(result.x, axis=1)
    assert len({(a, b) for a, b in zip(found, labels, strict=True)}) == k


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_support_is_the_smaller_problem(method):
    """X_ij = 0 in some rows, against elimination of these rows."""
    A = np.diag(np.arange(6.0)) + 0.1 * np.ones((6, 6))
    free = np.array([True, True, False, True, True, False])
    zero = np.where(free[:, None], np.nan, 0.0) * np.ones((6, 2))
    result = go.minimize(_quadratic(go.Stiefel(6, 2), A, Bounds(zero, zero)), method=method, rng=0)
    assert result.success, result
    assert -result.fun == pytest.approx(np.linalg.eigvalsh(A[free][:, free])[-2:].sum(), abs=1e-6)


def test_a_constraint_on_one_factor_of_a_product():
    """max a.x + t - t^2/2 with t <= 1/2 free and x on the sphere."""
    product = go.Product(x=go.Sphere(3), t=go.Euclidean(1))
    a = np.array([1.0, 2.0, 2.0])
    problem = go.Problem(
        product,
        lambda x, t: -float(a @ x + t[0] - t[0] ** 2 / 2),
        lambda x, t: (-a, -1 + t),
        constraints={"t": Bounds(-np.inf, 0.5)},
    )
    result = go.minimize(problem, rng=0, tol=1e-7)
    assert result.success and result.method == "ralm"
    assert -result.fun == pytest.approx(3 + 0.5 - 0.125, abs=1e-6)
    assert result.x.t[0] == pytest.approx(0.5, abs=1e-6)


def test_on_another_manifold_with_an_equation():
    """The trace on the symplectic manifold with one entry fixed; agreement of both families."""
    A = np.diag(np.linspace(1, 3, 6))
    fixed = LinearConstraint(np.eye(1, 12), 0.4, 0.4)
    problem = _quadratic(go.SymplecticStiefel(6, 2), -A, fixed)
    values = [go.minimize(problem, rng=0, method=m, tol=1e-7) for m in METHODS]
    assert all(r.success and abs(r.x[0, 0] - 0.4) <= 1e-6 for r in values)
    assert max(r.fun for r in values) - min(r.fun for r in values) <= 1e-6


def test_constraints_that_exclude_the_manifold_are_found_out():
    problem = go.Problem(
        go.Sphere(3),
        lambda x: -x[1],
        lambda x: -np.array([0.0, 1.0, 0.0]),
        constraints=LinearConstraint([[1.0, 0.0, 0.0]], 2, 3),
    )
    result = go.minimize(problem, rng=1)
    assert result.status is go.Status.INFEASIBLE and not result.success
    assert result.kkt.violation == pytest.approx(1.0, abs=1e-3), "the least on the sphere"
    assert "entry 0 of constraints (linear)" in result.message


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("value", "slope"), [(np.nan, 1.0), (0.0, np.nan)])
def test_a_constraint_that_is_not_finite_ends_the_run(method, value, slope):
    broken = NonlinearConstraint(lambda x: [value], 1, 2, jac=lambda x: slope * x[None])
    problem = go.Problem(_SPHERE, lambda x: x[0], lambda x: np.eye(3)[0], constraints=broken)
    result = go.minimize(problem, rng=0, method=method, check=False)
    assert result.status is go.Status.NOT_FINITE and not result.success
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_conflict_of_constraints_is_found_out_and_named(method):
    """J^T times what is missed vanishes where two constraints pull against each other."""
    A = np.random.default_rng(0).standard_normal((6, 6))
    upper = np.full((6, 2), np.nan)
    upper[1, 0] = 0.5
    constraints = [LinearConstraint(np.eye(12)[2], 0.6, 1), Bounds(np.nan, upper)]  # X_10
    problem = _quadratic(go.Stiefel(6, 2), A + A.T, constraints)
    result = go.minimize(problem, rng=0, method=method, tol=1e-6)
    assert result.status is go.Status.INFEASIBLE, result
    assert result.kkt.violation == pytest.approx(0.05, abs=1e-3)
    found = [problem.in_blocks.constraints.entry(i) for i in range(2)]
    assert found == ["entry 0 of constraints[0] (linear)", "entry 2 of constraints[1] (bounds)"]
    assert result.kkt.worst in found


@pytest.mark.parametrize("method", METHODS)
def test_active_bounds_hold_to_rounding_at_the_end(method):
    """By Newton's map for both; without it to constraint_tol."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((8, 8))
    problem = _quadratic(go.Stiefel(8, 1), A + A.T, Bounds(0, np.inf))
    result = go.minimize(problem, rng=0, method=method, tol=1e-6)
    assert result.success and result.kkt.violation <= 1e-12 and result.feasibility <= 1e-12
    assert np.sum(np.abs(result.x) <= 1e-12) >= 1, "some bound is active"
    rough = go.minimize(problem, rng=0, method=method, tol=1e-6, polish=False)
    assert rough.success and rough.fun == pytest.approx(result.fun, abs=1e-5)


def test_newtons_method_on_active_bounds_saves_rounds():
    """It begins after the first round, and anew where the bounds have settled later."""
    rounds = {True: 0, False: 0}
    for seed in range(8):
        A = np.random.default_rng(seed).standard_normal((12, 12))
        problem = _quadratic(go.Stiefel(12, 1), A + A.T, Bounds(0, np.inf))
        for polish in rounds:
            result = go.minimize(problem, rng=0, method="ralm", tol=1e-9, polish=polish)
            assert result.success, result
            rounds[polish] += result.kkt.rounds
    assert 3 * rounds[True] <= rounds[False]  # a third; a fifth was measured


def test_a_budget_ends_the_run_between_and_within_rounds():
    result = go.minimize(_cap(0.3), rng=1, max_evaluations=4, check=False)
    assert result.status is go.Status.EVALUATION_LIMIT and not result.success
    assert result.evaluations <= 6


def test_progress_and_callback_see_the_whole_run(capsys):
    """Iterations, evaluations and time go on from round to round; tol is that of the run."""
    seen = []
    how = {"rng": 1, "tol": 1e-7, "method": "ralm", "polish": False}  # which needs more rounds
    result = go.minimize(_cap(0.3), progress=1, callback=seen.append, **how)
    lines = capsys.readouterr().err.splitlines()
    assert result.kkt.rounds > 1 and len(lines) == len(seen) == len(result.trace)
    assert int(lines[-1].split()[1]) == seen[-1].nit == result.nit
    for name in ("nit", "nfev", "time"):
        figures = [getattr(progress, name) for progress in seen]
        assert figures == sorted(figures) and figures[-1] > figures[0], name
    assert {progress.tol for progress in seen} == {1e-7}


def test_a_callback_stops_the_run_and_ctrl_c_leaves_the_conditions():
    how = {"rng": 1, "method": "ralm", "polish": False}  # more iterations
    result = go.minimize(_cap(0.3), callback=lambda p: p.nit == 5, **how)
    assert result.status is go.Status.CALLBACK and result.nit == 5

    def press(progress):
        if progress.nit == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        go.minimize(_cap(0.3), callback=press, **how)
    left = stopped.value.result
    assert left.status is go.Status.INTERRUPTED and left.kkt.rounds >= 1 and left.nit >= 4


@pytest.mark.parametrize("method", [*METHODS, "slsqp", "trust-constr"])
def test_values_and_products_of_constraints_are_counted(method):
    """Against the user's own counts; a Jacobian is asked for once at each point."""
    calls = {"fun": 0, "jac": 0}

    def counted(name, value):
        calls[name] += 1
        return value

    constraint = NonlinearConstraint(
        lambda x: counted("fun", x @ x + x[0]),
        -9,
        1.3,
        jac=lambda x: counted("jac", 2 * x[None] + np.eye(1, 3)),
    )
    problem = go.Problem(
        _SPHERE, lambda x: -x[0] - x[1], lambda x: -np.array([1.0, 1, 0]), constraints=constraint
    )
    calls.update(fun=0, jac=0)
    result = go.minimize(problem, rng=1, method=method, tol=1e-6, check=False)
    assert result.success, result
    assert 0 < result.constr_nfev <= calls["fun"] <= result.constr_nfev + 2 * len(result.trace) + 20
    assert result.constr_njev >= 1
    assert problem.counts.constr_nfev == result.constr_nfev
    assert f"(nfev {result.constr_nfev}, njev {result.constr_njev})" in repr(result)
    fresh = problem.fresh()
    assert fresh.counts.constr_nfev == 0
    fresh.in_blocks.constraints.value(np.ones((3, 1)))
    assert fresh.counts.constr_nfev == 1 and problem.counts.constr_nfev == result.constr_nfev
    problem.reset_counts()
    assert problem.counts.constr_nfev == problem.counts.constr_njev == 0


@given(seed=st.integers(0, 1000))
def test_the_preconditioner_is_the_inverse_of_its_matrix(seed):
    """(sigma I + J^T diag(rho) J)^-1, J of the active affine constraints."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 10))
    kinds = [
        Bounds(np.where(rng.random((5, 2)) < 0.5, 0.0, np.nan), 0.0),
        LinearConstraint(A, -9, 0),
    ]
    problem = _quadratic(go.Stiefel(5, 2), np.eye(5), [*kinds, _norm_of_rows()])
    constraint = problem.constraints
    y, rho, sigma = rng.standard_normal(constraint.lower.size), rng.uniform(1, 100), 0.7
    inner = _Lagrangian(problem, y, rho, sigma)
    X, V = rng.standard_normal((2, 5, 2))
    Z = inner.preconditioner(X, V)
    active = (inner.excess(X) != 0) & constraint.affine
    back = constraint.pull(X, np.where(active, rho * constraint.push(X, Z), 0.0))
    assert np.allclose(sigma * Z + back, V, atol=1e-6)
    assert constraint.affine.tolist() == [True] * (y.size - 2) + [False] * 2


def test_equations_cost_little_more_than_their_elimination():
    """A fixed support: at most three times the evaluations of the smaller problem."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((40, 40))
    free = rng.random(40) > 0.3
    zero = np.where(free[:, None], np.nan, 0.0) * np.ones((40, 2))
    whole = _quadratic(go.Stiefel(40, 2), B + B.T, Bounds(zero, zero))
    part = _quadratic(go.Stiefel(int(free.sum()), 2), (B + B.T)[free][:, free], ())
    result, less = (go.minimize(p, rng=0, tol=1e-6, certify=False) for p in (whole, part))
    assert result.success and result.fun == pytest.approx(less.fun, abs=1e-6)
    assert result.evaluations <= 3 * less.evaluations
    assert result.kkt.rounds <= 4, "Newton's method ends it where seven rounds were"


# ---------------------------------------------------------------------- the conditions


def test_the_conditions_are_measured_anew():
    """With the multipliers that fit best, of the sign of the bound that is active."""
    problem = _cap(0.3).in_blocks
    x = np.array([0.3, np.sqrt(1 - 0.09), 0.0]).reshape(3, 1)
    kkt = KKT.estimate(problem, x)
    assert kkt.holds(1e-8, 1e-8)
    assert kkt.multipliers[0] == pytest.approx(1 - 0.3 / np.sqrt(0.91))
    assert Measure.at(problem, x).stationary(1e-8)
    inside = np.array([0.2, np.sqrt(0.96), 0.0]).reshape(3, 1)
    assert KKT.estimate(problem, inside).multipliers[0] == 0.0
    assert not Measure.at(problem, inside).stationary(1e-3)
    outside = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0]).reshape(3, 1)
    assert KKT.estimate(problem, outside).stationarity <= 1e-8, "a maximum without the bound"
    assert not Measure.at(problem, outside).stationary(1e-3), "but it violates it"


def _on_the_equator(signs: list[float], constraints: Any) -> go.Problem:
    """x^T diag(signs) x on the sphere."""
    D = np.array(signs)
    return go.Problem(
        go.Sphere(len(signs)),
        lambda x: float(D @ x**2),
        lambda x: 2 * D * x,
        lambda x, z: 2 * D * z,
        constraints=constraints,
    )


def test_the_certificate_is_that_of_the_critical_cone():
    """On the sphere e_2 is a saddle of x^T D x, and its minimum where x_0 = 0 is demanded."""
    e = np.eye(3)[1]
    free = _on_the_equator([1.0, 2.0, 3.0], ())
    fixed = _on_the_equator([1.0, 2.0, 3.0], LinearConstraint(np.eye(1, 3), 0, 0))
    assert go.certify(free, e).verdict == "saddle"
    found = go.certify(fixed, e)
    assert found.verdict == "minimum" and found.eigenvalue == pytest.approx(2.0)
    third = go.certify(fixed, np.eye(3)[2])
    assert third.verdict == "saddle" and abs(third.direction[0]) <= 1e-12
    result = go.minimize(fixed, rng=0, certify=True)
    assert result.certificate.verdict == "minimum"
    assert go.minimize(fixed, rng=0).certificate is None, "'auto' leaves it out"
    stuck = go.minimize(fixed, np.eye(3)[2], certify=True)
    assert stuck.status is go.Status.SADDLE and not stuck.success


def test_the_certificate_counts_the_curvature_of_the_constraints():
    """f is linear; the Hessian of the Lagrangian is that of y^T c: against the exact one."""
    curved = NonlinearConstraint(
        lambda x: x[0] ** 2, 0, 0.09, jac=lambda x: np.array([[2 * x[0], 0, 0]])
    )
    linear = _cap(0.3)
    a = np.array([1.0, 1.0, 0.0])
    problem = go.Problem(
        _SPHERE, lambda x: -a @ x, lambda x: -a, lambda x, z: 0 * z, constraints=curved
    )
    x = np.array([0.3, np.sqrt(0.91), 0.0])
    # Z = e_3 is all that is left of T_x M: <Z, H Z> = -<x, grad L> = a.x - 2 y x_0^2
    y = (1 - 0.3 / np.sqrt(0.91)) / 0.6
    both = [go.certify(problem, x), go.certify(linear, x)]
    assert [c.verdict for c in both] == ["minimum"] * 2
    assert both[0].eigenvalue == pytest.approx(a @ x - 2 * y * 0.09, abs=1e-5)
    assert both[1].eigenvalue == pytest.approx(a @ x - 0.6 * y * 0.3, abs=1e-8)


def test_bounds_without_a_multiplier_leave_a_saddle_open():
    """At e_2 both x_0 >= 0 and x_0 <= 0 + are weakly active for different D: one way is left."""
    e = np.eye(3)[1]
    one = _on_the_equator([1.0, 2.0, 3.0], LinearConstraint(np.eye(1, 3), 0, np.inf))
    assert go.certify(one, e).verdict == "saddle", "along +e_0"
    shut = LinearConstraint([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [0, -np.inf], [np.inf, 0])
    two = _on_the_equator([1.0, 2.0, 3.0], shut)
    assert go.certify(two, e).verdict == "undecided", "neither way"
    away = go.certify(one, np.array([-0.6, 0.8, 0.0]))
    assert away.verdict == "undecided", "it violates the bound"


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_automatic_differentiation_has_the_jacobian(library):
    """Against the one by hand, alone and on a product."""
    pytest.importorskip(library)
    X, A = go.Stiefel(5, 2).random_point(0), np.arange(10.0).reshape(5, 2)
    C = A if library == "jax" else pytest.importorskip("torch").tensor(A)

    def c(X):
        return (X**2).sum(0) * (C * X).sum()

    def jacobian(X):
        return 2 * X * np.eye(2)[:, None] * np.vdot(A, X) + (X**2).sum(0)[:, None, None] * A

    def cost(X, *_):
        return (C * X).sum()

    given = [NonlinearConstraint(c, -1, 0), Bounds(-1, 1)]
    problem = go.Problem(go.Stiefel(5, 2), cost, autodiff=library, constraints=given)
    further, y = problem.in_blocks.constraints, np.array([2.0, -1.0])
    assert further.value(X)[:2] == pytest.approx((X**2).sum(0) * np.vdot(A, X), rel=1e-13)
    pulled = further.pull(X, np.append(y, np.zeros(10)))
    assert np.allclose(pulled, np.einsum("i,ijk->jk", y, jacobian(X)), atol=1e-12)
    product = go.Product(X=go.Stiefel(5, 2), t=go.Euclidean(1))
    several = NonlinearConstraint(lambda X, t: c(X) + t**2, -1, 0)
    problem = go.Problem(product, cost, autodiff=library, constraints=several)
    flat = product.inward((X, np.array([3.0])))
    V, s = product.outward(problem.in_blocks.constraints.pull(flat, y))
    assert np.allclose(V, pulled, atol=1e-12) and s == pytest.approx(6 * y.sum())


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (3, "constraints: need Bounds, LinearConstraint .* got int"),
        (Bounds(np.zeros(4), 1), r"constraints: need bounds of shape \(3,\)"),
        (Bounds([0, 0, 2], 1), "lower <= upper; got 2 > 1 at entry 2"),
        (LinearConstraint(np.eye(2), 0, 1), "a matrix with 3 columns; got shape"),
        (NonlinearConstraint(lambda x: x @ x, 0, 1), "with its Jacobian"),
    ],
)
def test_a_wrong_constraint_is_refused(constraints, message):
    with pytest.raises(ValueError, match=message):
        go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x, constraints=constraints)


def test_a_jacobian_of_wrong_shape_bounds_of_complex_entries_and_unknown_factors_are_refused():
    wrong = NonlinearConstraint(lambda x: x @ x, 0, 1, jac=lambda x: np.ones((2, 3)))
    problem = go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x, constraints=wrong)
    with pytest.raises(ValueError, match=r"a Jacobian of shape \(1, 3\)"):
        go.minimize(problem, rng=0)
    with pytest.raises(ValueError, match="real entries, which bounds are for"):
        go.Problem(go.Stiefel(3, 1, complex), lambda X: 0.0, constraints=Bounds(0, 1))
    product = go.Product(x=_SPHERE, t=go.Euclidean(1))
    with pytest.raises(ValueError, match="names of x, t; got 'y'"):
        go.Problem(product, lambda x, t: 0.0, constraints={"y": Bounds(0, 1)})


def test_a_wrong_jacobian_is_refused_by_the_check_at_the_start():
    wrong = NonlinearConstraint(lambda x: x @ x, 0, 1, jac=lambda x: x[None])  # half of it
    problem = go.Problem(_SPHERE, lambda x: x[0], lambda x: np.eye(3)[0], constraints=wrong)
    with pytest.raises(ValueError, match="constraints: need jac to be the derivative of fun"):
        go.minimize(problem, rng=0)


def test_a_solver_without_constraints_names_those_that_take_them():
    with pytest.raises(
        ValueError, match=r"'rtr' takes no constraints .*'ralm', 'odf-alm', 'cdf-alm'"
    ):
        go.minimize(_cap(0.3), method="rtr")
    with pytest.raises(ValueError, match="need constraints or a nonsmooth term; got"):
        go.minimize(go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x), method="ralm")


@pytest.mark.parametrize("size", [0.0, 1e-165, 1e-8, 1e8, 1e155])
@pytest.mark.parametrize("method", [*METHODS, "slsqp", "trust-constr"])
def test_starts_of_any_size(method: str, size: float) -> None:
    """From zeros there is no way to M for some; nothing breaks, and multipliers have a scale."""
    A = np.diag([3.0, 2.0, 1.0, 0.0])
    problem = _quadratic(go.Stiefel(4, 2), A, Bounds(-0.9, 0.9))
    x0 = size * np.random.default_rng(0).standard_normal((4, 2))
    try:
        found = go.minimize(problem, x0, method=method, tol=1e-6, max_evaluations=2000)
    except go.NotRestorableError:
        assert size == 0
        return
    assert not np.isnan(found.gradient_norm)
    if method in METHODS and 0 < size < 1e100:
        assert found.success, found


def test_a_point_without_rank_has_multipliers_of_zero() -> None:
    problem = _quadratic(go.Stiefel(4, 2), np.eye(4), Bounds(0, 1))
    kkt = KKT.estimate(problem, np.zeros((4, 2)))
    assert not kkt.multipliers.any()
    assert kkt.stationarity == 0


def test_scipys_solvers_take_no_more_equations_than_there_are_unknowns() -> None:
    equations = LinearConstraint(np.eye(2), [1.0, 0.0], [1.0, 0.0])
    free = _quadratic(go.Stiefel(2, 1), np.eye(2), Bounds(-np.inf, np.inf))
    for method in ("slsqp", "trust-constr"):
        with pytest.raises(ValueError, match="at most dim M = 1 further equations"):
            go.minimize(_quadratic(go.Stiefel(2, 1), np.eye(2), equations), method=method)
        assert go.minimize(free, method=method, rng=0, tol=1e-6).success
