"""`report`: one self-contained HTML file, made from the Jinja templates beside this module.

The summary comes first, with a plot; then tables that sort, more plots, what failed, the settings
and the machine, and what to cite. The page needs no network, and its content security policy lets
nothing run but its own script.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs

from genorth.bibliography import entries
from genorth.compare.analysis.rows import require_records
from genorth.compare.analysis.tuning import tuned
from genorth.compare.render import plots
from genorth.compare.render.formats import html as table_html
from genorth.compare.render.formats import templates
from genorth.compare.render.styles import Style, styles
from genorth.compare.render.summary import headline, paragraphs
from genorth.compare.render.table import Labels, Names, Table, names_of, plain
from genorth.compare.render.tables import (
    Reference,
    best_table,
    failures_table,
    paper_tables,
    solved_table,
    target_tables,
)
from genorth.compare.render.training import training_sentences, training_tables
from genorth.compare.runs.record import Records
from genorth.errors import refuse
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
class _Section:
    title: str
    body: Html
    #: In the navigation, where the title is too long for it.
    short: str = ""


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
    if not len(require_records(records)):
        refuse("records", "at least one record", "none")
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        refuse("path", "the path of an .html file", repr(path))
    if title is not None and not isinstance(title, str):
        refuse("title", "a text", repr(title))
    page, names = _Page(), names_of(records, labels)
    parts = [
        _summary(page, records, labels),
        *(_Section(plain(name), page.content(each, name)) for name, each in _pairs(sections)),
        _families(page, records, names),
        _Section("All solvers", _profile(page, records, labels), "Solvers"),
        _Section("All times", _overview(page, records, labels), "Times"),
        _Section("Results", page.content(paper_tables(records, reference, labels), "")),
        _Section(
            "Time to a common target", page.content(target_tables(records, labels), ""), "Targets"
        ),
        _convergence(page, records, names),
        _phases(page, records, names),
        *_last(page, records, labels),
    ]
    return _written(path, title or f"Comparison of {len(records.solvers)} solvers", records, parts)


def _last(page: _Page, records: Records, labels: Labels | None) -> list[_Section]:
    """What every report ends with."""
    return [
        _failures(page, records, labels),
        _Section("Settings and machine", _settings(records), "Settings"),
        _Section("What to cite", _citations(records), "Citations"),
    ]


def _written(
    path: str | os.PathLike[str], title: str, records: Records, parts: Sequence[_Section]
) -> Path:
    """Write the page of those parts that hold something."""
    text = _document(plain(title), _counted(records), [part for part in parts if part.body])
    return replace_file(Path(os.fsdecode(path)), text.encode("utf-8"))


def training_report(
    records: Records,
    path: str | os.PathLike[str],
    title: str | None = None,
    sections: Iterable[tuple[str, Content]] | None = None,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    labels: Labels | None = None,
    look: Mapping[str, Style] | None = None,
) -> Path:
    """Write a self-contained HTML report of a comparison by `train`.

    Args:
        records: The records of all step sizes.
        path: The .html file; an old one is replaced when the new one is complete.
        title: The title of the page.
        sections: Further sections, as for `report`.
        known: Held-out losses of answers that are known, by training and name.
        labels: How trainings and methods are to be called.
        look: The styles of the methods.

    Returns:
        The path.

    Raises:
        ValueError: If there are no records.
    """
    if not len(require_records(records)):
        refuse("records", "at least one record", "none")
    page = _Page()
    drawn = plots.training(records, known=known, labels=labels, look=look)
    rates = plots.step_sizes(records, labels=labels, look=look)
    summary = [
        "\n\n".join(training_sentences(records, labels)),
        page.figure(drawn, "Held-out loss and |C|", _TRAINED),
        training_tables(records, labels),
    ]
    parts = [
        _Section("Summary", page.content(summary, "")),
        *(_Section(plain(name), page.content(each, name)) for name, each in _pairs(sections)),
        _Section("Step sizes", page.figure(rates, "Validation loss by step size", _RATES)),
        *_last(page, records, labels),
    ]
    methods = len(tuned(records).solvers)
    return _written(path, title or f"Training by {methods} methods", records, parts)


_TRAINED = (
    "Each method with the step size that has the least median loss on the validation data; the "
    "median over the seeds, within the range of all seeds. Loss: on the held-out data, minus the "
    "least one of all runs and answers. Dotted: answers that are known."
)
_RATES = (
    "The validation loss at the end, the median over the seeds. A step size with which half of the "
    "runs fail or more has no point."
)


def _pairs(sections: Any) -> list[tuple[str, Content]]:
    try:
        pairs = [(title, content) for title, content in sections or ()]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if not all(isinstance(title, str) for title, _ in pairs):
        refuse("sections", "pairs (title, content)", repr(sections))
    return pairs


class _Page:
    """Turns contents into HTML, and numbers the figures so that no two ids are the same."""

    def __init__(self) -> None:
        self._figures = 0

    def content(self, content: Content, label: str) -> Html:
        if isinstance(content, Html):
            return content
        if isinstance(content, str):
            paragraphs = [text for text in content.split("\n\n") if text.strip()]
            return _rendered("paragraphs.html", paragraphs=paragraphs)
        if isinstance(content, Table):
            return Html(table_html(content))
        if hasattr(content, "savefig"):
            return self.figure(content, label)
        if isinstance(content, Sequence):
            return Html("".join(self.content(each, label) for each in content))
        need = "text, Html, a Table, a matplotlib Figure, or a list of these"
        refuse("sections", need, type(content).__name__)

    def figure(self, figure: Any, label: str, caption: str = "") -> Html:
        self._figures += 1
        svg = Html(inline(figure, f"f{self._figures}", label))
        return _rendered("figure.html", svg=svg, caption=caption)


def _rendered(template: str, **values: Any) -> Html:
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


# ---------------------------------------------------------------------- sections


def _summary(page: _Page, records: Records, labels: Labels | None) -> _Section:
    """The first screen: who wins, by how much, how sure, and a plot; then the rest in words."""
    if len({about.family for about in records.solvers.values()}) > 1:
        caption = (
            "A dot for each row: the time of the best solver of a family over the best of the row; "
            "a bar at the median. Hollow: the times over the starts overlap, no family wins. At "
            "the right edge: no solver of the family solves the row."
        )
        figure = page.figure(plots.behind(records), "How far each family is behind", caption)
    else:
        figure = _profile(page, records, labels)
    body = _rendered(
        "summary.html",
        headline=headline(records, labels),
        figure=figure,
        paragraphs=paragraphs(records, labels),
        table=page.content(best_table(records, labels), ""),
    )
    return _Section("Summary", body)


def _profile(page: _Page, records: Records, labels: Labels | None) -> Html:
    caption = (
        "The share of runs that a solver does within a factor of the best one of the same run, by "
        "seconds and by evaluations (Dolan and Mor\u00e9 2002). A run that failed counts as never "
        "done."
    )
    try:
        drawn = plots.profile(records, labels=labels)
    except ValueError as error:  # no start that all solvers have a record of
        return page.content(f"There are no performance profiles: {error}", "")
    return page.figure(drawn, "Performance profiles", caption)


def _overview(page: _Page, records: Records, labels: Labels | None) -> Html:
    caption = (
        "Seconds of each solver; an arrow where it ran out of time. Full dots are penalty methods, "
        "hollow squares Riemannian ones, full squares Riemannian ones as the paper ran them."
    )
    label = "Seconds of each solver in each row"
    return page.figure(plots.overview(records, labels=labels), label, caption)


def _families(page: _Page, records: Records, names: Names) -> _Section:
    """The families side by side, in all and for each problem; and who solves how much."""
    caption = (
        "The best solver of each family in each run, by the way to the tolerance. Above: the share "
        "of runs within a factor of the best; below: within a budget (Mor\u00e9 and Wild 2009)."
    )
    parts = [page.content(solved_table(records, names), "")]
    problems = records.distinct("problem")
    for number, problem in enumerate([None, *problems] if len(problems) > 1 else problems):
        mine = records if problem is None else records.where(problem=problem)
        title = "All problems" if problem is None else names[problem]
        try:
            figure = page.figure(plots.families(mine), f"Families, {title}", caption)
        except ValueError as error:  # no start that all solvers have a record of
            figure = page.content(f"There are no profiles: {error}", "")
        parts.append(_rendered("fold.html", title=title, body=figure, shown=number == 0))
    return _Section("Families side by side", Html("".join(parts)), "Families")


def _convergence(page: _Page, records: Records, names: Names) -> _Section:
    look = styles(records.solvers)
    caption = (
        "Gradient norm (the smallest so far; dotted: the tolerances) and feasibility along the "
        "way, from the same start. Solid: penalty methods, before their last point is restored to "
        "the manifold; broken: Riemannian ones."
    )
    parts = []
    for problem in records.distinct("problem"):
        for number, size in enumerate(records.where(problem=problem).distinct("size")):
            mine = records.where(lambda record: len(record.trace) > 1, problem=problem, size=size)
            if len(mine):
                name = f"{names[problem]} {names[size]}"
                figure = plots.convergence(mine, labels=names, look=look)
                drawn = page.figure(figure, f"Convergence, {name}", caption)
                fold = _rendered("fold.html", title=name, body=drawn, shown=number == 0)
                parts.append(fold)
    return _Section("Convergence", Html("".join(parts)))


def _phases(page: _Page, records: Records, names: Names) -> _Section:
    timed = records.where(lambda record: bool(record.seconds) and record.time > 0)
    caption = (
        "Runs to the tightest tolerance. Cost is the time in the user's functions; the rest is "
        "what no phase covers: the products of the penalty function, the solver's own algebra."
    )
    figures = [
        page.figure(
            plots.phases(timed.where(problem=problem), labels=names),
            f"Time by phase, {names[problem]}",
            caption,
        )
        for problem in timed.distinct("problem")
    ]
    return _Section("Where the time goes", Html("".join(figures)), "Phases")


def _failures(page: _Page, records: Records, labels: Labels | None) -> _Section:
    table = failures_table(records, labels)
    body = page.content("Nothing failed." if table is None else table, "")
    return _Section("What failed", body, "Failures")


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
    return _rendered("settings.html", tables={name: t for name, t in tables.items() if t})


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
    return _rendered("citations.html", bibtex="\n\n".join(found))


# ---------------------------------------------------------------------- the page


def _counted(records: Records) -> str:
    places = {(record.problem, record.size) for record in records}
    counts = [(len(records.distinct("problem")), "problem"), (len(places), "size")]
    counts += [(len(records.distinct(name)), name) for name in ("seed", "tolerance", "solver")]
    counts.append((len(records), "run"))
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)


def _document(title: str, lead: str, sections: Sequence[_Section]) -> str:
    folder = files("genorth.compare.render") / "templates"
    style, script = (
        f"\n{(folder / name).read_text(encoding='utf-8')}" for name in ("report.css", "report.js")
    )
    # data: is for pictures within figures; they are part of the page
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}"
    )
    return _rendered(
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
