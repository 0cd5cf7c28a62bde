"""The few array operations that the geometry is written in, for any array-API library.

Everything acts on the last two axes. NumPy is recognised first, because a call on a small
matrix should not pay for the choice of a library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np

#: An array of any array-API library. Precise types would tie the core to one of them.
Array: TypeAlias = Any


def namespace(X: Array) -> Any:
    """The array-API namespace of X: functions like `eye`, `linalg.eigh`."""
    if type(X) is np.ndarray:
        return np
    return compat.array_namespace(X)


def is_lazy(X: Array) -> bool:
    """True where values cannot be looked at.

    Inside jax.jit or jax.grad, or in a library that computes later.
    """
    if type(X) is np.ndarray:
        return False
    if compat.is_jax_array(X):
        return isinstance(X, sys.modules["jax"].core.Tracer)
    return bool(compat.is_lazy_array(X))


@contextmanager
def untraced() -> Iterator[None]:
    """Values at once, also inside jax.jit: for what is read off a user's functions and kept."""
    jax = sys.modules.get("jax")
    with nullcontext() if jax is None else jax.ensure_compile_time_eval():
        yield


def is_array(X: object) -> bool:
    """True for arrays of a library that follows the array API."""
    return type(X) is np.ndarray or bool(compat.is_array_api_obj(X))


def is_floating(X: Array) -> bool:
    """True for real and complex entries of a precision that LAPACK knows."""
    if type(X) is np.ndarray:
        return X.dtype.char in "fdFD"
    return bool(namespace(X).isdtype(X.dtype, ("real floating", "complex floating")))


def is_complex(X: Array) -> bool:
    """True for arrays with complex entries."""
    if type(X) is np.ndarray:
        return X.dtype.kind == "c"
    return bool(namespace(X).isdtype(X.dtype, "complex floating"))


def ct(X: Array) -> Array:
    """X^T: the transpose of the last two axes, conjugated where entries are complex."""
    return namespace(X).conj(X.mT) if is_complex(X) else X.mT


def eye_like(T: Array) -> Array:
    """The identity of the size, type and device of the square matrix T."""
    if type(T) is np.ndarray:
        return np.eye(T.shape[-1], dtype=T.dtype)
    return namespace(T).eye(T.shape[-1], dtype=T.dtype, device=compat.device(T))


def as_like(M: Array, X: Array) -> Array:
    """M in the library, on the device and in the precision of X."""
    if type(X) is np.ndarray:
        M = np.asarray(M)
        if M.dtype == X.dtype:
            return M
        return M.astype(
            X.real.dtype if M.dtype.kind == "f" else np.result_type(X.dtype, np.complex64),
            copy=False,
        )
    return namespace(X).asarray(M, dtype=X.dtype, device=compat.device(X))


def read_only(X: Array) -> Array:
    """X for a function of the user's: a NumPy array is handed out as a view that refuses writes."""
    if type(X) is not np.ndarray or not X.flags.writeable:
        return X
    X = X.view()
    X.flags.writeable = False
    return X


def plus(R: Array, D: Array) -> Array:
    """R + D, written over R where the types allow it: a new large array costs more than the sum.

    R is the caller's own, a product or a sum: automatic differentiation does not look at it again.
    """
    if R.dtype != D.dtype:
        return R + D
    R += D
    return R


def inner(U: Array, V: Array) -> Any:
    """<U, V> = Re tr(U^T V), summed over all blocks."""
    if type(U) is np.ndarray and type(V) is np.ndarray:
        return np.vdot(U, V).real
    xp = namespace(U)
    value = xp.vecdot(xp.reshape(U, (-1,)), xp.reshape(V, (-1,)))
    return xp.real(value) if is_complex(value) else value


def norm(U: Array) -> Any:
    """|U| = <U, U>^(1/2), the Frobenius norm over all blocks."""
    if type(U) is np.ndarray:
        return np.sqrt(np.vdot(U, U).real)
    return namespace(U).linalg.vector_norm(U)


def number(value: Any) -> float:
    """A scalar array as a float, without its history where a library (PyTorch) records one."""
    return float(value.detach() if hasattr(value, "detach") else value)


def eps(X: Array) -> float:
    """The unit roundoff of the entries of X (of an array or a dtype)."""
    if type(X) is np.ndarray or isinstance(X, np.dtype):
        return float(np.finfo(X.dtype if isinstance(X, np.ndarray) else X).eps)
    return float(namespace(X).finfo(X.dtype).eps)


def all_finite(X: Array) -> bool:
    """True if no entry is NaN or infinite (and also where values cannot be looked at)."""
    if type(X) is np.ndarray:
        return bool(np.isfinite(X).all())
    return is_lazy(X) or bool(namespace(X).all(namespace(X).isfinite(X)))
