"""Substitution X = T Y and metrics W = (T T^T)^-1 (F20)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.substitution import Congruence, metric_names
from genorth.linalg.arrays import ct, inner, norm
from genorth.linalg.operators import Dense, Diagonal, Identity
from genorth.testing.strategies import conditioned_skew, conditioned_symmetric
from support.refusals import refused

EPS = 2.0**-52


def _matrix(n: int, condition: float, seed: int, dtype: Any = float) -> np.ndarray:
    """An unsymmetric T with this condition number."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((2, n, n)) + (
        1j * rng.standard_normal((2, n, n)) if dtype is complex else 0
    )
    U, V = np.linalg.qr(G)[0]
    return (U * np.logspace(0, -np.log10(condition), n)) @ V


def _functions(T: np.ndarray) -> tuple[Callable[..., Any], ...]:
    inverse = np.linalg.inv(T)
    return tuple(lambda Y, M=M: M @ Y for M in (T, ct(T), inverse, ct(inverse)))


def _substitutions(manifold: go.GenOrthManifold, condition: float, seed: int) -> dict[str, Any]:
    """Every form in which T may be passed."""
    n, rng = manifold.shape[-2], np.random.default_rng(seed)
    d = np.logspace(0, -np.log10(condition), n)[rng.permutation(n)]
    if manifold.ambient_projector is not None and manifold.dtype.kind == "f":
        return {"diagonal": d}  # F is a space of block-diagonal matrices
    T = _matrix(n, condition, seed)
    inverse, linear = np.linalg.inv(T), scipy.sparse.linalg.aslinearoperator
    return {
        "dense": T,
        "diagonal": d,
        "sparse": scipy.sparse.csr_array(T),
        "pair": (T, inverse),
        "operators": (linear(T), linear(inverse)),
        "sparse pair": (scipy.sparse.csr_array(T), inverse),
        "functions": _functions(T),
        "symmetric": tuple(_functions(T @ T.T)[::2]),
    }


CONDITIONS = st.floats(0, 4).map(lambda exponent: 10.0**exponent)
UP_TO_1E8 = st.floats(0, 8).map(lambda exponent: 10.0**exponent)


@pytest.mark.statement("F20")
@given(manifold=gt.manifolds(), condition=CONDITIONS, seed=gt.seeds())
def test_the_manifold_in_Y(manifold, condition, seed):
    """phi_T(Y) = T^T phi(TY), psi_T = psi, C_T(Y) = C(TY), A(TY) = T A_T(Y), same dimension."""
    for kind, T in _substitutions(manifold, condition, seed).items():
        new = manifold.substitute(T)
        apply, s = new.T.apply, gt.Sample(manifold, seed)
        Y, V = np.asarray(new.T.solve(s.X)), s.ambient()
        size = float(norm(apply(V))) + float(norm(new.T.adjoint(V))) + 1
        unit = 1e3 * s.u * s.L * s.q * max(size, condition if kind == "symmetric" else 1) ** 2
        assert norm(apply(Y) - s.X) <= 1e3 * s.u * condition**2 * norm(s.X), kind
        assert norm(new.phi(V) - manifold.ambient(new.T.adjoint(manifold.phi(apply(V))))) <= unit
        S = s.algebra()
        assert norm(new.psi(S) - manifold.psi(S)) == 0
        assert norm(new.constraint(V) - manifold.constraint(apply(V))) <= unit, kind
        difference = apply(new.dissolve(V)) - manifold.dissolve(apply(V))
        assert norm(difference) <= unit * size, kind
        assert new.dim == manifold.dim and new.shape == manifold.shape, kind
        assert new.dtype == manifold.dtype and new.definite == manifold.definite
        assert new.theta_solver.name != "closed form" or new.isometric


@pytest.mark.parametrize("family", gt.FAMILIES)
@pytest.mark.parametrize("kind", ["dense", "diagonal", "sparse", "functions"])
def test_it_keeps_the_contract(family, kind):
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    T = _substitutions(manifold, 3.0, 2).get(kind)
    if T is None:
        pytest.skip("T F = F holds for a diagonal T only")
    new = manifold.substitute(T)
    for prop in gt.PROPERTIES:
        if prop.name != "F13" or (new.companion and new.ambient_projector is None):
            prop.check(new, rng=11)


