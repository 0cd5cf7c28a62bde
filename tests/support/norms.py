"""Norms, and the unit roundoff."""

from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]
EPS = float(np.finfo(float).eps)


def norm(T: Any) -> float:
    """|T|."""
    return float(np.linalg.norm(T))


def spectral(T: Matrix) -> float:
    """|T|_2, the largest singular value of all blocks."""
    return float(np.linalg.norm(T, ord=2, axis=(-2, -1)).max())
