"""Products of manifolds and free variables: points, geometry, and what is refused."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.linalg.arrays import eps, norm
from genorth.solve.metric import weights
from genorth.testing import conditioned_symmetric

_Matrix = np.ndarray[Any, Any]
NAMED = go.Product(C=go.Stiefel(5, 2), w=go.Euclidean(3))
MIXED = go.Product(go.Stiefel(4, 2, complex), go.Sphere(3), go.Product(a=go.Stiefel(5, 2)))


def test_a_point_has_named_parts_and_unpacks():
    x = NAMED.random_point(0)
    C, w = x
    assert x.C is C and x["w"] is w and x[1] is w and len(x) == 2
    assert C.shape == (5, 2) and w.shape == (3,) and NAMED.shape == ((5, 2), (3,))
    assert NAMED.dim == go.Stiefel(5, 2).dim + 3 and go.Euclidean((2, 3), complex).dim == 12
    with pytest.raises(TypeError):
        x[0] = C
    with pytest.raises(AttributeError, match="no part 'v'; there are C, w"):
        _ = x.v
    again = pickle.loads(pickle.dumps(x))
    assert np.array_equal(again.C, C) and again.names == ("C", "w")
    assert repr(x).startswith("Record(C=array(")


def test_points_inside_are_one_vector_whose_parts_are_views():
    """Of real and complex parts, of a natural shape, and of products in products."""
    x = MIXED.random_point(1)
    assert [np.iscomplexobj(x[0]), x[1].shape, x[2].a.shape] == [True, (3,), (5, 2)]
    v = MIXED.inward(x)
    assert v.dtype == float and v.shape == MIXED.blocks.shape == (16 + 3 + 10,)
    for part, own in zip(MIXED.outward(v), x, strict=True):
        assert np.shares_memory(part[0] if isinstance(part, tuple) else part, v)
        assert np.array_equal(part[0], own[0])
    U, V = MIXED.blocks.random_ambient(0), MIXED.blocks.random_ambient(1)
    parts = zip(MIXED.blocks.points.split(U), MIXED.blocks.points.split(V), strict=True)
    assert np.vdot(U, V) == pytest.approx(sum(np.vdot(a, b).real for a, b in parts))


def test_a_mapping_is_read_by_names():
    x = NAMED.random_point(0)
    assert np.array_equal(NAMED.inward({"w": x.w, "C": x.C}), NAMED.inward(x))


def test_a_product_has_the_places_and_curves_of_its_factors():
    """What solvers use: projection, feasibility, slope of a curve; and matrices as arguments."""
    M, N = go.Stiefel(5, 2), go.SymplecticStiefel(4, 2)
    product = go.Product(M, N, go.Euclidean(3))
    blocks, rng = product.blocks, np.random.default_rng(0)
    X, G, off = blocks.random_point(rng), blocks.random_ambient(rng), blocks.random_ambient(rng)
    place, parts = blocks.at(X), list(zip((M, N), blocks.points.split(X), strict=False))
    projected = blocks.points.split(place.project(G))
    for (factor, x), g, own in zip(parts, blocks.points.split(G), projected, strict=False):
        assert norm(own - factor.project(x, g)) <= 1e3 * eps(x)
    away = [f.feasibility(x) for f, x in zip((M, N), blocks.points.split(off), strict=False)]
    assert blocks.anywhere(off).feasibility == pytest.approx(np.hypot(*away))
    ray = blocks.ray(X, place.project(G) / 10)
    assert ray.slope(0.5, G) == pytest.approx(float(np.vdot(G, ray.velocity(0.5))), rel=1e-8)
    T = tuple(rng.standard_normal(shape) for shape in ((2, 2), (2, 2), (0,)))
    adjoint = product.constraint_adjoint(product.outward(X), T)
    for (factor, x), t, own in zip(parts, T, adjoint, strict=False):
        assert norm(own - factor.constraint_adjoint(x, t)) <= 1e3 * eps(x) * (1 + norm(own))


def test_equal_neighbours_are_one_batch():
    M = go.Stiefel(6, 2)
    product = go.Product(M, M, M, go.Stiefel(6, 2))
    assert [factor.shape for factor in product.blocks.factors] == [(3, 6, 2), (6, 2)]
    x, y = product.random_point(0), product.random_point(1)
    D = tuple(b - a for a, b in zip(x, y, strict=True))
    for part, a, d in zip(product.project(x, D), x, D, strict=True):
        assert norm(part - M.project(a, d)) <= 100 * eps(a)


def test_maps_that_take_one_matrix_alone_are_not_batched():
    """A user's phi may act on the first axis, or refuse a third one."""
    B = np.diag([1.0, 2.0, 3.0, 4.0])

    def refuses(X: _Matrix) -> _Matrix:
        if X.ndim != 2:
            raise TypeError("one matrix")
        return B @ X

    for phi in (lambda X: X + np.roll(X, 1, axis=0) / 4 + np.roll(X, -1, axis=0) / 4, refuses):
        M = go.from_maps((4, 2), phi, lambda T: T, definite=True)
        product = go.Product(M, M)
        assert [factor.shape for factor in product.blocks.factors] == [(4, 2), (4, 2)]
        x, y = product.random_point(0), product.random_point(1)
        for part, a, b in zip(product.project(x, y), x, y, strict=True):
            assert norm(part - M.project(a, b)) <= 1e3 * eps(a)


