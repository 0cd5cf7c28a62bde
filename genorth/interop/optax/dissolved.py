"""`dissolve`: the unconstrained loss of parameters on manifolds."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import numpy as np

from genorth.errors import require
from genorth.interop.fit import Fit, dissolving_maps, restored_point
from genorth.interop.optax.trees import at_manifolds, check_manifolds, spread
from genorth.penalty.base import check_beta


def dissolve(
    loss: Callable[..., Any],
    manifolds: Any,
    beta: Any = 1.0,
    *,
    dissolving: str = "oblique",
    has_aux: bool = False,
) -> Callable[..., Any]:
    """The loss with the constraints dissolved, for any optimiser.

        oblique: loss(A(X)) + beta/2 |C(X)|^2, A(X) = 3/2 X - 1/2 X phi(X)^T X

        orthogonal: loss(X - D(X)) + beta/2 |D(X)|^2

    It can be compiled, differentiated, and mapped over many parameters (jax.vmap). Leaves may be
    points, transposed points, or many points along axes in front.

    Args:
        loss: loss(params, ...), a scalar.
        manifolds: The manifolds, a PyTree of the form of `params` or a prefix of it, with None
            where there is no constraint.
        beta: Penalty parameter, beta > 0: one for all, or a PyTree of them like `manifolds`.
        dissolving: "oblique" or "orthogonal".
        has_aux: Whether the loss returns a pair, the value and something else.

    Returns:
        The function (params, ...) -> loss. Its attribute `params` maps params to those that the
        loss sees.

    Raises:
        ValueError: If beta is not positive, a parameter does not fit its manifold or is not of
            single or double precision, or there is no manifold.
    """
    require(callable(loss), "loss", "a function of params", f"a {type(loss).__name__}")
    maps = dissolving_maps(dissolving)
    check_manifolds(manifolds)
    betas = jax.tree.map(check_beta, spread(beta, manifolds))

    def residuals(params: Any) -> tuple[Any, list[Any]]:
        terms = []

        def one(fit: Fit, leaf: Any, weight: float) -> Any:
            X = fit.point(leaf)
            R = maps.residual(fit.manifold, X)
            terms.append(weight / 2 * fit.manifold.inner(R, R))
            return fit.array(maps.corrected(fit.manifold, X, R))

        return at_manifolds(one, manifolds, params, betas), terms

    @wraps(loss)
    def dissolved(params: Any, *args: Any, **kwargs: Any) -> Any:
        seen, terms = residuals(params)
        value = loss(seen, *args, **kwargs)
        if has_aux:
            return value[0] + sum(terms), value[1]
        return value + sum(terms)

    dissolved.params = lambda params: residuals(params)[0]  # type: ignore[attr-defined]
    return dissolved


def finish(params: Any, manifolds: Any) -> Any:
    """The parameters, restored to their manifolds.

    After `dissolve`, pass what the loss sees: finish(dissolved.params(params), manifolds). It looks
    at values, so call it outside of jit.

    Args:
        params: The parameters.
        manifolds: The manifolds, as in `dissolve`.

    Returns:
        The parameters, on M.

    Raises:
        NotRestorableError: If a parameter is too far from M.
    """
    check_manifolds(manifolds)
    return at_manifolds(_restored, manifolds, params)


def _restored(fit: Fit, leaf: Any) -> Any:
    """On M, computed in double precision by NumPy and then rounded."""
    wide = np.asarray(leaf).astype(complex if leaf.dtype.kind == "c" else float)
    X = fit.array(restored_point(fit.manifold, fit.point(wide))).astype(leaf.dtype)
    return jax.device_put(X, leaf.sharding) if hasattr(leaf, "sharding") else jax.numpy.asarray(X)
