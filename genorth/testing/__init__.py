"""For tests of manifolds: hypothesis strategies, and the contract that every manifold must satisfy.

On your own manifold, in three lines::

    @pytest.mark.parametrize("prop", genorth.testing.PROPERTIES, ids=str)
    def test_contract(prop):
        prop.check(my_manifold)
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("genorth.testing needs hypothesis: pip install 'genorth[test]'") from error

from genorth.linalg.matrices import conditioned_skew, conditioned_symmetric
from genorth.testing.contract import PROPERTIES, Property, Sample
from genorth.testing.strategies import (
    FAMILIES,
    Recipe,
    manifolds,
    near_points,
    points,
    products,
    recipes,
    seeds,
    tangent_vectors,
)

__all__ = [
    "FAMILIES",
    "PROPERTIES",
    "Property",
    "Recipe",
    "Sample",
    "conditioned_skew",
    "conditioned_symmetric",
    "manifolds",
    "near_points",
    "points",
    "products",
    "recipes",
    "seeds",
    "tangent_vectors",
]