# ---------------------------------------------------------------------- against the mask


def _blocks(*parts: _Matrix) -> _Matrix:
    """The block-diagonal matrix."""
    rows, columns = (sum(part.shape[i] for part in parts) for i in (0, 1))
    X, i, j = np.zeros((rows, columns)), 0, 0
    for part in parts:
        X[i : i + part.shape[0], j : j + part.shape[1]] = part
        i, j = i + part.shape[0], j + part.shape[1]
    return X


class _Both:
    """A product, and the same set as block-diagonal matrices: one manifold with a mask."""

    def __init__(self, seed: int, condition: float) -> None:
        B = conditioned_symmetric(5, condition, seed)
        A = conditioned_symmetric(6, condition, seed + 1, negative=2)
        J = np.array([1.0, -1.0])
        self.factors = go.GeneralizedStiefel(B, 2), go.IndefiniteStiefel(A, J), go.Stiefel(4, 1)
        self.product = go.Product(*self.factors)
        form, Q = _blocks(B, A, np.eye(4)), np.concatenate([[1.0, 1.0], J, [1.0]])
        mask = _blocks(*(np.ones(factor.shape) for factor in self.factors))
        self.masked = go.from_maps(
            mask.shape,
            phi=lambda X: form @ X * Q,
            psi=lambda T: Q[:, None] * T * Q,
            ambient=lambda X: X * mask,
        )
        self.seed = seed

    def points(self, count: int) -> tuple[list[Any], list[_Matrix]]:
        """A point near M and directions, of both kinds."""
        x = self.product.random_point(self.seed)
        others = [self.product.outward(self.product.blocks.random_ambient(s)) for s in range(count)]
        ours = [x, *others]
        return ours, [_blocks(*own) for own in ours]


_OF_POINTS = (
    ("project", 1),
    ("newton_step", 0),
    ("dissolve", 0),
    ("dissolve_differential", 1),
    ("dissolve_adjoint", 1),
    ("dissolve_second_adjoint", 2),
)


@pytest.mark.statement("F25")
@given(seed=st.integers(0, 200), exponent=st.floats(0, 2))
def test_the_places_of_the_factors_are_those_of_block_diagonal_matrices(seed, exponent):
    """Every map of the product is that of the manifold of block-diagonal matrices."""
    both = _Both(seed, 10**exponent)
    (x, *vectors), (X, *masked) = both.points(2)
    M, product = both.masked, both.product
    size = float(M.scale(X)) ** 2 * 10 ** (2 * exponent)
    for name, count in _OF_POINTS:
        ours = getattr(product, name)(x, *vectors[:count])
        theirs = getattr(M, name)(X, *masked[:count])
        scale = 1 + float(norm(theirs)) + float(norm(masked[0])) ** (1 + count)
        assert norm(_blocks(*ours) - theirs) <= 1e4 * eps(X) * size * scale, name
    Z = product.project(x, vectors[0])
    step = tuple(0.1 * z for z in Z)
    for kind in ("cayley", "normal"):
        ours, theirs = product.retract(x, step, kind), M.retract(X, _blocks(*step), kind)
        assert norm(_blocks(*ours) - theirs) <= 1e5 * eps(X) * size * (1 + norm(theirs)), kind
    assert product.dim == M.dim == sum(factor.dim for factor in both.factors)
    assert float(product.feasibility(vectors[0])) == pytest.approx(
        float(M.feasibility(masked[0])), rel=1e-10
    )


