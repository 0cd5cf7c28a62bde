"""The matrix A of phi(X) Q = A X (F13), as an operator; random points are drawn from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from genorth.linalg.operators import Operator

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_Matrix = np.ndarray[Any, Any]


@attrs.frozen(eq=False)
class PhiForm(Operator):
    """The matrix A of one block of M, by evaluations of phi.

        A Y = phi(Y) Q

    p columns at a time, with zeros in all other blocks.
    """

    manifold: GenOrthManifold
    block: tuple[int, ...]
    Q: _Matrix
    name: str = "phi"

    @property
    def size(self) -> int:
        """The number of rows, n."""
        return self.manifold.shape[-2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the entries of a point."""
        return self.manifold.dtype

    def left(self, X: Any) -> Any:
        """The product A X, for any number of columns.

        Args:
            X: A matrix of n rows.

        Returns:
            A X.
        """
        p, columns = self.manifold.shape[-1], X.shape[-1]
        result = np.empty(X.shape, self.dtype)
        for start in range(0, columns, p):
            piece = X[:, start : start + p]
            Y = np.zeros(self.manifold.shape, self.dtype)
            Y[self.block][:, : piece.shape[-1]] = piece  # an index of integers gives a view
            image = np.asarray(self.manifold.phi(Y))[self.block] @ self.Q
            result[:, start : start + p] = image[:, : piece.shape[-1]]
        return result


def forms(manifold: GenOrthManifold) -> list[tuple[Operator, _Matrix]]:
    """The matrices A and Q of every block.

    Args:
        manifold: The manifold.

    Returns:
        The pairs (A, Q); none if psi is not of the form Q T Q^-1 or F is not the whole space.
    """
    companion = manifold.companion
    if companion is None or manifold.ambient_projector is not None:
        return []
    *batch, _, p = manifold.shape
    Q = np.broadcast_to(companion.Q.matrix(), (*batch, p, p))
    if manifold.form is not None:
        return [(manifold.form, Q)]
    return [(PhiForm(manifold, block, Q[block]), Q[block]) for block in np.ndindex(*batch)]
