"""The concrete manifolds. Each is data: phi, psi, shape and structure."""

from genorth.manifolds.bilinear import BilinearStiefel
from genorth.manifolds.generalized import GeneralizedStiefel
from genorth.manifolds.hyperbolic import HyperbolicStiefel
from genorth.manifolds.indefinite import IndefiniteStiefel
from genorth.manifolds.maps import from_maps
from genorth.manifolds.stiefel import Stiefel
from genorth.manifolds.symplectic import SymplecticStiefel
from genorth.manifolds.tensor import TensorStiefel

__all__ = [
    "BilinearStiefel",
    "GeneralizedStiefel",
    "HyperbolicStiefel",
    "IndefiniteStiefel",
    "Stiefel",
    "SymplecticStiefel",
    "TensorStiefel",
    "from_maps",
]
