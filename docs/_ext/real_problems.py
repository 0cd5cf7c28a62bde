"""Makes docs/instances, the list of real-problems.md: a picture and a table for each instance.

Instances whose package is not installed have their sentence alone, with the extra to install.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import baselines  # noqa: F401  registers its solvers
from genorth import gallery
from genorth.compare.render import markdown, markdown_text
from genorth.gallery import comparison


def make(app: Any) -> None:
    """Write the list and the pictures."""
    folder = Path(app.srcdir) / "instances"
    folder.mkdir(exist_ok=True)
    sources = gallery.sources().values()
    about = {name: entry.about for source in sources for name, entry in source.instances.items()}
    parts = [part for name in gallery.names() for part in _parts(folder, name, about[name])]
    (folder / "all.md").write_text("\n\n".join(parts) + "\n", "utf-8")


def _parts(folder: Path, name: str, about: str) -> Iterator[str]:
    """The section of an instance."""
    yield f"### {name}"
    if reason := gallery.why_not(name):
        yield markdown_text(f"{about} Not run here: {reason}")
        return
    instance = gallery.load(name)
    yield markdown_text(comparison.sentence(instance))
    figure = comparison.picture(instance)
    if figure is not None:
        figure.savefig(folder / f"{name}.png", dpi=80)
        yield f"![{name}](instances/{name}.png)"
    solvers = comparison.DEFAULTS["quick"]["solvers"]
    records = comparison.run(None, [name], solvers, max_time=20.0, progress=None)
    yield markdown(comparison.table(instance, records)).strip()


def setup(app: Any) -> dict[str, Any]:
    """Before the pages are read."""
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True}
