"""`Phases`: the time that a run spends in each part of the geometry.

The names, as they stand in `Result.seconds`:

- "cost"        inside the user's callables: cost, Euclidean gradient and Hessian product;
- "gradient"    from the Euclidean gradient to the Riemannian one (the equation for Theta, where
  there is one);
- "projection"  other projections onto the tangent space: of directions, and in Hessian products;
- "retraction"  from a tangent vector to the next point, with the steps of A that take out its
  rounding;
- "transport"   of tangent vectors from point to point.
"""

from __future__ import annotations

import time

NAMES = ("gradient", "projection", "retraction", "transport")


class _Timer:
    """Adds the time inside `with` to its seconds."""

    __slots__ = ("_begin", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter() - self._begin


class Phases:
    """One timer for each phase: `with phases.retraction: ...`."""

    def __init__(self) -> None:
        self.gradient, self.projection, self.retraction, self.transport = (_Timer() for _ in NAMES)

    def seconds(self) -> dict[str, float]:
        """The seconds by phase."""
        return {name: getattr(self, name).seconds for name in NAMES}
