"""`refused`: the form of the messages with which bad input is refused."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refused(
    argument: str,
    formula: str,
    measured: str,
    tolerance: bool = True,
    error: type[ValueError] = ValueError,
) -> Iterator[None]:
    """The block raises `argument: need ..formula..; got ..measured.., tolerance ...`."""
    with pytest.raises(ValueError, match=re.escape(argument)) as caught:
        yield
    message = str(caught.value)
    assert type(caught.value) is error, message
    assert message.startswith(f"{argument}: need "), message
    need, _, found = message.partition("; got ")
    assert formula in need, message
    assert measured in found, message
    assert ("tolerance " in found) == tolerance, message
