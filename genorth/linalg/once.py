"""`once`: a property that is computed at its first use and kept.

As `functools.cached_property`, which in Python 3.11 takes a lock for every first use: too much for
a point that lives for one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class once(Generic[_T]):
    """A property of objects with a `__dict__`, which keeps the value under the same name.

    Args:
        function: Computes the value from the object.
    """

    def __init__(self, function: Callable[[Any], _T]) -> None:
        self._function, self._name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, owner: None, kind: Any = None) -> once[_T]: ...
    @overload
    def __get__(self, owner: object, kind: Any = None) -> _T: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._function(owner)
        return value
