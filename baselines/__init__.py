"""Riemannian solvers to compare with: as the paper ran them, and as fast as they can be.

And a registry of all solvers.

`rgd`, `rcg`, `rlbfgs` and `rtr` minimise a `genorth.Problem` over its manifold and return a
`genorth.Result`, in the geometry "fast", "products" or "faithful". `SOLVERS` holds them by name,
beside the penalty methods, pymanopt's optimizers and CDOpt.
"""

from baselines.registry import SOLVERS, Solver
from baselines.riemannian.rcg import rcg
from baselines.riemannian.rgd import rgd
from baselines.riemannian.rlbfgs import rlbfgs
from baselines.riemannian.rtr import rtr

__all__ = ["SOLVERS", "Solver", "rcg", "rgd", "rlbfgs", "rtr"]
