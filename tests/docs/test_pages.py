"""What pages claim, and how they are written: figures of the records, lines of at most 100."""

import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from baselines import SOLVERS
from genorth import training
from genorth.compare.analysis import behind, by_row, leaders
from paper_repro import findings
from support.nearest_points import COLUMNS, METHODS, NOT_DONE, outcome, rows

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
#: Written by a program, or by the helpers of the comparison.
_MADE = ("comparison.md", "api/compare.md", "api/paper_repro.md")
_DOCS = {path.relative_to(ROOT / "docs").as_posix(): path for path in ROOT.rglob("docs/**/*.md")}
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(
        _DOCS[name]
        for name in sorted(_DOCS)
        if name not in _MADE and not re.match("(_build|gallery|instances|results)/", name)
    ),
]


@pytest.fixture(scope="module")
def overview() -> dict[str, Any]:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'genorth[report]'")
    extensions = ROOT / "docs" / "_ext"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(extensions)
        return runpy.run_path(str(extensions / "overview.py"))


@pytest.fixture(scope="module")
def evidence(overview: dict[str, Any]) -> Any:
    return overview["load"]()


def test_what_pages_say_of_the_results_is_what_the_records_say(overview, evidence):
    """Every block, word for word; and each text stands on a page."""
    texts, shown = overview["texts"](evidence), set()
    for path in overview["PAGES"]:
        page = path.read_text("utf-8")
        shown |= {found[2] for found in overview["_BLOCK"].finditer(page)}
        assert overview["filled"](page, texts) == page, path.name
    assert shown == texts.keys()


def test_what_the_guide_says_is_what_the_records_say(evidence):
    """choosing.md and README: the fastest, the fewest evaluations, the best of each kind."""
    fast = findings.standings(evidence.union)
    known = {name: SOLVERS[name.partition(",")[0]] for name in fast.index}
    first = [name for name in fast.index if "hessian" not in known[name].needs]
    penalty = [name for name in fast.index if known[name].family == "penalty"]
    assert next(name for name in penalty if name in first) == "odf-lbfgs"
    assert (fast.index[0], first[0], penalty[0]) == ("rtr", "rgd", "odf-tr")
    assert findings.standings(evidence.union, "evaluations").index[0] == "rlbfgs"
    for (name, *_), each in findings.effects(evidence).items():
        if "condition 1000" in name or "of the domain" in name:
            assert each.gain("evaluations") > 1, name
    wins = findings.won(by_row(evidence.union))
    assert wins["Riemannian"] >= 0.95 * sum(wins.values())
    assert (wins["penalty"], wins["infeasible"]) == (0, 1)
    assert 2 * sum(wins.values()) < len(by_row(evidence.union))
    assert findings.won(by_row(evidence.kinds["nonsmooth"]))["infeasible"] == 1


def test_the_plot_shows_every_row(overview, evidence):
    rows = by_row(evidence.union)
    axes = overview["figure"](evidence).axes
    dots = sum(
        len(line.get_xdata())
        for axis in axes
        for line in axis.lines
        if line.get_marker() not in ("None", None)
    )
    dots += sum(int(text.get_text().split()[0]) for axis in axes for text in axis.texts)
    assert dots == sum(len(behind(runs)) for runs in rows.values())


