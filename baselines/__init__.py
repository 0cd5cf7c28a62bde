"""Riemannian solvers to compare with: as the paper ran them, and as fast as they can be.

`rgd`, `rcg`, `rlbfgs` and `rtr` minimise a `genorth.Problem` over its manifold and return a
`genorth.Result`, in the geometry "fast", "products" or "faithful". To import this package registers
them, pymanopt's optimizers and CDOpt in `SOLVERS`, beside the penalty methods of genorth.
"""

from baselines.registry import RECORDS
from baselines.riemannian.rcg import rcg
from baselines.riemannian.rgd import rgd
from baselines.riemannian.rlbfgs import rlbfgs
from baselines.riemannian.rtr import rtr
from genorth.solve.solver import SOLVERS, Solver

__all__ = ["RECORDS", "SOLVERS", "Solver", "rcg", "rgd", "rlbfgs", "rtr"]
