"""The report, its summary and plots; the page is opened in headless Chromium if there is one."""

import io
import math
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines import SOLVERS
from genorth.compare import Html, Records, report, summary
from genorth.compare.render.styles import styles
from genorth.compare.render.table import Block, Entry, Head, Line, Table
from genorth.compare.runs.record import COLUMNS, About
from support.chromium import CHROMIUM, REASON, findings
from support.compare_records import record, small_comparison, timed, times, trace
from support.processes import printed

pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
from genorth.compare import plots

# ---------------------------------------------------------------------- in words


def _rows(**seconds: list[float]) -> list[Any]:
    """The times of each solver, one for each size."""
    return [
        timed(solver, time, size=f"({n})")
        for solver, row in seconds.items()
        for n, time in enumerate(row)
    ]


def _named(**seconds: list[float]) -> dict[str, list[float]]:
    """Keywords to names of solvers: cdf_gd to cdf-gd."""
    return {name.replace("_", "-"): row for name, row in seconds.items()}


INF = math.inf
_ONE_START = "One start each: how much the times vary from start to start is not known."


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (
            _named(cdf_gd=[10.0, 5.7], rtr=[1.0, 1.5]),
            [
                "rtr is fastest in both rows.",
                "Riemannian wins both rows, 6.9x faster in the median (3.8x to 10x).",
            ],
        ),
        (
            _named(cdf_gd=[1.0, 9.0, 2.0], cdf_tr=[8.0, 1.0, 3.0], rgd=[5.0, 2.0, 1.0]),
            [
                "cdf-gd is fastest in 1 of 3 rows, cdf-tr in 1 and rgd in 1.",
                "Penalty wins 2 of 3 rows, 2x faster in the median (0.5x to 5x).",
            ],
        ),
        (
            _named(cdf_gd=[1.0, INF], rgd=[INF, INF]),
            [
                "cdf-gd is fastest in 1 of 2 rows. No solver succeeds in 1 of 2 rows.",
                "Only penalty solvers succeed in 1 row.",
            ],
        ),
        (
            _named(cdf_gd=[2.0], rgd=[1.0], landing=[3.0]),
            [
                "rgd is fastest in the one row.",
                "Riemannian beats penalty in the one row, 2x faster.",
                "Penalty beats infeasible in the one row, 1.5x faster.",
                "Riemannian beats infeasible in the one row, 3x faster.",
            ],
        ),
    ],
)  # fmt: skip
def test_the_headline_says_who_wins_by_how_much_and_how_sure(seconds, said):
    assert summary.headline(Records(_rows(**seconds))) == [*said, _ONE_START]


def test_sentences_tell_failures_labels_and_other_minima():
    records = [*times(a=1.0, b=math.nan)]
    records += [record("c", status="UNSUPPORTED", time=math.nan)]
    records += [record("a", status="UNPREPARED", time=math.nan, seed=1)]
    assert summary.sentences(Records(records), {"matching": "Table 1", "a": "A"}) == [
        "Table 1: No solver succeeds in the one row.",
        "1 of 2 runs failed: raised 1 (b 1).",
        "1 run was skipped, because the solver does not run on the problem: c 1.",
        "1 run was skipped, because the problem could not be made: A 1.",
    ]
    assert summary.sentences(Records([])) == ["There are no records."]
    start = trace(1.0, start=10.0)
    elsewhere = [record("a", 1.0, fun=3.0, trace=start), record("b", 2.0, fun=1.0, trace=start)]
    first, second = summary.sentences(Records(elsewhere))
    assert first.endswith("(4,2) to 1e-5 the winner, a, ends at an f 2 above the lowest.")
    assert second == "All 2 runs succeeded."


def test_a_frame_has_one_row_for_each_run_and_one_column_for_each_of_the_list():
    pytest.importorskip("pandas", reason="frames need the extra: pip install 'genorth[report]'")
    records = small_comparison()
    frame = records.to_frame()
    assert list(frame.columns) == [column.name for column in COLUMNS] and "nit" in frame
    assert frame.shape[0] == len(records)
    assert frame["solver"].tolist() == [record.solver for record in records]
    assert frame.groupby("family")["success"].sum().to_dict() == {
        family: sum(record.success for record in records.where(family=family))
        for family in ("penalty", "Riemannian")
    }
    assert frame["time"].isna().sum() == sum(math.isnan(record.time) for record in records)
    assert Records([]).to_frame().shape == (0, len(COLUMNS))