#: A number with what it counts: measured, or stated.
_NUMBER = re.compile(
    r"(?<![\w$^{.-])\d[\d.,]*(?: (?:and|to) \d[\d.]*)?\s?"
    r"(?:times|%|ms\b|s\b|µs|seconds|minutes|[GMT]B\b|evaluations|iterations|arrays|runs|rows)"
)
#: Those outside of made blocks and of printed output: set, derived, or held by another test.
_STATED = {
    "comparison.md": ["252 rows of the paper"],  # tests/paper_repro
    "errata.md": ["below 40 arrays"],  # tests/paper/test_errata_experiments.py
    "infeasible.md": ["over 20 iterations", "make 20 iterations", "within 3000 iterations"],  # set
    "metrics.md": ["in 10 000 iterations and 10 s"],  # set
    "mutants.md": ["300 seconds of"],  # set
    "penalty.md": ["less than 1.2 times as", "above 2.5 times the rule", "1.5 times it"],  # set
    "real-problems.md": ["With 1000 rows"],  # of another program
    # derived
    "scaling.md": ["160 GB", "with 9 arrays", "with 17 arrays", "30 passes", "With 2 TB"],
    "statements.md": ["time of 100 iterations"],  # set
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_measured_number_is_made_from_a_record(path, overview):
    """Numbers with a unit stand in blocks that are filled from records, or are listed above."""
    text = overview["_BLOCK"].sub("", path.read_text("utf-8"))
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    stated = _STATED.get(path.name, [])
    measured = [line for line in text.splitlines() if _NUMBER.search(line)]
    assert [line for line in measured if not any(part in line for part in stated)] == []
    assert all(any(part in line for line in measured) for part in stated)


def test_what_to_train_with_is_what_the_records_say(overview):
    """pytorch.md: the first choice, the price of penalty and constraint, the steps of POGO."""
    stochastic = overview["stochastic"]
    records = training.load(stochastic.RECORDS)
    rows = {problem: runs for (problem, *_), runs in by_row(training.tuned(records)).items()}
    for problem, runs in rows.items():
        ours = {name: runs[name] for name in stochastic.OURS}
        first = leaders(ours, figure="held_out")
        assert {"RiemannianSGD", "RiemannianAdam"} & set(first) or first == ("Muon",)
        assert (first == ("Muon",)) == (problem == "adding")
        cheap = sorted(ours, key=lambda name: ours[name].median("cpu"))[:3]
        assert {"Pogo", "SubspaceDescent"} & set(cheap)
    losses = {name: each.spread("held_out") for name, each in rows["pca"].items()}
    for dissolved in ("oblique, AdamW", "orthogonal, AdamW"):
        assert losses[dissolved][0] > max(losses["RiemannianSGD"][2], losses["RiemannianAdam"][2])
    assert min(losses, key=lambda name: losses[name][1]) == "geoopt, Adam"
    assert rows["pca"]["geoopt, Adam"].median("cpu") < rows["pca"]["RiemannianAdam"].median("cpu")
    for problem in ("recall", "autoencoder"):
        free = rows[problem]["no constraint, AdamW"].spread("held_out")[2]
        held = (runs for name, runs in rows[problem].items() if not name.startswith("no "))
        assert free < min(each.spread("held_out")[0] for each in held)
    lost = Counter(record.method for record in records if not record.success)
    assert lost["POGO as published"] > lost["Pogo"]


def test_the_plot_is_small_and_needs_no_network():
    assert (ROOT / "docs" / "_static" / "stochastic.png").stat().st_size < 60_000
    drawing = (ROOT / "docs" / "_static" / "overview.svg").read_text("utf-8")
    assert len(drawing) < 200_000
    assert not re.search(r"(href|src)=.https?:", drawing)


def test_readme_is_short():
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_short_lines_speaks_of_ideas_and_explains_short_names(page):
    """At most 100 characters, rows of tables and commands aside.

    Numbers of facts stay with the mathematics; cdf and odf are explained on each page.
    """
    text = page.read_text("utf-8")
    open_ended = ("|", "python3 -m venv")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(open_ended)]
    assert [line for line in lines if len(line) > 100] == []
    if page.name not in ("mathematics.md", "statements.md", "contributing.md"):
        assert not re.findall(r"\bF\d{1,2}\b", text)
    if re.search(r"\b(cdf|odf)-", text) and page.name != "CHANGELOG.md":
        assert "dissolving function" in " ".join(text.split())


PAGE = (ROOT / "docs" / "infeasible.md").read_text("utf-8")
_SHORT = {"landing-newton-normal": "-normal"}


def _table(heading: str) -> list[list[str]]:
    """The cells of the table that begins with the heading."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows())
def test_the_table_of_evaluations_is_what_is_measured(row):
    """To a factor of two; kernels round differently, and hundreds may be four times as many."""
    heading, _, *body = _table("problem")
    assert heading[1:] == [_SHORT.get(name, name) for name in COLUMNS]
    assert [line[0] for line in body] == list(rows())
    (cells,) = (line[1:] for line in body if line[0] == row)
    wrong = {}
    for name, cell in zip(COLUMNS, cells, strict=True):
        found = outcome(row, name)
        if cell == NOT_DONE:
            fits = found == NOT_DONE
        elif int(cell) < 400:
            fits = found != NOT_DONE and int(cell) / 2 <= int(found) <= 2 * int(cell)
        else:
            fits = found == NOT_DONE or int(found) >= int(cell) / 4
        if not fits:
            wrong[name] = (cell, found)
    assert wrong == {}


def test_the_page_says_where_each_method_fails_and_why():
    _, _, *body = _table("method")
    named = [name for cells in body for name in re.findall(r"`([^`]+)`", cells[0])]
    assert sorted(named) == sorted(METHODS)
    assert all(len(cells) == 3 and all(cells) for cells in body)


@pytest.mark.slow
def test_the_modes_of_a_laplacian():
    """With rows over two devices; the eigenvalues of the grid are known."""
    pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    flags = "--xla_force_host_platform_device_count=2"
    ended = subprocess.run(
        [sys.executable, ROOT / "docs/examples/laplacian_modes.py", "--grid=12,9,9", "--levels=1"],
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("CONVERGED") == 2
    assert "each device holds 486 of 972 rows" in ended.stdout
    error = re.search(r"largest relative error of an eigenvalue: (\S+)", ended.stdout)
    assert error is not None and abs(float(error[1])) < 1e-4
