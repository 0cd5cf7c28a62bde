"""The third-order tensor Stiefel manifold, X^T * X = I for a product defined by a transform.

Points are the l blocks of the transformed tensor, an array (l, n, p). There the tensor product is
the product of blocks, and the manifold is a product of l Stiefel manifolds. `to_tensor` and
`from_tensor` convert between blocks and tensors (n, p, l).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from genorth.errors import require
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, as_like, is_array, is_complex, is_floating, namespace
from genorth.linalg.inputs import as_array, check_size
from genorth.linalg.operators import Identity


def _mirror(X: Array) -> Array:
    """Project onto blocks of real tensors under the Fourier transform, X_(-k) = conj(X_k)."""
    xp = namespace(X)
    return (X + xp.conj(xp.roll(xp.flip(X, axis=0), 1, axis=0))) / 2


@attrs.frozen(eq=False, slots=False, repr=False, init=False)
class TensorStiefel(GenOrthManifold):
    """The tensor Stiefel manifold, for the product of third-order tensors of a transform L.

        M = {X in R^(n x p x l) : X^T * X = I}

        X * Y = L^-1(L(X) L(Y))

    L transforms along the third axis, and blocks are multiplied one by one. A point is the array of
    the l blocks of L(X). There phi(X) = X and psi(T) = T, and each block is a Stiefel manifold.

    Args:
        n: The number of rows.
        p: The number of columns.
        l: The number of blocks.
        transform: "dct" (orthonormal cosine transform, real blocks), "dft" (Fourier transform of
            real tensors, which makes * the t-product; blocks are complex, and block -k is the
            conjugate of block k), or any invertible l x l matrix (a complex one: complex tensors
            and blocks).
    """

    n: int
    p: int
    l: int  # noqa: E741  the paper's name
    transform: Any

    isometric = True
    definite = True

    def __init__(self, n: int, p: int, l: int, transform: Any = "dct") -> None:  # noqa: E741
        n = check_size(n, n, "n")
        p, l = check_size(p, n), check_size(l, l, "l")  # noqa: E741
        if isinstance(transform, str):
            known = transform in ("dct", "dft")
            require(known, "transform", "'dct', 'dft' or an invertible matrix", repr(transform))
        else:
            transform = _check_transform(as_array(transform, "transform")[1], l)
        self.__attrs_init__(n, p, l, transform)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape (l, n, p) of the blocks."""
        return (self.l, self.n, self.p)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The type of the blocks: complex for "dft" and for a complex matrix."""
        if isinstance(self.transform, str):
            return np.dtype(complex if self.transform == "dft" else float)
        return np.dtype(self.transform.dtype)

    @property
    def _real_tensors_in_complex_blocks(self) -> bool:
        return isinstance(self.transform, str) and self.transform == "dft"

    @property
    def ambient_projector(self) -> Callable[[Array], Array] | None:  # type: ignore[override]
        """The projector onto blocks of real tensors for "dft"; None otherwise."""
        return _mirror if self._real_tensors_in_complex_blocks else None

    @property
    def companion(self) -> Companion:
        """The companion of psi = id."""
        return Companion(Identity(self.p, self.dtype), 1)

    def phi(self, X: Array) -> Array:
        """The identity."""
        return X

    def psi(self, T: Array) -> Array:
        """The identity."""
        return T

    def dimensions(self) -> tuple[int, int, int]:
        """The real dimensions of F and G, and the trace of T -> T^T.

        "dft" has one or two real blocks; the others come in pairs.
        """
        if not self._real_tensors_in_complex_blocks:
            return GenOrthManifold.dimensions(self)
        real_blocks = 1 if self.l % 2 else 2
        return self.n * self.p * self.l, self.p**2 * self.l, self.p * real_blocks

    def from_tensor(self, tensor: Array) -> Array:
        """The blocks of a tensor.

        Args:
            tensor: An array (n, p, l); n and p may differ from those of a point.

        Returns:
            The blocks, an array (l, n, p).
        """
        _require_array("tensor", tensor)
        shape = tuple(tensor.shape)
        fits = len(shape) == 3 and shape[-1] == self.l
        require(fits, "tensor", f"shape (n, p, {self.l})", f"shape {shape}")
        require(
            not (self._real_tensors_in_complex_blocks and is_complex(tensor)),
            "tensor",
            "real entries (transform 'dft' is that of real tensors)",
            f"dtype {tensor.dtype}",
            "For complex tensors pass scipy.linalg.dft(l) as the transform.",
        )
        return self._transformed(namespace(tensor).permute_dims(tensor, (2, 0, 1)), self._matrix())

    def to_tensor(self, X: Array) -> Array:
        """The tensor with the given blocks.

        Args:
            X: The blocks, an array (l, n, p).

        Returns:
            The tensor, an array (n, p, l).
        """
        _require_array("X", X)
        fits = len(X.shape) == 3 and X.shape[0] == self.l
        require(fits, "X", f"shape ({self.l}, n, p)", f"shape {tuple(X.shape)}")
        blocks = self._transformed(X, np.linalg.inv(self._matrix()))
        tensor = namespace(X).permute_dims(blocks, (1, 2, 0))
        return namespace(X).real(tensor) if self._real_tensors_in_complex_blocks else tensor

    def _matrix(self) -> np.ndarray[Any, Any]:
        """The transform as an l x l matrix."""
        import scipy.fft  # here, because it would take half of the time of `import genorth`

        if not isinstance(self.transform, str):
            return np.asarray(self.transform)
        unit = np.eye(self.l)
        if self.transform == "dct":
            return np.asarray(scipy.fft.dct(unit, axis=0, norm="ortho"))
        return np.asarray(scipy.fft.fft(unit, axis=0))

    def _transformed(self, blocks: Array, M: np.ndarray[Any, Any]) -> Array:
        xp = namespace(blocks)
        if M.dtype.kind == "c" and not is_complex(blocks):
            blocks = xp.astype(
                blocks, xp.complex128 if blocks.dtype == xp.float64 else xp.complex64
            )
        flat = xp.reshape(blocks, (self.l, -1))
        return xp.reshape(as_like(M, flat) @ flat, blocks.shape)


def _require_array(name: str, X: Any) -> None:
    """Raise an error unless X is an array of floating-point numbers."""
    require(is_array(X), name, "an array", f"a {type(X).__name__}")
    need = "floating-point entries of single or double precision"
    require(is_floating(X), name, need, f"dtype {X.dtype}")


def _check_transform(M: np.ndarray[Any, Any], l: int) -> np.ndarray[Any, Any]:  # noqa: E741
    need = f"an invertible {l} x {l} matrix"
    require(M.shape == (l, l), "transform", need, f"shape {M.shape}")
    condition, bound = float(np.linalg.cond(M)), 1.0 / (l * float(np.finfo(M.dtype).eps))
    got = f"condition number {condition:.3g}"
    require(condition < bound, "transform", need, got, tolerance=bound)
    return M
