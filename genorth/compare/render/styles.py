"""How a solver is drawn, the same in every plot: colour by algorithm, line by family.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart, as far as they
read on white and on black. Penalty methods are drawn solid, Riemannian ones broken, infeasible
ones in dots and dashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN

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
_MARKERS = ("D", "^", "v", "P", "*", "<", "8", "H")  # for those that would look alike

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


_FAMILIES: dict[str, dict[str, Any]] = {
    PENALTY: {},
    RIEMANNIAN: {"dashes": (4.0, 1.8), "shape": "s", "full": False},
    INFEASIBLE: {"dashes": (6.0, 1.5, 1.0, 1.5), "shape": "^", "full": False},
    OTHER: {"marker": "D", "shape": "D"},
}
#: Of a family as a whole.
FAMILY_STYLES = {
    kind: Style(color, **look)
    for (kind, look), color in zip(_FAMILIES.items(), (BLUE, VERMILLION, GREEN, GREY), strict=True)
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "faithful": {"dashes": (1.0, 1.3), "full": True},
    "products": {"dashes": (5.0, 1.3, 1.0, 1.3, 1.0, 1.3), "shape": "h"},
    "pymanopt": {"dashes": (5.0, 1.3, 1.0, 1.3), "shape": "d"},
    "odf": {"marker": "s", "shape": "P"},
    "cdopt": {"marker": "x", "shape": "X"},
    "cdf-lean": {"marker": "o", "shape": "p"},
    "odf-lean": {"marker": "v", "shape": "v"},
}


def styles(solvers: Mapping[str, Any]) -> dict[str, Style]:
    """Choose a style for each solver, by family, algorithm and variant.

    Args:
        solvers: Descriptions by name: `records.solvers`, or `genorth.Solver`s.

    Returns:
        The styles by name; no two are alike as long as there are enough.
    """
    own = dict.fromkeys(
        about.algorithm or name
        for name, about in solvers.items()
        if about.algorithm not in _ALGORITHMS
    )
    colors = _ALGORITHMS | {kind: _OTHERS[n % len(_OTHERS)] for n, kind in enumerate(own)}
    found: dict[str, Style] = {}
    for name, about in solvers.items():
        look = _FAMILIES[about.family] | _VARIANTS.get(about.variant, {})
        style = Style(colors[about.algorithm or name], **look)
        marks = ((style.marker, style.shape, style.full), *_MARKS)
        looks = [attrs.evolve(style, marker=m, shape=s, full=full) for m, s, full in marks]
        found[name] = next((each for each in looks if not _seen(each, found.values())), style)
    return found


_MARKS = tuple((marker, marker, full) for full in (True, False) for marker in _MARKERS)


def _seen(style: Style, others: Iterable[Style]) -> bool:
    return any(style.line() == each.line() or style.dot() == each.dot() for each in others)
