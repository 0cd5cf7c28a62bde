"""The report, its summary and plots; the page is opened in headless Chromium if there is one."""

import io
import json
import math
import re
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import attrs
import numpy as np
import pytest

from baselines import SOLVERS
from genorth.compare import Html, Records, report, summary
from genorth.compare.analysis.rows import behind, by_row, leaders
from genorth.compare.render.payload import own_solvers, payload
from genorth.compare.render.styles import COLORS, styles
from genorth.compare.render.table import Block, Entry, Head, Line, Names, Table, plain
from genorth.compare.runs.record import COLUMNS, About
from support.chromium import CHROMIUM, REASON, findings
from support.compare_records import record, small_comparison, times, timetable, trace
from support.processes import printed
from support.refusals import refused

pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
from genorth.compare import plots

# ---------------------------------------------------------------------- in words


INF = math.inf
_ONE_START = "One start each: how much the times vary from start to start is not known."


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (
            {"cdf-gd": [10.0, 5.7], "rtr": [1.0, 1.5]},
            [
                "rtr is fastest in both rows.",
                "Riemannian wins both rows, 6.9x faster in the median (3.8x to 10x).",
            ],
        ),
        (
            {"cdf-gd": [1.0, 9.0, 2.0], "cdf-tr": [8.0, 1.0, 3.0], "rgd": [5.0, 2.0, 1.0]},
            [
                "cdf-gd is fastest in 1 of 3 rows, cdf-tr in 1 and rgd in 1.",
                "Penalty wins 2 of 3 rows, 2x faster in the median (0.5x to 5x).",
            ],
        ),
        (
            {"cdf-gd": [1.0, 3.0], "rgd": [3.0, 1.0]},
            [
                "cdf-gd is fastest in 1 of 2 rows and rgd in 1.",
                (
                    "Penalty wins as many rows as Riemannian, 1 of 2, 1.7x faster in the median "
                    "(0.33x to 3x)."
                ),
            ],
        ),
        (
            {"cdf-gd": [1.0, INF], "rgd": [INF, INF]},
            [
                "cdf-gd is fastest in 1 of 2 rows; no solver succeeds in 1 of 2 rows.",
                "Only penalty solvers succeed in 1 row.",
            ],
        ),
        (
            {"cdf-gd": [2.0], "rgd": [1.0], "landing": [3.0]},
            [
                "rgd is fastest in the one row.",
                (
                    "Riemannian beats penalty in the one row, 2x faster, and beats infeasible in "
                    "the one row, 3x faster."
                ),
            ],
        ),
        (
            {
                "cdf-gd": [2.0, 4.0, INF, 3.0, INF],
                "rgd": [1.0, 9.0, 1.0, 1.0, INF],
                "rcg": [9.0, 2.0, 9.0, 9.0, INF],
                "rtr": [9.0, 9.0, 9.0, 9.0, 7.0],
                "landing": [3.0, INF, INF, 9.0, INF],
            },
            [
                "rgd is fastest in 3 of 5 rows, rcg in 1 and rtr in 1.",
                (
                    "Riemannian beats penalty in all 3 rows that both solve, 2x faster in the "
                    "median (2x to 3x), and beats infeasible in both rows that both solve, 6x "
                    "faster in the median (3x to 9x)."
                ),
                "Only Riemannian solvers succeed in 2 rows.",
            ],
        ),
    ],
)  # fmt: skip
def test_the_headline_says_who_wins_by_how_much_and_how_sure(seconds, said):
    assert summary.headline(Records(timetable(seconds))) == [*said, _ONE_START]


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
    assert first.endswith("(4,2) to 1e-5 the winner, a, ends at an f 2 above the lowest found.")
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
    assert len({style.color for style in found.values()}) == min(len(COLORS), len(solvers))
    for name, solver in SOLVERS.items():
        assert bool(found[name].dashes) == (solver.family in ("Riemannian", "infeasible"))


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
    axes = plots.profile(Records(timetable({"a": [1.0, 4.0], "b": [2.0, 1.0]}))).axes
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
    for draw in (plots.behind, plots.convergence, plots.phases, plots.profile):
        draw(nothing).savefig(io.BytesIO(), format="svg")


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
    figure = plots.behind(Records(times(a=1.0)))
    return [("Own section", [*words, numbers]), ("Own figure", figure)]


