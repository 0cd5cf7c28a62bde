"""Makes docs/instances, the list of real-problems.md: a picture and the answer for each instance.

An instance that takes minutes, or whose package is not installed, has a sentence alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import genorth as go
from genorth import compare, gallery
from genorth.compare import Records
from genorth.compare.render import markdown, markdown_text
from genorth.gallery import comparison

#: Their answers alone take minutes.
_LONG = ("kohn-sham-chromium", "kohn-sham-nickel-oxide")


def make(app: Any) -> None:
    """Write the list and the pictures."""
    folder = Path(app.srcdir) / "instances"
    folder.mkdir(exist_ok=True)
    sources = gallery.sources().values()
    about = {name: entry.about for source in sources for name, entry in source.instances.items()}
    kept = compare.load(Path(app.srcdir) / "results" / "gallery" / "records")
    parts = [part for name in gallery.names() for part in _parts(folder, name, about[name], kept)]
    (folder / "all.md").write_text("\n\n".join(parts) + "\n", "utf-8")


def _parts(folder: Path, name: str, about: str, kept: Records) -> Iterator[str]:
    """The section of an instance."""
    yield f"### {name}"
    reason = "It takes minutes." if name in _LONG else gallery.why_not(name)
    if reason:
        yield markdown_text(f"{about} Not run here: {reason}")
        return
    instance = gallery.load(name)
    yield markdown_text(comparison.sentence(instance))
    found = go.minimize(instance.problem, instance.start, metric=instance.metric, max_time=30.0)
    yield markdown_text(
        f"go.minimize chooses {found.method} and finds {found.fun:.9g} with {found.evaluations} "
        f"evaluations (relative error {abs(instance.error(found.fun)):.0e})."
    )
    if (figure := comparison.picture(instance, found.x)) is not None:
        figure.savefig(folder / f"{name}.png", dpi=80)
        yield f"![{name}](instances/{name}.png)"
    if records := kept.where(problem=name, seed=comparison.PRACTICE, success=True):
        best = sorted(records, key=lambda record: record.time)[:5]
        yield "The fastest solvers in [our measurements](results/index.md):"
        yield markdown(comparison.table(instance, Records(best))).strip()


def setup(app: Any) -> dict[str, Any]:
    """Before the pages are read."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True}
