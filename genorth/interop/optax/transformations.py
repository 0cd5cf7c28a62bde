"""Gradient transformations of Optax for parameters on a manifold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import jax
import optax

from genorth.errors import require
from genorth.geometry.field import Field
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import Fit
from genorth.interop.optax.trees import at_manifolds, check_manifolds
from genorth.interop.steps import (
    check_retraction,
    landing_step,
    muon_direction,
    pogo_step,
    stepped,
    subspace_of,
    subspace_step,
)


def riemannian(
    optimizer: optax.GradientTransformation, manifolds: Any, *, retraction: str = "cayley"
) -> optax.GradientTransformationExtraArgs:
    """Any optimiser of Optax, on M.

        X <- R_X(P_X(Z))

    Z is the step that the optimiser makes of the Riemannian gradients. What the optimiser keeps of
    the form of the parameters, such as momentum, is transported by projection where it is in the
    tangent space: the trace of SGD and the first moment of Adam. Second moments are left alone.
    Parameters without a manifold are updated as usual. A step outside the domain of the retraction
    gives NaN under jit; `optax.apply_if_finite` leaves it out.

    Further arguments of `update` go to the optimiser, such as `value` for optax.polyak_sgd and
    optax.contrib.reduce_on_plateau. For optax.lbfgs, `grad` is made Riemannian and `value_fn` is
    followed along the retraction; evaluate the next gradient anew, since
    optax.value_and_grad_from_state has that of the search.

    Args:
        optimizer: The optimiser, such as optax.sgd(0.1, momentum=0.9) or optax.adam(1e-3).
        manifolds: The manifolds, a PyTree of the form of the parameters or a prefix of it, with
            None where there is no constraint.
        retraction: "cayley", "polar", "exp", "normal" or "auto".

    Returns:
        The gradient transformation; its `update` needs the parameters, and passes on further
        arguments.

    Raises:
        ValueError: If the retraction is unknown, there is no manifold, or a parameter does not fit.
    """
    require(
        hasattr(optimizer, "init") and hasattr(optimizer, "update"),
        "optimizer",
        "a gradient transformation of Optax",
        f"a {type(optimizer).__name__}",
    )
    check_manifolds(manifolds)
    check_retraction(retraction)
    own = optax.with_extra_args_support(optimizer)

    def gradient(fit: Fit, G: Any, X: Any) -> Any:
        return fit.array(fit.manifold.gradient(fit.point(X), fit.point(G)))

    def transported(fit: Fit, V: Any, Y: Any) -> Any:
        return fit.array(fit.manifold.project(fit.point(Y), fit.point(V)))

    def moved(fit: Fit, X: Any, Z: Any) -> Any:
        Z = fit.point(Z if retraction == "normal" else transported(fit, Z, X))
        return fit.array(stepped(fit.manifold, fit.point(X), Z, retraction))

    def difference(_: Fit, __: Any, Y: Any, X: Any) -> Any:
        return Y - X

    def along(fit: Fit, end: Any, start: Any) -> Any:
        return moved(fit, start, end - start)

    def update(grads: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        _require(params)
        if (value := extra.get("value_fn")) is not None:
            extra["value_fn"] = lambda ends: value(at_manifolds(along, manifolds, ends, params))
        if "grad" in extra:
            extra["grad"] = at_manifolds(gradient, manifolds, extra["grad"], params)
        inner = at_manifolds(gradient, manifolds, grads, params)
        steps, state = own.update(inner, state, params, **extra)
        ends = at_manifolds(moved, manifolds, params, steps)
        change = at_manifolds(difference, manifolds, steps, ends, params)
        return change, _transport(state, lambda V: at_manifolds(transported, manifolds, V, ends))

    return optax.GradientTransformationExtraArgs(optimizer.init, update)


#: Where Optax keeps tangent vectors: the field of a state that has the form of the parameters.
_TANGENT = {"TraceState": "trace", "ScaleByAdamState": "mu", "EmaState": "ema"}


def _transport(state: Any, carry: Any) -> Any:
    """The state with its tangent vectors carried along."""

    def is_kept(node: Any) -> bool:
        return type(node).__name__ in _TANGENT

    def one(node: Any) -> Any:
        if not is_kept(node):
            return node
        field = _TANGENT[type(node).__name__]
        return node._replace(**{field: carry(getattr(node, field))})

    return jax.tree.map(one, state, is_leaf=is_kept)


class StepState(NamedTuple):
    """The state of the methods below: the number of steps, and the momentum."""

    count: Any
    momentum: Any


def _in_tube(step: Any, attraction: float, tube: float) -> Any:
    """The end of a step of the tangent field."""
    _positive(attraction=attraction, tube=tube)
    return lambda M, X, G, rate, _: step(Field(M), X, G, rate, attraction, tube)


def landing(
    learning_rate: Any,
    manifolds: Any,
    *,
    momentum: float | None = None,
    nesterov: bool = False,
    attraction: float = 1.0,
    tube: float = 0.5,
) -> optax.GradientTransformation:
    """The landing method [ablin2022fast]: no retraction, products only.

        X <- X - t (F(X) + attraction grad N(X)), N = |C|^2/4, t <= learning_rate

    F is tangent to the level set of C through X. The momentum is that of the Euclidean gradient.
    The step is halved for each matrix until |C| is within the tube. Parameters without a manifold
    are updated as by `optax.sgd`. `finish` restores the last iterate.

    Args:
        learning_rate: The step size, or a schedule.
        manifolds: The manifolds, as in `riemannian`.
        momentum: Momentum; None for none.
        nesterov: Whether to use Nesterov's momentum.
        attraction: The weight of the normal step.
        tube: The largest |C| of an iterate.

    Returns:
        The gradient transformation; its `update` needs the parameters.

    Raises:
        ValueError: If a number is negative, there is no manifold, or a parameter does not fit.
    """
    end = _in_tube(landing_step, attraction, tube)
    return _averaging(learning_rate, manifolds, momentum, nesterov, end)


def pogo(
    learning_rate: Any,
    manifolds: Any,
    *,
    momentum: float | None = None,
    nesterov: bool = False,
    attraction: float = 0.5,
    tube: float = 0.5,
) -> optax.GradientTransformation:
    """POGO [javaloy2026embarrassingly] for every phi: a tangent step of landing, then one of A.

        Y = X - t F(X), X <- Y - attraction Y C(Y)^T, t <= learning_rate

    As `landing`, but iterates are next to M: |C| is of order t^4.

    Args:
        learning_rate: The step size, or a schedule.
        manifolds: The manifolds, as in `riemannian`.
        momentum: Momentum; None for none.
        nesterov: Whether to use Nesterov's momentum.
        attraction: The weight of the normal step; 1/2 is that of A.
        tube: The largest |C(Y)|; a longer step ends there.

    Returns:
        The gradient transformation; its `update` needs the parameters.

    Raises:
        ValueError: If a number is negative, there is no manifold, or a parameter does not fit.
    """
    end = _in_tube(pogo_step, attraction, tube)
    return _averaging(learning_rate, manifolds, momentum, nesterov, end)


def muon(
    learning_rate: Any,
    manifolds: Any,
    *,
    momentum: float | None = 0.95,
    nesterov: bool = False,
    steps: int | None = 5,
    retraction: str = "cayley",
) -> optax.GradientTransformation:
    """A step like Muon's [jordan2024muon] on M, for every phi (F28).

        X <- R_X(-learning_rate msign(P_X(V)))

    V is the momentum of the Euclidean gradient. Parameters without a manifold are updated as by
    `optax.sgd`; `optax.partition` gives them another optimiser.

    Args:
        learning_rate: The step size, about the spectral norm of a step, or a schedule.
        manifolds: The manifolds, as in `riemannian`.
        momentum: Momentum; None for none.
        nesterov: Whether to use Nesterov's momentum.
        steps: Steps of Newton-Schulz for msign; None for the exact polar factor.
        retraction: "cayley", "polar", "exp", "normal" or "auto".

    Returns:
        The gradient transformation; its `update` needs the parameters.

    Raises:
        ValueError: If an argument is out of range, there is no manifold, or a parameter does not
            fit.
    """
    check_retraction(retraction)
    _positive(steps=1 if steps is None else steps)

    def end(M: GenOrthManifold, X: Any, G: Any, rate: Any, _: Any) -> Any:
        return stepped(M, X, -rate * muon_direction(M, X, G, steps, retraction), retraction)

    return _averaging(learning_rate, manifolds, momentum, nesterov, end)


def subspace_descent(
    learning_rate: Any,
    manifolds: Any,
    *,
    rank: int | None = None,
    momentum: float | None = None,
    nesterov: bool = False,
    seed: int = 0,
) -> optax.GradientTransformation:
    """Gradient steps in random submanifolds [han2025efficient], for every phi with a known form A.

        X <- U X, U = Cayley(learning_rate B K B^T A), K = -skew(B^T V (B^T A X)^T)

    B is n x r with random orthonormal columns, anew in every step. V is the momentum of the
    Euclidean gradient. Parameters without a manifold are updated as by `optax.sgd`.

    Args:
        learning_rate: The step size, or a schedule.
        manifolds: The manifolds, as in `riemannian`.
        rank: The number r <= n of columns; p where only phi and psi are known. Default: p.
        momentum: Momentum; None for none.
        nesterov: Whether to use Nesterov's momentum.
        seed: The seed of the draws.

    Returns:
        The gradient transformation; its `update` needs the parameters.

    Raises:
        ValueError: If the rank is out of range, there is no manifold, or a parameter does not fit.
    """

    def end(M: GenOrthManifold, X: Any, G: Any, rate: Any, draw: tuple[Any, int]) -> Any:
        shape = subspace_of(M, M.shape[-1] if rank is None else rank)
        key = jax.random.key(seed)
        for number in draw:
            key = jax.random.fold_in(key, number)
        B = jax.random.normal(key, shape, X.dtype)
        return M.dissolve(subspace_step(M, X, G, rate, B))

    return _averaging(learning_rate, manifolds, momentum, nesterov, end)


def _positive(**settings: float) -> None:
    for name, value in settings.items():
        require(value > 0, name, f"{name} > 0", repr(value))


def _averaging(
    learning_rate: Any,
    manifolds: Any,
    momentum: float | None,
    nesterov: bool,
    end: Callable[[GenOrthManifold, Any, Any, Any, tuple[Any, int]], Any],
) -> optax.GradientTransformation:
    """Steps that end at end(M, X, V, rate, (count, leaf)), V the momentum of the gradients."""
    check_manifolds(manifolds)
    require(
        callable(learning_rate) or learning_rate >= 0,
        "learning_rate",
        "learning_rate >= 0",
        repr(learning_rate),
    )
    inner = optax.identity() if momentum is None else optax.trace(momentum, nesterov)

    def init(params: Any) -> StepState:
        return StepState(jax.numpy.zeros((), int), inner.init(params))

    def update(grads: Any, state: StepState, params: Any = None) -> tuple[Any, StepState]:
        _require(params)
        rate = learning_rate(state.count) if callable(learning_rate) else learning_rate
        averaged, kept = inner.update(grads, state.momentum, params)
        plain = jax.tree.map(lambda G: -rate * G, averaged)
        numbers = count()

        def one(fit: Fit, _: Any, G: Any, X: Any) -> Any:
            draw = state.count, next(numbers)
            return fit.array(end(fit.manifold, fit.point(X), fit.point(G), rate, draw)) - X

        steps = at_manifolds(one, manifolds, plain, averaged, params)
        return steps, StepState(state.count + 1, kept)

    return optax.GradientTransformation(init, update)


def _require(params: Any) -> None:
    """A step on M depends on where it starts."""
    require(
        params is not None,
        "params",
        "update(grads, state, params), as a step on M starts at params",
        "None",
    )
