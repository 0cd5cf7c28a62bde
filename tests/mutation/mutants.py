"""All mutants, as data."""

from __future__ import annotations

from .planted import geometry, maps, multiplier, penalty, points, retractions
from .planted.controls import CONTROLS as CONTROLS
from .planted.mutant import Mutant

#: The errors that the default tests must find, and the equivalent ones that they cannot.
MUTANTS: list[Mutant] = [
    mutant
    for part in (geometry, multiplier, retractions, penalty, maps, points)
    for mutant in part.MUTANTS
]
