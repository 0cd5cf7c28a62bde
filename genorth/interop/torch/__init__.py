"""Constrained layers and Riemannian optimisers for PyTorch.

`constrain` dissolves a constraint: the layer sees A(X), any optimiser of PyTorch trains X, and
`penalty` is added to the loss. `place` puts a weight on a manifold, for `RiemannianSGD`,
`RiemannianAdam`, `Landing`, `Pogo`, `Muon` and `SubspaceDescent`. `finish` restores all weights to
their manifolds. `adapt`, `Coordinates` and `HamiltonianStep` are layers made of points.
"""

from genorth.optional import optional

optional("torch", "torch", "genorth.interop.torch")

from genorth.interop.torch.base import clip_grad_norm_  # noqa: E402  after the check above
from genorth.interop.torch.layers import (  # noqa: E402
    constrain,
    feasibility,
    finish,
    penalty,
    place,
)
from genorth.interop.torch.modules import (  # noqa: E402
    Coordinates,
    HamiltonianStep,
    adapt,
    merge,
)
from genorth.interop.torch.optimizers import (  # noqa: E402
    Landing,
    Muon,
    Pogo,
    RiemannianAdam,
    RiemannianSGD,
    SubspaceDescent,
)

__all__ = [
    "Coordinates",
    "HamiltonianStep",
    "Landing",
    "Muon",
    "Pogo",
    "RiemannianAdam",
    "RiemannianSGD",
    "SubspaceDescent",
    "adapt",
    "clip_grad_norm_",
    "constrain",
    "feasibility",
    "finish",
    "merge",
    "penalty",
    "place",
]
