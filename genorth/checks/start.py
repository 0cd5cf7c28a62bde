"""`check_start`: what `minimize` tests before a run, with two evaluations and a Hessian product.

It refuses what is wrong by far; `check_gradient`, `check_hessian` and `check_assumptions` measure.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import factors_of
from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array, ct, eps, norm
from genorth.problem.problem import Problem

_NEAR = 1e-3  # how far from the start the test is, relative: a start may be at a kink
_STEP = 1e-4  # length of the step, relative to X
_WRONG = 1e-3  # relative error from which on a derivative is wrong by far: right ones have 1e-6
_NOISE = 1e-8  # relative error of a cost that comes from an iteration
_UNITS = 100.0  # of roundoff, in a cost
_PSI = 1e-3  # relative error of psi from which on it is wrong by far
_SKIP = "check=False skips this test."


def check_start(problem: Problem, x0: Any = None) -> None:
    """Refuse derivatives that do not fit the cost, and a psi that does not fit phi.

        f(X + t E) - f(X) = t/2 <G(X) + G(X + t E), E> + O(t^3)

        G(X + t E) - G(X) = t H(X + t E/2)[E] + O(t^3)

        phi(X T) = phi(X) psi(T)

    E is the sum of G and a random direction of equal length: an error of G shows along G itself, in
    any dimension. Where the cost is not finite near the start nothing is tested.

    Args:
        problem: The problem, with a gradient. Its counts stay as they are.
        x0: The start. Default: a random point of M.

    Raises:
        ValueError: If one of them fails by far.
    """
    problem, rng = problem.fresh(), np.random.default_rng(0)
    for factor in factors_of(in_blocks(problem.manifold)[0]):
        _check_companion(factor, rng)
    manifold, start = in_blocks(problem.manifold, problem.start(x0, rng))
    problem = problem.in_blocks
    X = start + _sized(manifold.random_ambient(rng), _NEAR * float(norm(start)))
    f, G = problem.evaluate(X)
    if not (math.isfinite(f) and math.isfinite(float(norm(G)))):
        return
    E = _sized(G, 1.0) + _sized(manifold.random_ambient(rng), 1.0)
    step = _sized(E, _STEP * float(norm(X)))
    f_ahead, G_ahead = problem.evaluate(X + step)
    if not (math.isfinite(f_ahead) and math.isfinite(float(norm(G_ahead)))):
        return
    before, after = (float(np.vdot(V, step).real) for V in (G, G_ahead))
    noise = max(_NOISE, _UNITS * eps(G)) * (abs(f) + abs(f_ahead))
    rise, slope = f_ahead - f, (before + after) / 2
    if abs(rise - slope) > _WRONG * max(abs(before), abs(after)) + noise:
        need = "the gradient of the cost, f(X + tE) - f(X) = t <G, E> to first order"
        got = f"{rise / _STEP:.3g} from the cost and {slope / _STEP:.3g} from the gradient"
        hint = f"Call genorth.check_gradient(problem). {_SKIP}"
        refuse(problem.gradient_name, need, got, None, hint)
    if problem.has_hessian:
        H, change = problem.euclidean_hessian(X + step / 2, step), G_ahead - G
        error, size = float(norm(H - change)), max(float(norm(H)), float(norm(change)))
        if error > _WRONG * size + _UNITS * max(_NOISE, eps(G)) * float(norm(G)):
            need = "the derivative of the gradient, G(X + tE) - G(X) = t H[E] to first order"
            hint = f"Call genorth.check_hessian(problem). {_SKIP}"
            refuse(
                "euclidean_hessian", need, f"a relative error of {error / size:.2g}", _WRONG, hint
            )


def _check_companion(manifold: GenOrthManifold, rng: np.random.Generator) -> None:
    X, U, V = (manifold.random_ambient(rng) for _ in range(3))
    T = ct(U) @ V
    left = np.asarray(manifold.phi(X @ T))
    right = np.asarray(manifold.phi(X)) @ np.asarray(manifold.psi(T))
    size = max(float(norm(left)), float(norm(right)))
    if (error := float(norm(left - right))) > _PSI * size:
        hint = f"Call genorth.check_assumptions(manifold). {_SKIP}"
        refuse(
            "psi", "phi(X T) = phi(X) psi(T)", f"a relative error of {error / size:.2g}", _PSI, hint
        )


def _sized(V: Array, length: float) -> Array:
    """V with another length; zero stays zero."""
    size = float(norm(V))
    return V * (length / size) if size > 0 else V