@pytest.mark.statement("F25")
@pytest.mark.parametrize("penalty", [go.ConstraintDissolving, go.OrthogonalDissolving])
def test_penalties_and_thresholds_are_those_of_block_diagonal_matrices(penalty):
    both = _Both(3, 5.0)
    M, product = both.masked, both.product
    rng = np.random.default_rng(0)
    H = conditioned_symmetric(M.shape[0], 20.0, 4)
    K = rng.standard_normal(M.shape)

    def cost(*parts: _Matrix) -> float:
        X = _blocks(*parts)
        return float(np.vdot(X, H @ X) / 2 + np.vdot(K, X))

    def split(G: _Matrix) -> tuple[_Matrix, ...]:
        rows, columns = np.cumsum([5, 6]), np.cumsum([2, 2])
        diagonal = zip(np.split(G, rows), range(3), strict=True)
        return tuple(np.split(block, columns, axis=1)[i] for block, i in diagonal)

    problem = go.Problem(
        product,
        cost,
        lambda *parts: split(H @ _blocks(*parts) + K),
        lambda *both_: split(H @ _blocks(*both_[3:])),
    )
    other = go.Problem(
        M, lambda X: np.vdot(X, H @ X) / 2 + np.vdot(K, X), lambda X: H @ X + K, lambda X, Z: H @ Z
    )
    x, beta = product.random_point(0), 1.7
    noise = product.outward(0.02 * product.blocks.random_ambient(1))
    near = tuple(a + b for a, b in zip(x, noise, strict=True))
    Z = product.outward(product.blocks.random_ambient(2))
    ours, theirs = penalty(problem, beta), penalty(other, beta)
    v, z, X = product.inward(near), product.inward(Z), _blocks(*near)
    assert ours.value(v) == pytest.approx(float(theirs.value(X)), rel=1e-12)
    for mine, other_ in (
        (ours.gradient(v), theirs.gradient(X)),
        (ours.hessian_product(v, z), theirs.hessian_product(X, _blocks(*Z))),
    ):
        assert norm(_blocks(*product.outward(mine)) - other_) <= 1e-10 * norm(other_)
    thresholds = go.exactness_threshold(problem, x, penalty.name)
    assert len(thresholds) == 3
    assert max(thresholds) == pytest.approx(
        go.exactness_threshold(other, _blocks(*x), penalty.name), rel=1e-6
    )


def test_each_factor_has_its_own_beta():
    problem = _nearest(go.Product(go.Stiefel(5, 2), go.SymplecticStiefel(6, 2)), 0)
    h = go.OrthogonalDissolving(problem, (2.0, 3.0))
    v = problem.manifold.blocks.random_ambient(0)
    D = [M.newton_step(x) for M, x in zip(*_parts(problem, v), strict=True)]
    expected = h.cost(v) + sum(b * np.vdot(d, d) for b, d in zip((2.0, 3.0), D, strict=True)) / 2
    assert h.value(v) == pytest.approx(expected, rel=1e-12)
    result = go.minimize(problem, method="odf-lbfgs", rng=0)
    assert result.success and len(result.beta) == len(result.threshold) == 2
    assert all(b >= t for b, t in zip(result.beta, result.threshold, strict=True))
    assert result.margin >= 1


@pytest.mark.parametrize("penalty", [go.ConstraintDissolving, go.OrthogonalDissolving])
def test_only_a_beta_below_its_threshold_is_raised(penalty):
    problem = _nearest(go.Product(go.Stiefel(5, 2), go.SymplecticStiefel(6, 2)), 0)
    h = penalty(problem, (2.0, 3.0))
    raised = h.next(np.array([1.0, 50.0]), go.Status.ITERATION_LIMIT, None)
    assert raised[0] == 2.0 and raised[1] >= 50.0


def _parts(problem: go.Problem, v: _Matrix) -> tuple[Any, Any]:
    blocks = problem.manifold.blocks
    return blocks.factors, blocks.points.split(v)


