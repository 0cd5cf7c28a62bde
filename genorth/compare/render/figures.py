"""What all plots share: matplotlib with our look, figures, legends and names.

A figure is made without pyplot: nothing opens, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

from genorth.compare.analysis.rows import require_records
from genorth.compare.render.styles import Style, styles
from genorth.compare.render.table import Labels, Names, names_of
from genorth.compare.runs.record import Records
from genorth.optional import optional

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
    numbers, ncols = list(map(str, range(len(names)))), min(columns, len(names))
    made = figure.legend(handles, numbers, loc="outside lower center", ncols=ncols)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set(text=shortened(name), **TEXT)


def logarithmic(axis: Any, *directions: str) -> None:
    """Logarithmic scales; not where nothing is drawn, which matplotlib cannot scale."""
    for direction in directions:
        if any(len(getattr(line, f"get_{direction}data")()) for line in axis.get_lines()):
            axis.set(**{f"{direction}scale": "log"})


def look_of(records: Records, labels: Labels | None, look: Styles | None) -> tuple[Names, Styles]:
    """The names and the styles of the solvers."""
    names = names_of(require_records(records), labels)
    return names, styles(records.solvers) if look is None else look
