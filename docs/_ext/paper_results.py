"""Makes docs/results (tables, figures, report) from its records, as `paper_repro results` does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from paper_repro import report


def make(app: Any) -> None:
    """Make the results; the report, which takes long, only where it is missing or outdated."""
    folder = Path(app.srcdir) / "results"
    kept = [*(folder / "records").iterdir(), *folder.glob("figure-*.json")]
    made, newest = folder / "report.html", max(path.stat().st_mtime for path in kept)
    report.make(folder, with_report=False)
    tables = folder / "tables.md"
    link = r"[erratum R\1](../errata.md#r\1)"
    tables.write_text(re.sub(r"erratum R(\d+)", link, tables.read_text("utf-8")), "utf-8")
    if not made.exists() or made.stat().st_mtime < newest:
        report.report(folder, parts=False)


def setup(app: Any) -> dict[str, Any]:
    """Before the pages are read."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True}
