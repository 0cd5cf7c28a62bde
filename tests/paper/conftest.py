"""Decimals of many digits in every test of the paper's statements."""

import decimal
from collections.abc import Iterator

import pytest

from support.decimal_manifold import DIGITS


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """Decimals of DIGITS digits while a test runs."""
    with decimal.localcontext(prec=DIGITS):
        yield
