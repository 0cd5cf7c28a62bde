"""Checks by slopes: retractions, gradients and Hessians against finite steps.

A check measures and returns a `Report`; it neither prints nor raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from genorth.checks.report import Curve, Finding, Report, fit_slope, title
from genorth.errors import OutsideDomainError, refuse, require
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise, step_size
from genorth.geometry.shaped import in_blocks
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
    """Check that a retraction stays on M and is exact to first order.

        R(0) = X, R(t Z) = X + t Z + O(t^2)

    The slope of the tangential part of the error gives the order: 3 if the curve has no tangential
    acceleration (a second-order retraction), 2 otherwise. The order is reported and never a
    failure. Steps outside the domain are skipped and counted. No distance or geodesic is needed.

    Args:
        manifold: The manifold.
        kind: The retraction, as in `manifold.retract`.
        X: A point of M. Default: a random one.
        Z: The direction. Its length does not matter. Default: a random tangent vector.
        rng: A seed or a NumPy Generator.

    Returns:
        A report with the slopes and the curves they were fitted to.
    """
    manifold, X, Z = in_blocks(manifold, X, Z)
    require(
        isinstance(manifold, GenOrthManifold | Blockwise),
        "manifold",
        "a GenOrthManifold",
        f"a {type(manifold).__name__}",
    )
    rng = as_generator(rng)
    X = manifold.random_point(rng) if X is None else X
    manifold._check(X=X)
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
    unit = _unit(manifold) * float(manifold.scale(X))
    floor = 1e3 * unit * float(norm(X))
    at = np.asarray(steps)
    curves = tuple(
        Curve(name, at, np.asarray(errors), fit_slope(at, np.asarray(errors), floor))
        for name, errors in (("|R(tZ) - X - tZ|", rest), ("its tangential part", tangential))
    )
    start = float(norm(manifold.retract(X, 0 * Z, kind=kind) - X) / norm(X))
    # Where the terms of t^2 and t^3 partly cancel the slope is anything: it tells 2 from 1 only.
    order = 2.0 if curves[1].slope > 2.7 else 1.0
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
                "slope of its tangential part - 1, rounded",
                order,
                1.0,
                True,
                "2: second order" if order == 2 else "1: first order",
            ),
        ),
        curves,
    )


def check_gradient(problem: Problem, X: Array | None = None, rng: Any = None) -> Report:
    """Check that `euclidean_gradient` is the gradient of `cost`, by slopes.

        f(X + t E) = f(X) + t <G, E> + O(t^2)

        f(R(t Z)) = f(X) + t <grad f(X), Z> + O(t^2)

    for E in F (all of F, as penalty methods leave M) and tangent Z. The slope is infinite if f is
    linear. Also checks that the Riemannian gradient is tangent. Where G fails by a factor, its sign
    or a conjugate, the note of the finding "Euclidean" says so.

    Args:
        problem: The problem.
        X: A point of M. Default: a random one.
        rng: A seed or a NumPy Generator.

    Returns:
        A report with the slopes and the curves they were fitted to.
    """
    problem, X, rng = _start(problem, X, rng)
    manifold = problem.manifold
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

    beside = {t: problem.evaluate_cost(X + t * E) - f for t in _STEPS}

    def in_space(G: Array) -> Curve:
        slope = _dot(G, E)
        return _curve("f(X + tE) - f - t <G, E>", lambda t: abs(beside[t] - t * slope), f, G, E)

    off = in_space(G)
    on = _curve("f(R(tZ)) - f - t <grad f, Z>", on_manifold, f, G, Z)
    note = ""
    if not off.slope >= 1.9:
        fits = (name for name, R in _mistaken(G) if in_space(R).slope >= 1.9)
        note = next((f"G is {name} the gradient" for name in fits), "")
    return Report(
        f"gradient of {problem.name} on {title(manifold)}",
        (
            Finding("Euclidean", f"slope of {off.name}", off.slope, 1.9, True, note),
            Finding("on M", f"slope of {on.name}", on.slope, 1.9, True),
            _tangent(manifold, X, gradient, float(norm(G))),
        ),
        (off, on),
    )


def check_hessian(problem: Problem, X: Array | None = None, rng: Any = None) -> Report:
    """Check that `euclidean_hessian` is the derivative of the gradient, by slopes.

        G(X + t E) = G(X) + t H[E] + O(t^2)

        f(X + t E) = f(X) + t <G, E> + t^2/2 <E, H[E]> + O(t^3)

    A slope is infinite if the expansion is exact (f quadratic). Also checks that H is symmetric and
    linear, and that the Riemannian Hessian is symmetric and tangent.

    Args:
        problem: The problem, with a Hessian product.
        X: A point of M. Default: a random one.
        rng: A seed or a NumPy Generator.

    Returns:
        A report with the slopes and the curves they were fitted to.

    Raises:
        ValueError: If the problem has no Hessian product.
    """
    problem, X, rng = _start(problem, X, rng)
    if not problem.has_hessian:
        hint = "Without it solvers use differences of gradients, which check_gradient vouches for."
        refuse("euclidean_hessian", "a Hessian product to check", "none", None, hint)
    manifold = problem.manifold
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
    place = manifold.at(X)
    T = place.split(G)[1]
    of_Z, of_Y = (
        float(norm(H)) + float(norm(place.lagrangian(T, 0 * H, V))) for H, V in ((HZ, Z), (HY, Y))
    )
    mixed = problem.euclidean_hessian(X, 2 * E - 3 * D)
    return Report(
        f"Hessian of {problem.name} on {title(manifold)}",
        (
            Finding("gradient", f"slope of {first.name}", first.slope, 1.9, True),
            Finding("value", f"slope of {second.name}", second.slope, 2.8, True),
            _symmetric("symmetry", "<D, H[E]> = <H[D], E>", D, HD, E, HE, manifold),
            Finding(
                "linearity",
                "H[2E - 3D] = 2 H[E] - 3 H[D]",
                _gap(mixed, 2 * HE - 3 * HD),
                1e3 * _unit(manifold),
            ),
            _tangent(manifold, X, RZ, of_Z),
            _symmetric(
                "Riemannian symmetry",
                "<Y, hess f[Z]> = <hess f[Y], Z>",
                Y,
                RY,
                Z,
                RZ,
                manifold,
                float(norm(Y)) * of_Z + float(norm(Z)) * of_Y,
            ),
        ),
        (first, second),
    )


def _start(problem: Problem, X: Any, rng: Any) -> tuple[Problem, Array, np.random.Generator]:
    """The problem in blocks, a point (X, or a random one), the generator of directions; checked."""
    require(
        isinstance(problem, Problem), "problem", "a genorth.Problem", f"a {type(problem).__name__}"
    )
    rng = as_generator(rng)
    manifold, X = in_blocks(problem.manifold, X)
    if X is None:
        return problem.in_blocks, manifold.random_point(rng), rng
    manifold._check(X=X)
    manifold._require_finite(X=X)
    return problem.in_blocks, np.asarray(X), rng


def _mistaken(G: Array) -> Iterator[tuple[str, Array]]:
    """What G may be taken for, and what the gradient is then."""
    yield "half of", 2 * G
    yield "twice", G / 2
    yield "minus", -G
    if np.iscomplexobj(G):
        yield "the conjugate of", G.conj()
        yield "half of the conjugate (a Wirtinger derivative) of", 2 * G.conj()
    if G.ndim > 1 and G.shape[-1] == G.shape[-2]:
        yield "the transpose of", np.swapaxes(G, -1, -2)


def _directions(problem: Problem, X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """An element of F of the size of X, and a tangent vector scaled to the curvature of M.

    The tangent vector is zero if M consists of isolated points.
    """
    manifold = problem.manifold
    E, Z = manifold.random_ambient(rng), np.asarray(manifold.random_tangent(X, rng))
    length = step_size(manifold, X, Z)
    return E * float(norm(X) / norm(E)), Z / length if manifold.dim and length > 0 else 0 * Z


def _dot(U: Array, V: Array) -> float:
    return float(np.vdot(U, V).real)


def _unit(manifold: Any) -> float:
    """The rounding of a sum over all entries."""
    return eps(manifold.dtype) * float(np.sqrt(np.prod(manifold.shape)))


def _gap(A: Array, B: Array) -> float:
    return float(norm(A - B)) / max(float(norm(A)) + float(norm(B)), np.finfo(float).tiny)


def _curve(name: str, error: Callable[[float], float], f: float, G: Array, E: Array) -> Curve:
    """Errors over the steps inside the domain; the floor is the rounding of the terms."""
    errors = np.array([error(t) for t in _STEPS])
    kept = np.isfinite(errors)
    floor = (
        10 * eps(E) * float(np.sqrt(E.size)) * (abs(f) + float(norm(G)) * max(1.0, float(norm(E))))
    )
    return Curve(name, _STEPS[kept], errors[kept], fit_slope(_STEPS[kept], errors[kept], floor))


def _tangent(manifold: GenOrthManifold, X: Array, U: Array, source: float) -> Finding:
    """|DC(X)[U]|, relative to the size of what was projected to make U."""
    size = float(norm(manifold.at(X).P)) * (float(norm(U)) + source * float(manifold.scale(X)))
    bound = 1e3 * _unit(manifold) * float(manifold.scale(X))
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
    manifold: Any,
    terms: float = 0.0,
) -> Finding:
    """The two products, relative to the norms of their factors or to the terms of H."""
    size = max(float(norm(D) * norm(HE) + norm(HD) * norm(E)), terms, np.finfo(float).tiny)
    return Finding(name, formula, abs(_dot(D, HE) - _dot(HD, E)) / size, 1e3 * _unit(manifold))
