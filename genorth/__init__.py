"""Optimisation over {X in F : X^T phi(X) = I}: on the manifold, and without it by a penalty.

The geometry is derived from phi and its companion psi alone; see `GenOrthManifold`.
"""

from genorth.checks import check_assumptions, check_gradient, check_hessian, check_retraction
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
from genorth.minimize import minimize
from genorth.penalty import ConstraintDissolving
from genorth.problem import Counts, Problem
from genorth.report import Report
from genorth.result import Progress, Result, Status, Trace
from genorth.threshold import exactness_threshold

__version__ = "0.1.0"

__all__ = [
    "BilinearStiefel",
    "Companion",
    "ConstraintDissolving",
    "Counts",
    "EmptyManifoldError",
    "GenOrthManifold",
    "GeneralizedStiefel",
    "HyperbolicStiefel",
    "IndefiniteStiefel",
    "NotRestorableError",
    "OutsideDomainError",
    "Problem",
    "Progress",
    "Report",
    "Result",
    "Status",
    "Stiefel",
    "SymplecticStiefel",
    "TangentSpace",
    "TensorStiefel",
    "Trace",
    "check_assumptions",
    "check_gradient",
    "check_hessian",
    "check_retraction",
    "exactness_threshold",
    "from_maps",
    "minimize",
]
