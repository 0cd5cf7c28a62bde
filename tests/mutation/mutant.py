"""`Mutant`: one planted error as data; the tables in `planted` hold them all."""

from __future__ import annotations

from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]

#: The kinds of errors, with what each stands for.
KINDS = {
    "sign": "a plus for a minus, a positive for a negative direction",
    "factor": "a wrong constant, scaling or exponent",
    "transpose": "a transpose or conjugate that is missing or too much",
    "psi": "psi, phi or Q left out, or in the wrong place",
    "term": "a term or a step left out",
    "order": "factors, indices or arguments exchanged",
    "bound": "a comparison, limit or condition that is wrong or left out",
    "value": "a wrong default, field or result",
}


class TableError(ValueError):
    """A table of errors does not say what it should, or no longer fits the source or the tests."""


@attrs.frozen
class Mutant:
    """One error: the syntax node `old` inside the definition `within` becomes `new`."""

    name: str
    kind: str
    #: The qualified name of a function, class or constant, with its module only where two
    #: definitions would fit: "Dense.inverse", "baselines.riemannian.rgd:rgd".
    within: str
    #: An expression or a statement; " #2" at its end means the second of several equal ones.
    old: str
    new: str
    #: The statement that no longer holds.
    breaks: str
    #: Names of tests or test files that run first; the whole suite follows only if all pass.
    killers: tuple[str, ...]
    #: Where no test can find it: the reason.
    equivalent: str = ""
