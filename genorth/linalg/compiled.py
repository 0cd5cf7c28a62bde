"""`compiled`: functions of arrays that JAX compiles once, and that other libraries run as they are.

What a solver computes between two numbers that it looks at is one such function: it is traced once
for each manifold and shape, so that nothing of size n x p is made that is not returned, and the
sums over rows of one function travel together where rows are on several devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

from genorth.linalg.arrays import Array, is_jax, is_lazy

_F = TypeVar("_F", bound=Callable[..., Any])


def compiles(X: Array) -> bool:
    """True for arrays of which compiled functions are compiled: those of JAX with values."""
    return type(X) is not np.ndarray and is_jax(X) and not is_lazy(X)


class Owner:
    """What owns the programs of functions that belong to no manifold."""


def compiled(function: _F) -> _F:
    """`function(owner, *arguments)`, compiled once for each owner and each shape of its arguments.

    The function must not look at values: it returns them. Arrays that it finds elsewhere, such as
    the diagonal of a form, are arguments of the program and no constants in it, so that they keep
    their devices.

    Args:
        function: Takes an object that lives as long as its programs are needed, which is the
            manifold, then arrays, numbers, and tuples of them.

    Returns:
        The function. For anything but concrete JAX arrays it runs uncompiled.
    """

    @wraps(function)
    def call(owner: Any, *arguments: Any) -> Any:
        X = arguments[0]
        if type(X) is np.ndarray or not compiles(X):
            return function(owner, *arguments)
        return _program(owner, function, arguments)(*arguments)

    return cast(_F, call)


def program(function: Callable[..., Any], owner: Any, *arguments: Any) -> Any:
    """What a compiled function runs for these arguments, for tests that read it: `.text(...)`."""
    return _program(owner, cast(Any, function).__wrapped__, arguments)


def _program(owner: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Program:
    jax = sys.modules["jax"]
    leaves, tree = jax.tree.flatten(arguments)
    key = (function, tree, *((np.shape(leaf), _kind(leaf)) for leaf in leaves))
    programs = vars(owner).setdefault("_programs", {})
    if key not in programs:
        programs[key] = _Program(partial(function, owner), arguments)
    found: _Program = programs[key]
    return found


def _kind(leaf: Any) -> Any:
    return getattr(leaf, "dtype", type(leaf))


class _Program:
    """A function of JAX arrays, traced once; the arrays that it closes over are arguments."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        jax = sys.modules["jax"]
        traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        self._tree = jax.tree.structure(shape)
        self._others = [jax.numpy.asarray(array) for array in traced.consts]
        self._run = jax.jit(
            lambda others, leaves: jax.core.eval_jaxpr(traced.jaxpr, others, *leaves)
        )

    def __call__(self, *arguments: Any) -> Any:
        jax = sys.modules["jax"]
        return jax.tree.unflatten(self._tree, self._run(self._others, jax.tree.leaves(arguments)))

    def text(self, *arguments: Any) -> str:
        """The compiled program for these arguments."""
        leaves = sys.modules["jax"].tree.leaves(arguments)
        return str(self._run.lower(self._others, leaves).compile().as_text())
