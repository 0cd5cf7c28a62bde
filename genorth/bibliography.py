"""The bibliography that docstrings, documentation and reports share: bibliography.bib, by key."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

import attrs

_ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*?)\},?$(?=\n  \w|\n*\Z)", re.MULTILINE | re.DOTALL)
_ACCENT = re.compile(r"\{\\([`'^\"~c])\{?(\w)\}?\}")
_MARKS = dict(zip("`'^~\"c", "\u0300\u0301\u0302\u0303\u0308\u0327", strict=True))
_WHERE = ("journal", "booktitle", "publisher", "note")


@attrs.frozen
class Entry:
    """One work: its key, kind ("article", ...), fields, and BibTeX text."""

    key: str
    kind: str
    fields: dict[str, str]
    bibtex: str

    @property
    def url(self) -> str | None:
        """Where to find it, if a DOI or an arXiv number is known."""
        if "doi" in self.fields:
            return f"https://doi.org/{self.fields['doi']}"
        return f"https://arxiv.org/abs/{self.fields['eprint']}" if "eprint" in self.fields else None

    def __str__(self) -> str:
        """Authors: title. Where, volume(number), pages, year."""
        field = {name: _plain(value) for name, value in self.fields.items()}
        volume = f"{field.get('series', '')} {field.get('volume', '')}".strip()
        volume += f"({field['number']})" if "number" in field else ""
        where = [field[name] for name in _WHERE if name in field] or [
            f"arXiv:{field['eprint']}" for _ in range("eprint" in field)
        ]
        parts = [*where, volume, field.get("pages", ""), field.get("year", "")]
        authors = field["author"].replace(" and ", "; ").replace("; others", " et al.")
        return f"{authors}: {field['title']}. {', '.join(filter(None, parts))}."


def _plain(latex: str) -> str:
    """The text without TeX: accents as characters, no braces."""
    text = _ACCENT.sub(lambda m: unicodedata.normalize("NFC", m[2] + _MARKS[m[1]]), latex)
    return re.sub("[{}]", "", text).replace("--", "\u2013")


@cache
def entries() -> dict[str, Entry]:
    """All works by key, in the order of the file.

    Returns:
        The entries; a key of `Solver.cites`, or a [key] in a docstring, is found here.
    """
    text = files("genorth").joinpath("bibliography.bib").read_text("utf-8")
    return {
        key: Entry(
            key,
            kind.lower(),
            {name: " ".join(value.split()) for name, value in _FIELD.findall(body)},
            f"@{kind}{{{key},\n{body}}}",
        )
        for kind, key, body in _ENTRY.findall(text)
    }
