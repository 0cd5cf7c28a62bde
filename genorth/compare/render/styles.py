"""How a solver is drawn, the same in every plot: a colour of its own, line by family.

The first colours are those of Okabe and Ito, which colour-blind readers can tell apart. Penalty
methods are drawn solid, Riemannian ones broken, infeasible ones in dots and dashes. `panels` makes
a figure without pyplot: nothing opens, nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

import attrs

from genorth.compare.analysis.rows import require_records
from genorth.compare.render.table import Labels, Names, names_of
from genorth.compare.runs.record import Records
from genorth.optional import optional
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

#: One for each solver, in turn: apart from each other, and 3:1 on white and on black at least.
COLORS = (
    *(BLUE, VERMILLION, GREEN, PURPLE),
    *("#9000FC", "#9C9000", "#FC006C", "#786054", "#24A800", "#0054FC", "#FC00F0", "#8490A8"),
    *("#A830A8", "#B43C54", "#007800", "#9078F0"),
)
_MARKERS = ("", "D", "^", "v", "P", "*", "<", "8", "H")  # where there are more solvers than colours

#: Colours of the phases of `Record.seconds`.
PHASES = {
    "cost": SKY,
    "gradient": GREEN,
    "projection": ORANGE,
    "retraction": VERMILLION,
    "transport": PURPLE,
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
    OTHER: {"dashes": (1.0, 1.3), "shape": "D"},
}
#: Of a family as a whole.
FAMILY_STYLES = {
    kind: Style(color, **look)
    for (kind, look), color in zip(_FAMILIES.items(), (BLUE, VERMILLION, GREEN, GREY), strict=True)
}


def styles(solvers: Mapping[str, Any]) -> dict[str, Style]:
    """Choose a style for each solver: a colour of its own, lines and points by family.

    Args:
        solvers: Descriptions by name: `records.solvers`, or `genorth.Solver`s.

    Returns:
        The styles by name; no two are alike up to 144.
    """
    found = {}
    for number, (name, about) in enumerate(solvers.items()):
        rounds, place = divmod(number, len(COLORS))
        marker = _MARKERS[rounds % len(_MARKERS)]
        look = _FAMILIES[about.family] | ({"marker": marker, "shape": marker} if marker else {})
        found[name] = Style(COLORS[place], **look)
    return found


# ---------------------------------------------------------------------- figures


Styles = Mapping[str, Style]
_P = ParamSpec("_P")

_LONGEST = 60  # letters of a name
_LOOK: dict[str, Any] = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "text.usetex": False,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
}
#: A name is text: a dollar is a dollar.
TEXT = {"parse_math": False}


def matplotlib(module: str = "") -> Any:
    """A module of matplotlib, or an error that names the extra."""
    return optional(f"matplotlib{module}", "report", "genorth.compare.plots")


def plotted(draw: Callable[_P, Any]) -> Callable[_P, Any]:
    """Have a function draw with our look."""

    @wraps(draw)
    def drawing(*arguments: _P.args, **options: _P.kwargs) -> Any:
        with matplotlib().rc_context(_LOOK):
            return draw(*arguments, **options)

    return drawing


def panels(width: float, height: float, rows: int, columns: int, **how: Any) -> tuple[Any, Any]:
    """A figure in inches, and its axes as an array of rows and columns."""
    figure = matplotlib(".figure").Figure((width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **how)


def shortened(name: str) -> str:
    """A name that is not longer than a legend bears."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026"


def legend(figure: Any, handles: Sequence[Any], names: Sequence[str], columns: int = 5) -> None:
    """A legend outside of the axes, below them."""
    if not handles:
        return
    # matplotlib leaves out names that begin with an underscore: they are set afterwards
    longest = max(len(shortened(name)) for name in names)
    fit = int(figure.get_figwidth() / (0.085 * longest + 0.75))  # inches of a letter, of a line
    numbers, ncols = list(map(str, range(len(names)))), max(1, min(columns, len(names), fit))
    made = figure.legend(handles, numbers, loc="outside lower center", ncols=ncols)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set(text=shortened(name), **TEXT)


def logarithmic(axis: Any, *directions: str) -> None:
    """Logarithmic scales; not where nothing is drawn, which matplotlib cannot scale."""
    for direction in directions:
        if any(len(getattr(line, f"get_{direction}data")()) for line in axis.get_lines()):
            axis.set(**{f"{direction}scale": "log"})
            few_ticks(getattr(axis, f"{direction}axis"))


def few_ticks(axis: Any) -> None:
    """Labels that do not collide on a logarithmic axis: at 1, 2, 5 of a decade, or decades."""
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    ticker = matplotlib(".ticker")
    marks = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 0.7 else range(1, 10)
    axis.set_major_locator(ticker.LogLocator(subs=marks, numticks=8))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(ticker.NullFormatter())


def look_of(records: Records, labels: Labels | None, look: Styles | None) -> tuple[Names, Styles]:
    """The names and the styles of the solvers."""
    names = names_of(require_records(records), labels)
    return names, styles(records.solvers) if look is None else look
