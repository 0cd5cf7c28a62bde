"""Dissolved losses and Riemannian gradient transformations for JAX and Optax.

`dissolve` makes an unconstrained loss of a constrained one, for any optimiser of Optax; `finish`
restores the parameters. `riemannian`, `landing`, `pogo`, `muon` and `subspace_descent` are gradient
transformations for parameters on a manifold. Parameters are a PyTree; `manifolds` is a PyTree of
the same form, or a prefix of it, with a manifold where there is one and None elsewhere.
"""

from genorth.optional import optional

optional("optax", "optax", "genorth.interop.optax")

from genorth.interop.optax.dissolved import dissolve, finish  # noqa: E402  after the check above
from genorth.interop.optax.transformations import (  # noqa: E402
    landing,
    muon,
    pogo,
    riemannian,
    subspace_descent,
)

__all__ = ["dissolve", "finish", "landing", "muon", "pogo", "riemannian", "subspace_descent"]
