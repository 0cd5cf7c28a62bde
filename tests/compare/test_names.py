"""Names are data: forty hostile ones in the report, and in every other format."""

import csv
import io
import math
import re
import warnings
from pathlib import Path
from typing import Any

import attrs
import pytest

from genorth.compare import Html, Records, plots, report, summary, tables
from genorth.compare.render.table import csv_of, latex_escape, markdown_text, plain
from genorth.compare.render.terminal import Bar, Lines
from genorth.compare.runs.record import About
from support.chromium import CHROMIUM, REASON, findings
from support.compare_records import record, small_comparison, trace

pytestmark = pytest.mark.slow

_RUN = "window.hacked = 1"
NAMES = (
    f"<script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"<img src=x onerror='{_RUN}'>",
    f'" onmouseover="{_RUN}',
    f"' onfocus='{_RUN}' autofocus='",
    f"<a href='javascript:{_RUN}'>click</a>",
    f"{{{{ ''.__class__ }}}}{{% if 1 %}}<script>{_RUN}</script>{{% endif %}}",
    f"&#60;script&#62;{_RUN}&#60;/script&#62;",
    f"]]><script>{_RUN}</script>",
    rf"\74script\76{_RUN}\74/script\76",  # octal escapes, as re.sub reads them in a template
    r"a\d",
    r"\g<1>",
    "$x^2$",
    r"$\frac{1}{$",
    "$",
    "_hidden",
    "",
    " ",
    "\x00\x01\x1b[31mred\x1b[0m",
    "\ud800",
    "\u202egnp.exe",
    "a\nb\rc\u2028d",
    "\U0001f600 \u05e9\u05dc\u05d5\u05dd \u4f60\u597d",
    "=1+cmd|' /C calc'!A0",
    "x" * 5000,
    "%s %(a)s {0} {x!r}",
    "| a | b | **bold** `code` [link](javascript:1) ![i](x)",
    r"\input{/etc/passwd} & 5% #1 ~^ \end{table}",
)


def _hostile() -> Records:
    """Every name as problem, size, solver, label, message, option, and in the environment."""
    made = []
    for n, name in enumerate(NAMES):
        other = NAMES[(n + 1) % len(NAMES)]
        about = About(label=other or "label", family="penalty", algorithm=name, variant=name)
        data: dict[str, Any] = {"environment": {name: other}}
        data["definition"] = {"options": {name: other}}
        drawn = data | {"trace": trace(1.0, 1e-6), "seconds": {name[:9]: 0.2}}
        made.append(record(f"{name}{n}", 1.0 + n, problem="solvers", about=about, **drawn))
        failed = {"status": "RAISED", "message": name, "about": About(label="rgd")}
        made.append(record("rgd", math.nan, problem=name, size=other, **data | failed))
        if n % 12 == 0:
            made.append(record("rcg", 1.0, problem=name, size=other, **drawn))
    return Records(made, {"max_time": 60.0, **{name: name for name in NAMES}})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    labels = {name: name for name in NAMES[:20]}
    sections = [(name, name) for name in NAMES if name.strip()]
    return report(_hostile(), path, NAMES[3], sections, labels=labels)


_PROBE = """<script nonce="probe">
const tags = ["iframe", "img:not([src^='data:image/svg'])", "base", "a[href^=javascript]",
  "[onload]", "[onerror]", "[onfocus]"];
const look = () => {
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({
    hacked: window.hacked === 1,
    scripts: document.scripts.length,
    titles: [...document.querySelectorAll("h2")].map((each) => each.textContent),
    foreign: tags.filter((tag) => document.querySelector(tag)),
    violations: window.violations,
  });
  document.body.append(out);
};
addEventListener("load", () => setTimeout(look, 1000));  // events of violations come later
</script>"""
_LISTEN = """<script nonce="probe">window.violations = [];
addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective));
</script>"""


