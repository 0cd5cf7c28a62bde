"""Dissolved losses and Riemannian gradient transformations for JAX and Optax.

`dissolve` makes an unconstrained loss of a constrained one, for any optimiser of Optax; `finish`
restores the parameters. `riemannian` and `landing` are gradient transformations for parameters on a
manifold. Parameters are a PyTree; `manifolds` is a PyTree of the same form, or a prefix of it, with
a manifold where there is one and None elsewhere.
"""

from genorth.optional import optional

optional("optax", "optax", "genorth.interop.optax")

from genorth.interop.optax.dissolved import dissolve, finish  # noqa: E402  after the check above
from genorth.interop.optax.transformations import landing, riemannian  # noqa: E402

__all__ = ["dissolve", "finish", "landing", "riemannian"]
