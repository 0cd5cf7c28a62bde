"""What genorth is compared with: solvers as the paper ran them, infeasible methods, other packages.

`rgd_paper` and `rcg_paper` minimise a `genorth.Problem` over its manifold in the paper's geometry
and return a `genorth.Result`. `landing`, `prox_landing`, `pogo`, `plam`, `landing_newton`, `alm`,
`slsqp` and `trust_constr` do the same from outside of it, without a retraction. `smoothing` and
`subgradient_adam` are for nonsmooth terms. To import this
package registers them, SciPy's solvers on the penalties, pymanopt's optimizers and CDOpt in
`SOLVERS`, beside the solvers of genorth.
"""

from baselines.infeasible.alm import alm
from baselines.infeasible.landing import landing
from baselines.infeasible.newton import landing_newton
from baselines.infeasible.plam import plam
from baselines.infeasible.pogo import pogo
from baselines.infeasible.prox_landing import prox_landing
from baselines.nonsmooth import smoothing, subgradient_adam
from baselines.paper.riemannian import rcg_paper, rgd_paper
from baselines.peers.scipy import slsqp, trust_constr
from baselines.registry import RECORDS
from genorth.errors import moved
from genorth.solve.solver import SOLVERS, Solver

__getattr__ = moved(
    __name__,
    {name: f"is genorth.riemannian.{name} now" for name in ("rgd", "rcg", "rlbfgs", "rtr")},
)

__all__ = [
    "RECORDS",
    "SOLVERS",
    "Solver",
    "alm",
    "landing",
    "landing_newton",
    "plam",
    "pogo",
    "prox_landing",
    "rcg_paper",
    "rgd_paper",
    "slsqp",
    "smoothing",
    "subgradient_adam",
    "trust_constr",
]
