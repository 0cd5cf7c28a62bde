"""Statements about every family of manifolds: `drawn` examples, within a rounding `close`."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

from genorth.testing.contract import Sample


def drawn(**strategies: Any) -> Callable[[Any], Any]:
    """`given` with three times the usual number of examples: there are about twenty families."""
    return lambda test: settings(max_examples=3 * settings().max_examples)(
        given(**strategies)(test)
    )


def holds(formula: str, value: float, bound: float) -> None:
    """value <= bound."""
    assert value <= bound, f"{formula}: measured {value:.3g}, bound {bound:.3g}"


def close(sample: Sample, *measured: Any) -> None:
    """Formula, found, expected, bound: found and expected differ by at most the bound."""
    holds(*sample.close(*measured))
