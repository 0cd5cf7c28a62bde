"""The directive `picture`: what a script of docs/pictures draws, for light and for dark pages.

A script has a docstring, which readers without the picture get, and a function `draw()` that
returns a matplotlib Figure. Each script is run when the pages are built, and shown below.
"""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parents[1] / "pictures"
#: The colours of lines and letters on light and on dark pages.
INK = {"light": "#222222", "dark": "#dddddd"}
_LOOK = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    # of Okabe and Ito, as far as they read on white and on black
    "axes.prop_cycle": "cycler('color', ['#0a84cc', '#d55e00', '#009e73', '#b45a95'])",
}
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")


def drawn(script: Path) -> Any:
    """The figure of a script, for light pages."""
    import matplotlib

    look = _LOOK | dict.fromkeys((*_INKED, "legend.labelcolor", "lines.color"), INK["light"])
    with matplotlib.rc_context(look):
        return runpy.run_path(str(script))["draw"]()


def make(app: Any) -> None:
    """Draw all pictures that are older than their scripts."""
    import matplotlib.pyplot as plt

    for script in sorted((Path(app.srcdir) / "pictures").glob("*.py")):
        light, dark = (script.with_name(f"{script.stem}-{theme}.svg") for theme in INK)
        if not dark.exists() or dark.stat().st_mtime < script.stat().st_mtime:
            drawn(script).savefig(light, transparent=True)
            dark.write_text(light.read_text("utf-8").replace(*INK.values()), "utf-8")
        plt.close("all")


class Picture(SphinxDirective):
    """`{picture} name` with a caption: both drawings of a script, the caption, and the script."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The nodes of the figure, and of the script behind a fold."""
        name = self.arguments[0]
        script = Path(self.env.srcdir) / "pictures" / f"{name}.py"
        source = script.read_text("utf-8")
        self.env.note_dependency(str(script))
        about = ast.get_docstring(ast.parse(source)) or name
        figure = nodes.figure(align="center")
        for theme in INK:
            uri = f"pictures/{name}-{theme}.svg"
            figure += nodes.image(uri=uri, alt=about, classes=[f"only-{theme}"])
        caption = nodes.caption("", "")
        for child in self.parse_content_to_nodes():
            caption += child.children
        figure += caption
        fold = '<details class="source"><summary>Code of this picture</summary>'
        code = nodes.literal_block(source, source, language="python")
        return [
            figure,
            nodes.raw("", fold, format="html"),
            code,
            nodes.raw("", "</details>", format="html"),
        ]


def setup(app: Any) -> dict[str, Any]:
    """Draw before the pages are read."""
    app.connect("builder-inited", make)
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