def test_every_solver_is_drawn_in_its_own_way():
    own = {name: About(label=name) for name in ("mine", "yours", "theirs", "ours")}
    solvers = dict(SOLVERS) | own | {"placed": About(label="placed", family="infeasible")}
    found = styles(solvers)
    assert len({str(style.line()) for style in found.values()}) == len(solvers)
    assert len({str(style.dot()) for style in found.values()}) == len(solvers)
    for name, solver in SOLVERS.items():
        assert bool(found[name].dashes) == (solver.family in ("Riemannian", "infeasible"))
        # A style depends on the record alone, so that it is the same in every plot.
        if solver.family in ("penalty", "Riemannian"):
            assert styles({"other name": solver})["other name"] == found[name]


def test_convergence_draws_the_traces():
    records = small_comparison().where(problem="matching", size="(40,6)")
    axes = np.reshape(plots.convergence(records).axes, (2, 2))
    for column, across in enumerate(("time", "evaluations")):
        drawn = dict(zip(records.solvers, axes[0, column].get_lines(), strict=False))
        run = records.where(solver="cdf-gd", seed=0, tolerance=1e-9)[0]
        x, y = drawn["cdf-gd"].get_data()
        assert x.tolist() == [value for value in getattr(run.trace, across) if value > 0]
        assert y.tolist() == run.trace.gradient_norm[-len(x) :]
        assert axes[0, column].get_xscale() == axes[1, column].get_yscale() == "log"
        assert len(axes[1, column].get_lines()) == len(records.solvers)
    (legend,) = plots.convergence(records).legends
    assert [text.get_text() for text in legend.get_texts()] == list(records.solvers)


def test_profile_is_drawn_in_steps():
    axes = plots.profile(Records(_rows(a=[1.0, 4.0], b=[2.0, 1.0]))).axes
    line = axes[0].get_lines()[0]
    assert line.get_drawstyle() == "steps-post" and line.get_xdata().tolist() == [1.0, 4.0, 6.0]
    assert line.get_ydata().tolist() == [0.5, 1.0, 1.0]


def test_phases_add_up_to_the_whole():
    timed = record("rgd", 2.0, seconds={"cost": 0.5, "retraction": 1.0, "own": 0.1})
    axis = plots.phases(Records([timed, record("cdf-gd", 1.0)])).axes[0]
    widths = [bar.get_width() for bar in axis.patches]
    assert widths == pytest.approx([0.25, 0.5, 0.05, 0.2]) and sum(widths) == pytest.approx(1)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["rgd"]


def test_plots_of_runs_without_figures_can_be_drawn():
    empty = trace(0.0, math.nan, feasibility=0.0)
    nothing = Records([record("mine", status="RAISED", time=math.nan, trace=empty)])
    for draw in (plots.overview, plots.convergence, plots.phases, plots.profile):
        draw(nothing).savefig(io.BytesIO(), format="svg")


def test_overview_has_a_dot_for_each_success_and_an_arrow_for_each_time_limit():
    axis = plots.overview(Records(times(a=1.0, b=2.0, c=math.inf, d=math.nan))).axes[0]
    drawn = [line for line in axis.get_lines() if len(line.get_xdata())]
    assert [line.get_xdata()[0] for line in drawn] == [1.0, 2.0, 60.0]
    assert [line.get_marker() == ">" for line in drawn] == [False, False, True]


