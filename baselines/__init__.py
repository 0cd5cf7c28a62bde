"""Riemannian solvers to compare with: as the paper ran them, and as fast as they can be.

`rgd`, `rcg`, `rlbfgs` and `rtr` minimise a `genorth.Problem` over its manifold and return a
`genorth.Result`, in the geometry "fast", "products" or "faithful". `landing`, `pogo`, `plam`,
`landing_newton`, `alm`, `slsqp` and `trust_constr` do the same from outside of it, without a
retraction. To import this package registers them, pymanopt's optimizers and CDOpt in `SOLVERS`,
beside the penalty methods of genorth.
"""

from baselines.infeasible.alm import alm
from baselines.infeasible.landing import landing
from baselines.infeasible.newton import landing_newton
from baselines.infeasible.plam import plam
from baselines.infeasible.pogo import pogo
from baselines.infeasible.slsqp import slsqp
from baselines.infeasible.trust_constr import trust_constr
from baselines.registry import RECORDS
from baselines.riemannian.rcg import rcg
from baselines.riemannian.rgd import rgd
from baselines.riemannian.rlbfgs import rlbfgs
from baselines.riemannian.rtr import rtr
from genorth.solve.solver import SOLVERS, Solver

__all__ = [
    "RECORDS",
    "SOLVERS",
    "Solver",
    "alm",
    "landing",
    "landing_newton",
    "plam",
    "pogo",
    "rcg",
    "rgd",
    "rlbfgs",
    "rtr",
    "slsqp",
    "trust_constr",
]
