"""What is made of a folder: the tables with the paper's figures beside ours, the words, the report, and the export."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from genorth import compare
from genorth.compare import Record, Records, summary, tables
from genorth.compare.execute import thinned
from paper_repro import agreement, figures
from paper_repro.drawings import draw
from paper_repro.experiments import LABELS, Experiment
from paper_repro.folder import Folder, known_experiments
from paper_repro.short import short

_FACTOR, _FROM = (
    10.0,
    5.0,
)  # the lead over the faithful RGD that is asked for, and where: from so many seconds on
_LINES = 150  # of a trace that is exported


def reference(experiments: Iterable[Experiment]) -> dict[Any, Any]:
    """The paper's figures of all of them."""
    return {
        key: figures
        for experiment in experiments
        for key, figures in experiment.reference().items()
    }


def lead(records: Records) -> str:
    """In how many rows the best solver is ten times faster than the faithful RGD, where that takes over 5 s."""
    return summary.lead(records, "rgd-faithful", _FACTOR, _FROM, LABELS)


def words(records: Records) -> dict[str, list[str]]:
    """For each table what it holds, and where it agrees with the paper."""
    known = known_experiments()
    told = agreement.by_table(known, records)
    return {
        name: [known[name].caption, _limit(records), *told.get(name, [])]
        for name in records.distinct("problem")
        if name in known
    }


def _limit(records: Records) -> str:
    settings = records.settings
    return (
        f"Runs are limited to {settings['time_limit']:g} s each (the paper: 1800 s), with {settings['threads']} BLAS "
        "thread; penalty methods run with the paper's beta, except where it says auto."
    )


def report(folder: Folder, path: Path | None = None) -> Path:
    """The report of everything in the folder, as one HTML file."""
    records = folder.records()
    sections: list[tuple[str, Any]] = [
        ("Against the paper's solvers", lead(records)),
        ("Agreement with the paper", [compare.Html(_html(words(records)))]),
    ]
    for number, data in _figures(folder).items():
        content = [
            figures.plan(number).caption,
            draw(number, data),
            *figures.sentences(number, data),
        ]
        sections.append((f"Figure {number}", content))
    known = known_experiments().values()
    return compare.report(
        records,
        path or folder.path / "report.html",
        "The paper's experiments, measured again",
        sections,
        reference=reference(known),
        labels=LABELS,
    )


def _html(told: Mapping[str, list[str]]) -> str:
    from html import escape

    return "".join(
        f"<h3>{escape(name)}</h3>\n<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>\n"
        for name, lines in told.items()
    )


def _figures(folder: Folder) -> dict[int, dict[str, Any]]:
    found = {number: folder.figure(number) for number in figures.FIGURES}
    return {number: data for number, data in found.items() if data is not None and data["runs"]}


# ---------------------------------------------------------------------- in text


def text(records: Records, format: str = "markdown") -> str:  # noqa: A002  the name that the tables have
    """The tables with the paper's figures beside ours, in Markdown or plain text, and the words."""
    known, parts = known_experiments(), []
    told = words(records)
    for name in records.distinct("problem"):
        mine = records.where(problem=name)
        beside = known[name].reference() if name in known else None
        parts.append(tables.paper_layout(mine, format, beside, LABELS).strip())
        parts += [f"- {line}" for line in told.get(name, [])]
    parts += [*summary.sentences(records, LABELS), lead(records)]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def export(folder: Folder, to: Path) -> list[Path]:
    """Tables (also in short), figures (SVG, PNG and data), report and thinned records.

    To be committed.
    """
    records = folder.records()
    to.mkdir(parents=True, exist_ok=True)
    made = [_write(to / "tables.md", text(records)), _write(to / "short.md", short(records))]
    beside = reference(known_experiments().values())
    for format, ending in (("csv", "csv"), ("latex", "tex")):  # noqa: A001  the name that the function has
        made.append(
            _write(to / f"tables.{ending}", tables.paper_layout(records, format, beside, LABELS))
        )
    for number, data in _figures(folder).items():
        made.append(_write(to / f"figure-{number}.json", json.dumps(data, indent=1) + "\n"))
        drawing = draw(number, data)
        for ending in ("svg", "png"):
            path = to / f"figure-{number}.{ending}"
            drawing.savefig(path, dpi=120)
            made.append(path)
    made.append(report(folder, to / "report.html"))
    made.append(
        _write(to / "records" / "settings.json", json.dumps(records.settings, indent=1) + "\n")
    )
    made.append(
        _write(
            to / "records" / "records.jsonl", "".join(f"{_thin(r).to_json()}\n" for r in records)
        )
    )
    return made


def _thin(record: Record) -> Record:
    return attrs.evolve(record, trace=thinned(record.trace, _LINES))


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path
