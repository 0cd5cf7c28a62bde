"""Nonsmooth terms: their values, proximal maps and derivatives, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.problem.terms import Term
from support.norms import EPS, norm

TERMS = {
    "l1": go.L1(0.3),
    "l1-weights": go.L1(np.linspace(0, 1, 15).reshape(5, 3)),
    "rows": go.L21(0.7),
    "rows-weights": go.L21(np.arange(5.0)),
    "columns": go.L21(np.array([0.0, 0.5, 2.0]), axis="columns"),
}


def _draw(seed: int, dtype: type = float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 3))
    return X + 1j * rng.standard_normal((5, 3)) if dtype is complex else X


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", TERMS)
def test_the_prox_is_that_of_the_term(name, dtype):
    report = go.check_prox(TERMS[name], (5, 3), dtype, rng=0)
    assert report.passed, report
    assert report["Moreau"].passed


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", TERMS)
@given(seed=gt.seeds(), t=st.floats(0.05, 3))
def test_the_derivative_is_that_of_the_prox(name, dtype, seed, t):
    """Against differences, away from the kinks; self-adjoint, between 0 and 1."""
    term, Y, V, W = TERMS[name], _draw(seed, dtype), _draw(seed + 1, dtype), _draw(seed + 2, dtype)
    D = term.derivative(Y, t)
    DV, s = D(V), 1e-7
    kinked = (term.prox(Y, t) == 0) != (term.prox(Y + 2 * s * V, t) == 0)
    if not kinked.any():
        quotient = (term.prox(Y + s * V, t) - term.prox(Y, t)) / s
        sizes = np.abs(Y).min() if "l1" in name else np.linalg.norm(Y, axis=-1).min()
        assert norm(quotient - DV) <= 1e-5 * norm(V) * (1 + norm(V) / max(sizes, 0.05) ** 2)
    assert np.vdot(W, DV).real == pytest.approx(
        np.vdot(D(W), V).real, abs=100 * EPS * norm(V) * norm(W)
    )
    assert -10 * EPS <= np.vdot(V, DV).real / norm(V) ** 2 <= 1 + 10 * EPS


def test_values():
    X = np.array([[3.0, -4.0], [0.0, 0.0]])
    assert go.L1(2)(X) == 14
    assert go.L21(2)(X) == 10
    assert go.L21([1.0, 5.0], "columns")(X) == 23
    assert go.L21([1.0, 5.0])(X) == 5
    assert go.L1(1)(3 + 4j * np.ones((1, 1))) == 5
    assert repr(go.L1(2)) == "L1(mu=2.0)"


def test_zeros_are_exact():
    Y = _draw(0)
    assert np.array_equal(go.L1(0.5).prox(Y, 1.0) == 0, np.abs(Y) <= 0.5)
    assert np.array_equal(go.L21(1.5).prox(Y, 1.0)[:, 0] == 0, np.linalg.norm(Y, axis=1) <= 1.5)


class Own:
    """A term of a user: the squared positive parts, whose prox divides them."""

    def __call__(self, X: np.ndarray) -> float:
        return float(np.sum(np.maximum(X, 0) ** 2)) / 2

    def prox(self, Y: np.ndarray, t: float) -> np.ndarray:
        return np.where(Y > 0, Y / (1 + t), Y)


def test_a_term_of_ones_own_has_a_derivative_by_differences():
    Y, V = _draw(0), _draw(1)
    exact = np.where(Y > 0, V / 1.5, V)
    assert norm(Term(Own()).derivative(Y, 0.5)(V) - exact) <= 1e-6 * norm(V)
    report = go.check_prox(Own(), (5, 3), rng=1)
    assert report.passed and "Moreau" not in [f.name for f in report.findings]


@pytest.mark.parametrize(
    "prox",
    [
        lambda Y, t: np.sign(Y) * np.maximum(np.abs(Y) - 2 * t, 0),
        lambda Y, t: np.where(np.abs(Y) > t, Y, 0),
        lambda Y, t: 2 * Y,
        lambda Y, t: Y,
    ],
    ids=["factor", "hard", "expansive", "identity"],
)
def test_a_wrong_prox_is_found(prox):
    own = type("Wrong", (), {"__call__": lambda _, X: np.abs(X).sum(), "prox": staticmethod(prox)})
    assert not go.check_prox(own(), (5, 3), rng=0).passed


def _problem(**named: object) -> go.Problem:
    return go.Problem(
        go.Stiefel(5, 3), lambda X: float(np.sum(X)), lambda X: np.ones((5, 3)), **named
    )


def test_the_objective_is_the_sum():
    problem, X = _problem(nonsmooth=go.L1(2.0)), go.Stiefel(5, 3).random_point(0)
    assert problem.objective(X) == pytest.approx(problem.cost(X) + 2 * np.abs(X).sum())
    assert problem.fresh().objective(X) == problem.objective(X)
    assert _problem().objective(X) == _problem().cost(X)


@pytest.mark.parametrize("mu", [-1, np.nan, np.inf, "1", None, 1j, [], [1.0, -1.0], True])
def test_a_wrong_mu_is_refused(mu):
    for term in (go.L1, go.L21):
        with pytest.raises(ValueError, match=r"^mu: need mu >= 0"):
            term(mu)


def test_what_is_no_term_is_refused():
    with pytest.raises(ValueError, match=r"^axis: need 'rows' or 'columns'"):
        go.L21(1.0, axis=0)
    for wrong in (5, "l1", abs, object()):
        with pytest.raises(ValueError, match=r"^nonsmooth: need a term with r\(X\)"):
            _problem(nonsmooth=wrong)
    with pytest.raises(ValueError, match=r"^mu: need weights that broadcast to \(5, 3\)"):
        go.minimize(_problem(nonsmooth=go.L1(np.ones(4))), check=False)
    sphere = go.Problem(go.Sphere(4), lambda x: x[0], lambda x: 0 * x, nonsmooth=go.L21(1.0))
    with pytest.raises(ValueError, match=r"^nonsmooth: need points that are matrices"):
        go.minimize(sphere, check=False)


@pytest.mark.parametrize(
    ("value", "prox", "message"),
    [
        (
            0.0,
            np.zeros(3),
            r"r.prox\(Y, t\) to return an array of shape \(5, 3\); got shape \(3,\)",
        ),
        (0.0, None, r"r.prox\(Y, t\) to return an array of shape"),
        (np.zeros(3), np.zeros((5, 3)), r"r\(X\) to be a real number"),
        (1j, np.zeros((5, 3)), r"r\(X\) to be a real number"),
    ],
)
def test_what_a_term_returns_is_checked(value, prox, message):
    own = type("Own", (), {"__call__": lambda _, X: value, "prox": lambda _, Y, t: prox})
    with pytest.raises(ValueError, match=f"^nonsmooth: need {message}"):
        go.minimize(_problem(nonsmooth=own()), check=False)


def test_a_term_of_another_library_is_refused():
    jnp = pytest.importorskip("jax.numpy")
    own = type("Own", (), {"__call__": lambda _, X: 0.0, "prox": lambda _, Y, t: jnp.asarray(Y)})
    with pytest.raises(ValueError, match=r"^nonsmooth: need .* where Y is, numpy; got jax"):
        go.minimize(_problem(nonsmooth=own()), check=False)


def test_a_prox_that_leaves_the_space_of_the_manifold_is_refused():
    manifold = gt.Recipe("from-maps-subspace", 3, 1, 1.0, 0).build()
    own = type("Own", (), {"__call__": lambda _, X: 0.0, "prox": lambda _, Y, t: Y + 1.0})
    problem = go.Problem(
        manifold, lambda X: float(X.sum()), lambda X: np.ones(manifold.shape), nonsmooth=own()
    )
    with pytest.raises(ValueError, match=r"^nonsmooth: need a prox that stays in the space F"):
        go.minimize(problem, check=False)


def test_terms_on_products_are_by_factor():
    product = go.Product(X=go.Stiefel(4, 2), w=go.Euclidean(3))
    both = {"cost": lambda X, w: 0.0, "euclidean_gradient": lambda X, w: (0 * X, 0 * w)}
    for given_term in ({"w": go.L1(2.0)}, (None, go.L1(2.0))):
        problem = go.Problem(product, **both, nonsmooth=given_term)
        X = product.random_point(0)
        assert problem.objective(X) == pytest.approx(2 * np.abs(X.w).sum())
        moved = product.outward(problem.term.prox(product.inward(X), 1.0))
        assert np.array_equal(moved.X, X.X)
        assert np.array_equal(moved.w, go.L1(2.0).prox(X.w, 1.0))
        D = problem.term.derivative(product.inward(X), 0.1)
        assert np.array_equal(product.outward(D(product.inward(X))).X, X.X)
    with pytest.raises(ValueError, match=r"^nonsmooth: need one array for each|^nonsmooth: need"):
        go.Problem(product, **both, nonsmooth={"v": go.L1(1.0)})
    with pytest.raises(ValueError, match=r"^nonsmooth: need on a product a tuple or mapping"):
        go.Problem(product, **both, nonsmooth=go.L1(1.0))


def test_operators_of_pyproximal_work_as_they_are():
    pyproximal = pytest.importorskip("pyproximal")
    Y = _draw(0)
    for theirs, ours in (
        (pyproximal.L1(sigma=0.3), go.L1(0.3)),
        (pyproximal.L21(ndim=5, sigma=0.4), go.L21(0.4, axis="columns")),
    ):
        term = Term(theirs)
        assert term(Y) == pytest.approx(ours(Y))
        assert norm(term.prox(Y, 0.7) - ours.prox(Y, 0.7)) <= 10 * EPS * norm(Y)
        assert go.check_prox(theirs, (5, 3), rng=0).passed
