"""What the paper does not have: classics of the literature, nonsmooth terms, further constraints.

Problems on products are among the classics and in the gallery.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

import genorth as go
from baselines import SOLVERS
from genorth import compare, gallery
from genorth.compare import Case, Records
from genorth.gallery import constrained, sparse
from genorth.gallery.base import source_of

TOLERANCE = 1e-6
#: By how much sizes are divided, by mode.
_SMALLER = {"full": 1, "medium": 16, "quick": 20, "toy": 40}
#: Entries of X, of which the largest classics have ten times as many and take hours, not seconds.
_LARGEST = 4e5
_FEW = 2  # problems of a kind in a toy run
_SPARSE = ("classics/sparse-pca", "classics/compressed-modes")
_Entry = tuple[str, Callable[[], tuple[go.Problem, Callable[[int], Any]]]]


@attrs.frozen
class Kind:
    """One kind of problem: a title, the solvers that take it, the names and makers of a mode."""

    title: str
    solvers: tuple[str, ...]
    entries: Callable[[str], Iterator[_Entry]]
    smooth: bool = False


def _loaded(name: str, mode: str) -> tuple[go.Problem, Callable[[int], Any]]:
    """A classic at the size of the mode: numbers below 40 stay, even ones stay even."""
    usual, by = source_of(name).instances[name].size, _SMALLER[mode]
    while math.prod(usual * (3 - len(usual))) > _LARGEST * by**2:
        by += 1
    size = usual if by == 1 else tuple(m if m < 40 else max(2 * (m // (2 * by)), 20) for m in usual)
    instance = gallery.load(name, size)
    random = instance.problem.manifold.random_point
    return instance.problem, lambda seed: random(seed) if seed else instance.start


def _classics(mode: str) -> Iterator[_Entry]:
    for name in gallery.names("classics"):
        if name not in _SPARSE and gallery.why_not(name) is None:
            yield name, partial(_loaded, name, mode)


def _nonsmooth(mode: str) -> Iterator[_Entry]:
    yield from (
        (f"sparse: {problem.name}", partial(_with_random_starts, problem))
        for problem in sparse.problems(_SMALLER[mode])
    )
    yield from ((name, partial(_loaded, name, "full")) for name in _SPARSE)


def _with_random_starts(problem: go.Problem) -> tuple[go.Problem, Callable[[int], Any]]:
    return problem, problem.manifold.random_point


def _constrained(mode: str) -> Iterator[_Entry]:  # noqa: ARG001  they are small
    for name, problem, start in constrained.problems():
        yield name, partial(_known, (problem, start))


def _known(made: Any) -> Any:
    return made


#: The kinds, by the folders of their records. "auto" is what it takes, and no row of its own.
KINDS = MappingProxyType(
    {
        "classics": Kind(
            "Classics of the literature",
            (
                *("odf-lbfgs", "odf-cg", "cdf-lbfgs", "rgd", "rcg", "rlbfgs", "rtr"),
                *("landing", "pogo", "plam", "landing-newton", "pymanopt-cg", "pymanopt-tr"),
            ),
            _classics,
            smooth=True,
        ),
        "nonsmooth": Kind(
            "Nonsmooth terms",
            ("manpg", "ralm", "odf-alm", "cdf-alm", "prox-landing", "smoothing"),
            _nonsmooth,
        ),
        "constrained": Kind(
            "Further constraints", ("ralm", "odf-alm", "cdf-alm", "slsqp"), _constrained
        ),
    }
)


@cache
def _made(kind: str, name: str, mode: str) -> tuple[go.Problem, Callable[[int], Any]]:
    return dict(KINDS[kind].entries(mode))[name]()


def _problem(key: Any, seed: int) -> go.Problem:  # noqa: ARG001  the seed is that of the start
    return _made(*key)[0]


def _start(key: Any, problem: go.Problem, seed: int) -> Any:  # noqa: ARG001  as compare calls it
    return _made(*key)[1](seed)


def run(folder: Path, kind: str, mode: str, **settings: Any) -> Records:
    """Make the runs of a kind that are missing in a folder.

    Args:
        folder: Where the records are kept, in `records/`.
        kind: One of `KINDS`.
        mode: "full", "medium", "quick" or "toy".
        **settings: Further arguments of `genorth.compare.run`.

    Returns:
        The records.
    """
    entries = islice(KINDS[kind].entries(mode), _FEW if mode == "toy" else None)
    keys = [(kind, name, mode) for name, _ in entries]
    cases = [Case(key[1], None, partial(_problem, key), partial(_start, key)) for key in keys]
    rows = {name: SOLVERS[name] for name in KINDS[kind].solvers}
    return compare.run(
        cases, rows, **{"tolerances": TOLERANCE, "out": folder / "records"} | settings
    )
