"""Constrained layers and Riemannian optimisers for PyTorch.

`constrain` dissolves a constraint: the layer sees A(X), any optimiser of PyTorch trains X, and
`penalty` is added to the loss. `place` puts a weight on a manifold, for `RiemannianSGD`,
`RiemannianAdam` and `Landing`. `finish` restores all weights to their manifolds.
"""

from genorth.optional import optional

optional("torch", "torch", "genorth.interop.torch")

from genorth.interop.torch.layers import (  # noqa: E402  after the check above
    constrain,
    feasibility,
    finish,
    penalty,
    place,
)
from genorth.interop.torch.optimizers import (  # noqa: E402
    Landing,
    RiemannianAdam,
    RiemannianSGD,
)

__all__ = [
    "Landing",
    "RiemannianAdam",
    "RiemannianSGD",
    "constrain",
    "feasibility",
    "finish",
    "penalty",
    "place",
]
