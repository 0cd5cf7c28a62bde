"""A matplotlib Figure as SVG to stand inside an HTML page: same figure, same bytes.

Text stays text.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

_SALT = "genorth"


def inline(figure: Any, name: str, label: str) -> str:
    """The <svg> element. `name` goes in front of its ids, which must differ within a page.

    `label` is read out.

    What is black in the figure takes the colour of the page's text, and the background is left out,
    so that it reads in light and in dark.
    """
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": _SALT}):
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r"<style.*?</style>", "", text, count=1, flags=re.DOTALL
    )  # it would hold for the whole page
    text = re.sub(r'(\bid=")', rf"\g<1>{name}-", text)
    text = re.sub(r'(url\(#|xlink:href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"#000000\b", "currentColor", text)
    # The size in points gives way to the style of the page; the viewBox keeps the proportions.
    text = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", text)
    text = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", text)
    return re.sub(
        r"^<svg", f'<svg role="img" aria-label="{escape(label)}" stroke-linejoin="round"', text
    ).strip()
