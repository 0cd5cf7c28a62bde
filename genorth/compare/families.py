"""What the name of a solver tells: its family and its algorithm.

Nothing where it is a solver of the user's own.
"""

from __future__ import annotations

import re

PENALTY, RIEMANNIAN, OTHER = "penalty", "Riemannian", "other"

#: The order in which families stand in tables and legends.
FAMILIES = (PENALTY, RIEMANNIAN, OTHER)

_PREFIXES = {
    PENALTY: re.compile(r"(cdf|cdopt)-?", re.IGNORECASE),
    RIEMANNIAN: re.compile(r"(rgd|rcg|rlbfgs|rtr)\b|pymanopt-", re.IGNORECASE),
}
_ALGORITHMS = {"lbfgs": "lbfgs", "gd": "gd", "sd": "gd", "cg": "cg", "tr": "tr"}


def family(solver: str) -> str:
    """The family: cdf-* and cdopt-* are penalty methods.

    Rgd*, rcg*, rlbfgs*, rtr* and pymanopt-* are Riemannian.
    """
    return next((name for name, prefix in _PREFIXES.items() if prefix.match(solver)), OTHER)


def algorithm(solver: str) -> str | None:
    """One of "gd", "cg", "lbfgs" and "tr"; None for a solver of no known family."""
    if family(solver) == OTHER:
        return None
    return next((kind for word, kind in _ALGORITHMS.items() if word in solver.lower()), None)


def by_family(solvers: list[str]) -> list[str]:
    """The solvers, family by family, each family in the order given."""
    return sorted(solvers, key=lambda solver: FAMILIES.index(family(solver)))