def _probed(page: Path, extra: str = "") -> Any:
    if CHROMIUM is None:
        pytest.skip(REASON)
    text = page.read_text("utf-8")
    text = text.replace("script-src ", "script-src 'nonce-probe' ", 1)
    text = text.replace("<title>", f"{_LISTEN}<title>", 1)
    head, _, tail = text.rpartition("</body>")
    copy = page.with_name("probed.html")
    copy.write_text(f"{head}{extra}{_PROBE}</body>{tail}", "utf-8")
    return findings(copy, "probe")[0]


def test_names_are_text_in_the_page(page):
    text = page.read_text("utf-8")
    assert "<img src=x" not in text and f"<script>{_RUN}" not in text
    assert "&lt;script&gt;" in text and "<a href='javascript" not in text


def test_no_script_runs_but_ours(page):
    found = _probed(page)
    assert not found["hacked"] and found["foreign"] == [] and found["violations"] == []
    assert found["scripts"] == 6  # data, Plotly twice, ours, and two of the probe
    shown = [plain(name) for name in NAMES if name.strip()]
    assert [plain(title) for title in found["titles"][1 : 1 + len(shown)]] == shown


def test_the_policy_stops_what_a_section_brings_along(page):
    """`Html` is taken as it is; even so, no script of it runs."""
    copy = page.with_name("sections.html")
    attack = Html(f"<script>{_RUN}</script><img src=x onerror='{_RUN}'><p style='color:red'>x</p>")
    report(Records([record()]), copy, sections=[("own", attack)])
    found = _probed(copy)
    assert not found["hacked"]
    assert {"script-src-elem", "script-src-attr", "style-src-attr"} <= set(found["violations"])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', copy.read_text("utf-8"))
    assert policy is not None and "unsafe" not in policy[1] and "sha256-" in policy[1]


@pytest.mark.parametrize("format", ["markdown", "text", "csv", "latex", "html"])
def test_every_format_takes_every_name(format):  # noqa: A002
    pytest.importorskip("jinja2", reason="HTML needs the extra: pip install 'genorth[report]'")
    records = _hostile()
    for text in (tables.paper_layout(records, format), tables.to_target(records, format)):
        text.encode("utf-8")  # no lone surrogates
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
        assert "<script" not in text or format in ("text", "csv", "latex")


