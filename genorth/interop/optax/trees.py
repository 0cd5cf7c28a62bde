"""PyTrees of parameters, of manifolds, and of numbers, walked together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from genorth.errors import refuse, require
from genorth.geometry.manifold import GenOrthManifold
from genorth.interop.fit import Fit, fit


def _is_end(node: Any) -> bool:
    """Where a PyTree of manifolds ends: at a manifold, or at None."""
    return node is None or isinstance(node, GenOrthManifold)


def check_manifolds(manifolds: Any) -> Any:
    """A PyTree with at least one manifold."""
    ends = jax.tree.leaves(manifolds, is_leaf=_is_end)
    wrong = [end for end in ends if not _is_end(end)]
    if wrong or not any(isinstance(end, GenOrthManifold) for end in ends):
        got = f"a {type(wrong[0]).__name__}" if wrong else "none"
        refuse("manifolds", "a PyTree of manifolds of genorth and None", got)
    return manifolds


def spread(value: Any, manifolds: Any) -> Any:
    """One value for all manifolds, or a PyTree of them as it is."""
    if jax.tree_util.all_leaves([value]):
        return jax.tree.map(lambda M: None if M is None else value, manifolds, is_leaf=_is_end)
    return value


def at_manifolds(function: Callable[..., Any], manifolds: Any, params: Any, *rest: Any) -> Any:
    """The params with `function(fit, leaf, ...)` at the leaves that have a manifold.

    Args:
        function: Called with the fit, the leaf and those of `rest`.
        manifolds: The manifolds, a prefix of `params`.
        params: The parameters.
        rest: Further PyTrees, with a leaf wherever there is a manifold.

    Returns:
        The PyTree; where there is no manifold, that of `params`.
    """

    def one(manifold: Any, leaf: Any, *others: Any) -> Any:
        return leaf if manifold is None else function(fitted(manifold, leaf), leaf, *others)

    return jax.tree.map(one, manifolds, params, *rest, is_leaf=_is_end)


def fitted(manifold: GenOrthManifold, leaf: Any) -> Fit:
    """How a leaf holds points of a manifold."""
    require(
        hasattr(leaf, "shape"),
        "params",
        f"an array where {manifold!r} stands",
        f"a {type(leaf).__name__}",
    )
    how = fit(manifold, leaf.shape, "params")
    how.manifold._check(params=how.point(leaf))
    require(
        manifold.dtype.kind != "c" or leaf.dtype.kind == "c",
        "params",
        f"complex entries, as {manifold!r} has",
        f"dtype {leaf.dtype}",
    )
    return how
