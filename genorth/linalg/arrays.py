"""The few array operations that the geometry is written in, for any array-API library.

Everything acts on the last two axes. NumPy is recognised first, so that a call on a small matrix
does not pay for the choice of a library.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np
from numpy import vdot

#: An array of any array-API library. Precise types would tie the core to one of them.
Array: TypeAlias = Any


def namespace(X: Array) -> Any:
    """The array-API namespace of X: functions like `eye`, `linalg.eigh`."""
    if type(X) is np.ndarray:
        return np
    if _is_torch(X):
        import array_api_compat.torch as xp

        return xp
    return compat.array_namespace(X)


def _is_torch(X: object) -> bool:
    """True for arrays of PyTorch. torch.compile cannot trace the caches of `compat`."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_jax(X: object) -> bool:
    """True for arrays of JAX, traced ones included."""
    return not _is_torch(X) and bool(compat.is_jax_array(X))


def stays(X: object) -> bool:
    """True for arrays of JAX and PyTorch, on which a solver works where they are, and tuples."""
    if isinstance(X, tuple | list):
        return any(map(stays, X))
    return type(X) is not np.ndarray and (is_jax(X) or _is_torch(X))


def library(X: object) -> str:
    """The name of the library of an array, and of its device, for messages."""
    if isinstance(X, tuple | list):
        return " and ".join(dict.fromkeys(map(library, X)))
    name = type(X).__module__.partition(".")[0]
    if not stays(X):
        return name
    if is_jax(X) and len(X.devices()) > 1:  # type: ignore[attr-defined]
        return f"jax on {len(X.devices())} devices"  # type: ignore[attr-defined]
    return f"{'jax' if is_jax(X) else name} on {compat.device(X)}"


def same_devices(X: Array, Y: Array) -> bool:
    """True if two arrays are of one library and on the same devices, or if a trace hides it."""
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        return True
    if is_jax(X) and is_jax(Y):
        return is_lazy(X) or is_lazy(Y) or bool(X.devices() == Y.devices())
    return namespace(X) is namespace(Y) and bool(compat.device(X) == compat.device(Y))


def why_not_by_rows(X: Array) -> tuple[str, str] | None:
    """What is wrong with the sharding of X, and a hint; None where all of a row is on one device.

    Args:
        X: An array of JAX, which may be on several devices; any other is on one.
    """
    if not is_jax(X) or is_lazy(X) or len(X.devices()) == 1:
        return None
    if X.sharding.shard_shape(X.shape)[-1] != X.shape[-1]:
        return str(X.sharding), "Shard the rows: PartitionSpec('rows')."
    types = getattr(getattr(X.sharding, "mesh", None), "axis_types", ())
    if any(kind.name == "Explicit" for kind in types):
        hint = "Make it by jax.sharding.Mesh(devices, ('rows',)), or with axis_types Auto."
        return "a mesh with axes of the type Explicit", hint
    return None


def kept(X: Array) -> Array:
    """A copy of X that is safe from in-place updates; X itself if its library has none."""
    if type(X) is np.ndarray:
        return X.copy()
    return X if is_jax(X) else X.clone()


def is_lazy(X: Array) -> bool:
    """True if values cannot be inspected: in jax.jit, jax.grad, torch.compile, a lazy library."""
    if type(X) is np.ndarray:
        return False
    if _is_torch(X):
        return bool(sys.modules["torch"].compiler.is_compiling())
    if is_jax(X):
        return isinstance(X, sys.modules["jax"].core.Tracer)
    return bool(compat.is_lazy_array(X))


def is_differentiated(X: Array) -> bool:
    """True where automatic differentiation may follow X: traced by JAX, recorded by PyTorch."""
    return type(X) is not np.ndarray and (is_lazy(X) or bool(getattr(X, "requires_grad", False)))


def constant(X: Array) -> Array:
    """X, which automatic differentiation takes as a constant."""
    if type(X) is not np.ndarray and is_jax(X):
        return sys.modules["jax"].lax.stop_gradient(X)
    return X.detach() if hasattr(X, "detach") else X


