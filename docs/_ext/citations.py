"""`[key]` in a page is a link to the bibliography, and `{bibliography}` the list of all works."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

from genorth.bibliography import entries

_LIST = "<!-- bibliography -->"


def _item(key: str) -> str:
    entry = entries()[key]
    link = f" [{entry.url}]({entry.url})" if entry.url else ""
    return f"({key})=\n**\\[{key}\\]** {entry}{link}\n"


def resolved(source: str, folder: str = "") -> str:
    """The page with a link for each `[key]`, and the list of works in place of its marker."""
    if _LIST in source:
        return source.replace(_LIST, "\n".join(map(_item, entries())))
    known = "|".join(entries())
    return re.sub(rf"\[({known})\]", rf"[\[\1\]]({folder}bibliography.md#\1)", source)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if re.search(r"\.md$", str(app.env.doc2path(docname))):
        source[0] = resolved(source[0], "../" * docname.count("/"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Hook into the reading of pages."""
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
