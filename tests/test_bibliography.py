"""One bibliography: every key that docstrings, pages and solvers cite is in it."""

import re
from pathlib import Path

import pytest

import baselines  # noqa: F401  registers its solvers
import genorth.bibliography as bibliography
from genorth.solve.solver import SOLVERS

ROOT = Path(__file__).parents[1]
BIB = ROOT / "genorth" / "bibliography.bib"
#: [author2008word], and the other forms in which a citation could be meant.
_CITED = re.compile(r"(?<![\w\]])\[([a-z]+\d{4}[a-z]+|[a-z]+-improved|[A-Z]\w+ \d{4})\](?!\()")
_NAMED = "genorth/**/*.py baselines/**/*.py paper_repro/**/*.py docs/*.md docs/api/*.md README.md"
SOURCES = [path for pattern in _NAMED.split() for path in ROOT.glob(pattern)]


def cited(text: str) -> list[str]:
    return _CITED.findall(text)


def test_the_file_is_read_without_loss():
    text = BIB.read_text("utf-8")
    assert list(bibliography.entries()) == re.findall(r"^@\w+\{([^,]+),$", text, re.MULTILINE)
    read = sum(len(entry.fields) for entry in bibliography.entries().values())
    assert read == len(re.findall(r"^  \w+ = \{", text, re.MULTILINE))


@pytest.mark.parametrize("key", bibliography.entries())
def test_an_entry_is_complete_and_printed_without_tex(key):
    entry = bibliography.entries()[key]
    assert {"author", "title", "year"} <= entry.fields.keys()
    assert not set("{}\\") & set(str(entry))
    assert entry.bibtex.startswith(f"@{entry.kind}{{{key},") and entry.bibtex.endswith("\n}")
    assert entry.bibtex in BIB.read_text("utf-8")


def test_accents_become_characters():
    assert "Ribi\u00e8re" in str(bibliography.entries()["polak1969note"])
    assert "fran\u00e7aise" in str(bibliography.entries()["polak1969note"])


def test_every_citation_resolves():
    known = bibliography.entries().keys()
    unknown = {
        f"{path.relative_to(ROOT)}: [{key}]"
        for path in SOURCES
        for key in cited(path.read_text("utf-8"))
        if key not in known
    }
    assert not unknown


def test_what_solvers_cite_is_known():
    unknown = {
        (solver.name, key)
        for solver in SOLVERS.values()
        for key in solver.cites
        if key not in bibliography.entries()
    }
    assert not unknown