@pytest.mark.statement("F20")
@given(manifold=gt.manifolds(max_condition=1e8), condition=UP_TO_1E8, seed=gt.seeds())
def test_its_gradient_is_that_of_the_metric(manifold, condition, seed):
    """T grad_T is the tangent vector g with <W g, Z> = <G, Z> for all tangent Z."""
    T = _substitutions(manifold, condition, seed)["diagonal"][:, None]
    new, s = manifold.substitute(T[:, 0]), gt.Sample(manifold, seed)
    G, Z = s.ambient(), s.tangent()
    gradient = T * new.gradient(s.X / T, T * G)
    P = np.linalg.svd(T * s.P, compute_uv=False)
    # the projection in Y, relative to T G, carried to X by T and compared there by T^-1
    rest = 10 * s.q**2 * (s.u * (P.max() / P.min()) ** 2 + s.c) * norm(T * G)
    assert manifold.tangency(s.X, gradient) <= rest * norm(T) * norm(s.P)
    assert abs(inner(gradient / T**2, Z) - inner(G, Z)) <= rest * norm(Z / T)


def test_a_T_that_was_made_for_another_form():
    """T^T A T = I is known of the A that T was made from, and of no other."""
    B, C = (conditioned_symmetric(6, 10.0, seed) for seed in (0, 1))
    T = go.GeneralizedStiefel(B, 2).metric("B")
    other = go.GeneralizedStiefel(C, 2)
    new, Y = other.substitute(T), other.random_ambient(2)
    assert not new.isometric
    assert norm(new.phi(Y) - T.adjoint(C @ T.apply(Y))) <= 1e-12 * norm(new.phi(Y))


@pytest.mark.parametrize(
    ("A", "T", "kind"),
    [
        (np.ones(6), np.arange(1.0, 7), Diagonal),
        (conditioned_symmetric(6, 10.0, 0), np.arange(1.0, 7), Dense),
        (conditioned_symmetric(6, 10.0, 0), _matrix(6, 10.0, 1), Dense),
        (np.ones(6), _matrix(6, 10.0, 1), Dense),
        (scipy.sparse.eye_array(6), np.arange(1.0, 7), Congruence),
        (np.ones(6), scipy.sparse.csr_array(_matrix(6, 10.0, 1)), Congruence),
    ],
)
def test_the_form_is_formed_where_that_is_cheap(A, T, kind):
    new = go.GeneralizedStiefel(A, 2).substitute(T)
    assert type(new.form) is kind
    Y = new.random_point(0)
    assert new.feasibility(Y) <= 1e-12 * new.scale(Y)
    assert new.base.feasibility(new.T.apply(Y)) <= 1e-12 * new.scale(Y)
    inertia = new.form.inertia()
    assert inertia.positive == 6 and inertia.negative == 0


def test_a_substitution_of_a_substitution():
    manifold = go.HyperbolicStiefel(conditioned_symmetric(6, 10.0, 0, negative=2), 3)
    S, T = _matrix(6, 10.0, 1), _matrix(6, 10.0, 2)
    twice, once = manifold.substitute(S).substitute(T), manifold.substitute(S @ T)
    V = manifold.random_ambient(0)
    assert norm(twice.phi(V) - once.phi(V)) <= 1e-13 * norm(V)
    assert "X = TY, X = TY" in repr(twice)


def _metrics(n: int, condition: float, seed: int, dtype: Any = float) -> dict[str, Any]:
    W = conditioned_symmetric(n, condition, seed, dtype=dtype)
    values, U = np.linalg.eigh(W)
    root = (U * values**-0.5) @ ct(U)
    band = scipy.sparse.diags_array([np.full(n - 1, 0.4)] * 2, offsets=[-1, 1]) if n > 1 else 0
    scaling = scipy.sparse.diags_array(np.logspace(0, -np.log10(condition) / 2, n))
    return {
        "dense": W,
        "diagonal": np.logspace(0, -np.log10(condition), n),
        "sparse": scipy.sparse.csr_array(scaling @ (scipy.sparse.eye_array(n) + band) @ scaling),
        "pair": (root, np.linalg.inv(root)),
    }


def _dense(W: Any) -> np.ndarray:
    if isinstance(W, tuple):
        return np.linalg.inv(W[0] @ ct(W[0]))
    return W.toarray() if scipy.sparse.issparse(W) else np.diag(W) if W.ndim == 1 else W