def _nearest(product: go.Product, seed: int) -> go.Problem:
    """Nearest point, with a target that every part has."""
    target = product.outward(product.blocks.random_ambient(seed))

    def cost(*parts: Any) -> float:
        return sum(float(norm(a - b)) ** 2 for a, b in zip(parts, target, strict=True)) / 2

    def gradient(*parts: Any) -> tuple[Any, ...]:
        return tuple(a - b for a, b in zip(parts, target, strict=True))

    return go.Problem(product, cost, gradient, lambda *both: both[len(target) :])


# ---------------------------------------------------------------------- problems


def test_derivatives_by_jax_are_tuples():
    jnp = pytest.importorskip("jax.numpy")
    A = np.random.default_rng(0).standard_normal((5, 2))

    def cost(C: Any, w: Any) -> Any:
        return jnp.sum(w[:2] * jnp.sum(A * C, axis=0)) + jnp.sum(w**4)

    problem = go.Problem(NAMED, cost, autodiff="jax")
    x = NAMED.random_point(0)
    G = problem.euclidean_gradient(x)
    assert np.allclose(G.C, A * x.w[:2]) and G.w[2] == pytest.approx(4 * x.w[2] ** 3)
    assert go.check_gradient(problem, rng=0).passed and go.check_hessian(problem, rng=0).passed
    assert go.minimize(problem, x, tol=1e-8).success


def test_a_result_a_callback_and_a_preconditioner_see_points_of_the_product():
    problem, seen = _nearest(NAMED, 0), []

    def half(x: Any, V: Any) -> Any:
        assert x.C.shape == V.C.shape
        return tuple(v / 2 for v in V)

    result = go.minimize(
        problem,
        rng=0,
        method="rlbfgs",
        callback=lambda p: seen.append(p.x.C.shape),
        preconditioner=half,
        keep_points=True,
    )
    assert result.success and result.x.w.shape == (3,) and set(seen) == {(5, 2)}
    assert result.trace.points[0].C.shape == (5, 2)
    assert "Record of shape (5, 2), (3,)" in repr(result)


def test_a_metric_for_one_factor_is_that_of_its_manifold():
    B = np.diag(np.logspace(0, 6, 8))
    M = go.GeneralizedStiefel(B, 2)
    alone, product = _nearest(go.Product(C=M), 0), _nearest(go.Product(C=M, w=go.Euclidean(2)), 0)
    for metric in ({"C": "B"}, {"C": "B", "w": 3.0}):
        result = go.minimize(product, rng=0, metric=metric, tol=1e-8)
        assert result.success, result
    assert go.minimize(alone, rng=0, metric=("B",), tol=1e-8).success


def test_a_number_is_a_multiple_of_the_euclidean_metric():
    """W = (T T^T)^-1: T is 1/2 for W = 4, in all entries."""
    T = NAMED.blocks.metric(NAMED.metrics({"C": 4.0, "w": 16.0}))
    x = NAMED.random_point(0)
    y = NAMED.outward(T.apply(NAMED.inward(x)))
    assert np.allclose(y.C, x.C / 2) and np.allclose(y.w, x.w / 4)
    assert np.allclose(T.solve(T.apply(NAMED.inward(x))), NAMED.inward(x))


def _scaled(scale: float) -> go.Problem:
    """A weighted trace, and a free vector of another curvature."""
    d, M = scale * np.arange(1.0, 4), go.Product(C=go.Stiefel(5, 2), w=go.Euclidean(3))
    A = np.diag(np.arange(1.0, 6))
    return go.Problem(
        M,
        lambda C, w: float(np.vdot(C, A @ C * [2, 1]) + d @ (w - 1) ** 2) / 2,
        lambda C, w: (A @ C * [2, 1], d * (w - 1)),
        lambda C, w, dC, dw: (A @ dC * [2, 1], d * dw),
    )


def test_weights_are_the_curvatures_along_the_gradients():
    problem = _scaled(1e4)
    x, product = problem.manifold.random_point(0), problem.manifold
    found = weights(problem.in_blocks, product.inward(x))
    g = product.gradient(x, problem.euclidean_gradient(x))
    curvatures = []
    for Z in ((g.C, 0 * g.w), (0 * g.C, g.w)):
        H = product.hessian(x, problem.euclidean_gradient(x), problem.euclidean_hessian(x, Z), Z)
        size = sum(np.vdot(z, z) for z in Z)
        curvatures.append(abs(sum(np.vdot(h, z) for h, z in zip(H, Z, strict=True))) / size)
    assert curvatures[1] > 100 * curvatures[0]
    assert found[1] == 1.0  # of the largest
    assert np.allclose(found[0], curvatures[0] / curvatures[1], rtol=1e-10)
    assert found[0].shape == (5,)
    assert weights(_scaled(1.0).in_blocks, product.inward(x)) is None
    still = go.Problem(product, lambda C, w: 0.0, lambda C, w: (0 * C, 0 * w), lambda *b: b[2:])
    assert weights(still.in_blocks, product.inward(x)) is None


