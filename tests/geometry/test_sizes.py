"""Zero, subnormal and huge sizes: an answer or an error that names the argument, no warning."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import genorth as go
import genorth.testing as gt
from genorth.geometry.retractions import RETRACTIONS

SIZES = [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-100, 1e-20, 1e20, 1e100, 1e155, 1e200, 1e300]
FAMILIES = [family for family in gt.FAMILIES if family not in ("from-maps-blocks", "weighted")]


def _calls(M, X, Z, size):
    """Products in them may overflow, no quotient may be zero by zero."""
    yield lambda: M.dissolve(size * X)
    yield lambda: M.dissolve_differential(size * X, size * Z)
    yield lambda: M.scale(size * X)
    yield lambda: M.newton_step(size * X)
    yield lambda: M.project(X, size * Z)
    yield lambda: M.hessian(X, Z, size * Z, size * Z)
    yield from (partial(M.retract, X, size * Z, kind) for kind in RETRACTIONS)


def _build(family):
    return gt.Recipe(family, 6, 2, 10.0, 1).build()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", SIZES)
def test_every_method_answers_or_refuses(family, size):
    M = _build(family)
    X = M.random_point(0)
    Z = M.random_tangent(X, 1)
    for call in _calls(M, X, Z, size):
        with np.errstate(divide="raise", over="ignore", invalid="ignore"):
            try:
                call()
            except ValueError as error:
                assert "need" in str(error)  # noqa: PT017


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", SIZES)
def test_every_multiple_of_a_point_is_restored(family, size):
    M = _build(family)
    X = M.random_point(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if size < np.finfo(float).tiny:  # digits of X are lost
            with pytest.raises(go.NotRestorableError):
                M.restore(size * X)
            return
        restored = M.restore(size * X)
    assert float(M.feasibility(restored)) <= 1e-12 * float(M.scale(restored))


@pytest.mark.parametrize("kind", [np.asarray, np.diag, scipy.sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("signs", ["definite", "indefinite"])
def test_a_form_of_every_size_has_points_or_is_refused(kind, size, signs):
    B = size * gt.conditioned_symmetric(6, 10.0, 0, 0 if signs == "definite" else 2)
    B = np.where(np.eye(6) > 0, B, 0 * B) if kind is np.diag else B
    make = go.GeneralizedStiefel if signs == "definite" else go.HyperbolicStiefel
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            M = make(kind(B), 2)
            X = M.random_point(0)
        except ValueError as refused:
            assert not 1e-100 <= size <= 1e100, refused  # noqa: PT017
            return
    assert float(M.feasibility(X)) <= 1e-12 * float(M.scale(X))


@pytest.mark.parametrize("condition", [1e8, 1e12])
@pytest.mark.parametrize("family", ["generalized", "hyperbolic", "bilinear-symmetric"])
def test_square_points_where_rounding_leaves_much(condition, family):
    """|C| of the best X is about eps |B| |X|^2, far above eps |X| |phi(X)|."""
    for seed in range(10):
        M = gt.Recipe(family, 3, 3, condition, seed).build()
        X = M.random_point(seed)
        bound = 100 * np.finfo(float).eps * condition * float(M.scale(X)) ** 0.5
        assert float(M.feasibility(X)) <= min(bound, 0.01)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_violation_of_a_huge_point_is_infinite(family):
    """Also where the BLAS kernel adds inf and -inf; nan passes no test, and fails none."""
    M = _build(family)
    with np.errstate(over="ignore", invalid="ignore"):
        assert M.anywhere(1e200 * M.random_point(0)).feasibility == np.inf
