"""Lets sphinx-gallery show figures made without pyplot, as those of genorth.compare are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_shown: WeakSet[Figure] = WeakSet()


def _scrape(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:  # noqa: ARG001
    """The figures that variables of the script hold, each once.

    Those of pyplot have a manager, and are left to it.
    """
    found = [value for value in variables["example_globals"].values() if isinstance(value, Figure)]
    figures = [figure for figure in found if figure.canvas.manager is None and figure not in _shown]
    _shown.update(found)
    paths, said = [], []
    for figure, path in zip(figures, variables["image_path_iterator"], strict=False):
        figure.savefig(path, dpi=100)
        paths.append(path)
        said += [axis.get_title() or axis.get_ylabel() for axis in figure.axes]
    return str(figure_rst(paths, gallery["src_dir"], "; ".join(filter(None, said))))


def _get_sg_image_scraper() -> Callable[..., str]:
    """By this name sphinx-gallery finds it."""
    return _scrape
