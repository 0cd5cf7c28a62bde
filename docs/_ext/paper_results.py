"""Makes docs/results (tables, figures, report) from its records, as `paper_repro results` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paper_repro import report


def make(app: Any) -> None:
    """Make what is missing, or older than the records and the data of the figures."""
    folder = Path(app.srcdir) / "results"
    kept = [*(folder / "records").iterdir(), *folder.glob("figure-*.json")]
    made = folder / "report.html"  # the last file that is made
    if not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in kept):
        report.make(folder)


def setup(app: Any) -> dict[str, Any]:
    """Before the pages are read."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True}
