"""`report`: one self-contained HTML file on a comparison, made of Jinja templates.

The summary comes first, with a plot; then tables that sort, more plots, what failed, the settings
and the machine, and what to cite. The page needs no network, and its content security policy lets
nothing run but its own script.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from genorth.bibliography import entries
from genorth.compare.analysis.rows import require_records
from genorth.compare.render import plots
from genorth.compare.render.styles import matplotlib, styles
from genorth.compare.render.summary import headline, paragraphs
from genorth.compare.render.table import Labels, Names, Table, counted, names_of, plain, templates
from genorth.compare.render.table import html as table_html
from genorth.compare.render.tables import (
    Reference,
    best_table,
    failures_table,
    paper_tables,
    solved_table,
    target_tables,
)
from genorth.compare.runs.record import Records
from genorth.errors import refuse, require
from genorth.files import replace_file

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


# ---------------------------------------------------------------------- the report

_BEHIND = (
    "A dot for each row: the time of the best solver of a family over the best of the row; a bar "
    "at the median. Hollow: the times over the starts overlap, no family wins. At the right edge: "
    "no solver of the family solves the row."
)
_PROFILE = (
    "The share of runs that a solver does within a factor of the best one of the same run, by "
    "seconds and by evaluations (Dolan and Mor\u00e9 2002). A run that failed counts as never done."
)
_TIMES = (
    "Seconds of each solver; an arrow where it ran out of time. Full dots are penalty methods, "
    "hollow squares Riemannian ones, full squares Riemannian ones as the paper ran them."
)
_FAMILIES = (
    "The best solver of each family in each run, by the way to the tolerance. Above: the share "
    "of runs within a factor of the best; below: within a budget (Mor\u00e9 and Wild 2009)."
)
_CONVERGENCE = (
    "Gradient norm (the smallest so far; dotted: the tolerances) and feasibility along the "
    "way, from the same start. Solid: penalty methods, before their last point is restored to "
    "the manifold; broken: Riemannian ones."
)
_PHASES = (
    "Runs to the tightest tolerance. Cost is the time in the user's functions; the rest is "
    "what no phase covers: the products of the penalty function, the solver's own algebra."
)


def report(
    records: Records,
    path: str | os.PathLike[str],
    title: str | None = None,
    sections: Iterable[tuple[str, Content]] | None = None,
    *,
    reference: Reference | None = None,
    labels: Labels | None = None,
) -> Path:
    """Write a self-contained HTML report of the records.

    Args:
        records: The records.
        path: The .html file; an old one is replaced when the new one is complete.
        title: The title of the page.
        sections: Further sections, (title, content) each, to stand behind the summary; content is
            text, `Html`, a `Table`, a matplotlib Figure, or a list of these.
        reference: Figures to show beside ours, as for `tables.paper_layout`.
        labels: How problems and solvers are to be called, by name.

    Returns:
        The path.

    Raises:
        ValueError: If there are no records, or an argument is not valid.
    """
    page = Page(records, path, title, labels)
    names = names_of(records, labels)
    times = plots.overview(records, labels=labels)
    parts = [
        _summary(page, records, labels),
        *page.sections(sections),
        _families(page, records, names),
        Section("All solvers", _profile(page, records, labels), "Solvers"),
        Section(
            "All times", page.figure(times, "Seconds of each solver in each row", _TIMES), "Times"
        ),
        Section("Results", page.content(paper_tables(records, reference, labels))),
        Section("Time to a common target", page.content(target_tables(records, labels)), "Targets"),
        _convergence(page, records, names),
        _phases(page, records, names),
    ]
    return page.write(f"Comparison of {len(records.solvers)} solvers", parts)


def _summary(page: Page, records: Records, labels: Labels | None) -> Section:
    """The first screen: who wins, by how much, how sure, and a plot; then the rest in words."""
    if len({about.family for about in records.solvers.values()}) > 1:
        figure = page.figure(plots.behind(records), "How far each family is behind", _BEHIND)
    else:
        figure = _profile(page, records, labels)
    body = rendered(
        "summary.html",
        headline=headline(records, labels),
        figure=figure,
        paragraphs=paragraphs(records, labels),
        table=page.content(best_table(records, labels)),
    )
    return Section("Summary", body)


def _profile(page: Page, records: Records, labels: Labels | None) -> Html:
    return _drawn(
        page, lambda: plots.profile(records, labels=labels), "Performance profiles", _PROFILE
    )


def _drawn(page: Page, draw: Callable[[], Any], label: str, caption: str) -> Html:
    """A plot of profiles, which need a start that all solvers have a record of."""
    try:
        return page.figure(draw(), label, caption)
    except ValueError as error:
        return page.content(f"There are no profiles: {error}")


def _fold(title: str, body: Html, shown: bool) -> Html:
    return rendered("fold.html", title=title, body=body, shown=shown)


def _families(page: Page, records: Records, names: Names) -> Section:
    """The families side by side, in all and for each problem; and who solves how much."""
    parts = {names[problem]: mine for problem, mine in records.by("problem").items()}
    if len(parts) > 1:
        parts = {"All problems": records, **parts}
    folds = [page.content(solved_table(records, names))]
    for number, (title, mine) in enumerate(parts.items()):
        draw = partial(plots.families, mine)
        figure = _drawn(page, draw, f"Families, {title}", _FAMILIES)
        folds.append(_fold(title, figure, number == 0))
    return Section("Families side by side", Html("".join(folds)), "Families")


def _convergence(page: Page, records: Records, names: Names) -> Section:
    look, folds = styles(records.solvers), []
    for problem, rows in records.by("problem").items():
        for number, (size, runs) in enumerate(rows.by("size").items()):
            if len(mine := runs.where(lambda record: len(record.trace) > 1)):
                title = f"{names[problem]} {names[size]}"
                figure = plots.convergence(mine, labels=names, look=look)
                drawn = page.figure(figure, f"Convergence, {title}", _CONVERGENCE)
                folds.append(_fold(title, drawn, number == 0))
    return Section("Convergence", Html("".join(folds)))


def _phases(page: Page, records: Records, names: Names) -> Section:
    timed = records.where(lambda record: bool(record.seconds) and record.time > 0)
    figures = [
        page.figure(plots.phases(mine, labels=names), f"Time by phase, {names[problem]}", _PHASES)
        for problem, mine in timed.by("problem").items()
    ]
    return Section("Where the time goes", Html("".join(figures)), "Phases")
