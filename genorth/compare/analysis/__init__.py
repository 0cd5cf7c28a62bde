"""Figures of records: rows, winners, targets, profiles. Data only: no text layout, no HTML.

Begin with `by_row(records)`: for each row (problem, size, tolerance) the `Runs` of each solver. The
other functions take the runs of one row (`best_of`, `leaders`, `best_by_family`, `behind`,
`shared`, `elsewhere`), all rows (`duels`) or the records (`best`, `effect`).
"""

from genorth.compare.analysis.rows import (
    Best,
    Duel,
    Effect,
    Row,
    Runs,
    behind,
    best,
    best_by_family,
    best_of,
    by_row,
    duels,
    effect,
    elsewhere,
    leaders,
    over_least,
    shared,
)

__all__ = [
    "Best",
    "Duel",
    "Effect",
    "Row",
    "Runs",
    "behind",
    "best",
    "best_by_family",
    "best_of",
    "by_row",
    "duels",
    "effect",
    "elsewhere",
    "leaders",
    "over_least",
    "shared",
]
