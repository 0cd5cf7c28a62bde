"""A manifold that counts its phi, in calls; `flops.py` counts products."""

from __future__ import annotations

from typing import Any

import numpy as np
from flops import Counted

import genorth as go

Matrix = np.ndarray[Any, Any]


def recast(result: Matrix, like: Any) -> Matrix:
    """The result, counted from here on where `like` is.

    For what was computed without being counted.
    """
    return result.view(Counted) if isinstance(like, Counted) else result


class CountingManifold(go.GenOrthManifold):
    """A manifold whose phi is counted in calls; the products inside phi and psi are not counted."""

    def __init__(self, within: go.GenOrthManifold) -> None:
        self.within, self.shape, self.dtype, self.calls = within, within.shape, within.dtype, 0
        self.ambient_projector = within.ambient_projector

    def phi(self, X: Matrix) -> Matrix:
        self.calls += 1
        return recast(self.within.phi(np.asarray(X)), X)

    def psi(self, T: Matrix) -> Matrix:
        return recast(self.within.psi(np.asarray(T)), T)
