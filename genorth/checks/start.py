"""`check_start`: what `minimize` tests before a run, with two evaluations and a Hessian product.

It refuses what is wrong by far and warns of what is doubtful; `check_gradient`, `check_hessian` and
`check_assumptions` measure.
"""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np

from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import factors_of
from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array, ct, eps, norm
from genorth.optional import optional
from genorth.problem.differences import noise_beside
from genorth.problem.problem import Problem

_NEAR = 1e-3  # how far from the start the test is, relative: a start may be at a kink
_STEP = 1e-4  # length of the step, relative to X
_WRONG = 1e-3  # relative error from which on something is wrong by far: right ones have 1e-6
_DOUBTFUL = 1e-4  # from here on a warning is given
_NOISE = 1e-8  # relative error of a cost that comes from an iteration
_SURE = 10.0  # times the noise of the cost that is measured
_UNITS = 100.0  # of roundoff, in a cost
_SKIP = "check=False skips this test."


def check_start(problem: Problem, x0: Any = None, preconditioner: Any = None) -> None:
    """Refuse derivatives that do not fit the cost, and a psi that does not fit phi.

        f(X + t E) - f(X) = t/2 <G(X) + G(X + t E), E> + O(t^3)

        G(X + t E) - G(X) = t H(X + t E/2)[E] + O(t^3)

        phi(X T) = phi(X) psi(T)

        <U, B V> = <B U, V>, <U, B U> > 0

    B is the preconditioner. E is the sum of G and a random direction of equal length: an error of G
    shows along G itself, in any dimension. Where the cost is not finite near the start nothing more
    is tested. A relative error above 1e-3 is refused, one above 1e-4 gets a warning; where the
    cost may be noisy, seven more evaluations tell its noise, which excuses an error. A cost that
    combines X entry by entry with an array of fewer or more axes, so that the result is larger than
    both, is refused.

    Args:
        problem: The problem, with a gradient. Its counts stay as they are.
        x0: The start. Default: a random point of M.
        preconditioner: `preconditioner(X, V)`, or None.

    Raises:
        ValueError: If one of them fails by far.
    """
    problem, rng = problem.fresh(), np.random.default_rng(0)
    for factor in factors_of(in_blocks(problem.manifold)[0]):
        _check_companion(factor, rng)
    manifold, start = in_blocks(problem.manifold, problem.start(x0, rng))
    X = start + _sized(manifold.random_ambient(rng), _NEAR * float(norm(start)))
    f, G = _evaluated(problem, X)
    if preconditioner is not None and manifold is problem.manifold:
        U, V = (manifold.random_ambient(rng) for _ in range(2))
        _check_preconditioner(preconditioner, X, U, V)
    problem = problem.in_blocks
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
    error, size = abs(rise - slope) - noise, max(abs(before), abs(after))
    if error > _DOUBTFUL * size:  # by noise that is larger than usual?
        error -= _SURE * noise_beside(problem, X, step / float(norm(step)))
    _judge(
        max(error, 0.0),
        size,
        problem.gradient_name,
        "the gradient of the cost, f(X + tE) - f(X) = t <G, E> to first order",
        f"{rise / _STEP:.6g} from the cost and {slope / _STEP:.6g} from the gradient",
        "check_gradient(problem)",
    )
    if (further := problem.constraints) is not None:
        gap, along = further.value(X + step) - further.value(X), further.push(X + step / 2, step)
        _judge(
            max(float(norm(gap - along)) - _NOISE * float(norm(further.value(X))), 0.0),
            max(float(norm(gap)), float(norm(along))),
            "constraints",
            "jac to be the derivative of fun, c(X + tE) - c(X) = t J E to first order",
            "",
            "",
        )
    change = G_ahead - G
    if problem.has_hessian:
        H = problem.euclidean_hessian(X + step / 2, step)
        noise = _UNITS * max(_NOISE, eps(G)) * float(norm(G))
        _judge(
            max(float(norm(H - change)) - noise, 0.0),
            max(float(norm(H)), float(norm(change))),
            "euclidean_hessian",
            "the derivative of the gradient, G(X + tE) - G(X) = t H[E] to first order",
            "",
            "check_hessian(problem)",
        )
    elif change.any() and (G.astype("F" if np.iscomplexobj(G) else "f") == G).all():
        warnings.warn(
            f"{problem.gradient_name}: single precision: Hessian products by differences of such "
            "gradients have three digits. Compute it in double precision, or pass a looser rtol.",
            UserWarning,
            stacklevel=3,
        )


