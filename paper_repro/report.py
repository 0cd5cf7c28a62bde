"""What is made from a folder of records: tables beside the paper's, words, figures, the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from genorth import compare
from genorth.compare import Records, summary, tables
from genorth.compare.analysis import Row, Runs, best_of, by_row, shared
from genorth.compare.render import markdown, times
from genorth.errors import refuse
from genorth.files import replace_file
from genorth.solve.solver import PENALTY, RIEMANNIAN
from paper_repro import agreement, claims, experiments, figures, findings, guide
from paper_repro.data import TIME_LIMIT
from paper_repro.experiments import LABELS, SOLVERS
from paper_repro.findings import Evidence

#: Lines of each trace that a repository keeps, of the tables and of the rest.
_LINES, _FEW = 40, 8


def reference() -> dict[Any, Any]:
    """The paper's figures of all tables."""
    known = experiments.known().values()
    return {key: row for table in known for key, row in table.reference().items()}


def lead(records: Records) -> str:
    """In how many rows the best solver is ten times faster than the faithful RGD."""
    return summary.lead(records, experiments.REFERENCE, guide.FACTOR, guide.FROM, LABELS)


def words(records: Records) -> dict[str, list[str]]:
    """For each table of the paper what it holds, and where it agrees with the paper."""
    known = experiments.known()
    return {
        name: [
            known[name].caption,
            _conditions(records.where(problem=name)),
            *agreement.sentences(known[name], records),
        ]
        for name in records.distinct("problem")
        if name in known
    }


def _conditions(records: Records) -> str:
    """Under which conditions these runs were made."""
    limits = {float(record.definition.get("max_time", math.nan)) for record in records}
    starts = {len(records.where(solver=name).distinct("seed")) for name in records.solvers}
    most = f"{max(starts)} random starts and instances" if max(starts) > 1 else "one start"
    one = ", the solvers of the paper from one" if min(starts) == 1 < max(starts) else ""
    return (
        f"Runs are limited to {' or '.join(f'{each:g}' for each in sorted(limits))} s each"
        f"{', the longer for RGD of the paper' if len(limits) > 1 else ''} (the paper: "
        f"{TIME_LIMIT:.0f} s), with {records.settings.get('threads', 1)} BLAS thread, from "
        f"{most}{one}; penalty methods run with the paper's beta, except where it says auto."
    )


def text(records: Records, format: str = "markdown") -> str:  # noqa: A002  as the tables name it
    """The tables with the paper's figures beside ours, and the words.

    Args:
        records: The records.
        format: "markdown" or "text".

    Returns:
        The text.
    """
    told, beside, parts = words(records), reference(), []
    for name in records.distinct("problem"):
        mine = records.where(problem=name)
        table = tables.paper_layout(mine, format, beside, LABELS).strip()
        parts.append("\n".join([table, *(f"- {line}" for line in told.get(name, []))]))
    return "\n\n".join([*parts, *summary.sentences(records, LABELS), lead(records)]) + "\n"


def lines(records: Records) -> list[str]:
    """One line for each table: who wins, and how far the families are behind."""
    return [
        f"{name}: {summary.line(records.where(problem=name), LABELS)}"
        for name in records.distinct("problem")
    ]


def headline(records: Records) -> list[str]:
    """Who wins over all tables, by how much, and how sure that is."""
    return summary.headline(records, LABELS)


def report(folder: Path) -> Path:
    """Write one self-contained HTML report of everything in the folder.

    Ladder and gallery have reports of their own beside it, with their tables.
    """
    records = experiments.load(folder)
    sections: list[tuple[str, Any]] = [
        *_everything(folder),
        ("Against the paper's solvers", lead(records)),
        ("Agreement with the paper", [compare.Html(_html(words(records)))]),
    ]
    for number, data in figures.load_all(folder).items():
        content = [data.figure.caption, data.draw(), *data.sentences()]
        sections.append((f"Figure {number}", content))
    return compare.report(
        records,
        folder / "report.html",
        "The paper's experiments, measured again",
        sections,
        reference=reference(),
        labels=LABELS,
    )


def _everything(folder: Path) -> list[tuple[str, Any]]:
    """What the tables say together with the ladder and the gallery, where these are there."""
    if not findings.is_complete(folder):
        return []
    evidence = findings.load(folder)
    for part, title in (("ladder", findings.LADDER), ("gallery", findings.GALLERY)):
        records = getattr(evidence, part)
        if len(records):
            compare.report(records, folder / part / "report.html", title, labels=LABELS)
    union = evidence.union
    return [
        (
            "Tables, ladder and gallery together",
            [*guide.result(evidence), compare.plots.behind(union, groups=evidence.groups)],
        ),
        ("All families", [compare.plots.families(union)]),
        (
            "What each ingredient is worth",
            [tables.effects_table(findings.effects(evidence), LABELS)],
        ),
    ]


