"""How a solver is drawn, the same in every plot.

The colour tells the algorithm, the line the family.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart, as far as they
read on white and on black. Penalty methods are drawn solid, Riemannian ones broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from genorth.compare.families import OTHER, PENALTY, algorithm, family

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8A8A8A",
)

_ALGORITHMS = {"gd": BLUE, "cg": VERMILLION, "lbfgs": GREEN, "tr": PURPLE}
_OTHERS = (ORANGE, SKY, GREY)
_MARKERS = ("D", "^", "v", "P", "*")  # with each colour in turn

# Of the Riemannian solvers: dashes by what follows or leads the name; what is none of these is
# drawn in long dashes.
_DASHES = {
    "faithful": (1.0, 1.3),
    "products": (5.0, 1.3, 1.0, 1.3, 1.0, 1.3),
    "pymanopt": (5.0, 1.3, 1.0, 1.3),
}

#: Colours of the phases of `Record.seconds`, and of the rest.
PHASES = {
    "cost": SKY,
    "gradient": GREEN,
    "projection": ORANGE,
    "retraction": VERMILLION,
    "transport": PURPLE,
    "rest": GREY,
}


@attrs.frozen
class Style:
    """How one solver is drawn."""

    color: str
    #: Empty for a solid line.
    dashes: tuple[float, ...] = ()
    #: On the line, where colour and dashes alone do not tell two solvers apart.
    marker: str = ""
    #: As a single point: its shape, and whether it is full or hollow.
    shape: str = "o"
    full: bool = True

    def line(self) -> dict[str, Any]:
        """Arguments of matplotlib's plot."""
        look: dict[str, Any] = {"color": self.color, "linewidth": 1.6}
        if self.dashes:
            look["dashes"] = self.dashes
        if self.marker:
            look |= {"marker": self.marker, "markersize": 4.0, "markevery": 0.13}
        return look

    def dot(self) -> dict[str, Any]:
        """Arguments of matplotlib's plot for a single point."""
        fill = self.color if self.full else "none"
        return {
            "color": self.color,
            "marker": self.shape,
            "markerfacecolor": fill,
            "markersize": 6,
            "linestyle": "none",
        }


def styles(solvers: Iterable[str]) -> dict[str, Style]:
    """A style for each solver: by its name where that is known, else the next one that is free."""
    names = list(dict.fromkeys(solvers))
    own = [name for name in names if family(name) == OTHER]
    return {
        name: _known(name) if family(name) != OTHER else _next(own.index(name)) for name in names
    }


def _known(solver: str) -> Style:
    color = _ALGORITHMS.get(algorithm(solver) or "", GREY)
    if family(solver) == PENALTY:
        theirs, lean = solver.startswith("cdopt"), solver.endswith("lean")
        return Style(
            color,
            (),
            "x" if theirs else "o" if lean else "",
            "X" if theirs else "p" if lean else "o",
        )
    dashes = next((dashes for word, dashes in _DASHES.items() if word in solver), (4.0, 1.8))
    shape = "d" if "pymanopt" in solver else "h" if "products" in solver else "s"
    return Style(color, dashes, "", shape, full="faithful" in solver)


def _next(number: int) -> Style:
    marker = _MARKERS[number // len(_OTHERS) % len(_MARKERS)]
    return Style(_OTHERS[number % len(_OTHERS)], (), marker, marker)