def _attacked() -> list[Any]:
    key = {"problem": f"<i>p</i> {'x' * 300}", "size": '"&', "seed": 9}
    return [record("cdf-gd", status="RAISED", time=math.nan, message=ATTACK, **key)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = Records([*small_comparison(), *_attacked()], small_comparison().settings)
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
        "Summary; Own section; Own figure; Winners; Results; Solved; What failed; "
        "Settings and machine; What to cite"
    )
    for sentence in summary.sentences(small_comparison())[:1]:
        assert unescape(text).count(sentence.partition(": ")[2]) == 1
    first = text[text.index('class="headline"') : text.index('id="explorer"')]
    assert re.search(r"fastest in \d+ of \d+ rows", first) and "x faster in the median" in first
    assert "OpenBLAS &lt;x&gt;" in text
    assert '<th scope="row">cdf-gd on matching</th><td>beta 0.5</td>' in text
    assert "made &lt;by&gt; hand &amp; safe" in text
    assert "@article{dolan2002" in text
    assert "prefers-color-scheme: dark" in text
    assert "The solver raised &lt;b&gt;ValueError&lt;/b&gt;: a &amp; b" in text


# ---------------------------------------------------------------------- in Chromium

_EARLY = """<script nonce="probe">
window.seen = [];
addEventListener("error", (event) => seen.push(String(event.message || event.target)), true);
addEventListener("unhandledrejection", (event) => seen.push(String(event.reason)));
addEventListener("securitypolicyviolation",
  (event) => seen.push(event.violatedDirective + " " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => seen.push(words.join(" "));
</script>"""


_WIDTHS = (1400, 1366, 420)
_FRAMES = """<!doctype html><title>frames</title><body><script>
(async () => {
  const found = {};
  for (const width of %s) {
    const frame = document.createElement("iframe");
    Object.assign(frame, { width, height: 900, src: "probed.html" });
    document.body.append(frame);
    const probe = () => frame.contentDocument?.getElementById("probe");
    while (!probe()) await new Promise((done) => setTimeout(done, 100));
    found[width] = JSON.parse(probe().textContent);
    frame.remove();
  }
  const out = Object.assign(document.createElement("pre"), { id: "frames" });
  out.textContent = JSON.stringify(found);
  document.body.append(out);
})();
</script></body>"""


@pytest.fixture(scope="module")
def probes(page: Path) -> dict[str, dict[str, Any]]:
    """What a script inside the page saw, in windows of three widths."""
    if CHROMIUM is None:
        pytest.skip(REASON)
    text = page.read_text(encoding="utf-8")
    assert text.count("<title>") == text.count("</body>") == 1
    script = Path(__file__).with_name("report_probe.js").read_text("utf-8")
    late = f'<script nonce="probe">{script}</script></body>'
    allowed = text.replace("script-src ", "script-src 'nonce-probe' ", 1)
    page.with_name("probed.html").write_text(
        allowed.replace("<title>", f"{_EARLY}<title>").replace("</body>", late), encoding="utf-8"
    )
    frames = page.with_name("frames.html")
    frames.write_text(_FRAMES % list(_WIDTHS), encoding="utf-8")
    found, console = findings(frames, "frames")
    for probe in found.values():
        assert "error" not in probe, probe["error"]
        probe["console"] = console
    return found


