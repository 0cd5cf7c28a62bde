"""Bad points, vectors and steps.

Every method refuses them by name, and a retraction says where its domain ends.
"""

import inspect
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
from genorth.geometry.retractions import step_size
from genorth.testing.strategies import conditioned_skew, conditioned_symmetric
from support.refusals import refused

INDEFINITE = conditioned_symmetric(6, 10.0, 0, negative=3)
MANIFOLDS: dict[str, go.GenOrthManifold] = {
    "stiefel": go.Stiefel(6, 4),
    "complex": go.Stiefel(6, 4, dtype=complex),
    "generalized": go.GeneralizedStiefel(conditioned_symmetric(6, 10.0, 0), 4),
    "hyperbolic": go.HyperbolicStiefel(INDEFINITE, 3),
    "indefinite": go.IndefiniteStiefel(
        scipy.sparse.csr_array(INDEFINITE), np.array([1.0, -1.0, 1.0])
    ),
    "symplectic": go.SymplecticStiefel(6, 4),
    "bilinear": go.BilinearStiefel(conditioned_skew(6, 10.0, 0), conditioned_skew(4, 10.0, 0)),
    "tensor": go.TensorStiefel(6, 4, 3),
    "from-maps": go.from_maps((6, 4), np.conj, np.conj, dtype=complex),
}
#: Methods and the arrays they take; the last ones stand for the three retractions.
METHODS = (
    "gram",
    "constraint",
    "feasibility",
    "constraint_differential",
    "tangency",
    "constraint_adjoint",
    "dissolve",
    "dissolve_differential",
    "dissolve_adjoint",
    "dissolve_second_adjoint",
    "theta",
    "project",
    "gradient",
    "hessian",
    "transport",
    "restore",
    "retract-cayley",
    "retract-polar",
    "retract-exp",
    "retract-normal",
    "newton_step",
)


def arguments(M: go.GenOrthManifold, method: str) -> dict[str, np.ndarray]:
    """Good arguments of a method by name: X and Y on M, all others small."""
    names = list(inspect.signature(getattr(M, method.partition("-")[0])).parameters)
    found = {}
    for k, name in enumerate(name for name in names if name not in ("kind", "tol")):
        point = name in ("X", "Y")
        found[name] = M.random_point(k) if point else 0.01 * M.random_ambient(k)
    if method == "constraint_adjoint":
        found["T"] = found["T"][..., : M.shape[-1], :]
    return found


def call(M: go.GenOrthManifold, method: str, found: dict[str, Any]) -> Any:
    name, _, kind = method.partition("-")
    return getattr(M, name)(**found, **({"kind": kind} if kind else {}))


CASES = [
    pytest.param(name, method, argument, id=f"{name}-{method}-{argument}")
    for name, M in MANIFOLDS.items()
    for method in METHODS
    for argument in arguments(M, method)
    if (method, argument) != ("transport", "X")  # only its shape matters
]


@pytest.mark.parametrize(("name", "method", "argument"), CASES)
def test_nan_and_infinity(name, method, argument):
    """In any entry: the first, the last, and one in between."""
    M = MANIFOLDS[name]
    good = arguments(M, method)
    call(M, method, good)
    for where in (0, good[argument].size // 2 + 1, -1):
        for value in (np.nan, np.inf, -np.inf):
            bad = good[argument].copy()
            bad.flat[where] = value
            measured = f"1 of {bad.size} entries NaN or infinite"
            with np.errstate(all="ignore"), refused(argument, "finite entries", measured):
                call(M, method, good | {argument: bad})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["stiefel", "indefinite", "tensor"])
def test_shapes(name, method):
    M = MANIFOLDS[name]
    good = arguments(M, method)
    for argument, value in good.items():
        for bad in (value[..., :-1], value[..., :-1, :], value[None], np.float64(1.0)):
            with refused(
                argument, f"an array of shape {value.shape}", f"shape {bad.shape}", tolerance=False
            ):
                call(M, method, good | {argument: bad})


@pytest.mark.parametrize("method", [method for method in METHODS if method != "constraint_adjoint"])
def test_entries_and_types(method):
    M = MANIFOLDS["generalized"]
    good = arguments(M, method)
    for argument, value in good.items():
        for dtype in (int, bool, np.float16, np.longdouble, object):
            with refused(
                argument,
                "floating-point entries of single or double",
                f"{np.dtype(dtype)}",
                tolerance=False,
            ):
                call(M, method, good | {argument: value.astype(dtype)})
        with refused(
            argument, "real entries (the manifold is real)", "complex128", tolerance=False
        ):
            call(M, method, good | {argument: value + 0j})
        for bad, kind in (
            (value.tolist(), "list"),
            (scipy.sparse.csr_array(value), "csr_array"),
            (None, "NoneType"),
        ):
            if bad is not None or argument != "Y" or method != "gram":  # Y = None is X
                with refused(
                    argument, f"an array of shape {value.shape}", f"a {kind}", tolerance=False
                ):
                    call(M, method, good | {argument: bad})


@pytest.mark.parametrize("library", ["array_api_strict", "torch", "jax.numpy"])
def test_whole_numbers_of_other_libraries(library):
    xp = pytest.importorskip(library)
    with refused(
        "X", "floating-point entries of single or double precision", "int", tolerance=False
    ):
        go.Stiefel(3, 2).dissolve(xp.ones((3, 2), dtype=xp.int32))