def test_cells_that_a_spreadsheet_would_run_are_quoted():
    records = _hostile()
    made = [tables.best_table(records), tables.failures_table(records)]
    rows = list(csv.reader(io.StringIO(csv_of(made))))
    dangerous = [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")]
    assert all(re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", cell) for cell in dangerous), dangerous
    assert any(cell.startswith("'=1+cmd") for row in rows for cell in row)


def test_a_latex_line_never_begins_with_an_argument():
    assert latex_escape("[b]*") == "{[}b]{*}"
    assert latex_escape(r"a_b & 5% #1 {x} ~^ \in $") == (
        r"a\_b \& 5\% \#1 \{x\} \textasciitilde{}\textasciicircum{} \textbackslash{}in \$"
    )
    body = tables.paper_layout(_hostile(), "latex")
    assert r"\input" not in body and not re.search(r"\\\\\s*[\[*]", body)
    assert body.count(r"\begin{table}") == body.count(r"\end{table}") == len(NAMES) + 1


def test_markdown_names_are_text():
    assert markdown_text("a_b *c* `d` [e](f) <i> &amp; $x$ _g_ {h}") == (
        r"a_b \*c\* \`d\` \[e\](f) &lt;i> &amp;amp; \$x\$ \_g\_ \{h\}"
    )


def test_plots_draw_every_name_as_text():
    pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
    records = _hostile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks
        plots.phases(records).savefig(io.BytesIO(), format="svg")
        dollars = records.where(lambda each: "$" in each.about.label, problem="solvers")
        figure = plots.convergence(dollars)
        figure.savefig(io.BytesIO(), format="png")
    (legend,) = figure.legends
    assert "$" in "".join(text.get_text() for text in legend.get_texts())
    hidden = Records([record("_hidden", about=About(label="_hidden"), trace=trace(1.0, 1e-6))])
    (legend,) = plots.convergence(hidden).legends
    assert [text.get_text() for text in legend.get_texts()] == ["_hidden"]


def test_terminal_and_sentences_take_every_name():
    records = _hostile()
    assert all("\x1b" not in text for text in summary.sentences(records))
    stream = io.StringIO()
    lines = Lines(stream)
    lines.start(len(records))
    for each in records:
        lines.finish(each)
    assert "\x1b" not in stream.getvalue() and stream.getvalue().count("\n") == len(records)
    rich = pytest.importorskip("rich.console", reason="the bar needs the extra: genorth[report]")
    out = io.StringIO()
    bar = Bar(rich.Console(file=out, width=140, force_terminal=False, color_system=None))
    bar.start(len(records))
    for each in list(records)[:20]:
        bar.begin(*each.key)
        bar.finish(each)
    bar.close()
    assert "\x1b[31m" not in out.getvalue()


def test_two_sections_of_one_title_have_two_anchors(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
    path = report(Records([record()]), tmp_path / "a.html", sections=[("a", "b"), ("a", "c")])
    ids = re.findall(r'<section id="([^"]+)"', path.read_text("utf-8"))
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------------- arguments of the wrong type

_ONE = Records([record(trace=trace(1.0, 1e-6))])
_CALLS: dict[str, tuple[Any, str]] = {
    "report of a list": (lambda p: report([record()], p / "a.html"), "records"),
    "report of nothing": (lambda p: report(Records([]), p / "a.html"), "records"),
    "report to nowhere": (lambda p: report(_ONE, ""), "path"),
    "report with a number as title": (lambda p: report(_ONE, p / "a.html", 5), "title"),
    "report with sections=5": (lambda p: report(_ONE, p / "a.html", sections=5), "sections"),
    "report with a set": (lambda p: report(_ONE, p / "a.html", sections=[("a", {1})]), "sections"),
    "report with labels=5": (lambda p: report(_ONE, p / "a.html", labels=5), "labels"),
    "report with reference=5": (lambda p: report(_ONE, p / "a.html", reference=5), "reference"),
    "layout of a list": (lambda p: tables.paper_layout([record()]), "records"),
    "layout as pdf": (lambda p: tables.paper_layout(_ONE, "pdf"), "format"),
    "layout with labels=[]": (lambda p: tables.paper_layout(_ONE, labels=["a"]), "labels"),
    "to_target of a record": (lambda p: tables.to_target(record()), "records"),
    "best_table of text": (lambda p: tables.best_table("records"), "records"),
    "sentences of a list": (lambda p: summary.sentences([record()]), "records"),
    "convergence of a list": (lambda p: plots.convergence([record()]), "records"),
    "profile of a list": (lambda p: plots.profile([record()]), "records"),
    "families of a list": (lambda p: plots.families([record()]), "records"),
    "phases of a list": (lambda p: plots.phases([record()]), "records"),
    "convergence of two": (lambda p: plots.convergence(small_comparison()), "records"),
}


@pytest.mark.parametrize("call", _CALLS)
def test_a_wrong_argument_is_named(call, tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra: pip install 'genorth[report]'")
    made, argument = _CALLS[call]
    with pytest.raises(ValueError, match=rf"^{argument}: need "):
        made(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("problem", 3),
        ("size", 3),
        ("make", None),
        ("start", 3),
        ("options", []),
        ("options", {1: 2}),
    ],
)
def test_an_instance_of_wrong_parts_is_refused(field, value):
    from support.compare_cases import instance

    with pytest.raises(ValueError, match=rf"^Case\.{field}: need "):
        attrs.evolve(instance(), **{field: value})
