"""Numerical checks for users who write their own manifold or cost: Assumption 1, retractions and derivatives by slope.

A check measures and returns a `Report`; it prints nothing and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse.linalg

from genorth._array import Array, ct, eps, norm
from genorth.errors import OutsideDomainError
from genorth.manifold import GenOrthManifold
from genorth.problem import Problem
from genorth.report import Curve, Finding, Report, fit_slope
from genorth.retraction import step_size
from genorth.theta import realvec

_SAMPLES = 5
_DENSE_LIMIT = 600  # real dimension up to which phi is formed as a matrix, to see that it is one-to-one
_STEPS = np.logspace(-6, 0, 25)


def check_assumptions(manifold: GenOrthManifold, rng: Any = None) -> Report:
    """Which part of Assumption 1 holds for phi and psi, and by how much another fails.

    Also its consequences: M has points, F1 (psi(phi(U)^T V) = U^T phi(V)) and F2 (psi is multiplicative, keeps I,
    is self-adjoint, and psi^-1(T) = psi(T^T)^T). Every figure is relative to the size of the terms that are compared;
    random elements come from `rng`.
    """
    rng = np.random.default_rng(rng)
    worst: dict[str, tuple[str, float]] = {}
    for _ in range(_SAMPLES):
        for name, formula, value in _violations(manifold, rng):
            worst[name] = (formula, float(np.fmax(worst.get(name, ("", 0.0))[1], value)) if value == value else np.nan)
    *_, n, p = manifold.shape
    bound = 100 * np.sqrt(n * p) * eps(manifold.dtype) * _growth(manifold, rng)
    findings = [Finding(name, formula, value, bound) for name, (formula, value) in worst.items()]
    findings.insert(3, _one_to_one(manifold, rng))
    findings.append(_has_points(manifold, rng))
    return Report(f"Assumption 1 for {_name(manifold)}", tuple(findings))


def _name(manifold: GenOrthManifold) -> str:
    """The name given to `from_maps`, or that of the class, with the shape of a point."""
    return f"{getattr(manifold, 'name', type(manifold).__name__)}{manifold.shape}"


def _violations(manifold: GenOrthManifold, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
    """(name, formula, relative violation) for one set of random elements."""

    def apply(function: Callable[[Array], Array], X: Array) -> Any:
        return np.asarray(function(X))

    def phi(X: Array) -> Any:
        return apply(manifold.phi, X)

    def psi(T: Array) -> Any:
        return apply(manifold.psi, T)

    def gap(A: Array, B: Array, *sizes: float) -> float:
        size = max(float(norm(A)) + float(norm(B)), *sizes, np.finfo(float).tiny)
        return float(norm(np.asarray(A - B))) / size

    def linear(function: Callable[[Array], Any], A: Array, B: Array) -> float:
        a, b = rng.standard_normal(2)
        first, second = a * function(A), b * function(B)
        return gap(function(a * A + b * B), first + second, float(norm(first) + norm(second)))

    U, V, X1, X2, Y1, Y2 = (manifold.random_ambient(rng) for _ in range(6))
    S, T = ct(X1) @ X2, ct(Y1) @ Y2
    eye = np.eye(T.shape[-1], dtype=T.dtype) + np.zeros_like(T)
    yield "1 closed", "X T in F", gap(U @ T, manifold.ambient(U @ T))
    yield "2 phi linear", "phi(aU + bV) = a phi(U) + b phi(V)", linear(phi, U, V)
    yield "2 phi into F", "phi(X) in F", gap(phi(U), manifold.ambient(phi(U)))
    left, right = float(manifold.inner(phi(U), V)), float(manifold.inner(U, phi(V)))
    sizes = float(norm(phi(U)) * norm(V) + norm(U) * norm(phi(V)))
    yield "2 phi self-adjoint", "<phi(U), V> = <U, phi(V)>", abs(left - right) / max(sizes, np.finfo(float).tiny)
    yield "3 psi linear", "psi(aS + bT) = a psi(S) + b psi(T)", linear(psi, S, T)
    yield "3 companion", "phi(XT) = phi(X) psi(T)", gap(phi(U @ T), phi(U) @ psi(T))
    yield "3 symmetry", "psi(phi(X)^T X) = X^T phi(X)", gap(psi(ct(phi(U)) @ U), ct(U) @ phi(U))
    yield "F1", "psi(phi(U)^T V) = U^T phi(V)", gap(psi(ct(phi(U)) @ V), ct(U) @ phi(V))
    yield "F2 multiplicative", "psi(ST) = psi(S) psi(T)", gap(psi(S @ T), psi(S) @ psi(T))
    yield "F2 unit", "psi(I) = I", gap(psi(eye), eye)
    left, right = float(manifold.inner(psi(S), T)), float(manifold.inner(S, psi(T)))
    sizes = float(norm(psi(S)) * norm(T) + norm(S) * norm(psi(T)))
    yield "F2 self-adjoint", "<psi(S), T> = <S, psi(T)>", abs(left - right) / max(sizes, np.finfo(float).tiny)
    yield "F2 inverse", "psi(psi(T^T)^T) = T", gap(psi(ct(psi(ct(T)))), T)


def _growth(manifold: GenOrthManifold, rng: np.random.Generator) -> float:
    """How much psi can magnify rounding: the largest |psi(T)| / |T| seen, squared."""
    ratios = [1.0]
    for _ in range(_SAMPLES):
        T = ct(manifold.random_ambient(rng)) @ manifold.random_ambient(rng)
        for _ in range(3):  # a few steps of the power method
            image = np.asarray(manifold.psi(T))
            size = float(norm(image))
            if not 0 < size < np.inf:
                return 1.0
            ratios.append(size / float(norm(T)))
            T = image / size
    return max(ratios) ** 2


def _one_to_one(manifold: GenOrthManifold, rng: np.random.Generator) -> Finding:
    """The smallest singular value of phi; for large sizes, whether phi(U) = phi(V) leads back to V."""
    V = manifold.random_ambient(rng)
    size = realvec(V).size
    formula, unit = "phi(X) = 0 only for X = 0", eps(manifold.dtype)

    def apply(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        X = np.ascontiguousarray(x, V.real.dtype).view(V.dtype).reshape(V.shape)
        outside = X - np.asarray(manifold.ambient(X))  # phi is the identity off F, so that only F counts
        return realvec(np.asarray(manifold.phi(X - outside)) + outside)

    if size <= _DENSE_LIMIT:
        values = np.linalg.svd(np.stack([apply(e) for e in np.eye(size)]), compute_uv=False)
        ratio = float(values[-1] / values[0]) if values[0] > 0 else 0.0
        return Finding("2 phi one-to-one", formula, ratio, size * unit, True, "smallest / largest singular value")
    operator = scipy.sparse.linalg.LinearOperator((size, size), matvec=apply, dtype=float)
    target = apply(realvec(V))
    U, _ = scipy.sparse.linalg.minres(operator, target, rtol=1e-12, maxiter=500)
    rest = float(np.linalg.norm(apply(U) - target) / max(float(np.linalg.norm(target)), 1e-300))
    lost, bound = float(np.linalg.norm(U - realvec(V)) / norm(V)), 0.1 / np.sqrt(size)
    if rest > 1e-8:
        note = f"not decided: MINRES ended at a residual of {rest:.1e}"
        return Finding("2 phi one-to-one", formula, 0.0, bound, note=note)
    note = "|U - V|/|V| of the shortest U with phi(U) = phi(V)"
    return Finding("2 phi one-to-one", formula, lost, bound, note=note)


def _has_points(manifold: GenOrthManifold, rng: np.random.Generator) -> Finding:
    bound = 4500 * eps(manifold.dtype)
    try:
        X = manifold.random_point(rng)
        value, note = float(manifold.feasibility(X)) / float(manifold.scale(X)), ""
    except (ValueError, np.linalg.LinAlgError) as error:
        value, note = float("inf"), f"no point found: {error}"
    return Finding("M has points", "X^T phi(X) = I", value, bound, False, note)


def check_retraction(
    manifold: GenOrthManifold, kind: str = "cayley", X: Array | None = None, Z: Array | None = None, rng: Any = None
) -> Report:
    """That R(tZ) is on M, R(0) = X, and R(tZ) = X + tZ + O(t^2), by the slope of the error.

    The slope of the tangential part of the error tells the order: 3 where the curve has no tangential
    acceleration (a second-order retraction), 2 else; it is reported and never a failure. Z gives the direction; the
    steps are scaled to the curvature of M. Steps outside the domain are left out and counted. Neither a distance nor a
    geodesic is needed.
    """
    rng = np.random.default_rng(rng)
    X = manifold.random_point(rng) if X is None else X
    Z = np.asarray(manifold.random_tangent(X, rng)) if Z is None else Z
    size = step_size(manifold, X, Z)
    Z = Z / size if manifold.dim and size > 0 else 0 * Z  # where M is a set of points there is no direction
    steps, rest, tangential, feasibility, outside = [], [], [], [0.0], 0
    for t in _STEPS:
        try:
            R = manifold.retract(X, t * Z, kind=kind)
        except OutsideDomainError:
            outside += 1
            continue
        steps.append(t)
        error = R - X - t * Z
        rest.append(float(norm(error)))
        tangential.append(float(norm(manifold.project(X, error))))
        feasibility.append(float(manifold.feasibility(R)) / float(manifold.scale(R)))
    unit = eps(manifold.dtype) * float(np.sqrt(np.prod(manifold.shape))) * float(manifold.scale(X))
    floor = 1e3 * unit * float(norm(X))
    at = np.asarray(steps)
    curves = tuple(
        Curve(name, at, np.asarray(errors), fit_slope(at, np.asarray(errors), floor))
        for name, errors in (("|R(tZ) - X - tZ|", rest), ("its tangential part", tangential))
    )
    start = float(norm(manifold.retract(X, 0 * Z, kind=kind) - X) / norm(X))
    dropped = f"{outside} of {len(_STEPS)} steps outside the domain" if outside else ""
    return Report(
        f"retraction {kind!r} on {_name(manifold)}",
        (
            Finding("on M", "|C(R(tZ))| / max(1, |R| |phi(R)|)", max(feasibility), 100 * unit, False, dropped),
            Finding("start", "R(0) = X", start, 100 * unit),
            Finding("first order", "slope of |R(tZ) - X - tZ|", curves[0].slope, 1.9, True),
            Finding(
                "order",
                "slope of its tangential part - 1",
                round(min(curves[1].slope, 3.0), 1) - 1,
                0.9,
                True,
                "2: second order" if curves[1].slope > 2.7 else "1: first order",
            ),
        ),
        curves,
    )


def check_gradient(problem: Problem, X: Array | None = None, rng: Any = None) -> Report:
    """That euclidean_gradient is the gradient of cost, by slopes at X on M (a random point by default).

    f(X + tE) - f(X) - t <G, E> must be of second order for E in F (all of F counts: the penalty leaves M), and
    f(R(tZ)) - f(X) - t <grad f, Z> for tangent Z. The slope is infinite where f is linear. The Riemannian gradient is
    checked to be tangent.
    """
    manifold, rng = problem.manifold, np.random.default_rng(rng)
    X = manifold.random_point(rng) if X is None else np.asarray(X)
    f, G = problem.cost(X), problem.euclidean_gradient(X)
    E, Z = _directions(problem, X, rng)
    gradient = manifold.gradient(X, G)
    along = float(manifold.inner(gradient, Z))

    def on_manifold(t: float) -> float:
        try:
            return abs(problem.evaluate_cost(manifold.retract(X, t * Z)) - f - t * along)
        except OutsideDomainError:
            return float("nan")

    def in_space(t: float) -> float:
        return abs(problem.evaluate_cost(X + t * E) - f - t * _dot(G, E))

    off = _curve("f(X + tE) - f - t <G, E>", in_space, f, G, E)
    on = _curve("f(R(tZ)) - f - t <grad f, Z>", on_manifold, f, G, Z)
    return Report(
        f"gradient of {problem.name} on {_name(manifold)}",
        (
            Finding("Euclidean", f"slope of {off.name}", off.slope, 1.9, True),
            Finding("on M", f"slope of {on.name}", on.slope, 1.9, True),
            _tangent(manifold, X, gradient, G),
        ),
        (off, on),
    )


def check_hessian(problem: Problem, X: Array | None = None, rng: Any = None) -> Report:
    """That euclidean_hessian(X, E) is the derivative of the gradient: slopes, symmetry, linearity; and tangency on M.

    |G(X + tE) - G(X) - t H[E]| must be of second order and f(X + tE) - f - t <G, E> - t^2/2 <E, H[E]> of third; a
    slope is infinite where the expansion is exact (f quadratic). The Riemannian Hessian is checked to be tangent and
    symmetric.
    """
    manifold, rng = problem.manifold, np.random.default_rng(rng)
    X = manifold.random_point(rng) if X is None else np.asarray(X)
    f, G = problem.cost(X), problem.euclidean_gradient(X)
    E, Z = _directions(problem, X, rng)
    D, Y = _directions(problem, X, rng)
    HE, HD, HZ, HY = (problem.euclidean_hessian(X, V) for V in (E, D, Z, Y))
    slope, half = _dot(G, E), _dot(E, HE) / 2
    first = _curve(
        "|G(X + tE) - G - t H[E]|", lambda t: float(norm(problem.evaluate_gradient(X + t * E) - G - t * HE)), 0.0, G, E
    )
    second = _curve(
        "f(X + tE) - f - t <G, E> - t^2/2 <E, H[E]>",
        lambda t: abs(problem.evaluate_cost(X + t * E) - f - t * slope - t * t * half), f, G, E,
    )  # fmt: skip
    RZ, RY = manifold.hessian(X, G, HZ, Z), manifold.hessian(X, G, HY, Y)
    mixed = problem.euclidean_hessian(X, 2 * E - 3 * D)
    return Report(
        f"Hessian of {problem.name} on {_name(manifold)}",
        (
            Finding("gradient", f"slope of {first.name}", first.slope, 1.9, True),
            Finding("value", f"slope of {second.name}", second.slope, 2.8, True),
            _symmetric("symmetry", "<D, H[E]> = <H[D], E>", D, HD, E, HE, problem),
            Finding("linearity", "H[2E - 3D] = 2 H[E] - 3 H[D]", _gap(mixed, 2 * HE - 3 * HD), _unit(problem)),
            _tangent(manifold, X, RZ, HZ),
            _symmetric("Riemannian symmetry", "<Y, hess f[Z]> = <hess f[Y], Z>", Y, RY, Z, RZ, problem),
        ),
        (first, second),
    )


def _directions(problem: Problem, X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """An element of F of the size of X, and a tangent vector scaled to the curvature of M; zero where M is points."""
    manifold = problem.manifold
    E, Z = manifold.random_ambient(rng), np.asarray(manifold.random_tangent(X, rng))
    length = step_size(manifold, X, Z)
    return E * float(norm(X) / norm(E)), Z / length if manifold.dim and length > 0 else 0 * Z


def _dot(U: Array, V: Array) -> float:
    return float(np.vdot(U, V).real)


def _unit(problem: Problem) -> float:
    """Rounding of a sum over all entries."""
    return 1e3 * eps(problem.manifold.dtype) * float(np.sqrt(np.prod(problem.manifold.shape)))


def _gap(A: Array, B: Array) -> float:
    return float(norm(A - B)) / max(float(norm(A)) + float(norm(B)), np.finfo(float).tiny)


def _curve(name: str, error: Callable[[float], float], f: float, G: Array, E: Array) -> Curve:
    """Errors over the steps; those outside the domain are left out, and rounding of the terms is the floor."""
    errors = np.array([error(t) for t in _STEPS])
    kept = np.isfinite(errors)
    floor = 10 * eps(E) * float(np.sqrt(E.size)) * (abs(f) + float(norm(G)) * max(1.0, float(norm(E))))
    return Curve(name, _STEPS[kept], errors[kept], fit_slope(_STEPS[kept], errors[kept], floor))


def _tangent(manifold: GenOrthManifold, X: Array, U: Array, source: Array) -> Finding:
    """|DC(X)[U]|, relative to the terms of the projection that made U."""
    size = float(norm(manifold.phi(X))) * (float(norm(U)) + float(norm(source)) * float(manifold.scale(X)))
    bound = 1e3 * eps(manifold.dtype) * float(np.sqrt(np.prod(manifold.shape))) * float(manifold.scale(X))
    return Finding("tangency", "|DC(X)[U]|, relative", float(manifold.tangency(X, U)) / max(size, 1e-300), bound)


def _symmetric(name: str, formula: str, D: Array, HD: Array, E: Array, HE: Array, problem: Problem) -> Finding:
    size = max(float(norm(D) * norm(HE) + norm(HD) * norm(E)), np.finfo(float).tiny)
    return Finding(name, formula, abs(_dot(D, HE) - _dot(HD, E)) / size, _unit(problem))
