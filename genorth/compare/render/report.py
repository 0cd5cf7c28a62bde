"""`report`: one self-contained HTML file on a comparison, made of Jinja templates.

The summary comes first, with a figure and its controls; then tables, what failed, the settings and
the machine, and what to cite. Plotly draws in the browser, from the runs that the page holds. It
stands in the page, packed: no network is needed, and the content security policy lets nothing run
but these two scripts. Without scripts the page shows figures by matplotlib.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from genorth.bibliography import entries
from genorth.compare.analysis.rows import require_records
from genorth.compare.render import plots
from genorth.compare.render.payload import own_solvers, payload
from genorth.compare.render.styles import matplotlib
from genorth.compare.render.summary import headline, paragraphs
from genorth.compare.render.table import Labels, Table, counted, names_of, plain, templates
from genorth.compare.render.table import html as table_html
from genorth.compare.render.tables import (
    Reference,
    best_table,
    checked,
    failures_table,
    solved_table,
)
from genorth.compare.render.terminal import chosen
from genorth.compare.runs.record import Records
from genorth.errors import refuse, require
from genorth.files import replace_file
from genorth.optional import optional

#: What a section may hold: HTML, a Table, a matplotlib Figure, text (paragraphs), or several of
#: these.
Content = Any

#: What every comparison stands on: arrays, performance and data profiles.
_ALWAYS = ("harris2020array", "dolan2002benchmarking", "more2009benchmarking")


# ---------------------------------------------------------------------- the page


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
        self._title = title

    def write(self, title: str, sections: Sequence[Section], data: str = "") -> Path:
        """Write the sections that hold something, then failures, settings and citations.

        Args:
            title: The title, where the user gives none.
            sections: The sections.
            data: What the script reads.

        Returns:
            The path.
        """
        failures = failures_table(self._records, self._labels) or "Nothing failed."
        last = [
            Section("What failed", self.content(failures, "What failed"), "Failures"),
            Section("Settings and machine", _settings(self._records), "Settings"),
            Section("What to cite", _citations(self._records), "Citations"),
        ]
        shown = [part for part in (*sections, *last) if part.body]
        text = _document(plain(self._title or title), _counted(self._records), shown, data)
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
            return Html(table_html(content, label))
        if hasattr(content, "savefig"):
            return self.figure(content, label)
        if isinstance(content, Sequence):
            return Html("".join(self.content(each, label) for each in content))
        need = "text, Html, a Table, a matplotlib Figure, or a list of these"
        refuse("sections", need, type(content).__name__)

    def figure(self, figure: Any, label: str, caption: str = "") -> Html:
        """A matplotlib Figure as a picture of the page, with its caption: same figure, same bytes.

        A browser runs nothing within a picture, and its style turns it round where it is dark.
        """
        out, settings = io.BytesIO(), {"svg.fonttype": "none", "svg.hashsalt": "genorth"}
        with matplotlib().rc_context(settings), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that matplotlib's font lacks
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        svg = base64.b64encode(out.getvalue()).decode()
        return rendered("figure.html", svg=svg, label=plain(label), caption=caption)


def rendered(template: str, **values: Any) -> Html:
    """A template of this package, filled in."""
    return Html(templates().get_template(template).render(values))


# ---------------------------------------------------------------------- what every page has


def _settings(records: Records) -> Html:
    environment: dict[str, dict[str, None]] = {}
    options: dict[str, dict[str, None]] = {}
    for record in records:
        for name, value in record.environment.items():
            environment.setdefault(name, {})[value] = None
        if given := record.definition.get("options"):
            options.setdefault(f"{record.solver} on {record.problem}", {})[_text(given)] = None
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
    names = ("problem", "solver", "seed", "tolerance")
    counts = {name: len(records.distinct(name)) for name in names} | {"run": len(records)}
    return ", ".join(counted(count, name) for name, count in counts.items())


def _document(title: str, lead: str, sections: Sequence[Section], data: str) -> str:
    folder = files("genorth.compare.render") / "templates"
    style, script = (
        f"\n{(folder / name).read_text(encoding='utf-8')}" for name in ("report.css", "report.js")
    )
    # pictures within figures are part of the page; Plotly adds rules to an empty style
    own = f"style-src {_hash(style)} {_hash('')}; script-src {_hash(script)}"
    policy = f"default-src 'none'; img-src data: blob:; {own}"
    return rendered(
        "report.html",
        title=title,
        lead=lead,
        sections=sections,
        policy=f"{policy} {_packed()[1]}" if data else policy,
        style=Html(style),
        script=Html(script),
        data=Html(data),
    )


@cache
def _packed() -> tuple[str, str]:
    """Plotly's script, packed, and its hash for the policy of the page."""
    optional("plotly", "report", "The report")
    script = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    packed = base64.b64encode(gzip.compress(script, mtime=0)).decode()
    return packed, _hash(script.decode("utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# ---------------------------------------------------------------------- the report

_BEHIND = (
    "A dot for each row: the time of the best solver of a family over the least of the row, from "
    "the same starts; a bar at the median. Hollow: the times over the starts overlap, no family "
    "wins."
)
_PROFILE = (
    "The share of runs that a solver solves within a factor of the best one of the same run, by "
    "wall seconds, CPU seconds and evaluations (Dolan and Mor\u00e9 2002). A failed run counts as "
    "unsolved."
)
_NO_SCRIPT = "<p>A browser that runs scripts shows here each solver in each row.</p>"
#: The controls of the page: label, name, and what can be chosen; the script fills in the filters.
_CHOICES = {
    "Figure": ("view", {"behind": "how far behind the best", "profile": "performance profile",
                        "budget": "solved within a budget", "times": "all rows",
                        "convergence": "convergence", "phases": "where the time goes"}),
    "By": ("by", {"time": "wall seconds", "cpu": "CPU seconds", "evaluations": "evaluations",
                  "time_to": "seconds to the tolerance",
                  "evaluations_to": "evaluations to the tolerance"}),
    "Of": ("lines", {"family": "families", "solver": "solvers"}),
    "Height": ("up", {"gradient_norm": "gradient norm", "feasibility": "|C(X)|",
                      "cost": "f minus the lowest"}),
    "Across": ("x", {"log": "logarithmic", "linear": "linear"}),
    "Up": ("y", {"log": "logarithmic", "linear": "linear"}),
    **{label: (label.lower() if label != "Start" else "seed", {})
       for label in ("Problem", "Size", "Tolerance", "Start")},
}  # fmt: skip


def report(
    records: Records,
    path: str | os.PathLike[str],
    title: str | None = None,
    sections: Iterable[tuple[str, Content]] | None = None,
    *,
    reference: Reference | None = None,
    labels: Labels | None = None,
    own: Iterable[str] | None = None,
    progress: Any = "brief",
) -> Path:
    """Write a self-contained, interactive HTML report of the records.

    Args:
        records: The records.
        path: The .html file; an old one is replaced when the new one is complete.
        title: The title of the page.
        sections: Further sections, (title, content) each, to stand behind the summary; content is
            text, `Html`, a `Table`, a matplotlib Figure, or a list of these.
        reference: Figures to show beside ours, as for `tables.paper_layout`.
        labels: How problems and solvers are to be called, by name.
        own: The solvers that are yours, by name: they are marked, and the first sentence is about
            them. By default those that are not registered, where others are.
        progress: "brief" (on a terminal, a bar that says what is done), None, or an `Observer`.

    Returns:
        The path.

    Raises:
        ValueError: If there are no records, or an argument is not valid.
    """
    page = Page(records, path, title, labels)
    names, mine = names_of(records, labels), own_solvers(records, own)
    with closing(chosen(progress)) as shown:
        shown.start(4)
        shown.tell("writing the report: runs and curves")
        runs = payload(records, names, checked(reference), mine)
        shown.tell("writing the report: figures")
        figures = _still(page, records, labels)
        shown.tell("writing the report: tables")
        choices = [(label, name, found.items()) for label, (name, found) in _CHOICES.items()]
        body = rendered(
            "summary.html",
            headline=headline(records, labels, mine),
            paragraphs=paragraphs(records, labels),
            figures=figures,
            choices=choices,
        )
        solved, still = solved_table(records, names), best_table(records, labels)
        winners = Html(f'<div id="winners" class="grid">{page.content(still)}</div>')
        parts = [
            Section("Summary", body),
            *page.sections(sections),
            Section("Winners", winners),
            Section("Results", Html(f'<div id="results" class="grid">{_NO_SCRIPT}</div>')),
            Section("Solved", page.content(solved, "Solved")),
        ]
        data = (
            f'<script type="application/json" id="runs">{runs}</script>'
            f'<script type="text/plain" id="plotly">{_packed()[0]}</script>'
        )
        shown.tell("writing the report: the file")
        return page.write(f"Comparison of {counted(len(records.solvers), 'solver')}", parts, data)


def _still(page: Page, records: Records, labels: Labels | None) -> Html:
    """The figures of a page that runs no script."""
    drawn = []
    if len({about.family for about in records.solvers.values()}) > 1:
        figure = plots.behind(records)
        drawn.append(page.figure(figure, "How far each family is behind", _BEHIND))
    try:
        figure = plots.profile(records, labels=labels)
        drawn.append(page.figure(figure, "Performance profiles", _PROFILE))
    except ValueError as error:  # no start that all solvers have a record of
        drawn.append(page.content(f"There are no profiles: {error}"))
    return Html("".join(drawn))
