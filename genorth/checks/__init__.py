"""Numerical checks for users who write their own manifold or cost. Each returns a `Report`."""

from genorth.checks.assumptions import check_assumptions
from genorth.checks.prox import check_prox
from genorth.checks.slopes import check_gradient, check_hessian, check_retraction

__all__ = [
    "check_assumptions",
    "check_gradient",
    "check_hessian",
    "check_prox",
    "check_retraction",
]