@contextmanager
def untraced() -> Iterator[None]:
    """Evaluate at once, also inside jax.jit: for what is read off a user's functions and kept."""
    jax = sys.modules.get("jax")
    with nullcontext() if jax is None else jax.ensure_compile_time_eval():
        yield


def is_array(X: object) -> bool:
    """True for arrays of a library that follows the array API."""
    if type(X) is np.ndarray or _is_torch(X):
        return True
    return bool(compat.is_array_api_obj(X)) and not isinstance(X, np.matrix | np.ma.MaskedArray)


def is_floating(X: Array) -> bool:
    """True for real and complex entries of a precision that LAPACK knows."""
    if type(X) is np.ndarray:
        return X.dtype.char in "fdFD"
    xp = namespace(X)
    if _is_torch(X):
        return X.dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128)
    return bool(xp.isdtype(X.dtype, (xp.float32, xp.float64, xp.complex64, xp.complex128)))


def is_complex(X: Array) -> bool:
    """True for arrays with complex entries."""
    if type(X) is np.ndarray:
        return X.dtype.kind == "c"
    if _is_torch(X):
        return bool(X.dtype.is_complex)
    return bool(namespace(X).isdtype(X.dtype, "complex floating"))


def ct(X: Array) -> Array:
    """The transpose of the last two axes, conjugated if the entries are complex."""
    if type(X) is np.ndarray:
        return X.mT if X.dtype.kind == "f" else X.mT.conj()
    return namespace(X).conj(X.mT) if is_complex(X) else X.mT


def numpy_dtype(X: Array) -> np.dtype[Any]:
    """The type of the entries of X, in NumPy's terms."""
    return np.dtype(str(X.dtype).rpartition(".")[2])


def eye_like(T: Array) -> Array:
    """The identity of the size, type and device of the square matrix T; in NumPy read-only."""
    if type(T) is np.ndarray:
        return _numpy_eye(T.shape[-1], T.dtype)
    return namespace(T).eye(T.shape[-1], dtype=T.dtype, device=_one_device(T))


@lru_cache(maxsize=16)
def _numpy_eye(size: int, dtype: np.dtype[Any]) -> Array:
    eye = np.eye(size, dtype=dtype)
    eye.flags.writeable = False
    return eye


def _one_device(X: Array) -> Any:
    """The device of X; None if X is on several."""
    if _is_torch(X):
        return X.device
    if is_jax(X) and (is_lazy(X) or len(X.devices()) > 1):
        return None
    return compat.device(X)


def as_like(M: Array, X: Array) -> Array:
    """Convert M to the library, device and precision of X."""
    if type(X) is np.ndarray:
        M = np.asarray(M)
        if M.dtype == X.dtype:
            return M
        return M.astype(
            X.real.dtype if M.dtype.kind == "f" else np.result_type(X.dtype, np.complex64),
            copy=False,
        )
    if is_jax(M) and is_jax(X) and M.dtype == X.dtype:
        return M
    return namespace(X).asarray(M, dtype=X.dtype, device=_one_device(X))


def read_only(X: Array) -> Array:
    """X for a function of the user's: a NumPy array is handed out as a view that refuses writes."""
    if type(X) is not np.ndarray or not X.flags.writeable:
        return X
    X = X.view()
    X.flags.writeable = False
    return X


def mul(A: Array, B: Array) -> Array:
    """The product A B in hot paths: for small A, NumPy's `dot` takes a third of the time of `@`."""
    return A.dot(B) if type(A) is np.ndarray and A.ndim == 2 else A @ B


def plus(R: Array, D: Array) -> Array:
    """R + D, written over R if the types allow it: a new large array costs more than the sum.

    Args:
        R: An array that the caller owns, a product or a sum, which automatic differentiation does
            not read again.
        D: An array of the same shape.

    Returns:
        The sum, usually R itself.
    """
    if R.dtype != D.dtype:
        return R + D
    R += D
    return R


