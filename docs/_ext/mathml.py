"""Formulas as MathML, made at build time: pages need neither a script nor the network to show them.

A formula that is not understood is a warning of Sphinx, and so an error of the build.
"""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from formula import mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_log = logging.getLogger(__name__)


def _render(node: nodes.Element, display: bool) -> str:
    latex = node.astext()
    try:
        return mathml(latex, display)
    except Exception as error:  # whatever it is, the page has a formula that cannot be read
        _log.warning("formula not understood: %s (%s)", latex, error, location=node, type="mathml")
        return f"<code>{html.escape(latex)}</code>"


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_render(node, display=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math-block"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(_render(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; `html_math_renderer = "mathml"` chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
