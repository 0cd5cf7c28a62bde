"""`TaggedParameter`: a parameter that knows its manifold, also when it is copied or pickled."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np
import torch

from genorth.geometry.field import Field
from genorth.interop.fit import Fit
from genorth.manifolds.power import Power

_PLAIN = (int, float, str, tuple, np.dtype, type(None))


@attrs.frozen(eq=False, slots=False)
class Placed:
    """The tag of a weight that is on a manifold, or lands on it."""

    fit: Fit
    _stacks: dict[int, Placed] = attrs.field(factory=dict, init=False, repr=False)

    @cached_property
    def field(self) -> Field:
        """The field of landing methods."""
        return Field(self.fit.manifold)

    @cached_property
    def kind(self) -> Any:
        """The same for weights that one step can update together."""
        if self.fit.manifold.ambient_projector is not None:
            return id(self)
        return _kind(self.fit)

    def stacked(self, count: int) -> Placed:
        """The tag of several such weights along an axis in front; this one for a single one."""
        if count == 1:
            return self
        if count not in self._stacks:
            shape = (count, *self.fit.shape)
            fit = Fit(Power(self.fit.manifold, count), shape, self.fit.transposed)
            self._stacks[count] = Placed(fit)
        return self._stacks[count]


def _kind(value: Any) -> Any:
    """Equal for equal sizes and the same matrices."""
    if attrs.has(type(value)):
        return type(value), *(_kind(getattr(value, a.name)) for a in attrs.fields(type(value)))
    return value if isinstance(value, _PLAIN) else id(value)


@attrs.frozen(eq=False)
class Dissolved:
    """The tag of a weight whose constraint is dissolved."""

    fit: Fit


class TaggedParameter(torch.nn.Parameter):  # type: ignore[misc]
    """A parameter with a tag: `Placed`, `Dissolved`, or None.

    PyTorch drops the attributes of a parameter that is copied. Here the copy shares the tag.
    """

    tag: Placed | Dissolved | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> TaggedParameter:
        if id(self) not in memo:
            data = self.data.clone(memory_format=torch.preserve_format)
            memo[id(self)] = tagged(data, self.tag, self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        return tagged, (self.data, self.tag, self.requires_grad)


def tagged(
    data: torch.Tensor, tag: Placed | Dissolved | None, requires_grad: bool = True
) -> TaggedParameter:
    """A parameter with a tag."""
    parameter = TaggedParameter(data, requires_grad)
    parameter.tag = tag
    return parameter


def tag_of(parameter: torch.Tensor) -> Placed | Dissolved | None:
    """The tag of a parameter, also of a sharded one; None if it has none."""
    tag = getattr(parameter, "tag", None)
    return tag if isinstance(tag, Placed | Dissolved) else None


def local(W: torch.Tensor) -> torch.Tensor:
    """What this process holds of a sharded tensor; any other as it is."""
    return W.to_local() if hasattr(W, "to_local") else W
