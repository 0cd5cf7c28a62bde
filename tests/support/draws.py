"""`drawn`: Hypothesis with more examples, for statements about every family of manifolds."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings


def drawn(**strategies: Any) -> Callable[[Any], Any]:
    """`given` with three times the usual number of examples: there are about twenty families."""
    return lambda test: settings(max_examples=3 * settings().max_examples)(
        given(**strategies)(test)
    )
