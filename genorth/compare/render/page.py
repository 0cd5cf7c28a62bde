"""`Page`: one self-contained HTML file, made from the Jinja templates beside this module.

The page needs no network, and its content security policy lets nothing run but its own script.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs

from genorth.bibliography import entries
from genorth.compare.analysis.rows import require_records
from genorth.compare.render.table import Labels, Table, counted, plain, templates
from genorth.compare.render.table import html as table_html
from genorth.compare.render.tables import failures_table
from genorth.compare.runs.record import Records
from genorth.errors import refuse, require
from genorth.files import replace_file

#: What a section may hold: HTML, a Table, a matplotlib Figure, text (paragraphs), or several of
#: these.
Content = Any

#: What every comparison stands on: arrays, performance and data profiles.
_ALWAYS = ("harris2020array", "dolan2002benchmarking", "more2009benchmarking")
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


class Html(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """What Jinja puts into a page."""
        return str(self)


@attrs.frozen
class Section:
    """A part of the page; `short` is for the navigation, where the title is too long for it."""

    title: str
    body: Html
    short: str = ""


class Page:
    """Turns contents into HTML, and writes the file.

    Args:
        records: What the page is about.
        path: The .html file; an old one is replaced when the new one is complete.
        title: The title of the page; None for one of its own.
        labels: How problems and solvers are to be called, by name.

    Raises:
        ValueError: If there are no records, or an argument is not valid.
    """

    def __init__(self, records: Records, path: Any, title: Any, labels: Labels | None) -> None:
        require(len(require_records(records)), "records", "at least one record", "none")
        require(
            isinstance(path, str | os.PathLike) and os.fspath(path),
            "path",
            "the path of an .html file",
            repr(path),
        )
        require(isinstance(title, str | None), "title", "a text", repr(title))
        self._records, self._path, self._labels = records, Path(os.fsdecode(path)), labels
        self._title, self._figures = title, 0

    def write(self, title: str, sections: Sequence[Section]) -> Path:
        """Write the sections that hold something, then failures, settings and citations.

        Args:
            title: The title, where the user gives none.
            sections: The sections.

        Returns:
            The path.
        """
        failures = failures_table(self._records, self._labels)
        last = [
            Section("What failed", self.content(failures or "Nothing failed."), "Failures"),
            Section("Settings and machine", _settings(self._records), "Settings"),
            Section("What to cite", _citations(self._records), "Citations"),
        ]
        shown = [part for part in (*sections, *last) if part.body]
        text = _document(plain(self._title or title), _counted(self._records), shown)
        return replace_file(self._path, text.encode("utf-8"))

    def sections(self, given: Any) -> list[Section]:
        """The sections of the user: pairs (title, content)."""
        try:
            pairs = [(title, content) for title, content in given or ()]
        except (TypeError, ValueError):
            pairs = [(None, None)]
        require(
            all(isinstance(title, str) for title, _ in pairs),
            "sections",
            "pairs (title, content)",
            repr(given),
        )
        return [Section(plain(title), self.content(content, title)) for title, content in pairs]

    def content(self, content: Content, label: str = "") -> Html:
        """What a section holds, as HTML; `label` is read out where there is a figure."""
        if isinstance(content, Html):
            return content
        if isinstance(content, str):
            paragraphs = [text for text in content.split("\n\n") if text.strip()]
            return rendered("paragraphs.html", paragraphs=paragraphs)
        if isinstance(content, Table):
            return Html(table_html(content))
        if hasattr(content, "savefig"):
            return self.figure(content, label)
        if isinstance(content, Sequence):
            return Html("".join(self.content(each, label) for each in content))
        need = "text, Html, a Table, a matplotlib Figure, or a list of these"
        refuse("sections", need, type(content).__name__)

    def figure(self, figure: Any, label: str, caption: str = "") -> Html:
        """A figure with its caption; figures are numbered, so that no two ids are the same."""
        self._figures += 1
        svg = Html(inline(figure, f"f{self._figures}", label))
        return rendered("figure.html", svg=svg, caption=caption)


def rendered(template: str, **values: Any) -> Html:
    """A template of this package, filled in."""
    return Html(templates().get_template(template).render(values))


# ---------------------------------------------------------------------- figures


def inline(figure: Any, name: str, label: str) -> str:
    """Return a matplotlib Figure as an <svg> element: same figure, same bytes, text as text.

    What is black takes the colour of the page's text and the background is left out, so that it
    reads in light and in dark. Styles become attributes, as the page allows no inline styles.

    Args:
        figure: The Figure.
        name: Goes in front of its ids, which must differ within a page.
        label: Is read out.
    """
    import matplotlib

    out = io.BytesIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "genorth"}
    metadata = {"Date": None, "Creator": None}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that matplotlib's font lacks
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(out.getvalue())
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        element.attrib = {
            key: _own(key, value, name)
            for key, value in {**element.attrib, **_styles(element)}.items()
            if key not in ("style", "font-family")
        }
    # The size in points gives way to the style of the page; the viewBox keeps the proportions.
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-label": plain(label), "stroke-linejoin": "round"}
    return ElementTree.tostring(root, encoding="unicode").strip()


def _styles(element: ElementTree.Element) -> dict[str, str]:
    pairs = (item.partition(":") for item in element.get("style", "").split(";"))
    found = {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
    if size := re.search(r"[\d.]+px", found.pop("font", "")):  # as older versions write it
        found["font-size"] = size[0]
    return found


def _own(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href") and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    return "currentColor" if value == "#000000" else value.replace("url(#", f"url(#{name}-")


# ---------------------------------------------------------------------- what every page has


def _settings(records: Records) -> Html:
    environment: dict[str, dict[str, None]] = {}
    options: dict[str, dict[str, None]] = {}
    for record in records:
        for name, value in record.environment.items():
            environment.setdefault(name, {})[value] = None
        if given := record.definition.get("options"):
            place = f"{record.solver} on {record.problem}"
            options.setdefault(place, {})[_text(given)] = None
    tables = {
        "Settings": {name: _text(value) for name, value in records.settings.items()},
        "Options": {name: " / ".join(values) for name, values in options.items()},
        "Machine": {name: " / ".join(values) for name, values in environment.items()},
    }
    return rendered("settings.html", tables={name: t for name, t in tables.items() if t})


def _text(value: Any) -> str:
    """A setting in words: names before values, commas between them."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return "none" if value is None else plain(str(value))


def _citations(records: Records) -> Html:
    cited = [key for about in records.solvers.values() for key in about.cites]
    known = entries()
    found = [known[key].bibtex for key in dict.fromkeys([*cited, *_ALWAYS]) if key in known]
    return rendered("citations.html", bibtex="\n\n".join(found))


def _counted(records: Records) -> str:
    places = {(record.problem, record.size) for record in records}
    counts = [(len(records.distinct("problem")), "problem"), (len(places), "size")]
    counts += [(len(records.distinct(name)), name) for name in ("seed", "tolerance", "solver")]
    counts.append((len(records), "run"))
    return ", ".join(counted(count, name) for count, name in counts)


def _document(title: str, lead: str, sections: Sequence[Section]) -> str:
    folder = files("genorth.compare.render") / "templates"
    style, script = (
        f"\n{(folder / name).read_text(encoding='utf-8')}" for name in ("report.css", "report.js")
    )
    # data: is for pictures within figures; they are part of the page
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    )
    return rendered(
        "report.html",
        title=title,
        lead=lead,
        sections=sections,
        policy=policy,
        style=Html(style),
        script=Html(script),
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
