"""`Transposed`: a layer of PyTorch holds the transpose of a point with orthonormal columns."""

from __future__ import annotations

import torch


class Transposed(torch.nn.Module):  # type: ignore[misc]
    """The parametrisation X -> X^T, which is its own inverse."""

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """X^T."""
        return X.mT

    right_inverse = forward