def test_plots_do_not_load_pyplot():
    code = (
        "import sys; from genorth.compare.render import styles\n"
        "import genorth.compare; assert 'matplotlib' not in sys.modules\n"
        "styles.panels(1, 1, 1, 1); assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert printed(code) == ""


# ---------------------------------------------------------------------- the page

ATTACK = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'
NUMBERS = ["3", "> 60", "1.2e-05", "-", "0.5", "1e3", "raised"]


def _sections() -> list[tuple[str, Any]]:
    entries = [Entry(text, failed=text == "raised") for text in NUMBERS]
    numbers = Table("numbers", [Head("value")], [Block("", [Line([entry]) for entry in entries])])
    words = ["One paragraph.\n\nAnother <b>one</b>.", Html("<p id='own'>as <em>it</em> is</p>")]
    figure = plots.overview(Records(times(a=1.0)))
    return [("Own section", [*words, numbers]), ("Own figure", figure)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = {"problem": "<i>p</i>", "size": '"&', "seed": 9}
    attacked = record("cdf-gd", status="RAISED", time=math.nan, message=ATTACK, **key)
    records = Records([*small_comparison(), attacked], small_comparison().settings)
    path = tmp_path_factory.mktemp("report") / "below" / "report.html"
    assert report(records, path, "A <title>", _sections()) == path
    return path


_PICTURE = "data:image/svg+xml;base64"


class _Parser(HTMLParser):
    """Checks that elements are closed in the order in which they were opened."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        source = dict(attrs).get("src") or ""
        if tag in ("link", "iframe", "object") or source.partition(",")[0] not in ("", _PICTURE):
            self.loads.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_whole_and_loads_nothing(page):
    parser = _Parser()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.open == [] and parser.loads == []


def test_page_holds_what_it_must(page):
    text = page.read_text(encoding="utf-8")
    titles = [unescape(title) for title in re.findall(r"<h2>(.*?)</h2>", text)]
    assert "; ".join(titles) == (
        "Summary; Own section; Own figure; Families side by side; All solvers; All times; Results; "
        "Time to a common target; Convergence; Where the time goes; What failed; "
        "Settings and machine; What to cite"
    )
    for sentence in summary.sentences(small_comparison())[:1]:
        assert unescape(text).count(sentence.partition(": ")[2]) == 1
    first = text[text.index('class="headline"') : text.index("<figure")]
    assert re.search(r"fastest in \d+ of \d+ rows", first) and "x faster in the median" in first
    assert "OpenBLAS &lt;x&gt;" in text
    assert '<th scope="row">cdf-gd on matching</th><td>beta 0.5</td>' in text
    assert "made &lt;by&gt; hand &amp; safe" in text
    assert "@article{dolan2002" in text
    assert "prefers-color-scheme: dark" in text
    assert "The solver raised &lt;b&gt;ValueError&lt;/b&gt;: a &amp; b" in text


def test_page_escapes_what_solvers_say(page):
    text = page.read_text(encoding="utf-8")
    assert "window.hacked = 1</script>" not in text and "<img src" not in text and "<i>" not in text
    assert "<title>A &lt;title&gt;</title>" in text
    assert "Another &lt;b&gt;one" in text
    assert "<p id='own'>" in text


def test_report_of_one_failed_run(tmp_path):
    failed = Records([record("mine", status="RAISED", time=math.nan)])
    text = report(failed, tmp_path / "a.html").read_text("utf-8")
    assert "1 of 1 run failed: raised 1 (mine 1)." in text


# ---------------------------------------------------------------------- in Chromium

_EARLY = """<script nonce="probe">
window.seen = [];
addEventListener("error", (event) => seen.push(String(event.message || event.target)), true);
addEventListener("unhandledrejection", (event) => seen.push(String(event.reason)));
addEventListener("securitypolicyviolation",
  (event) => seen.push(event.violatedDirective + " " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => seen.push(words.join(" "));
</script>"""

_LATE = """<script nonce="probe">
document.querySelectorAll("details").forEach((each) => (each.open = true));
const column = (table, n) => [...table.tBodies].map((body) =>
  [...body.rows].filter((row) => !row.classList.contains("label"))
    .map((row) => row.cells[n].firstChild.textContent));
const clicks = (table, n, shown) => {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const steps = [[heads[n].getAttribute("aria-sort"), column(table, shown)]];
  for (let step = 0; step < 3; step++) {
    heads[n].querySelector("button").click();
    steps.push([heads[n].getAttribute("aria-sort"), column(table, shown)]);
  }
  return steps;
};
const named = (text) =>
  [...document.querySelectorAll("table.sortable")].find((t) => t.caption?.textContent === text);
const matching = named("matching");
const button = matching.tHead.querySelector("button");
button.focus();
const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
const box = (each) => { const b = each.getBoundingClientRect(); return [b.width, b.height]; };
const probe = {
  focused: document.activeElement === button,
  numbers: clicks(named("numbers"), 0, 0),
  matching: clicks(matching, 5, 0),
  marks: [5, 1].map((n) => {
    const heads = [...matching.tHead.rows[1].cells];
    heads[n].querySelector("button").click();
    return heads.flatMap((head, k) => head.getAttribute("aria-sort") === "none" ? [] : [k]);
  }),
  tables: document.querySelectorAll("table.sortable").length,
  figures: [...document.querySelectorAll("figure img")].map((img) => ({
    label: img.alt, size: box(img), natural: [img.naturalWidth, img.naturalHeight],
  })),
  repeated: ids.filter((id, n) => ids.indexOf(id) !== n),
  dead: [...document.querySelectorAll("nav a")].map((a) => a.hash)
    .filter((hash) => !document.querySelector(hash)),
  loads: performance.getEntriesByType("resource").map((each) => each.name),
  hacked: window.hacked === 1,
};
document.querySelector("button.copy").click();
probe.selected = getSelection().toString().trim().slice(0, 12);
probe.seen = seen;
const out = document.createElement("pre");
out.id = "probe";
out.textContent = JSON.stringify(probe);
document.body.append(out);
</script>"""


@pytest.fixture(scope="module")
def probe(page: Path) -> dict[str, Any]:
    """What a script inside the page saw: it clicks, looks, and leaves its findings in the page."""
    if CHROMIUM is None:
        pytest.skip(REASON)
    text = page.read_text(encoding="utf-8")
    assert text.count("<title>") == text.count("</body>") == 1
    copy = page.with_name("probed.html")
    allowed = text.replace("script-src ", "script-src 'nonce-probe' ", 1)
    copy.write_text(
        allowed.replace("<title>", f"{_EARLY}<title>").replace("</body>", f"{_LATE}</body>"),
        encoding="utf-8",
    )
    found, console = findings(copy, "probe")
    return found | {"console": console}


def test_chromium_opens_the_page_without_errors(probe):
    assert not any(probe[name] for name in ("seen", "console", "loads", "dead", "repeated"))
    assert not probe["hacked"]


def test_chromium_sorts_numbers_and_keeps_failures_last(probe):
    up, down = ["1.2e-05", "0.5", "3", "1e3"], ["1e3", "3", "0.5", "1.2e-05"]
    failed = ["> 60", "-", "raised"]
    assert probe["numbers"] == [
        ["none", [NUMBERS]],
        ["ascending", [[*up, *failed]]],
        ["descending", [[*down, "> 60", "raised", "-"]]],
        ["none", [NUMBERS]],
    ]


def test_chromium_sorts_each_block_by_time(probe):
    given = ["cdf-lbfgs", "cdf-gd", "rgd-paper", "rtr"]
    quick = ["rtr", "cdf-lbfgs", "cdf-gd", "rgd-paper"]
    # At the second size rtr does not run, and stays last both ways.
    assert probe["matching"] == [
        ["none", [given, given]],
        ["ascending", [quick, ["cdf-lbfgs", "cdf-gd", "rgd-paper", "rtr"]]],
        ["descending", [quick[::-1], ["rgd-paper", "cdf-gd", "cdf-lbfgs", "rtr"]]],
        ["none", [given, given]],
    ]
    # Only the column that was clicked last is marked as sorted.
    assert probe["marks"] == [[5], [1]] and probe["focused"] and probe["tables"] == 10


def test_chromium_shows_the_plots(probe):
    labels = Counter(figure["label"].partition(",")[0] for figure in probe["figures"])
    once = {"Seconds of each solver in each row", "Own figure", "Performance profiles"}
    assert labels == dict.fromkeys([*once, "How far each family is behind"], 1) | {
        "Families": 4,
        "Convergence": 3,
        "Time by phase": 2,
    }
    for figure in probe["figures"]:
        assert min(*figure["size"], *figure["natural"]) > 100, figure["label"]


def test_chromium_offers_the_bibtex_for_copying(probe):
    assert probe["selected"] == "@misc{zhang-"


def _terminal() -> tuple[Any, io.StringIO]:
    rich = pytest.importorskip("rich.console", reason="needs the extra: genorth[report]")
    out, how = io.StringIO(), {"force_terminal": True, "_environ": {"TERM": "xterm"}}
    return rich.Console(file=out, width=140, color_system=None, **how), out


def test_bar_shows_the_run_and_the_best_so_far():
    console, out = _terminal()
    from genorth.compare.render.terminal import Bar

    bar = Bar(console)
    bar.close()  # nothing was started: nothing to do
    bar.start(4)
    bar.begin("matching", "(4,2)", 0, "cdf-gd", 1e-5)
    assert "matching (4,2) to 1e-5, seed 0: cdf-gd (best so far: none yet)" in out.getvalue()
    bar.finish(record("cdf-gd", 2.5))
    bar.finish(record("cdf-tr", 0.1, size="(8,2)"))  # of another row
    bar.begin("matching", "(4,2)", 0, "rgd", 1e-5)
    assert "rgd (best so far: cdf-gd, 2.5 s)" in out.getvalue() and "2/4" in out.getvalue()
    bar.finish(record("rgd", 60.0, status="TIME_LIMIT"))
    bar.finish(record("[b]", 0.5))  # carried over: it had no beginning; and brackets are no markup
    out.truncate(0)
    bar.close()
    line = out.getvalue().splitlines()[-5]
    assert line.split() == ["matching", "(4,2)", "1e-5", "[b]", "0.5", "1"]
    out.truncate(0)
    bar.close()
    assert out.getvalue().strip("\x00") == ""