def test_unknown_retraction():
    M = go.Stiefel(3, 2)
    with refused("kind", "one of 'cayley', 'polar', 'exp'", "'qr'", tolerance=False):
        M.retract(M.random_point(0), np.zeros((3, 2)), "qr")


def unit(n: int, p: int) -> np.ndarray:
    return np.eye(n, p)


#: X on M and a tangent Z for which the formula has no value: I + <<Z,Z>> (polar) has the eigenvalue
#: zero or less, and I - A/2 + <<H,H>>/4 (cayley) is singular.
_H = go.HyperbolicStiefel(np.array([1.0, 1.0, -1.0]), 1)
_J = go.IndefiniteStiefel(np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, -1.0]))
_S = go.SymplecticStiefel(4, 2)
_boost = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
_spread = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
OUTSIDE: dict[str, tuple[go.GenOrthManifold, np.ndarray, np.ndarray, str]] = {
    "hyperbolic-polar": (_H, unit(3, 1), np.array([[0.0], [0.0], [1.5]]), "polar"),
    "hyperbolic-cayley": (_H, unit(3, 1), np.array([[0.0], [0.0], [2.0]]), "cayley"),
    "indefinite-polar": (_J, unit(4, 2), 1.5 * _boost, "polar"),
    "indefinite-cayley": (_J, unit(4, 2), 2.0 * _boost, "cayley"),
    "symplectic-polar": (_S, np.eye(4)[:, [0, 2]], 1.5 * _spread, "polar"),
    "symplectic-cayley": (_S, np.eye(4)[:, [0, 2]], 2.0 * _spread, "cayley"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_the_domain(name):
    """The error tells to halve the step; half of it is inside; exp is defined for every step."""
    M, X, Z, kind = OUTSIDE[name]
    assert M.feasibility(X) == 0 and M.tangency(X, Z) == 0
    argument, formula = {
        "polar": ("<<X+Z, X+Z>>", "no eigenvalue on (-inf, 0]"),
        "cayley": ("I - A/2 + <<H,H>>/4 of the Cayley retraction", "an invertible matrix"),
    }[kind]
    with refused(argument, formula, "Halve the step.", error=go.OutsideDomainError):
        M.retract(X, Z, kind)
    for Y in (M.retract(X, Z / 2, kind), M.retract(X, Z, "exp"), M.retract(X, 10 * Z, "exp")):
        assert M.feasibility(Y) <= 1e-12 * M.scale(Y)


@pytest.mark.parametrize("kind", ["cayley", "polar"])
@pytest.mark.parametrize("name", ["hyperbolic", "indefinite", "symplectic", "bilinear"])
def test_the_edge_of_the_domain(name, kind):
    """Steps of any length along a tangent vector: a point on M, or the error, and nothing else."""
    M = MANIFOLDS[name]
    X = M.random_point(0)
    Z = M.random_tangent(X, 1)
    inside = 0
    for t in np.geomspace(1e-3, 1e3, 60):
        with suppress(go.OutsideDomainError):
            Y = M.retract(X, t * Z, kind)
            inside += 1
            assert M.feasibility(Y) <= 1e-10 * M.scale(Y)
    assert inside > 10


@pytest.mark.parametrize("name", MANIFOLDS)
def test_exp_never_fails(name):
    M = MANIFOLDS[name]
    X = M.random_point(0)
    Z = M.random_tangent(X, 1)
    Z = Z / np.sqrt(M.norm(Z) * M.norm(M.phi(Z)))
    for t in (1e-8, 1.0, 5.0):
        Y = M.retract(X, t * Z, "exp")
        assert M.feasibility(Y) <= 1e-10 * M.scale(Y)


@pytest.mark.parametrize("name", MANIFOLDS)
@pytest.mark.parametrize(("factor", "map_"), [(1.2, "A"), (1e-9, "A"), (3.0, "N"), (1e6, "N")])
def test_restore_from_far(name, factor, map_):
    """3 X has phi(X)^T X = 9 I, beyond 3: A leads away from M, Newton's map to it."""
    M = MANIFOLDS[name]
    found = M.restoration(factor * M.random_point(0))
    assert found.map.startswith(map_) and found.steps < 60
    assert found.steps == 0 or map_ == "A"  # a multiple of a point is scaled back to it
    assert M.feasibility(found.X) <= 1e-12 * M.scale(found.X)
    again = M.restoration(found.X)
    assert again.map == "none" and again.steps == 0 and again.X is found.X


@pytest.mark.parametrize("tol", [-1.0, np.nan])
def test_restore_tolerance(tol):
    M = go.Stiefel(3, 2)
    with refused("tol", "a number >= 0", str(tol).rstrip(".0"), tolerance=False):
        M.restore(M.random_point(0), tol)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("size", [1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e5, 1e9])
def test_exp_returns_a_point_or_says_that_it_overflows(size, dtype):
    """exp exists for every Z, but not in floating point: |C| is finite, or the step is refused."""
    manifold = go.HyperbolicStiefel(np.array([1.0, 2, -1, -3], dtype), 2)
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    Z = (Z * (size / step_size(manifold, X, Z))).astype(dtype)
    refused = False
    try:
        R = manifold.retract(X, Z, kind="exp")
    except go.OutsideDomainError as error:
        refused = "Halve the step" in str(error)
    else:
        assert np.isfinite(manifold.feasibility(R)) and np.isfinite(manifold.scale(R))
    assert not refused if size <= 10 else refused or size < 1e3
