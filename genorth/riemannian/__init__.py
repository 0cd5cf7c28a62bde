"""Riemannian solvers: a loop of `genorth.solve` on the places of M each.

`ralm`, for further constraints and for kinks, is the record of that name in `genorth.SOLVERS`.
"""

from typing import Any

import genorth.riemannian.registry  # noqa: F401  registers the solvers
from genorth.riemannian.manpg import manpg
from genorth.riemannian.solvers import rcg, rgd, rlbfgs, rtr
from genorth.solve.solver import SOLVERS

__all__ = ["manpg", "rcg", "rgd", "rlbfgs", "rtr"]


def __getattr__(name: str) -> Any:
    """`ralm`, whose module comes after this one in the order of layers."""
    if name == "ralm":
        return SOLVERS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
