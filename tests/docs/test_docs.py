"""The documentation builds without a warning, has every public name, and shows its formulas."""

import importlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

import genorth.gallery.commands
import paper_repro.commands
from support import chromium

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: The pages of the tour, each with the number of its pictures.
TOUR = {"1_solve": 2, "2_constraint": 1, "3_compare": 1, "4_train": 1}
PICTURES = sorted((DOCS / "pictures").glob("*.py"))
_NAMED = (
    "genorth genorth.riemannian genorth.compare genorth.training genorth.gallery "
    "genorth.testing genorth.interop.pymanopt baselines"
)
MODULES = _NAMED.split()

needs_chromium = pytest.mark.skipif(chromium.CHROMIUM is None, reason=chromium.REASON)


def _build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a copy of the pages, as the tour leaves files beside them."""
    made = {"_build", "gallery", "instances"}  # beside the pages; results/gallery has records

    def left(path: str, names: list[str]) -> set[str]:
        return {"__pycache__"} | (made if Path(path) == DOCS else set())

    shutil.copytree(DOCS, folder / "docs", ignore=left)
    # the report of the results takes long, and has tests of its own
    (folder / "docs" / "results" / "report.html").write_text("<!doctype html>", "utf-8")
    for path in ROOT.iterdir():  # what pages link to lies where they expect it
        if path.name != "docs" and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-d", str(folder / "doctrees")]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(folder / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | threads | {"MPLBACKEND": "Agg"},
        timeout=900,  # two minutes on an idle machine; it may be a busy one
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The built pages; processes of one test run (xdist) share them, and the first builds them."""
    fcntl = pytest.importorskip("fcntl", reason="locks need a POSIX system")
    needed = "sphinx myst_parser furo sphinx_gallery latex2mathml matplotlib jax optax"
    for module in needed.split():
        pytest.importorskip(module, reason=f"{module} is missing: pip install 'genorth[docs]'")
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    with (folder.parent / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            done = _build(folder)
            (folder / "log").write_text(f"{done.stdout}{done.stderr}", "utf-8")
            (folder / "code").write_text(str(done.returncode), "utf-8")
    return folder


def _pages(site: Path) -> list[str]:
    """Those that Sphinx made; a report that a page links to has tests of its own."""
    pages = (path.relative_to(site / "html").as_posix() for path in (site / "html").rglob("*.html"))
    return sorted(page for page in pages if not page.startswith("_downloads/"))


def _ids(page: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', page.read_text("utf-8")))


def test_the_pages_build_without_a_warning(site):
    assert (site / "code").read_text() == "0", (site / "log").read_text("utf-8")
    for name, pictures in TOUR.items():
        tour = (site / "html" / "gallery" / f"plot_{name}.html").read_text("utf-8")
        shown = re.findall(rf'src="([^"]+/sphx_glr_plot_{name}_\d+\.png)"', tour)
        assert len(set(shown)) == pictures
        assert "Warning" not in tour


def test_each_picture_stands_on_a_page_for_light_and_for_dark(site):
    pages = "".join(page.read_text("utf-8") for page in (site / "html").glob("*.html"))
    for script in PICTURES:
        for theme in ("light", "dark"):
            assert len(re.findall(rf'class="only-{theme}" src="[^"]+/{script.stem}-', pages)) == 1
            drawing = (site / "docs" / "pictures" / f"{script.stem}-{theme}.svg").read_text("utf-8")
            assert "fill: #ffffff" not in drawing  # the page is the background
            assert ("#222222" in drawing, "#dddddd" in drawing) == (
                theme == "light",
                theme == "dark",
            )


@pytest.mark.parametrize("script", PICTURES, ids=lambda script: script.stem)
def test_panels_of_a_picture_neither_overlap_nor_leave_it(script, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs 'genorth[report]'")
    pyplot.switch_backend("Agg")
    pytest.importorskip("sphinx", reason="needs 'genorth[docs]'")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    figure = importlib.import_module("pictures").drawn(script)
    figure.draw_without_rendering()  # a figure without pyplot has no canvas that draws
    boxes = [axis.get_tightbbox() for axis in figure.axes]
    pyplot.close("all")
    assert boxes
    for box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize(
    ("stem", "page"),
    [("instal", "index"), ("quaternion", "index"), ("spars", "sparse"), ("product", "products")],
)
def test_search_finds_what_readers_look_for(site, stem, page):
    text = (site / "html" / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    found = [kind[stem] for kind in (index["terms"], index["titleterms"]) if stem in kind]
    numbers = {n for each in found for n in (each if isinstance(each, list) else [each])}
    assert page in {index["docnames"][number] for number in numbers}


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(site, module):
    known = set().union(*(_ids(page) for page in (site / "html" / "api").glob("*.html")))
    package = importlib.import_module(module)
    ids = {
        # a module is in the reference by its own name
        name: f"module-{value.__name__}" if isinstance(value, ModuleType) else f"{module}.{name}"
        for name in package.__all__
        for value in (getattr(package, name),)
    }
    missing = [name for name, target in ids.items() if target not in known]
    assert not missing


def test_links_of_the_readme_lead_to_a_page_and_a_heading(site):
    links = re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", (ROOT / "README.md").read_text("utf-8"))
    assert any(path.startswith("docs/") for path, _ in links)
    for path, heading in links:
        assert (ROOT / path).exists(), path
        if heading:
            page = (site / "html" / path.removeprefix("docs/")).with_suffix(".html")
            assert heading in _ids(page), f"{path}#{heading}"


@pytest.mark.parametrize(
    ("program", "page", "count"),
    [
        (paper_repro.commands.main, "comparison.md", 9),
        (genorth.gallery.commands.main, "real-problems.md", 3),
    ],
    ids=["paper_repro", "gallery"],
)
def test_the_commands_of_a_page_are_known(program, page, count):
    text = (DOCS / page).read_text("utf-8")
    commands = re.findall(rf"^{program.name} *([^#\n]*)", text, re.MULTILINE)
    assert len(commands) == count
    for command in commands:
        options = program.options(command.split())
        assert set(getattr(options, "names", None) or []) <= set(genorth.gallery.names())


@needs_chromium
def test_a_browser_shows_every_formula(site):
    wrong, formulas, console = chromium.look(site / "html", _pages(site))
    assert not wrong
    assert not console
    # A page has as many formulas in the browser as in its source: none was lost on the way, or
    # taken for text.
    docs = site / "docs"
    # in the page beside; without formulas
    included = {docs / "results" / name for name in ("overview.md", "tables.md")}
    included.add(docs / "instances" / "all.md")
    # those of the reference come from docstrings
    pages = [p for p in docs.rglob("*.md") if p not in included and p.parent != docs / "api"]
    sources = {path.relative_to(docs).with_suffix(".html").as_posix(): path for path in pages}
    assert {page: formulas[page] for page in sources} == {
        page: _formulas(path) for page, path in sources.items()
    }
    assert formulas["index.html"] > 0
    assert formulas["api/manifolds.html"] > 20


_INCLUDE = re.compile(
    r"^```\{include\} (\.\./\S+)\n:start-after: (.+)\n:end-before: (.+)\n```$", re.MULTILINE
)


def _formulas(page: Path) -> int:
    def included(match: re.Match[str]) -> str:
        text = (page.parent / match[1]).read_text("utf-8")
        return text.partition(match[2])[2].partition(match[3])[0]

    text = _INCLUDE.sub(included, page.read_text("utf-8"))
    lines = re.MULTILINE | re.DOTALL
    text = re.sub(r"^```\{picture\} \w+$(.*?)^```$", r"\1", text, flags=lines)  # its caption
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=lines)
    return len(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", text, re.DOTALL))


def test_the_tour_runs_as_a_script(monkeypatch, capsys):
    """That of a constraint; the build runs the others."""
    pyplot = pytest.importorskip(
        "matplotlib.pyplot", reason="matplotlib is not installed: pip install 'genorth[report]'"
    )
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    try:
        end = runpy.run_path(str(DOCS / "tour" / "plot_2_constraint.py"))
        assert pyplot.get_fignums()
    finally:
        pyplot.close("all")
    assert "FAIL  3 companion" in capsys.readouterr().out
    for result in (end["by_penalty"], end["on_manifold"]):
        assert result.success
        assert abs(result.fun - end["known"]) <= 1e-12 * end["n"] * abs(end["known"])
