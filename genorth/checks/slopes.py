"""Checks by slopes: retractions, gradients and Hessians against finite steps.

A check measures and returns a `Report`; it prints nothing and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genorth.checks.report import Curve, Finding, Report, fit_slope, title
from genorth.errors import OutsideDomainError, refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.retractions import step_size
from genorth.linalg.arrays import Array, eps, norm
from genorth.linalg.inputs import as_generator
from genorth.problem.problem import Problem

_STEPS = np.logspace(-6, 0, 25)


def check_retraction(
    manifold: GenOrthManifold,
    kind: str = "cayley",
    X: Array | None = None,
    Z: Array | None = None,
    rng: Any = None,
) -> Report:
    """That R(tZ) is on M, R(0) = X, and R(tZ) = X + tZ + O(t^2), by the slope of the error.

    The slope of the tangential part of the error tells the order: 3 where the curve has no
    tangential acceleration (a second-order retraction), 2 else; it is reported and never a failure.
    Z gives the direction; the steps are scaled to the curvature of M. Steps outside the domain are
    left out and counted. Neither a distance nor a geodesic is needed.
    """
    if not isinstance(manifold, GenOrthManifold):
        refuse("manifold", "a GenOrthManifold", f"a {type(manifold).__name__}")
    rng = as_generator(rng)
    X = manifold.random_point(rng) if X is None else X
    Z = np.asarray(manifold.random_tangent(X, rng)) if Z is None else Z
    manifold._check(X=X, Z=Z)
    manifold._require_finite(X=X, Z=Z)
    size = step_size(manifold, X, Z)
    Z = (
        Z / size if manifold.dim and size > 0 else 0 * Z
    )  # where M is a set of points there is no direction
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
        f"retraction {kind!r} on {title(manifold)}",
        (
            Finding(
                "on M",
                "|C(R(tZ))| / max(1, |R| |phi(R)|)",
                max(feasibility),
                100 * unit,
                False,
                dropped,
            ),
            Finding("start", "R(0) = X", start, 100 * unit),
            Finding("first order", "slope of |R(tZ) - X - tZ|", curves[0].slope, 1.9, True),
            Finding(
                "order",
                "slope of its tangential part - 1",
                round(min(curves[1].slope, 3.0) - 1, 1),
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
    manifold, X, rng = _start(problem, X, rng)
    f, G = problem.cost(X), problem.euclidean_gradient(X)
    E, Z = _directions(problem, X, rng)
    gradient = manifold.gradient(X, G)
    along = float(manifold.inner(gradient, Z))

    def on_manifold(t: float) -> float:
        try:
            R = manifold.retract(X, t * Z)
        except OutsideDomainError:
            return float("nan")
        return abs(problem.evaluate_cost(R) - f - t * along)

    def in_space(t: float) -> float:
        return abs(problem.evaluate_cost(X + t * E) - f - t * _dot(G, E))

    off = _curve("f(X + tE) - f - t <G, E>", in_space, f, G, E)
    on = _curve("f(R(tZ)) - f - t <grad f, Z>", on_manifold, f, G, Z)
    return Report(
        f"gradient of {problem.name} on {title(manifold)}",
        (
            Finding("Euclidean", f"slope of {off.name}", off.slope, 1.9, True),
            Finding("on M", f"slope of {on.name}", on.slope, 1.9, True),
            _tangent(manifold, X, gradient, float(norm(G))),
        ),
        (off, on),
    )


def check_hessian(problem: Problem, X: Array | None = None, rng: Any = None) -> Report:
    """That euclidean_hessian(X, E) is the derivative of the gradient.

    Slopes, symmetry, linearity; and tangency on M.

    |G(X + tE) - G(X) - t H[E]| must be of second order and f(X + tE) - f - t <G, E> - t^2/2 <E, H[E]> of third; a
    slope is infinite where the expansion is exact (f quadratic). The Riemannian Hessian is checked to be tangent and
    symmetric.
    """
    manifold, X, rng = _start(problem, X, rng)
    f, G = problem.cost(X), problem.euclidean_gradient(X)
    E, Z = _directions(problem, X, rng)
    D, Y = _directions(problem, X, rng)
    HE, HD, HZ, HY = (problem.euclidean_hessian(X, V) for V in (E, D, Z, Y))
    slope, half = _dot(G, E), _dot(E, HE) / 2
    first = _curve(
        "|G(X + tE) - G - t H[E]|",
        lambda t: float(norm(problem.evaluate_gradient(X + t * E) - G - t * HE)),
        0.0,
        G,
        E,
    )
    second = _curve(
        "f(X + tE) - f - t <G, E> - t^2/2 <E, H[E]>",
        lambda t: abs(problem.evaluate_cost(X + t * E) - f - t * slope - t * t * half),
        f,
        G,
        E,
    )
    RZ, RY = manifold.hessian(X, G, HZ, Z), manifold.hessian(X, G, HY, Y)
    # The terms of the Riemannian Hessian: where f is constant on M they cancel up to rounding.
    multiplier = float(norm(manifold.theta(X, G)))
    of_Z, of_Y = (
        float(norm(H)) + float(norm(manifold.phi(V))) * multiplier for H, V in ((HZ, Z), (HY, Y))
    )
    mixed = problem.euclidean_hessian(X, 2 * E - 3 * D)
    return Report(
        f"Hessian of {problem.name} on {title(manifold)}",
        (
            Finding("gradient", f"slope of {first.name}", first.slope, 1.9, True),
            Finding("value", f"slope of {second.name}", second.slope, 2.8, True),
            _symmetric("symmetry", "<D, H[E]> = <H[D], E>", D, HD, E, HE, problem),
            Finding(
                "linearity",
                "H[2E - 3D] = 2 H[E] - 3 H[D]",
                _gap(mixed, 2 * HE - 3 * HD),
                _unit(problem),
            ),
            _tangent(manifold, X, RZ, of_Z),
            _symmetric(
                "Riemannian symmetry",
                "<Y, hess f[Z]> = <hess f[Y], Z>",
                Y,
                RY,
                Z,
                RZ,
                problem,
                float(norm(Y)) * of_Z + float(norm(Z)) * of_Y,
            ),
        ),
        (first, second),
    )


def _start(
    problem: Problem, X: Any, rng: Any
) -> tuple[GenOrthManifold, Array, np.random.Generator]:
    """The manifold, a point (X, or a random one), and the generator of directions; checked."""
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem", f"a {type(problem).__name__}")
    rng = as_generator(rng)
    if X is None:
        return problem.manifold, problem.manifold.random_point(rng), rng
    problem.manifold._check(X=X)
    problem.manifold._require_finite(X=X)
    return problem.manifold, np.asarray(X), rng


def _directions(problem: Problem, X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """An element of F of the size of X, and a tangent vector scaled to the curvature of M.

    Zero where M is points.
    """
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
    floor = (
        10 * eps(E) * float(np.sqrt(E.size)) * (abs(f) + float(norm(G)) * max(1.0, float(norm(E))))
    )
    return Curve(name, _STEPS[kept], errors[kept], fit_slope(_STEPS[kept], errors[kept], floor))


def _tangent(manifold: GenOrthManifold, X: Array, U: Array, source: float) -> Finding:
    """|DC(X)[U]|, relative to the size of what was projected to make U."""
    size = float(norm(manifold.phi(X))) * (float(norm(U)) + source * float(manifold.scale(X)))
    bound = (
        1e3
        * eps(manifold.dtype)
        * float(np.sqrt(np.prod(manifold.shape)))
        * float(manifold.scale(X))
    )
    return Finding(
        "tangency",
        "|DC(X)[U]|, relative",
        float(manifold.tangency(X, U)) / max(size, 1e-300),
        bound,
    )


def _symmetric(
    name: str,
    formula: str,
    D: Array,
    HD: Array,
    E: Array,
    HE: Array,
    problem: Problem,
    terms: float = 0.0,
) -> Finding:
    """The two products, relative to the norms of their factors or to the terms of H."""
    size = max(float(norm(D) * norm(HE) + norm(HD) * norm(E)), terms, np.finfo(float).tiny)
    return Finding(name, formula, abs(_dot(D, HE) - _dot(HD, E)) / size, _unit(problem))
