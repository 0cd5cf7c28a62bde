"""`TaggedParameter`: a parameter that knows its manifold, also when it is copied or pickled."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import torch

from genorth.geometry.field import Field
from genorth.interop.fit import Fit


@attrs.frozen(eq=False, slots=False)
class Placed:
    """The tag of a weight that is on a manifold, or lands on it."""

    fit: Fit

    @cached_property
    def field(self) -> Field:
        """The field of landing methods."""
        return Field(self.fit.manifold)


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
    """The tag of a parameter; None if it has none."""
    return getattr(parameter, "tag", None) if isinstance(parameter, TaggedParameter) else None