@given(n=st.integers(1, 9), exponent=st.floats(0, 8), seed=gt.seeds(), complex_=st.booleans())
def test_T_of_a_metric(n, exponent, seed, complex_):
    """T T^T = W^-1, and the four products fit together."""
    manifold = go.Stiefel(n, n, complex if complex_ else float)
    condition = 10.0**exponent
    for kind, W in _metrics(n, condition, seed, manifold.dtype).items():
        T, eye = manifold.metric(W), np.eye(n, dtype=manifold.dtype)
        bound = 1e4 * n * EPS * condition
        matrix = T.apply(eye)
        assert norm(matrix @ ct(matrix) @ _dense(W) - eye) <= bound * (10 * condition) ** 0.5, kind
        assert norm(T.adjoint(eye) - ct(matrix)) <= bound * norm(matrix), kind
        assert norm(T.solve(matrix) - eye) <= bound, kind
        assert norm(T.solve_adjoint(eye) - ct(T.solve(eye))) <= bound * norm(T.solve(eye)), kind


@pytest.mark.parametrize("W", ["B", "|B|", "|A|", None])
@pytest.mark.parametrize("kind", ["dense", "diagonal", "sparse"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_with_the_metric_B_generalized_stiefel_is_stiefel(W, kind, dtype):
    """phi_T is the identity, exactly; None: B itself is passed."""
    B = _metrics(7, 1e5, 3, dtype)[kind]
    manifold = go.GeneralizedStiefel(B, 3)
    if kind == "sparse" and W in ("|B|", "|A|"):
        with refused("metric", "one of 'B'", repr(W), tolerance=False):
            manifold.metric(W)
        return
    new = manifold.substitute(manifold.metric(B.copy() if W is None else W))
    assert new.isometric and new.definite and type(new.form) is Identity
    assert new.theta_solver.name == "closed form"
    Y = new.random_ambient(0)
    assert new.phi(Y) is Y
    Y = new.random_point(0)
    X = new.T.apply(Y)
    assert norm(ct(Y) @ Y - np.eye(3)) <= 1e-13
    assert manifold.feasibility(X) <= 1e-9
    assert norm(new.T.solve(X) - Y) <= 1e-9


_SIGNS = np.array([1.0, 1, -1])
MODULI: dict[str, tuple[go.GenOrthManifold, str]] = {
    name: (make(A, J), metric)
    for name, make, A, J, metric in [
        ("hyperbolic", go.HyperbolicStiefel, conditioned_symmetric(8, 1e4, 0, 3), 3, "|H|"),
        ("indefinite", go.IndefiniteStiefel, conditioned_symmetric(8, 1e4, 1, 3), _SIGNS, "|A|"),
        ("diagonal", go.IndefiniteStiefel, np.array([1e4, 10, 1, -1, -100]), _SIGNS[1:], "|A|"),
        ("bilinear", go.BilinearStiefel, conditioned_symmetric(8, 1e4, 2, 4), 2 * _SIGNS, "|A|"),
        (
            "skew",
            go.BilinearStiefel,
            conditioned_skew(8, 1e4, 2),
            conditioned_skew(4, 10, 3),
            "|A|",
        ),
        (
            *("complex", go.BilinearStiefel, conditioned_symmetric(8, 1e4, 2, 3, complex)),
            *(np.diag([1.0, -1]), "|A|"),
        ),
    ]
}


@pytest.mark.parametrize("name", MODULI)
def test_the_modulus_of_the_form_makes_phi_an_isometry_of_rows(name):
    """T = |A|^(-1/2): T^T A T has the eigenvalues +-1 (skew: +-i)."""
    manifold, metric = MODULI[name]
    new = manifold.substitute(manifold.metric(metric))
    A = np.asarray(new.form.left(np.eye(new.shape[-2], dtype=new.dtype)))
    assert norm(A @ ct(A) - np.eye(A.shape[0])) <= 1e-13
    eye = np.eye(A.shape[0], dtype=manifold.dtype)
    T = new.T.apply(eye)
    formed = ct(T) @ np.asarray(manifold.form.left(T))
    assert norm(formed - A) <= 1e-10
    W = np.linalg.inv(T @ ct(T))
    form = np.asarray(manifold.form.left(eye))
    assert norm(W @ W - ct(form) @ form) <= 1e-9 * norm(W) ** 2
    assert metric in metric_names(manifold)


@pytest.mark.parametrize("manifold", [go.Stiefel(6, 2), go.SymplecticStiefel(6, 2)], ids=["I", "J"])
def test_the_modulus_of_an_isometry_changes_nothing(manifold):
    new = manifold.substitute(manifold.metric("|A|"))
    V = manifold.random_ambient(0)
    assert norm(new.phi(V) - manifold.phi(V)) == 0 and new.isometric == manifold.isometric


def _problem(manifold: go.GenOrthManifold, fused: bool) -> go.Problem:
    n = manifold.shape[-2]
    H = conditioned_symmetric(n, 10.0, 5, dtype=manifold.dtype)

    def cost(X: Any) -> float:
        return float(inner(X, H @ X)) / 2

    def gradient(X: Any) -> Any:
        return H @ X

    def hessian(X: Any, Z: Any) -> Any:
        return H @ Z

    if fused:
        return go.Problem(manifold, None, None, hessian, lambda X: (cost(X), gradient(X)))
    return go.Problem(manifold, cost, gradient, hessian)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("family", gt.FAMILIES)
def test_the_problem_in_Y(family, fused):
    manifold = gt.Recipe(family, 6, 4, 10.0, 7).build()
    problem = _problem(manifold, fused)
    new = problem.substitute(np.linspace(1, 3, manifold.shape[-2]))
    assert go.check_gradient(new, rng=0).passed and go.check_hessian(new, rng=0).passed
    before = problem.counts
    Y = new.manifold.random_point(1)
    new.reset_counts()
    f, G = new.cost_and_gradient(Y)
    X = new.manifold.T.apply(Y)
    assert f == problem.evaluate_cost(X) and new.name == problem.name
    assert norm(G - new.manifold.T.adjoint(problem.evaluate_gradient(X))) <= 1e-14 * norm(G)
    assert (new.counts.nfev, new.counts.njev, new.counts.nhev) == (1, 1, 0)
    assert (problem.counts - before).nfev >= 2  # the user's problem counts on


def test_a_problem_keeps_what_it_lacks():
    manifold = go.Stiefel(4, 2)
    new = go.Problem(manifold, lambda X: 0.0).substitute(np.ones(4))
    assert not new.has_gradient and not new.has_hessian and new.has_cost


@pytest.mark.parametrize("library", ["array_api_strict", "jax.numpy"])
@pytest.mark.parametrize(
    "T", [np.linspace(1, 2, 5), _matrix(5, 10.0, 1)], ids=["diagonal", "dense"]
)
def test_other_libraries(library, T):
    xp = pytest.importorskip(library)
    new = go.HyperbolicStiefel(np.array([3.0, 2.0, 1.0, -1.0, -2.0]), 2).substitute(T)
    Y = np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32)
    image = new.phi(xp.asarray(Y))
    assert type(image) is type(xp.asarray(Y))
    assert norm(np.asarray(image) - new.phi(Y)) <= 1e-5 * norm(new.phi(Y))
    sparse = new.base.substitute(scipy.sparse.csr_array(_matrix(5, 10.0, 1)))
    with refused("X", "a NumPy array, as T", library.partition(".")[0], tolerance=False):
        sparse.phi(xp.asarray(Y))


# ---------------------------------------------------------------------- bad input

M = go.GeneralizedStiefel(conditioned_symmetric(5, 10.0, 0), 2)
_LINEAR = scipy.sparse.linalg.aslinearoperator(np.eye(5))
_SINGULAR = np.diag([1.0, 1, 1, 1, 0])
BAD_T: dict[str, tuple[Any, str, str]] = {
    "operator alone": (_LINEAR, "T and its inverse", "alone"),
    "function alone": (lambda Y: Y, "T and its inverse", "a function alone"),
    "size": (np.eye(4), "an 5 x 5 matrix", "shape (4, 4)"),
    "rectangular": (np.ones((5, 4)), "an 5 x 5 matrix", "shape (5, 4)"),
    "diagonal size": (np.ones(6), "a diagonal of 5 entries", "shape (6,)"),
    "three": ((_LINEAR, _LINEAR, _LINEAR), "a pair (T, T inverse)", "a tuple of 3"),
    "mixed": ((np.eye(5), lambda Y: Y), "two matrices, or two or four functions", "both kinds"),
    "pair size": ((np.eye(4), np.eye(4)), "an 5 x 5 matrix", "shape (4, 4)"),
    "sparse size": (scipy.sparse.eye_array(4), "an 5 x 5 matrix", "shape (4, 4)"),
    "sparse singular": (scipy.sparse.csr_array(_SINGULAR), "an invertible matrix", "zero pivot"),
    "complex": (1j * np.ones(5), "real entries", "complex128"),
    "shape of the result": (
        (lambda Y: Y[:1], lambda Y: Y),
        "an array of shape (5, 2)",
        "shape (1, 2)",
    ),
    "NaN of the result": ((lambda Y: Y * np.nan, lambda Y: Y), "T Y finite", "NaN or infinity"),
    "text": ("T", "real or complex numbers", "dtype"),
    "None": (None, "real or complex numbers", "dtype object"),
    # with a tolerance
    "singular": (_SINGULAR, "an invertible matrix", "condition number inf"),
    "nearly singular": (_matrix(5, 1e17, 0), "an invertible matrix", "condition number"),
    "zero on the diagonal": (np.arange(5.0), "an invertible matrix", "condition number inf"),
    "NaN": (np.full(5, np.nan), "finite entries", "5 of 5"),
    "no inverse": ((np.eye(5), 2 * np.eye(5)), "T^-1 T Y = Y", "1"),
    "unsymmetric pair": (
        tuple(_functions(_matrix(5, 10.0, 0))[::2]),
        "<T U, V> = <U, (T)^T V>",
        "",
    ),
    "wrong adjoint of the inverse": (
        (*_functions(_matrix(5, 10.0, 0))[:3], lambda Y: Y),
        "<T^-1 U, V> = <U, (T^-1)^T V>",
        "",
    ),
}


@pytest.mark.parametrize("name", BAD_T)
def test_bad_T(name):
    T, formula, measured = BAD_T[name]
    with refused("T", formula, measured, tolerance=list(BAD_T).index(name) >= 15):
        M.substitute(T)


def test_T_has_to_keep_F():
    manifold = gt.Recipe("from-maps-subspace", 3, 2, 10.0, 0).build()
    with refused("T", "T F = F", ""):
        manifold.substitute(_matrix(6, 10.0, 0))


@pytest.mark.parametrize(
    ("W", "argument", "formula", "measured", "tolerance"),
    [
        (_matrix(5, 10.0, 0), "W", "W^T = W", "|W - W^T|", True),
        (np.diag([1.0, 1, 1, 1, -1]), "W", "W positive definite", "1 of 5", True),
        (np.array([1.0, 1, 1, 1, -1]), "W", "W positive definite", "1 of 5", True),
        (-scipy.sparse.eye_array(5), "W", "W positive definite", "", True),
        (_SINGULAR, "W", "W nonsingular", "", True),
        (np.diag([1.0, 1, 1, 1, 1e-17]), "W", "W nonsingular", "1e-17", True),
        (np.eye(4), "W", "size n = 5", "4", True),
        (np.ones(6), "W", "size n = 5", "6", True),
        (conditioned_symmetric(5, 2.0, 0, dtype=complex), "W", "real entries", "complex", False),
        (_LINEAR, "W", "a matrix that can be factorised", "LinearOperator", False),
        (np.array, "W", "a matrix that can be factorised", "builtin", False),
        ("H", "metric", "one of 'B', '|A|', '|B|'", "'H'", False),
        ((np.eye(5), 3 * np.eye(5)), "T", "T^-1 T Y = Y", "2", True),
    ],
)
def test_bad_W(W, argument, formula, measured, tolerance):
    with refused(argument, formula, measured, tolerance):
        M.metric(W)


def test_names_that_are_not_known():
    sparse = scipy.sparse.csr_array(conditioned_symmetric(5, 10.0, 0, negative=2))
    for manifold in (
        go.HyperbolicStiefel(sparse, 2),
        gt.Recipe("from-maps", 5, 2, 10.0, 1).build(),
    ):
        with refused("metric", "a matrix (no name is known)", "'|A|'", tolerance=False):
            manifold.metric("|A|")
    with refused("B", "a matrix that can be factorised", "LinearOperator", tolerance=False):
        go.GeneralizedStiefel(_LINEAR, 2).metric("B")
