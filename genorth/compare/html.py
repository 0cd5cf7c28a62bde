"""`report`: one HTML file with everything in it, to be sent to a colleague.

No network is needed to read it.

The summary comes first, then tables that sort, plots, what failed, the settings and the machine,
and what to cite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from genorth.compare import plots
from genorth.compare.bibliography import bibtex
from genorth.compare.formats import html as table_html
from genorth.compare.record import Records
from genorth.compare.styles import styles
from genorth.compare.summary import sentences
from genorth.compare.svg import inline
from genorth.compare.table import Labels, Table
from genorth.compare.tables import Reference, paper_tables, target_tables
from genorth.compare.winners import best_table, failures_table
from genorth.errors import refuse

#: What a section may hold: HTML, a Table, a matplotlib Figure, text (paragraphs), or several of
#: these.
Content = Any


# Forbids every load from elsewhere: the page is the same on a machine without network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Html(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


@attrs.frozen
class _Section:
    title: str
    body: str
    #: In the navigation, where the title is too long for it.
    short: str = ""

    @property
    def anchor(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


def report(
    records: Records,
    path: str | Path,
    title: str | None = None,
    sections: Iterable[tuple[str, Content]] | None = None,
    *,
    reference: Reference | None = None,
    labels: Labels | None = None,
) -> Path:
    """Write the report of the records to `path` (an .html file) and return it.

    sections: further ones, (title, content) each, to stand behind the summary; content is text,
    `Html`, a `Table`, a matplotlib Figure, or a list of these. reference: figures to show beside
    ours, as for `tables.paper_layout`. labels: how problems and solvers are to be called, by name.
    """
    if not len(records):
        refuse("records", "at least one record", "none")
    labels = labels or {}
    page = _Page()
    parts = [
        _summary(page, records, labels),
        *(_Section(name, page.content(content, name)) for name, content in sections or ()),
        _Section("Results", page.content(paper_tables(records, reference, labels), "")),
        _Section(
            "Time to a common target", page.content(target_tables(records, labels), ""), "Targets"
        ),
        _profiles(page, records, labels),
        _convergence(page, records, labels),
        _phases(page, records, labels),
        _failures(page, records, labels),
        _Section("Settings and machine", _settings(records), "Settings"),
        _Section("What to cite", _citations(records), "Citations"),
    ]
    name = title or f"Comparison of {len(records.distinct('solver'))} solvers"
    out = Path(path)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        _document(name, _counted(records), [part for part in parts if part.body]), encoding="utf-8"
    )
    return out


class _Page:
    """Turns contents into HTML, and numbers the figures so that no two ids are the same."""

    def __init__(self) -> None:
        self._figures = 0

    def content(self, content: Content, label: str) -> str:
        if isinstance(content, Html):
            return str(content)
        if isinstance(content, str):
            return "".join(
                f"<p>{escape(text)}</p>\n" for text in content.split("\n\n") if text.strip()
            )
        if isinstance(content, Table):
            return table_html(content)
        if hasattr(content, "savefig"):
            return self.figure(content, label)
        if isinstance(content, Sequence):
            return "".join(self.content(each, label) for each in content)
        refuse(
            "sections",
            "text, Html, a Table, a matplotlib Figure, or a list of these",
            type(content).__name__,
        )

    def figure(self, figure: Any, label: str, caption: str = "") -> str:
        self._figures += 1
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return f"<figure>{inline(figure, f'f{self._figures}', label)}{below}</figure>\n"


# ---------------------------------------------------------------------- sections


def _summary(page: _Page, records: Records, labels: Labels) -> _Section:
    problems = [labels.get(problem, problem) for problem in records.distinct("problem")]
    words = "".join(f"<p>{_led(sentence, problems)}</p>" for sentence in sentences(records, labels))
    caption = (
        "Seconds of each solver; an arrow where it ran out of time. Full dots are penalty methods, hollow squares "
        "Riemannian ones, full squares Riemannian ones as the paper ran them."
    )
    figure = page.figure(
        plots.overview(records, labels=labels), "Seconds of each solver in each row", caption
    )
    table = page.content(best_table(records, labels), "")
    return _Section("Summary", f'<div class="summary">{words}</div>{figure}{table}')


def _led(sentence: str, problems: Sequence[str]) -> str:
    """The sentence, with the problem that it begins with in bold."""
    name = next((name for name in problems if sentence.startswith(f"{name}: ")), "")
    return (
        f"<strong>{escape(name)}</strong>{escape(sentence[len(name) :])}"
        if name
        else escape(sentence)
    )


def _profiles(page: _Page, records: Records, labels: Labels) -> _Section:
    """Where there is something to compare."""
    title = "Performance profiles"
    if len(records.distinct("solver")) < 2:
        return _Section(title, "")
    try:
        figure = plots.profile(records, labels=labels)
    except ValueError as error:  # no start that all solvers have a record of
        return _Section(title, page.content(str(error), ""), "Profiles")
    caption = (
        "The share of runs that a solver does within a factor of the best one of the same run, by seconds and by "
        "evaluations (Dolan and More 2002). A run that failed counts as never done."
    )
    return _Section(title, page.figure(figure, title, caption), "Profiles")


def _convergence(page: _Page, records: Records, labels: Labels) -> _Section:
    look = styles(records.distinct("solver"))
    caption = (
        "Gradient norm (the smallest so far; dotted: the tolerances) and feasibility along the way, from the same "
        "start. Solid: penalty methods, before their last point is restored to the manifold; broken: Riemannian ones."
    )
    parts = []
    for problem in records.distinct("problem"):
        for number, size in enumerate(records.where(problem=problem).distinct("size")):
            mine = records.where(lambda record: len(record.trace) > 1, problem=problem, size=size)
            if len(mine):
                name = " ".join([labels.get(problem, problem), size])
                figure = page.figure(
                    plots.convergence(mine, labels=labels, look=look),
                    f"Convergence, {name}",
                    caption,
                )
                shown = " open" if number == 0 else ""
                parts.append(
                    f"<details{shown}><summary>{escape(name)}</summary>{figure}</details>\n"
                )
    return _Section("Convergence", "".join(parts))


def _phases(page: _Page, records: Records, labels: Labels) -> _Section:
    timed = records.where(lambda record: bool(record.seconds) and record.time > 0)
    if not len(timed):
        return _Section("Where the time goes", "")
    caption = (
        "Runs to the tightest tolerance. Cost is the time in the user's functions; the rest is what no phase covers: "
        "the products of the penalty function, the solver's own algebra."
    )
    figures = [
        page.figure(
            plots.phases(timed.where(problem=problem), labels=labels),
            f"Time by phase, {problem}",
            caption,
        )
        for problem in timed.distinct("problem")
    ]
    return _Section("Where the time goes", "".join(figures), "Phases")


def _failures(page: _Page, records: Records, labels: Labels) -> _Section:
    table = failures_table(records, labels)
    return _Section(
        "What failed", "<p>Nothing.</p>" if table is None else page.content(table, ""), "Failures"
    )


def _settings(records: Records) -> str:
    environment: dict[str, list[str]] = {}
    for record in records:
        for name, value in record.environment.items():
            if value not in environment.setdefault(name, []):
                environment[name].append(value)
    machine = {name: " / ".join(values) for name, values in environment.items()}
    parts = []
    for title, fields in (("Settings", records.settings), ("Machine", machine)):
        if fields:
            rows = "".join(
                f'<tr><th scope="row">{escape(str(name))}</th><td>{escape(_text(value))}</td></tr>'
                for name, value in fields.items()
            )
            parts.append(
                f'<h3>{title}</h3><div class="scroll"><table class="plain"><tbody>{rows}</tbody></table></div>'
            )
    return "".join(parts) or "<p>The records hold none.</p>"


def _text(value: Any) -> str:
    """A setting in words: names before values, commas between them, semicolons between several sets of names."""
    if isinstance(value, dict):
        return ", ".join(
            f"{name} {_text(item)}"
            for name, item in value.items()
            if item not in ({}, [], None, "")
        )
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(item, dict) for item in value) else ", ").join(
            map(_text, value)
        )
    return "none" if value is None else str(value)


def _citations(records: Records) -> str:
    text = escape(bibtex(records.distinct("solver")))
    button = '<button type="button" class="copy" data-from="bibtex">copy</button>'
    return f'<p>BibTeX of the methods used. {button}</p><pre id="bibtex" tabindex="0">{text}</pre>'


# ---------------------------------------------------------------------- the page


def _counted(records: Records) -> str:
    places = {(record.problem, record.size) for record in records}
    counts = [(len(records.distinct("problem")), "problem"), (len(places), "size")]
    counts += [(len(records.distinct(name)), name) for name in ("seed", "tolerance", "solver")]
    counts.append((len(records), "run"))
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)


def _document(title: str, lead: str, sections: Sequence[_Section]) -> str:
    assets = files("genorth.compare") / "assets"
    style, script = (
        (assets / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    links = "".join(
        f'<a href="#{part.anchor}">{escape(part.short or part.title)}</a>' for part in sections
    )
    bodies = "".join(
        f'<section id="{part.anchor}"><h2>{escape(part.title)}</h2>\n{part.body}</section>\n'
        for part in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="genorth">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
<nav aria-label="Sections">{links}</nav>
<main>
{bodies}</main>
<script>
{script}</script>
</body>
</html>
"""