def inner(U: Array, V: Array) -> Any:
    """The inner product <U, V> = Re tr(U^T V), summed over all blocks; of NumPy a float."""
    if type(U) is np.ndarray and type(V) is np.ndarray:
        return float(vdot(U, V).real)
    if is_jax(U) and is_jax(V):
        return _jax_inner()(U, V)
    xp = namespace(U)
    value = xp.vecdot(xp.reshape(U, (-1,)), xp.reshape(V, (-1,)))
    return xp.real(value) if is_complex(value) else value


@cache
def _jax_inner() -> Callable[[Array, Array], Array]:
    """As one program of JAX, in which no product of the size of U is kept."""
    jax = sys.modules["jax"]
    xp = jax.numpy

    def product(U: Array, V: Array) -> Array:
        return xp.sum(xp.real(xp.conj(U) * V) if is_complex(U) or is_complex(V) else U * V)

    function: Callable[[Array, Array], Array] = jax.jit(product)
    return function


def inners(*pairs: tuple[Array, Array]) -> tuple[Any, ...]:
    """The inner products of several pairs of one shape; JAX passes over all arrays once."""
    first = pairs[0][0]
    if type(first) is np.ndarray:
        return tuple([float(vdot(U, V).real) for U, V in pairs])
    return _jax_inners()(pairs) if is_jax(first) else tuple(inner(U, V) for U, V in pairs)


@cache
def _jax_inners() -> Callable[..., tuple[Array, ...]]:
    """Rows first, in one reduction of several arrays, which JAX does not split up again."""
    jax = sys.modules["jax"]
    xp = jax.numpy

    def products(pairs: tuple[tuple[Array, Array], ...]) -> tuple[Array, ...]:
        terms = [xp.real(xp.conj(U) * V) for U, V in pairs]
        zeros = [xp.zeros((), term.dtype) for term in terms]
        rows = jax.lax.reduce(terms, zeros, _sums, (terms[0].ndim - 1,))
        return tuple(xp.sum(row) for row in rows)

    function: Callable[..., tuple[Array, ...]] = jax.jit(products)
    return function


def _sums(first: Iterable[Array], second: Iterable[Array]) -> list[Array]:
    return [a + b for a, b in zip(first, second, strict=True)]


def norm(U: Array) -> Any:
    """The Frobenius norm |U| = <U, U>^(1/2), over all blocks."""
    if type(U) is np.ndarray:
        return math.sqrt(vdot(U, U).real)
    if is_jax(U):
        return inner(U, U) ** 0.5
    return namespace(U).linalg.vector_norm(U)


def number(value: Any) -> float:
    """A scalar array as a float, detached from the graph of PyTorch."""
    if type(value) is float:
        return value
    return float(value.detach() if hasattr(value, "detach") else value)


def on_host(X: Array) -> np.ndarray[Any, Any]:
    """A small array of any library as a NumPy array of double precision."""
    if type(X) is not np.ndarray:
        X = np.asarray(X.detach().cpu() if hasattr(X, "detach") else X)
    return X.astype(complex if X.dtype.kind == "c" else float, copy=False)


def eps(X: Array) -> float:
    """The unit roundoff of the entries of an array, or of a dtype."""
    if type(X) is np.ndarray or isinstance(X, np.dtype):
        return _numpy_eps(X.dtype if isinstance(X, np.ndarray) else X)
    return float(namespace(X).finfo(X.dtype).eps)


@cache
def _numpy_eps(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps)


def all_finite(X: Array) -> bool:
    """True if no entry is NaN or infinite, or if values cannot be inspected."""
    if type(X) is np.ndarray:
        # a finite |X|^2 says it without an array of truth values; an infinite one may be overflow
        return math.isfinite(vdot(X, X).real) or bool(np.isfinite(X).all())
    if is_lazy(X):
        return True
    xp = namespace(X)
    if _is_torch(X) and bool(xp.isfinite(xp.sum(X))):  # the same, in one pass in place of four
        return True
    return bool(xp.all(xp.isfinite(X)))
