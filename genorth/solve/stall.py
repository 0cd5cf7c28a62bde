"""`explain`: what it means that a run stalled, or took many evaluations an iteration."""

from __future__ import annotations

import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.shaped import in_blocks
from genorth.geometry.substitution import metric_names
from genorth.linalg.arrays import eps, norm
from genorth.problem.differences import noise_beside
from genorth.problem.problem import Problem
from genorth.solve.result import Result, Status

_MANY, _LONG = 10, 20  # evaluations an iteration, and for how many iterations
_STEPS = 1e-2, 1e-4  # relative to |x|
_ROUGH = 100.0  # units of roundoff of f, above which it is noise
_FITS = 0.05  # relative difference of slopes
_KINK = 0.04  # of the bend at the longer step that is left at the shorter: 0.01 where f is smooth
_TIRED = 100  # iterations
_DENSE, _ILL = 2000, 1e6  # the largest B that is looked at, and the condition number it may have


def laborious(result: Result) -> bool:
    """Whether twenty iterations in a row took more than ten evaluations each.

    Hessian products do not count: without line searches nothing is said.
    """
    if result.nhev or result.njev > result.nfev:
        return False
    many = np.diff(result.trace.evaluations) > _MANY
    return len(many) >= _LONG and bool(np.convolve(many, np.ones(_LONG)).max() >= _LONG)


def metric_hint(manifold: GenOrthManifold, result: Result) -> str:
    """Where the form B is ill-conditioned and the run was long or failed: the metric to pass."""
    form = getattr(manifold, "form", None)  # a product has none
    if result.metric_gradient_norm is not None or (result.success and result.nit < _TIRED):
        return ""
    if form is None or form.size > _DENSE or not (names := metric_names(manifold)):
        return ""
    matrix = np.asarray(form.left(np.eye(form.size, dtype=form.dtype)))
    values = np.linalg.svd(matrix, compute_uv=False)
    condition = float(values[0] / max(values[-1], eps(values) * values[0]))
    if condition < _ILL:
        return ""
    return (
        f"{form.name} has a condition number of {condition:.0e}, which slows every method in the "
        f"Euclidean metric: pass metric={names[0 if manifold.definite else -1]!r}."
    )


def explain(problem: Problem, result: Result) -> str:
    """What it means that the run stalled or was laborious, from a dozen costs beside x.

        (f(x + tE) + f(x - tE) - 2 f(x)) / t = O(t)

        (f(x + tE) - f(x - tE)) / (2t) = <G, E> + O(t^2)

    The first fails at a kink, the second where derivatives do not fit. Noise is what a
    parabola leaves of f within 1e-6 |x|.

    Args:
        problem: The problem. Its counts stay as they are.
        result: The result of the run.

    Returns:
        One or two sentences; nothing for other runs, and where none of these is found.
    """
    stalled = result.status is Status.STALLED
    tired = result.status is Status.ITERATION_LIMIT and result.nit >= _TIRED
    labour = laborious(result)
    if hint := metric_hint(in_blocks(problem.manifold)[0], result):
        return hint
    if not (stalled or tired or labour):
        return ""
    problem, x = problem.fresh(), np.asarray(result.x)
    f, G = problem.evaluate(x)
    random = problem.manifold.random_ambient(0)
    size, length = float(norm(G)), float(norm(x))
    E = (G / size if size > 0 else G) + random / float(norm(random))
    E = E if E.any() else random  # they cancel where there is one variable
    E *= length / float(norm(E))

    def along(t: float) -> float:
        return problem.evaluate_cost(x + t * E) - f

    noise = noise_beside(problem, x, E / length)
    slope = float(np.vdot(G, E).real)
    long, short = ((along(t), along(-t), t) for t in _STEPS)
    bends = [(ahead + behind) / t for ahead, behind, t in (long, short)]
    slopes = [(ahead - behind) / (2 * t) for ahead, behind, t in (long, short)]
    if not np.isfinite([noise, *bends, *slopes]).all():
        return ""
    told = "" if stalled or not labour else "Many line searches took more than ten evaluations. "
    unsure = noise / _STEPS[1] + eps(x) * abs(f) / _STEPS[1]
    if abs(bends[1]) > max(_KINK * abs(bends[0]), 1e-3 * abs(slope), 10 * unsure):
        return (
            f"{told}The cost has a kink beside x: solvers here need a smooth cost. Replace |t| by "
            "sqrt(t^2 + e^2) with a small e, or max by a soft maximum."
        )
    if noise > _ROUGH * eps(x) * abs(f):
        return (
            f"{told}The cost has noise of about {noise:.1g} beside x, which hides smaller "
            "decreases: raise tol, or compute the cost more accurately."
        )
    if abs(slopes[1] - slope) > _FITS * max(abs(slope), abs(slopes[1])) + 10 * unsure:
        return (
            f"{told}The derivatives do not fit the cost beside x: its slope along one direction is "
            f"{slopes[1]:.3g}, by the gradient {slope:.3g}. Call genorth.check_gradient(problem)."
        )
    return ""
