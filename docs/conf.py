"""How Sphinx builds these pages: `python -m sphinx -W docs docs/_build`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import genorth

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

project = "genorth"
author = "The genorth developers"
copyright = author  # noqa: A001  Sphinx asks for this name
version = release = genorth.__version__

extensions = [
    "myst_parser",
    "paper_results",
    "pictures",
    "real_problems",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "docstrings",
    "citations",
]
exclude_patterns = [
    "_build",
    "_ext",
    "pictures/*",
    "tour/*",
    "gallery/*.ipynb",
    "instances/*.md",
    "results/overview.md",
    "results/tables.md",
]

# Pages are Markdown. Headings have the anchors that GitHub gives them, so that a link works in both
# places.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

html_theme = "furo"
smartquotes = False  # "auto" and 'jax' are code in plain text
html_title = f"genorth {version}"
html_static_path = ["_static"]
html_css_files = ["genorth.css"]
html_show_sphinx = False

# Docstrings are plain text in Google form, in which single backticks are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_mock_imports = [name for name in ("torch", "optax", "jax") if find_spec(name) is None]
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_display_short_literal_types = True
nitpicky = True
# Names in annotations that have no page: those of other packages, whose inventories would need the
# network, and those of ours that a user never calls by name.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(numpy|np|go|scipy|collections|contextlib|typing|types|hypothesis|pymanopt|matplotlib|pathlib|os|rich|torch|optax)\..*",
    ),
    ("py:.*", r"(.*\.)?(_\w+|Array|Any|Path|Console|Row|Runs)"),
    (
        "py:class",
        r"genorth\.(linalg|geometry|penalty|solve)\.\w+\.(Operator|Point|Monitor|End|Local|Joined|FreePlace)",
    ),
    ("py:class", r"paper_repro\.data\..*"),
]

# The tour is run by each build; an error in it is an error of the build.
sphinx_gallery_conf = {
    "examples_dirs": "tour",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("bare_figures", "matplotlib"),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}
