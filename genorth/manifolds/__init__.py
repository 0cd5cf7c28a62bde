"""The concrete manifolds. Each is data: phi, psi, shape and structure."""

from genorth.manifolds.bilinear import BilinearStiefel
from genorth.manifolds.generalized import GeneralizedStiefel
from genorth.manifolds.hyperbolic import HyperbolicStiefel
from genorth.manifolds.indefinite import IndefiniteStiefel
from genorth.manifolds.maps import from_maps
from genorth.manifolds.named import (
    ComplexCircle,
    Oblique,
    Orthogonal,
    Rotations,
    Sphere,
    Unitary,
)
from genorth.manifolds.power import Power
from genorth.manifolds.product import Product
from genorth.manifolds.stiefel import Stiefel
from genorth.manifolds.symplectic import SymplecticStiefel
from genorth.manifolds.tensor import TensorStiefel

__all__ = [
    "BilinearStiefel",
    "ComplexCircle",
    "GeneralizedStiefel",
    "HyperbolicStiefel",
    "IndefiniteStiefel",
    "Oblique",
    "Orthogonal",
    "Power",
    "Product",
    "Rotations",
    "Sphere",
    "Stiefel",
    "SymplecticStiefel",
    "TensorStiefel",
    "Unitary",
    "from_maps",
]
