"""`certify`: saddles are proved, minima are not called saddles, and what is zero is explained."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import genorth as go
from genorth.riemannian.certify import examine
from genorth.solve.certificate import lanczos, unseen
from genorth.testing.strategies import FAMILIES, Recipe
from support.problems import smooth, spd, trace
from support.stationary import spectrum, stationary

SIZES = [(7, 3), (5, 1), (4, 4)]


def draws(family):
    """Manifolds of a family with a random generator each."""
    for seed, (n, p) in enumerate(SIZES):
        M = Recipe(family, n, p, 10.0, seed).build()
        if M.dim > 1:
            yield seed, M, np.random.default_rng((seed, 5))


@pytest.mark.statement("F27")
@pytest.mark.parametrize("hessian", ["auto", "differences"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_planted_saddles_are_named(family, hessian):
    """The Ritz value is at least the smallest eigenvalue, and f falls along the direction."""
    for seed, M, rng in draws(family):
        values = spectrum(M.dim, int(rng.integers(1, 3)), 30.0, rng) * 10.0 ** rng.uniform(-1, 1)
        problem, x = stationary(M, values, seed, hessian=hessian)
        found = go.certify(problem, x, rng=seed)
        assert found.verdict == "saddle", found
        least, error = values.min(), 1e-5 * np.abs(values).max()
        assert least - error <= found.eigenvalue < 0
        assert np.abs(values - found.eigenvalue).min() <= found.error + error
        Z = found.direction
        assert float(M.norm(Z)) == pytest.approx(1, rel=1e-6)
        assert float(M.tangency(x, Z)) <= 1e-6 * float(M.norm(M.phi(x)))
        assert problem.cost(M.retract(x, 1e-3 * Z, "normal")) < problem.cost(x)


@pytest.mark.statement("F27")
@pytest.mark.parametrize("hessian", ["auto", "differences"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_planted_minima_are_not_called_saddles(family, hessian):
    for seed, M, rng in draws(family):
        values = spectrum(M.dim, 0, 30.0, rng) * 10.0 ** rng.uniform(-1, 1)
        problem, x = stationary(M, values, seed, hessian=hessian)
        found = go.certify(problem, x, rng=seed)
        assert found.verdict == "minimum", found
        assert found.eigenvalue >= values.min() * (1 - 1e-5)
        assert np.abs(values - found.eigenvalue).min() <= found.error * (1 + 1e-5)
        assert found.products <= M.dim


def test_zeros_of_an_invariant_cost_are_explained_and_left_out():
    """tr(X^T A X)/2 on Stiefel: l_i - l_j for i > p >= j, and p(p-1)/2 zeros."""
    A = spd(12, 20, 1)
    values, V = np.linalg.eigh(A)
    problem = trace(go.Stiefel(12, 4), A)
    found = go.certify(problem, V[:, :4], rng=0)
    assert found.verdict == "minimum" and found.zeros == 6
    assert "6 eigenvalues are zero, as f(X T) = f(X)" in found.explanation
    gap = 2 * (values[4] - values[3])
    assert gap * (1 - 1e-9) <= found.eigenvalue <= gap + found.error
    saddle = go.certify(problem, V[:, [0, 1, 2, 5]], rng=0)
    assert saddle.verdict == "saddle" and saddle.zeros == 6
    weighted = go.certify(trace(go.Stiefel(12, 4), A, np.arange(4.0, 0, -1)), V[:, :4], rng=0)
    assert weighted.verdict == "minimum" and weighted.zeros == 0


def test_on_a_product_each_factor_has_its_zeros():
    A = spd(8, 20, 1)
    V = np.linalg.eigh(A)[1]
    M = go.Product(C=go.Stiefel(8, 3), w=go.Euclidean(2), D=go.Stiefel(8, 2))
    weights = np.array([2.0, 1.0])

    def cost(C, w, D):
        return float(np.vdot(C, A @ C) + w @ w + np.vdot(D, (A @ D) * weights)) / 2

    problem = go.Problem(
        M,
        cost,
        lambda C, w, D: (A @ C, w, (A @ D) * weights),
        lambda C, w, D, c, v, d: (A @ c, v, (A @ d) * weights),
    )
    for columns, verdict in (([0, 1, 2], "minimum"), ([0, 1, 3], "saddle")):
        found = go.certify(problem, (V[:, columns], np.zeros(2), V[:, :2]), rng=0)
        assert found.verdict == verdict and found.zeros == 3
        assert type(found.direction).__name__ == "Record"


def test_factors_that_turn_apart_do_not_count_together():
    A, B = spd(8, 20, 1), spd(6, 20, 2)
    X, Y = (np.linalg.eigh(each)[1][:, :3] for each in (A, B))
    problem = go.Problem(
        go.Product(go.Stiefel(8, 3), go.Stiefel(6, 3)),
        lambda X, Y: float(np.vdot(X, A @ X) + np.vdot(Y, B @ Y)) / 2,
        lambda X, Y: (A @ X, B @ Y),
    )
    found = go.certify(problem, (X, Y), rng=0)
    assert (found.verdict, found.zeros) == ("minimum", 3 + 3)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("sizes", [(8, 6), (7, 7), (8, 6, 6)])
def test_factors_that_turn_together_have_zeros_together(sizes, dtype):
    """-sum_{i<j} Re tr(X_i^T S_ij X_j), S_ij = U_i D U_j^T, is that of X_i T for one T."""
    rng, p = np.random.default_rng(3), 3
    units = np.array([1, 1j] if dtype is complex else [1, 0])
    draws = [np.tensordot(units, rng.standard_normal((2, n, n)), 1) for n in sizes]
    U = [np.linalg.qr(draw)[0] for draw in draws]
    values = np.arange(6.0, 0, -1)
    S = {
        (i, j): (U[i][:, :6] * values) @ U[j][:, :6].conj().T
        for j in range(len(U))
        for i in range(j)
    }

    def slopes(*X):
        G = [np.zeros_like(x) for x in X]
        for (i, j), s in S.items():
            G[i] -= s @ X[j]
            G[j] -= s.conj().T @ X[i]
        return tuple(G)

    def cost(*X):
        return sum(np.vdot(x, g).real for x, g in zip(X, slopes(*X), strict=True)) / 2

    M = go.Product(*(go.Stiefel(n, p, dtype) for n in sizes))
    problem = go.Problem(M, cost, slopes, lambda *XZ: slopes(*XZ[len(sizes) :]))
    zeros = p * p if dtype is complex else p * (p - 1) // 2
    for columns, verdict in (([0, 1, 2], "minimum"), ([0, 1, 4], "saddle")):
        found = go.certify(problem, tuple(u[:, columns] for u in U), rng=0)
        assert (found.verdict, found.zeros) == (verdict, zeros)


@pytest.mark.parametrize("metric", [None, "B"])
def test_a_metric_and_a_preconditioner_leave_the_sign(metric):
    A, B = spd(10, 50, 1), spd(10, 30, 2)
    V = scipy.linalg.eigh(A, B)[1]
    problem = trace(go.GeneralizedStiefel(B, 3), A)
    inverse = np.linalg.inv(A)
    for columns, verdict in (([0, 1, 2], "minimum"), ([0, 1, 4], "saddle")):
        found = [
            go.certify(problem, V[:, columns], metric=metric, rng=0),
            go.certify(problem, V[:, columns], preconditioner=lambda X, Z: inverse @ Z, rng=0),
        ]
        assert [one.verdict for one in found] == [verdict] * 2, found
        assert all(problem.manifold.tangency(V[:, columns], one.direction) < 1e-6 for one in found)


def test_points_of_a_natural_shape():
    M, d = go.Sphere(6), np.arange(1.0, 7.0)
    problem = go.Problem(M, lambda x: float(x @ (d * x)), lambda x: 2 * d * x)
    found = [go.certify(problem, np.eye(6)[k], rng=0) for k in (0, 2)]
    assert [one.verdict for one in found] == ["minimum", "saddle"]
    assert found[1].direction.shape == (6,) and found[1].eigenvalue == pytest.approx(-4, rel=0.5)


def test_arrays_of_jax_stay_there():
    jax = pytest.importorskip("jax")
    A = spd(8, 20, 1)
    V = np.linalg.eigh(A)[1]
    B = jax.numpy.asarray(A)
    problem = go.Problem(
        go.Stiefel(8, 2),
        cost_and_gradient=lambda X: ((X * (B @ X)).sum() / 2, B @ X),
        euclidean_hessian=lambda X, Z: B @ Z,
    )
    found = go.certify(problem, jax.numpy.asarray(V[:, [0, 3]]), tol=1e-3, rng=0)
    assert found.verdict == "saddle" and isinstance(found.direction, jax.Array)


def test_a_point_that_is_not_stationary_or_not_on_M():
    problem = smooth(go.Stiefel(6, 2), 0)
    X = problem.manifold.random_point(0)
    found = go.certify(problem, X)
    size = float(np.linalg.norm(problem.manifold.gradient(X, problem.euclidean_gradient(X))))
    assert found.verdict == "undecided" and found.gradient_norm == pytest.approx(size)
    assert "not stationary: the gradient norm is" in found.explanation and found.products == 0
    assert "x is not on M: |C(x)| = " in go.certify(problem, 2 * X).explanation


def test_a_flat_cost_decides_nothing():
    M = go.Stiefel(5, 2)
    problem = go.Problem(M, lambda X: 1.0, lambda X: 0 * X, lambda X, Z: 0 * Z)
    found = go.certify(problem, M.random_point(0))
    assert found.verdict == "undecided" and "decide nothing" in found.explanation


@pytest.mark.parametrize("hessian", ["auto", "differences"])
def test_a_zero_that_is_not_explained_is_undecided(hessian):
    M = go.Stiefel(5, 2)
    values = np.concatenate([[0.0], np.linspace(1, 2, M.dim - 1)])
    found = go.certify(*stationary(M, values, 0, hessian=hessian), rng=0)
    assert found.verdict == "undecided" and "its sign is not certain" in found.explanation
    assert abs(found.eigenvalue) <= found.error


def test_the_way_down_is_short_enough():
    """-x_1^2 + 1000 x_1^4 near the last unit vector: a long step rises."""
    M = go.Sphere(4)

    def both(x):
        rest = x[1:3]
        value = -(x[0] ** 2) + 1000 * x[0] ** 4 + rest @ rest
        return float(value), np.array([-2 * x[0] + 4000 * x[0] ** 3, *(2 * rest), 0.0])

    problem = go.Problem(M, cost_and_gradient=both)
    found, lower = examine(problem, np.eye(4)[3], 1e-4, leave=True, rng=0)
    assert found.verdict == "saddle"
    assert problem.cost(lower) < 0 and abs(lower[0]) < 0.05


def test_a_point_of_a_finite_set_is_a_minimum():
    M = go.Orthogonal(1)
    problem = go.Problem(M, lambda X: float(X[0, 0]), lambda X: np.ones((1, 1)))
    assert go.certify(problem, np.ones((1, 1))).verdict == "minimum"


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("max_products: need an integer > 1; got 1", {"max_products": 1}),
        ("problem: need a genorth.Problem; got str", {"problem": "f"}),
        (
            "problem: need a smooth problem",
            {"problem": go.Problem(go.Stiefel(6, 2), abs, abs, nonsmooth=go.L1(1.0))},
        ),
        (r"x0: need an array of shape \(6, 2\)", {"x": np.eye(3)}),
    ],
)
def test_bad_input(message, arguments):
    problem = smooth(go.Stiefel(6, 2), 0)
    given = {"problem": problem, "x": problem.manifold.random_point(0)} | arguments
    with pytest.raises(ValueError, match=message):
        go.certify(given.pop("problem"), given.pop("x"), **given)


def test_lanczos_finds_an_end_of_the_spectrum():
    """Run to the end it is the smallest eigenvalue, and its vector has that Rayleigh quotient."""
    rng = np.random.default_rng(0)
    values = np.concatenate([[-1.0], np.linspace(0.5, 4, 24)])
    U = np.linalg.qr(rng.standard_normal((25, 25)))[0]
    H = (U * values) @ U.T
    M = spd(25, 10, 3)
    inverse = np.linalg.inv(M)
    for precondition, pencil in ((None, np.eye(25)), (lambda V: inverse @ V, M)):
        found = lanczos(lambda Z: H @ Z, precondition, rng.standard_normal(25), 25, 0.0, 1e-15)
        least = scipy.linalg.eigh(H, pencil)[0][0]
        assert least <= found.value <= least + found.residual
        quotient = found.Z @ H @ found.Z / (found.Z @ pencil @ found.Z)
        assert quotient == pytest.approx(found.value)
        np.testing.assert_allclose(found.HZ, H @ found.Z, atol=1e-12)


def test_errors_of_products_are_measured():
    rng = np.random.default_rng(0)
    H = np.diag(np.linspace(1.0, 2.0, 30))
    E = 1e-4 * rng.standard_normal((30, 30))
    found = lanczos(lambda Z: (H + E) @ Z, None, rng.standard_normal(30), 12, 0.0, 1e-15)
    assert 1e-4 <= found.noise <= 1e-1


@pytest.mark.parametrize(("steps", "dimension"), [(3, 10), (20, 1000)])
def test_the_chance_of_a_miss_by_its_formula(steps, dimension):
    d = unseen(steps, dimension)
    growth = d * np.polynomial.Chebyshev.basis(steps - 1)(1 + 2 * d) ** 2
    assert np.sqrt(2 * dimension / np.pi / (1 + growth)) == pytest.approx(0.01, rel=1e-2)


@pytest.mark.statement("F27")
def test_the_chance_of_a_miss_holds():
    """Starts that miss an eigenvalue at -d L are not more than the bound says, of 300."""
    steps, dimension = 8, 40
    d = unseen(steps, dimension)
    values = np.concatenate([[-d], np.linspace(0, 1, dimension - 1)])
    missed = 0
    for seed in range(300):
        z = np.random.default_rng(seed).standard_normal(dimension)
        K = np.linalg.qr(np.stack([values**k * z for k in range(steps)], axis=1))[0]
        missed += np.linalg.eigvalsh(K.T @ (values[:, None] * K))[0] > 0
    assert missed <= 0.01 * 300