def _html(told: Mapping[str, list[str]]) -> str:
    return "".join(
        f"<h3>{escape(name)}</h3>\n"
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>\n"
        for name, lines in told.items()
    )


def make(folder: Path, with_report: bool = True) -> list[Path]:
    """Write all that is made from the records of a folder: overview, tables, figures, report.

    The documentation builds its page on the results with it.

    Args:
        folder: The folder with the records and the data of the figures.
        with_report: Whether to write the report too, which takes most of the time.

    Returns:
        The files.
    """
    records, beside = experiments.load(folder), reference()
    contents = {
        "overview.md": overview(records),
        "tables.md": text(records),
        "tables.csv": tables.paper_layout(records, "csv", beside, LABELS),
        "tables.tex": tables.paper_layout(records, "latex", beside, LABELS),
    }
    if findings.is_complete(folder):
        texts = blocks(findings.load(folder))
        parts = (f"## {name.capitalize()}\n\n{text}" for name, text in texts.items())
        contents["findings.md"] = "\n".join(parts)
    made = [replace_file(folder / name, content.encode()) for name, content in contents.items()]
    for number, data in figures.load_all(folder).items():
        for ending in ("svg", "png"):
            made.append(folder / f"figure-{number}.{ending}")
            data.draw().savefig(made[-1], dpi=120)
    return [*made, report(folder)] if with_report else made


def blocks(evidence: Evidence) -> dict[str, str]:
    """The texts that pages show, by name: each is computed from the records alone."""
    return {
        "result": "".join(f"- {line}\n" for line in guide.result(evidence)),
        "aims": "".join(f"- {line}\n" for line in guide.aims(evidence)),
        "classes": findings.by_class(evidence),
        "ingredients": markdown(tables.effects_table(findings.effects(evidence), LABELS)),
        "guide": guide.guide(evidence),
        "default": "".join(f"- {line}\n" for line in guide.default(evidence)),
        "claims": claims.claims(evidence),
    }


def export(records: Records, folder: Path, to: Path) -> list[Path]:
    """Write what a repository keeps: the records, compressed, and the data of the figures.

    Raises:
        ValueError: If `to` is the folder itself.
    """
    if to.resolve() == folder.resolve():
        refuse("--to", "another folder than --out, whose records stay as they are", to)
    sources = [(part, folder / part / "records") for part in ("ladder", "gallery")]
    kept = [compare.save(records, to / "records", _LINES)]
    kept += [
        compare.save(compare.load(source), to / part / "records", _FEW)
        for part, source in sources
        if source.is_dir()
    ]
    return [*kept, *(figures.save(to, data) for data in figures.load_all(folder).values())]


# ---------------------------------------------------------------------- one line per table

_Cell = Callable[[Mapping[str, Runs]], str]


def overview(records: Records) -> str:
    """A Markdown table; entries have the sizes in order, semicolons between the tolerances."""
    rows = by_row(records)
    lines = [["table and sizes", *_CELLS], ["---"] * (1 + len(_CELLS))]
    for problem in records.distinct("problem"):
        mine = {row: runs for row, runs in rows.items() if row[0] == problem}
        sizes = ", ".join(records.where(problem=problem).distinct("size"))
        cells = [_entry(mine, cell) for cell in _CELLS.values()]
        lines.append([f"{problem.removeprefix('Table ')}, {sizes}", *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _entry(rows: Mapping[Row, Mapping[str, Runs]], cell: _Cell) -> str:
    return "; ".join(
        ", ".join(cell(runs) for row, runs in rows.items() if row[2] == tolerance)
        for tolerance in sorted({row[2] for row in rows}, reverse=True)
    )


def _family(runs: Mapping[str, Runs], family: str) -> dict[str, Runs]:
    return {name: run for name, run in runs.items() if SOLVERS[name].family == family}


def _penalty(runs: Mapping[str, Runs]) -> str:
    return _ratio(_family(runs, PENALTY), _family(runs, RIEMANNIAN))


def _faithful(runs: Mapping[str, Runs]) -> str:
    """From the starts that RGD has."""
    over = experiments.REFERENCE
    if over not in runs:
        return "-"
    same = shared(runs, over)
    return _ratio({over: same[over]}, same)


def _ratio(slow: Mapping[str, Runs], fast: Mapping[str, Runs]) -> str:
    """The time of the best of some over that of the best of others; a bound if out of time."""
    best, over = best_of(fast), best_of(slow)
    if best is None:
        return "-"
    if over is not None:
        return times(slow[over].time / fast[best].time).text
    spent = min((run.spent for run in slow.values() if run.out_of_time), default=math.nan)
    return "-" if math.isnan(spent) else f"> {times(spent / fast[best].time).text}"


_CELLS: Mapping[str, _Cell] = {
    "fastest": lambda runs: best_of(runs) or "none",
    "best penalty method over best Riemannian solver, time": _penalty,
    "RGD as the paper ran it over the fastest": _faithful,
}
