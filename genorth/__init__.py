"""Optimisation over {X in F : X^T phi(X) = I}: on the manifold, and without it by a penalty.

The geometry is derived from phi and its companion psi alone; see `GenOrthManifold`.
"""

from genorth.checks import (
    check_assumptions,
    check_gradient,
    check_hessian,
    check_prox,
    check_retraction,
)
from genorth.checks.report import Report
from genorth.errors import EmptyManifoldError, NotRestorableError, OutsideDomainError, moved
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Place
from genorth.geometry.product import Euclidean
from genorth.geometry.shaped import Shaped
from genorth.manifolds import (
    BilinearStiefel,
    ComplexCircle,
    GeneralizedStiefel,
    HyperbolicStiefel,
    IndefiniteStiefel,
    Oblique,
    Orthogonal,
    Power,
    Product,
    Rotations,
    Sphere,
    Stiefel,
    SymplecticStiefel,
    TensorStiefel,
    Unitary,
    from_maps,
)
from genorth.minimize import minimize
from genorth.penalty.cdf import ConstraintDissolving
from genorth.penalty.odf import OrthogonalDissolving
from genorth.penalty.threshold import exactness_threshold
from genorth.problem.problem import Counts, Problem
from genorth.problem.terms import L1, L21
from genorth.riemannian.certify import certify
from genorth.solve.certificate import Certificate
from genorth.solve.result import Progress, Result, Status, Trace
from genorth.solve.solver import SOLVERS, Solver

__version__ = "0.1.0"
__getattr__ = moved(__name__, {"TangentSpace": "is genorth.Place now"})

__all__ = [
    "L1",
    "L21",
    "SOLVERS",
    "BilinearStiefel",
    "Certificate",
    "Companion",
    "ComplexCircle",
    "ConstraintDissolving",
    "Counts",
    "EmptyManifoldError",
    "Euclidean",
    "GenOrthManifold",
    "GeneralizedStiefel",
    "HyperbolicStiefel",
    "IndefiniteStiefel",
    "NotRestorableError",
    "Oblique",
    "Orthogonal",
    "OrthogonalDissolving",
    "OutsideDomainError",
    "Place",
    "Power",
    "Problem",
    "Product",
    "Progress",
    "Report",
    "Result",
    "Rotations",
    "Shaped",
    "Solver",
    "Sphere",
    "Status",
    "Stiefel",
    "SymplecticStiefel",
    "TensorStiefel",
    "Trace",
    "Unitary",
    "certify",
    "check_assumptions",
    "check_gradient",
    "check_hessian",
    "check_prox",
    "check_retraction",
    "exactness_threshold",
    "from_maps",
    "minimize",
]
