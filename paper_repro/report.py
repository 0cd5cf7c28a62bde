"""What is made from a folder of records: tables beside the paper's, figures, pages, the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from genorth import compare
from genorth.compare import Records, render, summary, tables
from genorth.compare.render import Table
from genorth.errors import refuse
from genorth.files import replace_file
from paper_repro import experiments, figures, findings
from paper_repro.data import TIME_LIMIT
from paper_repro.experiments import LABELS
from paper_repro.kinds import KINDS

#: Lines of each trace that a repository keeps, of the tables and of the rest.
_LINES, _FEW = 40, 8
_PARTS = {
    "ladder": findings.LADDER,
    "gallery": findings.GALLERY,
    **{name: kind.title for name, kind in KINDS.items()},
}


def blocks(evidence: findings.Evidence) -> dict[str, Table]:
    """The tables that pages and the report show of all results, by name."""
    return {
        "classes": findings.classes(evidence),
        "ingredients": findings.ingredients(evidence),
        "solvers": findings.solvers(evidence.union),
        "claims": findings.claims(evidence.paper),
        "newer": findings.newer(evidence),
        "leads": findings.leads(evidence.paper),
        "default": findings.default(evidence),
        "misses": findings.misses(evidence),
    }


def notes(records: Records) -> dict[str, list[str]]:
    """For each table of the paper what it holds, and why ours differ."""
    known = experiments.known()
    return {
        name: [known[name].caption, *known[name].differences]
        for name in records.distinct("problem")
        if name in known
    }


def text(records: Records, format: str = "markdown") -> str:  # noqa: A002  as the tables name it
    """The tables with the paper's figures beside ours, notes, and who wins.

    Args:
        records: The records.
        format: "markdown" or "text".

    Returns:
        The text.
    """
    told, beside, parts = notes(records), experiments.reference(), []
    for name in records.distinct("problem"):
        mine = records.where(problem=name)
        table = tables.paper_layout(mine, format, beside, LABELS).strip()
        parts.append("\n".join([table, *(f"- {line}" for line in told.get(name, []))]))
    if told:
        parts.append(getattr(render, format)(findings.agreement(records)).strip())
    return "\n\n".join([*parts, *summary.sentences(records, LABELS)]) + "\n"


def lines(records: Records) -> list[str]:
    """One line for each problem: who wins, and how far the families are behind."""
    return [
        f"{name}: {' '.join(summary.headline(records.where(problem=name), LABELS))}"
        for name in records.distinct("problem")
    ]


def report(folder: Path, parts: bool = True) -> Path:
    """Write one self-contained HTML report of everything in the folder.

    Args:
        folder: The folder with the records.
        parts: Whether ladder, gallery and the other kinds get reports of their own beside it.

    Returns:
        The file.
    """
    records = compare.load(folder / "records")
    told = [f"{name}: {' '.join(lines)}" for name, lines in notes(records).items()]
    limit = f"In the paper a run may take {TIME_LIMIT:.0f} s."
    sections: list[tuple[str, Any]] = [
        *_everything(folder, parts),
        ("Agreement with the paper", [findings.agreement(records), limit, *told] if told else ""),
    ]
    for number, data in figures.load_all(folder).items():
        content = [data.figure.caption, data.draw(), data.told()]
        sections.append((f"Figure {number}", content))
    return compare.report(
        records,
        folder / "report.html",
        "The paper's experiments, measured again",
        sections,
        reference=experiments.reference(),
        labels=LABELS,
        own=(),
    )


def _everything(folder: Path, reports: bool) -> list[tuple[str, Any]]:
    """What the tables say together with the other records, where these are there."""
    if not findings.is_complete(folder):
        return []
    evidence = findings.load(folder)
    parts = {"ladder": evidence.ladder, "gallery": evidence.gallery, **evidence.kinds}
    for part, records in parts.items():
        if reports and len(records):
            page = folder / part / "report.html"
            compare.report(records, page, _PARTS[part], labels=LABELS, own=())
    shown, union = blocks(evidence), evidence.union
    behind = compare.plots.behind(union, groups=evidence.groups)
    return [
        ("All kinds of problem together", [shown["classes"], behind, shown["solvers"]]),
        ("All families", [compare.plots.families(union)]),
        ('What "auto" costs, and peers', [shown["default"], shown["misses"]]),
        ("What each ingredient is worth", [shown["ingredients"]]),
        ("The paper's claims", [shown["claims"]]),
        ("Claims of newer papers", [shown["newer"]]),
        ("Lead over RGD as the paper ran it", [shown["leads"]]),
    ]


def make(folder: Path, with_report: bool = True) -> list[Path]:
    """Write all that is made from the records of a folder: overview, tables, figures, report.

    The documentation builds its page on the results with it.

    Args:
        folder: The folder with the records and the data of the figures.
        with_report: Whether to write the report too, which takes most of the time.

    Returns:
        The files.
    """
    records = compare.load(folder / "records")
    paper = tables.paper_tables(records, experiments.reference(), LABELS)
    contents = {
        "overview.md": "".join(f"- {line}\n" for line in lines(records)),
        "tables.md": text(records),
        "tables.csv": render.table.render(paper, "csv"),
        "tables.tex": render.table.render(paper, "latex"),
    }
    made = [replace_file(folder / name, content.encode()) for name, content in contents.items()]
    for number, data in figures.load_all(folder).items():
        figure = data.draw()
        for ending in ("svg", "png"):
            made.append(folder / f"figure-{number}.{ending}")
            figure.savefig(made[-1], dpi=120)
    return [*made, report(folder)] if with_report else made


def export(folder: Path, to: Path) -> list[Path]:
    """Write what a repository keeps: the records, compressed, and the data of the figures.

    Raises:
        ValueError: If `to` is the folder itself, or has no records.
    """
    if to.resolve() == folder.resolve():
        refuse("--to", "another folder than --out, whose records stay as they are", to)
    lines = {Path(): _LINES} | {Path(part): _FEW for part in _PARTS}
    kept = [
        compare.save(compare.load(folder / part / "records"), to / part / "records", count)
        for part, count in lines.items()
        if part == Path() or (folder / part / "records").is_dir()
    ]
    return [*kept, *(figures.save(to, data) for data in figures.load_all(folder).values())]