@pytest.fixture(params=_WIDTHS)
def probe(request: pytest.FixtureRequest, probes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return probes[str(request.param)]


def test_chromium_opens_the_page_without_errors(probe):
    for name in ("seen", "console", "loads", "dead", "repeated"):
        assert probe[name] == [], name
    assert not probe["hacked"] and probe["wide"] <= 0


def test_chromium_sorts_numbers_and_keeps_failures_last(probe):
    up, down = ["1.2e-05", "0.5", "3", "1e3"], ["1e3", "3", "0.5", "1.2e-05"]
    failed = ["> 60", "-", "raised"]
    assert probe["numbers"] == [
        ["none", NUMBERS],
        ["ascending", [*up, *failed]],
        ["descending", [*down, "> 60", "raised", "-"]],
        ["none", NUMBERS],
    ]
    assert probe["focused"]


def test_the_script_ranks_as_the_analysis_does(page, probe):
    """Who wins, who is tied, by how much, and how far families are behind: twice the same."""
    rows = by_row(Records([*small_comparison(), *_attacked()]))
    assert len(probe["winners"]) == len(rows)
    for (problem, size, tolerance), runs in rows.items():
        (found,) = (
            each for each in probe["winners"] if each[:3] == [plain(problem), size, tolerance]
        )
        first = leaders(runs)
        assert found[3] == (first[0] if first else None)
        assert set(found[4]) == set(first[1:])
        for name, least in found[5].items():
            least = float(least.replace("Infinity", "inf"))
            assert math.isclose(least, runs[name].time, rel_tol=1e-6)
    ratios = [behind(runs) for runs in rows.values() if behind(runs)]
    drawn = [
        {kind: float(ratio.replace("Infinity", "inf")) for kind, ratio in each.items() if ratio}
        for each in probe["behind"]
    ]
    both = (sorted(each, key=lambda row: sorted(row.items())) for each in (ratios, drawn))
    for mine, theirs in zip(*both, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-6)


def test_a_reader_hovers_reads_by_keys_hides_and_isolates(probe):
    assert probe["first"] == {"view": "behind", "lines": "family", "hash": ""}
    assert "times the least" in probe["hover"]
    assert all("times the least" in words for words in probe["spoken"])
    assert len(set(probe["spoken"])) == 2
    every, fewer, address = probe["hidden"]
    assert len(every) == len(small_comparison().solvers) and fewer == every[1:]
    assert "hide=0" in address and probe["only"] == every[:1]


def test_no_text_of_a_figure_lies_on_another(probe):
    assert probe["overlaps"] == {}
    assert all(probe["captions"].values()) and all(probe["counts"].values())


def test_a_reader_filters_sorts_chooses_columns_and_takes_tables_along(probe):
    assert probe["filtered"] == ["extrinsic mean"] and probe["unit"] == "CPU seconds"
    assert probe["filter"] == ["rtr"]
    many, fewer, shown = probe["columns"]
    assert fewer == shown == many - 1
    lines = probe["csv"].splitlines()
    assert lines[0].startswith('"Solver","Family"') and "Fval" not in lines[0] and len(lines) > 2
    assert probe["latex"].count(r"\\") == len(lines) and r"\toprule" in probe["latex"]
    address = unquote(probe["address"])
    assert "by=cpu" in address and '"column":"times+best","down":false' in address
    assert probe["reset"] == ["#view=behind", ""]
    assert probe["recalled"] == ["cpu", "times best", "rtr", fewer]
    zoomed, whole = probe["zoom"]
    assert len(zoomed.split(",")) == 4 and whole == ""
    assert probe["sticky"] == "sticky"


def test_controls_have_names_and_can_be_reached_by_keys(probe):
    assert probe["nameless"] == probe["unreachable"] == []
    modebar = " ".join(probe["modebar"]).lower()
    assert "zoom" in modebar and "cloud" not in modebar and "share" not in modebar


def test_colors_of_the_page_have_enough_contrast():
    """4.5 for text on both grounds, light and dark (WCAG 2)."""
    style = (files("genorth.compare.render") / "templates" / "report.css").read_text("utf-8")
    schemes = re.findall(r"--paper.*", style)[:2]
    for scheme in schemes:
        color = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        for ground in ("paper", "shade"):
            for ink in ("ink", "faint", "link", "bad"):
                light = sorted(_luminance(color[each]) for each in (ground, ink))
                assert (light[1] + 0.05) / (light[0] + 0.05) >= 4.5, (ink, ground, scheme)


def _luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_chromium_offers_the_bibtex_for_copying(probe):
    assert probe["selected"] == "@misc{zhang-"


@pytest.mark.parametrize("count", [1, 13, 40])
def test_a_report_of_any_number_of_problems_has_its_static_figures(tmp_path, count):
    records = [each for n in range(count) for each in times(rtr=1.0, mine=2.0 + n)]
    placed = [attrs.evolve(each, problem=f"p{n // 2}") for n, each in enumerate(records)]
    text = report(Records(placed), tmp_path / "a.html").read_text("utf-8")
    assert text.count("<figure>") == 2 and text.count("<noscript>") == 1


@pytest.mark.parametrize(
    "records",
    [times(rtr=1.0), [record("rtr", trace=trace())], times(rtr=math.inf), times(mine=math.nan)],
    ids=["one solver", "no trace", "time limit", "raised"],
)
def test_a_report_of_hardly_anything_is_a_report(tmp_path, records):
    text = report(Records(records), tmp_path / "a.html").read_text("utf-8")
    found = json.loads(text.partition('id="runs">')[2].partition("</script>")[0])
    assert len(found["runs"]["solver"]) == len(found["solvers"]) == 1
    with refused("records", "at least one record", "none", False):
        report(Records([]), tmp_path / "b.html")


def test_a_terminal_sees_what_is_done_while_a_report_is_written(tmp_path):
    from genorth.compare.render.terminal import Bar

    console, out = _terminal()
    report(small_comparison(), tmp_path / "a.html", progress=Bar(console))
    seen = [out.getvalue().find(f"{n}/4") for n in range(1, 5)]
    parts = ("runs and curves", "figures", "tables", "the file")
    told = [out.getvalue().find(f"writing the report: {part}") for part in parts]
    assert min(seen + told) >= 0 and seen == sorted(seen) and told == sorted(told)


def test_the_solver_of_the_user_is_named_first_and_marked(tmp_path):
    records = Records(times(rtr=1.0, mine=3.0))
    text = report(records, tmp_path / "a.html").read_text("utf-8")
    first = text[text.index('class="headline"') :].partition("<p>")[2]
    assert first.startswith("Your solver mine is fastest in 0 of 1 row; it takes 3x the least time")
    assert re.search(r'"name":"mine"[^}]*"own":true', text)
    assert "Your solver" not in report(records, tmp_path / "b.html", own=()).read_text("utf-8")
    assert own_solvers(Records(times(a=1.0, b=2.0))) == []  # nobody is registered
    with refused("own", "names of ['rtr', 'mine']", "['nobody']", False):
        report(records, tmp_path / "c.html", own=["nobody"])


def test_runs_that_the_page_holds_are_thinned_and_whole():
    """Columns that no record has are left out; new ones come by themselves."""
    long = trace(*[10.0 ** (-n / 100) for n in range(400)])
    runs = [record("rtr", trace=long, violation=1e-9, constr_nfev=7), record("rgd", seed=4)]
    found = json.loads(payload(Records(runs), Names(), {}, ["rgd"]))
    shown = {column["name"]: column["hidden"] for column in found["columns"]}
    assert not shown["violation"] and "complementarity" not in shown and shown["nfev"]
    assert found["runs"]["violation"] == [1e-9, None] and found["seed"] == [0, 4]
    (kept,) = found["traces"].values()
    assert len(kept["time"]) <= 101 and kept["time"][-1] == pytest.approx(39.9)
    assert kept["gradient_norm"] == sorted(kept["gradient_norm"], reverse=True)
    assert min(kept["cost"]) >= 0 and found["runs"]["time_to"][1] == 1.0


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
    (line,) = [line for line in out.getvalue().splitlines() if "[b]" in line]
    assert line.split() == ["matching", "(4,2)", "1e-5", "[b]", "0.5", "1"]
    out.truncate(0)
    bar.close()
    assert out.getvalue().strip("\x00") == ""
