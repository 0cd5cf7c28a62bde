"""`report`: one self-contained HTML file on a comparison.

The summary comes first, with a plot; then tables that sort, more plots, what failed, the settings
and the machine, and what to cite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from genorth.compare.render import plots
from genorth.compare.render.page import Content, Html, Page, Section, rendered
from genorth.compare.render.styles import styles
from genorth.compare.render.summary import headline, paragraphs
from genorth.compare.render.table import Labels, Names, names_of
from genorth.compare.render.tables import (
    Reference,
    best_table,
    paper_tables,
    solved_table,
    target_tables,
)
from genorth.compare.runs.record import Records

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
