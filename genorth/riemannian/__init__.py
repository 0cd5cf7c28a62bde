"""Riemannian solvers: a loop of `genorth.solve` on the places of M each."""

import genorth.riemannian.registry  # noqa: F401  registers the solvers
from genorth.riemannian.manpg import manpg
from genorth.riemannian.solvers import rcg, rgd, rlbfgs, rtr

__all__ = ["manpg", "rcg", "rgd", "rlbfgs", "rtr"]
