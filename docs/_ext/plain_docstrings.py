"""Docstrings are plain text with formulas such as |C(X)| or DA(X)*[T].

What reST would take for markup is escaped.

Single backticks are code (`default_role` of conf.py), paragraphs and literal blocks after `::` keep
their meaning.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(``.+?``|`[^`]+`)")
#: Substitutions, emphasis, escapes; an underscore at the end of a word is a reference.
_MARKUP = re.compile(r"[*|\\]|_(?!\w)")


def plain(lines: list[str]) -> list[str]:
    """The lines with reST markup escaped, except for code and literal blocks."""
    result, literal, verbatim = [], False, False
    for line in lines:
        verbatim = (verbatim or literal) and (not line.strip() or line[0] == " ")
        result.append(line if verbatim else _escaped(line))
        literal = line.rstrip().endswith("::") if line.strip() else literal
    return result


def _escaped(line: str) -> str:
    """An odd number of backticks means that code goes on in the next line.

    Then the line is left as it is.
    """
    parts = _CODE.split(line)
    return "".join(
        part if index % 2 else _MARKUP.sub(r"\\\g<0>", part) for index, part in enumerate(parts)
    )


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    lines[:] = plain(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Hook into autodoc."""
    app.connect("autodoc-process-docstring", _process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
