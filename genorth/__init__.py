"""Optimisation over {X in F : X^T phi(X) = I}: on the manifold, and without it by a penalty.

The geometry is derived from phi and its companion psi alone; see `GenOrthManifold`.
"""

from genorth.checks import check_assumptions, check_retraction
from genorth.companion import Companion
from genorth.errors import EmptyManifoldError, NotRestorableError, OutsideDomainError
from genorth.manifold import GenOrthManifold, TangentSpace
from genorth.manifolds import (
    BilinearStiefel,
    GeneralizedStiefel,
    HyperbolicStiefel,
    IndefiniteStiefel,
    Stiefel,
    SymplecticStiefel,
    TensorStiefel,
    from_maps,
)
from genorth.report import Report

__version__ = "0.1.0"

__all__ = [
    "BilinearStiefel",
    "Companion",
    "EmptyManifoldError",
    "GenOrthManifold",
    "GeneralizedStiefel",
    "HyperbolicStiefel",
    "IndefiniteStiefel",
    "NotRestorableError",
    "OutsideDomainError",
    "Report",
    "Stiefel",
    "SymplecticStiefel",
    "TangentSpace",
    "TensorStiefel",
    "check_assumptions",
    "check_retraction",
    "from_maps",
]
