"""The errors, by the part of the library that they are planted into."""

from __future__ import annotations

from collections.abc import Callable

from .mutant import Mutant

#: Tests that see most errors within seconds: every statement, on one fixed manifold of each family.
CONTRACT = "tests/geometry/test_contract.py::test_every_family_keeps_the_whole_contract"
PENALTY = "tests/penalty/test_cdf.py::test_every_family_by_differences"


def errors_in(file: str, *killers: str) -> Callable[..., Mutant]:
    """A function that makes the mutants of one file.

    `first` names tests to be run before the common ones.
    """

    def error(
        name: str,
        kind: str,
        within: str,
        old: str,
        new: str,
        breaks: str,
        *first: str,
        equivalent: str = "",
    ) -> Mutant:
        return Mutant(name, kind, file, within, old, new, breaks, (*first, *killers), equivalent)

    return error