def test_weights_of_factors_are_counted_and_save_evaluations():
    problem = _scaled(1e4)
    x = problem.manifold.random_point(0)
    how: dict[str, Any] = {"method": "rgd", "tol": 1e-6, "certify": False}
    plain = go.minimize(problem, x, **how)
    auto = go.minimize(problem.fresh(), x, metric="auto", **how)
    assert plain.success and auto.success and auto.nhev == 2  # one for each factor
    assert auto.fun == pytest.approx(plain.fun, abs=1e-8)
    assert auto.gradient_norm <= 2e-6 and auto.evaluations < plain.evaluations / 2
    drawn = go.minimize(problem, rng=np.random.default_rng(3), metric="auto")
    assert drawn.success


def test_assumptions_are_those_of_all_factors():
    wrong = go.from_maps((4, 2), lambda X: 2 * X, lambda T: 3 * T)
    report = go.check_assumptions(go.Product(go.Stiefel(4, 2), wrong), rng=0)
    assert not report.passed
    assert {f.name[0] for f in report.findings if not f.passed} == {"1"}
    assert go.check_assumptions(MIXED, rng=0).passed
    assert go.check_retraction(MIXED, "normal", rng=0).passed


# ---------------------------------------------------------------------- what is refused

_X = NAMED.random_point(0)
_ZERO = go.Problem(NAMED, lambda C, w: 0.0, lambda C, w: (0 * C, 0 * w))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: go.Product(), "at least one factor; got none"),
        (lambda: go.Product(go.Stiefel(3, 1), w=go.Euclidean(2)), "with names or without"),
        (lambda: go.Product(a=3), "factor a: need a manifold.* got int"),
        (lambda: go.Product(go.Euclidean(3)), "scipy.optimize"),
        (lambda: go.Product(count=go.Stiefel(3, 1)), "'count'"),
        (lambda: go.Euclidean(0), "shape"),
        (lambda: go.Problem(go.Euclidean(3), lambda w: 0.0), "scipy.optimize"),
        (lambda: go.Problem([go.Stiefel(3, 1)], lambda X: 0.0), r"genorth.Product\(M1, M2, ...\)"),
        (lambda: _ZERO.cost((_X.C,)), "X: need a tuple with one array .* C, w; got 1 parts"),
        (lambda: _ZERO.cost((_X.w, _X.C)), r"X\[C\]: need an array of shape \(5, 2\)"),
        (lambda: _ZERO.cost({"C": _X.C}), "nothing for 'w'"),
        (lambda: _ZERO.cost({"C": _X.C, "W": _X.w}), "got 'W'.*mean 'w'"),
        (lambda: _ZERO.cost(_X.C), "shape"),
        (lambda: go.minimize(_ZERO, 3.0), "x0: need a tuple"),
        (lambda: go.minimize(_ZERO, (_X.C, np.full(3, np.nan))), r"x0\[w\]: need finite"),
        (lambda: go.minimize(_ZERO, _X, metric={"v": 2.0}), "metric.*got 'v'"),
        (lambda: go.minimize(_ZERO, _X, metric={"w": -2.0}), "metric: need a positive number"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda C, w: C, "euclidean_gradient: need a tuple .* got a ndarray"),
        (lambda C, w: (C, w, w), "euclidean_gradient: .* got 3 parts"),
        (lambda C, w: (C, C), r"euclidean_gradient\[w\]: need an array of shape \(3,\)"),
    ],
)
def test_a_gradient_with_a_wrong_part_names_the_factor(gradient, message):
    with pytest.raises(ValueError, match=message):
        go.Problem(NAMED, lambda C, w: 0.0, gradient).euclidean_gradient(_X)


def test_arrays_of_two_libraries_are_refused():
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(ValueError, match="arrays of one library on one device; got numpy and jax"):
        NAMED.inward((_X.C, jnp.asarray(_X.w)))
