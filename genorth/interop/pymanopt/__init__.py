"""genorth's manifolds and problems for pymanopt's solvers, and pymanopt's problems for ours.

`PymanoptManifold` is what pymanopt sees of a manifold; `to_pymanopt` and `from_pymanopt` convert
problems; `run` calls one of pymanopt's optimizers and returns a `genorth.Result`.
"""

from genorth.interop.pymanopt.manifold import PymanoptManifold
from genorth.interop.pymanopt.problem import from_pymanopt, to_pymanopt
from genorth.interop.pymanopt.run import run

__all__ = ["PymanoptManifold", "from_pymanopt", "run", "to_pymanopt"]
