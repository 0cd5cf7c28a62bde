"""Docstrings for the reference: plain text, with typeset formulas and citations that are links.

What reST would take for markup, as in |C(X)| or DA(X)*[T], is escaped. Single backticks are code
(`default_role` of conf.py). An indented paragraph before `Args:` is a displayed formula. `[key]` is
a link to the bibliography, and `(F6)` one to the proof of that fact. napoleon makes lists of the
sections; it does not get the docstrings of attributes, in which it would take the text before a
colon for a type.
"""

from __future__ import annotations

import re
from typing import Any

from plain_formula import latex
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util import logging

from genorth.bibliography import entries

_CONFIG = Config(napoleon_use_rtype=False)  # the signature has the type
_log = logging.getLogger(__name__)
_CODE = re.compile(r"(``.+?``|`[^`]+`)")
#: Substitutions, emphasis, escapes; an underscore at the end of a word is a reference.
_MARKUP = re.compile(r"[*|\\]|_(?!\w)")
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Note|Example)s?:")
_CITATION = re.compile(r"\[([a-z][\w-]+)\]")
#: A fact of docs/mathematics.md; the reference is one folder below.
_FACT = re.compile(r"\(F(\d+)\)")


def plain(lines: list[str]) -> list[str]:
    """The lines as reST that shows them; code and literal blocks stay as they are."""
    result: list[str] = []
    literal = verbatim = sections = formula = False
    blank = True
    for line in lines:
        indented = line.startswith("    ")
        verbatim = (verbatim or literal) and (not line.strip() or line[0] == " ")
        sections = sections or bool(_SECTION.fullmatch(line))
        formula = indented and not verbatim and not sections and (blank or formula)
        if formula:
            result += ["", f".. math:: {latex(line.strip())}", ""]
        else:
            result.append(line if verbatim else _escaped(line))
        blank = not line.strip()
        literal = line.rstrip().endswith("::") if line.strip() else literal
    return result


def _escaped(line: str) -> str:
    """The line with markup escaped outside of code, and with links for citations."""
    parts = _CODE.split(line)
    for index, part in enumerate(parts):
        if index % 2 == 0:
            plural = index > 0 and part[:1].isalnum()  # of code: reST wants a space there
            parts[index] = "\\ " * plural + _linked(_MARKUP.sub(r"\\\g<0>", part))
    return "".join(parts)


def _linked(text: str) -> str:
    text = _FACT.sub(r"(`proof <../mathematics.html#f\1>`__)", text)
    return _CITATION.sub(
        lambda match: f":ref:`[{match[1]}] <{match[1]}>`" if match[1] in entries() else match[0],
        text,
    )


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what in ("class", "exception", "function") and not _is_ours(obj):
        return
    try:
        lines[:] = plain(lines)
        if what not in ("attribute", "property", "data"):
            lines[:] = GoogleDocstring(lines, _CONFIG, app, what, name, obj, options).lines()
    except ValueError as error:
        _log.warning("docstring of %s: %s", name, error, type="docstrings")


def _is_ours(obj: Any) -> bool:
    """False for what a module of ours imports, which autodoc looks at too."""
    return str(obj.__module__).partition(".")[0] in ("genorth", "baselines", "paper_repro")


def setup(app: Sphinx) -> dict[str, Any]:
    """Hook into autodoc."""
    app.connect("autodoc-process-docstring", _process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