class _Watched(np.ndarray[Any, Any]):
    """An X that notes the shapes that it is combined with, entry by entry."""

    met: list[tuple[Any, ...]] | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.met = getattr(source, "met", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [v.view(np.ndarray) if isinstance(v, _Watched) else v for v in inputs]
        if "out" in options:
            options["out"] = tuple(np.asarray(v) for v in options["out"])
        result = getattr(ufunc, method)(*plain, **options)
        if method == "__call__" and ufunc.signature is None and self.met is not None:
            self.met.append(tuple(np.shape(v) for v in plain))
        if type(result) is np.ndarray:
            result = result.view(_Watched)
            setattr(result, "met", self.met)  # noqa: B010  a view has it from its class
        return result


def _evaluated(problem: Problem, X: np.ndarray[Any, Any]) -> tuple[float, Array]:
    """f and G in blocks; refused where X broadcasts against an array of other axes."""
    inside, shape = problem.in_blocks, tuple(problem.manifold.shape)
    if len(shape) > 1 and shape[-1] != 1:
        return inside.evaluate(X)
    watched = X.view(_Watched)
    met: list[tuple[Any, ...]] = []
    watched.met = met
    try:
        f, G = inside.evaluate(watched)
    except Exception:  # not every function takes it
        f, G = inside.evaluate(X)
    for shapes in (*met, *_promoted(problem, shape)):
        sizes = [math.prod(each) for each in shapes]
        mixed = shape in shapes and len({len(each) for each in shapes if each}) > 1
        if mixed and math.prod(np.broadcast_shapes(*shapes)) > max(sizes):
            need = f"a cost of points of shape {shape}"
            got = f"one that broadcasts X against shape {next(s for s in shapes if s != shape)}"
            hint = (
                "Reshape one of them; go.Sphere and go.Oblique have points of shape (n,) and "
                f"(n, k). If it is meant, write the new axis as A[None]. {_SKIP}"
            )
            refuse("cost", need, got, None, hint)
    return f, np.asarray(G)


def _promoted(problem: Problem, shape: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """The shapes that JAX gives new axes to while it traces the cost; nothing is evaluated."""
    if problem.autodiff != "jax" or problem._cost is None:
        return []
    jax = optional("jax", "jax", "autodiff='jax'")
    with warnings.catch_warnings(record=True) as seen, jax.numpy_rank_promotion("warn"):
        warnings.simplefilter("always")
        jax.eval_shape(problem._cost, jax.ShapeDtypeStruct(shape, problem.manifold.dtype))
    said = (re.findall(r"\(([\d, ]*)\)", str(w.message).partition("on shapes")[2]) for w in seen)
    return [tuple(tuple(map(int, re.findall(r"\d+", s))) for s in shapes) for shapes in said]


def _check_companion(manifold: GenOrthManifold, rng: np.random.Generator) -> None:
    X, U, V = (manifold.random_ambient(rng) for _ in range(3))
    T = ct(U) @ V
    left = np.asarray(manifold.phi(X @ T))
    right = np.asarray(manifold.phi(X)) @ np.asarray(manifold.psi(T))
    size = max(float(norm(left)), float(norm(right)))
    error = float(norm(left - right))
    _judge(error, size, "psi", "phi(X T) = phi(X) psi(T)", "", "check_assumptions(manifold)")


def _check_preconditioner(B: Any, X: Array, U: Array, V: Array) -> None:
    BU, BV = np.asarray(B(X, U)), np.asarray(B(X, V))
    if BU.shape != U.shape:
        refuse("preconditioner", f"an array of shape {U.shape}", f"shape {BU.shape}")
    definite = float(np.vdot(U, BU).real)
    if not definite > 0:
        need = "a positive definite map, <V, preconditioner(X, V)> > 0"
        refuse("preconditioner", need, definite, None, _SKIP)
    BU, BV = (W / abs(BU).max() for W in (BU, BV))  # whose squares are numbers
    error = abs(float(np.vdot(U, BV).real - np.vdot(BU, V).real))
    size = float(norm(U) * norm(BV))
    _judge(error, size, "preconditioner", "<U, B V> = <B U, V>", "", "")


def _judge(error: float, size: float, name: str, need: str, got: str, call: str) -> None:
    """Refuse an error that is large for its size; warn of one that is not small."""
    if not error > _DOUBTFUL * size:
        return
    got = got or f"a relative error of {error / size:.2g}"
    hint = f"Call genorth.{call}. {_SKIP}" if call else _SKIP
    if error > _WRONG * size:
        refuse(name, need, got, None if " from " in got else _WRONG, hint)
    warnings.warn(f"{name}: doubtful, need {need}; got {got}. {hint}", UserWarning, stacklevel=4)


def _sized(V: Array, length: float) -> Array:
    """V with another length; zero stays zero."""
    size = float(norm(V))
    return V * (length / size) if size > 0 else V
