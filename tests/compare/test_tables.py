"""Tables of records: medians, failures, the winner, the way to a target.

And how they are written down.
"""

import csv
import io
import math
import re

import pytest

from genorth.compare import summary, tables
from genorth.compare.analysis.profiles import at_target, crossing
from genorth.compare.analysis.rows import Runs, best_by_family, best_of, by_row, elsewhere
from genorth.compare.render.table import (
    Block,
    Entry,
    Head,
    Line,
    Table,
    latex,
    markdown,
    seconds_text,
    text,
    tolerance_text,
)
from genorth.compare.runs.record import About, Records
from support.compare_records import record, small_comparison, times, trace


def _cells(text: str) -> list[list[str]]:
    """The body of a Markdown table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_median_over_seeds():
    runs = Runs(tuple(record(time=t, seed=n, nit=n) for n, t in enumerate((3.0, 1.0, 2.5))))
    assert runs.time == 2.5 and runs.median("nit") == 1 and runs.note == ""


@pytest.mark.parametrize(
    ("statuses", "time", "note"),
    [
        (("CONVERGED", "CONVERGED", "TIME_LIMIT"), 2.0, "1 of 3 time limit"),
        (("CONVERGED", "STALLED", "TIME_LIMIT"), math.inf, "2 of 3 stalled, time limit"),
        (("RAISED", "RAISED", "RAISED"), math.inf, "raised"),
    ],
    ids=["one", "two", "all"],
)
def test_a_failed_seed_counts_as_infinite_and_is_told(statuses, time, note):
    runs = Runs(
        tuple(record(time=n + 1.0, seed=n, status=status) for n, status in enumerate(statuses))
    )
    assert runs.time == time and runs.note == note


def test_best_is_the_fastest_of_those_that_solved_most():
    ends = ("CONVERGED", "CONVERGED", "STALLED")
    fragile = Runs(tuple(record("a", 0.1, seed=n, status=end) for n, end in enumerate(ends)))
    steady = Runs(tuple(record("b", 2.0, seed=n) for n in range(3)))
    slow = Runs(tuple(record("c", 3.0, seed=n) for n in range(3)))
    assert best_of({"a": fragile, "c": slow, "b": steady}) == "b"
    assert best_of({"a": fragile, "c": slow, "b": steady}, among=["a", "c"]) == "c"
    assert best_of({"a": Runs((record("a", 0.1, status="RAISED"),))}) is None


def test_another_minimum_is_told_from_rounding():
    start = trace(1.0, start=100.0)
    runs = {
        name: Runs((record(name, fun=fun, trace=start),))
        for name, fun in {"a": 1e-12, "b": 3e-9, "c": 0.2}.items()  # 1e-3 of the decrease is 0.1
    }
    assert elsewhere(runs) == {"c": (pytest.approx(0.2, rel=1e-6),)}


def test_rows_are_in_the_order_of_the_paper():
    runs = [record("rgd", tolerance=1e-9), record("cdf-gd", size="(8,2)"), record("cdf-gd")]
    rows = by_row(Records([*runs, record("mine")]))
    assert [row[1:] for row in rows] == [("(4,2)", 1e-5), ("(4,2)", 1e-9), ("(8,2)", 1e-5)]
    assert list(rows["matching", "(4,2)", 1e-5]) == ["cdf-gd", "mine"]


def test_solvers_are_sorted_by_the_family_of_their_record():
    placed = {"mine": "penalty", "yours": "infeasible", "theirs": "Riemannian", "plain": "other"}
    records = Records(
        record(name, float(n), about=About(label=name, family=family))
        for n, (name, family) in enumerate(reversed(placed.items()), start=1)
    )
    assert list(records.solvers) == ["mine", "theirs", "yours", "plain"]
    (runs,) = by_row(records).values()
    assert list(runs) == list(records.solvers)
    assert best_by_family(runs) == {family: name for name, family in placed.items()}


# ---------------------------------------------------------------------- the paper's layout

REFERENCE = {
    ("matching", "(4,2)", "cdf-gd", 1e-5): (6.29e-3, 265, 9.63e-6, 3.19e-15, 0.15),
    ("matching", "(4,2)", "rgd", 1e-5): (None, None, math.nan, math.nan, ">1800"),
}


def test_paper_layout_entries():
    figures = {"fun": 6.29e-3, "nit": 863, "gradient_norm": 8.83e-10, "feasibility": 7.21e-16}
    runs = [record("cdf-gd", 0.49, cpu=0.25, **figures), record("cdf-cg", 1234.5, fun=14938.5)]
    records = Records([*runs, *times(rgd=math.inf, rcg=math.nan)])
    assert _cells(tables.paper_layout(records)) == [
        ["(4,2)", "cdf-gd", "0.00629", "863", "8.83e-10", "7.21e-16", "**0.49**", "**0.25**"],
        ["", "cdf-cg", "14938.5", "10", "5.00e-06", "1.00e-15", "1234", "1234"],
        ["", "rgd", "0.5", "10", "5.00e-06", "1.00e-15", "> 60 (time limit)", "> 60"],
        ["", "rcg", "-", "-", "-", "-", "- (raised)", "-"],
    ]


def test_paper_layout_beside_the_reference():
    records = Records([record("cdf-gd", 0.49), *times(rgd=math.inf, rcg=2.0)])
    text = tables.paper_layout(
        records, reference=REFERENCE, labels={"cdf-gd": "CDFGD", "matching": "Table 1"}
    )
    assert text.startswith("**Table 1**")
    head = [cell.strip() for cell in text.splitlines()[2].split("|")[1:-1]]
    assert ", ".join(head) == (
        "Size, Solver, tol = 1e-5: Fval, paper, Iter, paper, Grad, Feas, Wall (s), CPU (s), paper"
    )
    first, second, third = _cells(text)
    ours = "(4,2) CDFGD 0.5 0.00629 10 265 5.00e-06 1.00e-15 **0.49** **0.49** 0.15"
    assert first == ours.split()
    assert second[3:6] == ["-", "10", "-"] and second[-1] == ">1800"
    assert third[-1] == "-"


def test_csv_has_every_column_once_and_all_digits():
    runs = [record("cdf-gd", 1 / 3), *times(rgd=math.inf)]
    records = Records([*runs, record("cdf-gd", problem="other", tolerance=1e-9)])
    text = tables.paper_layout(records, "csv", reference=REFERENCE)
    lines, names = list(csv.DictReader(io.StringIO(text))), text.splitlines()[0].split(",")
    assert len(names) == len(set(names))
    assert names[:5] == ["table", "size", "Solver", "tol = 1e-5 Fval", "tol = 1e-5 Fval paper"]
    expected = [("matching", "cdf-gd"), ("matching", "rgd"), ("other", "cdf-gd")]
    assert [(line["table"], line["Solver"]) for line in lines] == expected
    assert float(lines[0]["tol = 1e-5 Wall (s)"]) == 1 / 3
    assert lines[1]["tol = 1e-5 Wall (s) note"] == "time limit"
    assert lines[2]["tol = 1e-9 Fval"] == "0.5" and lines[2]["tol = 1e-5 Fval"] == ""


def test_latex_is_the_papers_table():
    text = tables.paper_layout(small_comparison().where(problem="matching"), "latex")
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    # The head of groups spans: 1 + 1 + 6 + 6 columns; every other line has 14 entries.
    assert lines[0].count("&") == 3 and r"\multicolumn{6}{c}{tol = 1e-9}" in lines[0]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines[1:]} == {13}
    assert r"\cmidrule(lr){3-8} \cmidrule(lr){9-14}" in body and r"\cmidrule(l){2-14}" in body
    assert "\\multirow{4}{*}{(40,6)}" in body
    assert "\\textbf{0.525" in body
    assert "$>$ 60 (time limit)" in body
    assert text.count("{") == text.count("}") and text.count(r"\begin{") == text.count(r"\end{")


def test_plain_text_is_aligned_and_has_the_groups_below_each_other():
    columns = [Head("Solver", numeric=False)]
    columns += [Head(*each) for each in (("a", "tol 1"), ("b", "tol 1"), ("a", "tol 2"))]
    lines = [
        Line([Entry("long name"), Entry("1.5"), Entry("> 60", note="time limit"), Entry("-")]),
        Line([Entry("x"), Entry("20"), Entry("3", bold=True), Entry("4")]),
    ]
    assert text(Table("T", columns, [Block("(4,2)", lines)], "Size", "Bold: best.")) == (
        "T, (4,2), tol 1\nSolver       a                  b\nlong name  1.5  > 60 (time limit)\n"
        "x           20                 3*\n\nT, (4,2), tol 2\nSolver     a\nlong name  -\n"
        "x          4\n\n*: best.\n"
    )


def test_latex_without_groups_and_stub():
    block = Block("", [Line([Entry("x"), Entry("1")])])
    text = latex(Table("", [Head("a", numeric=False), Head("b")], [block]))
    assert "a & b \\\\\n\\midrule\nx & 1 \\\\\n\\bottomrule" in text and "{lr}" in text


def test_numbers_read_as_in_the_paper():
    expected = ["1e-4", "1e-10", "0.01", "2.5e-7"]
    assert [tolerance_text(t) for t in (0.0001, 1e-10, 0.01, 2.5e-07)] == expected
    expected = ["0.00123", "0.5", "12.3", "105", "1367"]
    assert [seconds_text(t) for t in (0.00123, 0.5, 12.345, 104.63, 1366.63)] == expected


def test_crossing_is_the_first_line_at_the_target():
    run = record(trace=trace(1.0, 1e-4, 1e-6, 1e-5, 1e-9))
    assert crossing(run, 1e-4) == 1 and crossing(run, 1e-5) == 2 and crossing(run, 1e-9) == 4
    assert crossing(run, 1e-12) is None


def test_a_small_gradient_away_from_the_manifold_is_no_crossing():
    assert crossing(record(trace=trace(1.0, 1e-6, feasibility=1.1)), 1e-5) is None
    assert crossing(record(status="NOT_STATIONARY", trace=trace(1.0, 1e-6)), 1e-5) is None
    assert crossing(record(status="TIME_LIMIT", trace=trace(1.0, 1e-6)), 1e-5) == 1


def test_one_run_to_a_tight_tolerance_tells_the_looser_ones():
    runs = [record(tolerance=1e-9, time=9.0, trace=trace(1.0, 1e-5, 1e-9)), record("other")]
    loose, tight, _ = at_target(Records(runs))
    assert (loose.tolerance, loose.time, loose.evaluations, loose.success) == (1e-5, 0.1, 3, True)
    assert (tight.tolerance, tight.time, tight.evaluations) == (1e-9, 0.2, 5)


def test_the_run_to_this_very_tolerance_comes_first():
    runs = [
        record(tolerance=1e-9, trace=trace(1.0, 1e-5, 1e-9, seconds=7.0)),
        record(tolerance=1e-5, trace=trace(1.0, 1e-5, seconds=3.0)),
        record(tolerance=1e-3, trace=trace(1.0, 1e-5, seconds=5.0)),
        record("other", tolerance=1e-4),
    ]
    found = {each.tolerance: each.time for each in at_target(Records(runs)).where(solver="cdf-gd")}
    assert found == {1e-3: 5.0, 1e-4: 5.0, 1e-5: 3.0, 1e-9: 14.0}


def test_to_target_table():
    runs = [
        record("cdf-gd", trace=trace(1.0, 1e-5, seconds=0.2)),
        record("rgd", trace=trace(1.0, 1e-2, 1e-6, seconds=0.4)),
        record("rcg", 60.0, status="TIME_LIMIT", trace=trace(1.0, 1e-2, seconds=30.0)),
    ]
    assert _cells(tables.to_target(Records(runs))) == [
        ["(4,2)", "cdf-gd", "**0.2**", "1.0", "**3**", "1.0", "1.00e-15"],
        ["", "rgd", "0.8", "4.0", "5", "1.7", "1.00e-15"],
        ["", "rcg", "> 60 (time limit)", "-", "-", "-", "-"],
    ]


def test_a_target_that_nobody_was_asked_for_is_no_failure_of_the_solver():
    other = record("b", tolerance=1e-9, trace=trace(1.0, 1e-5, 1e-9))
    first, _ = _cells(tables.to_target(Records([record("a", trace=trace(1.0, 1e-5)), other])))
    assert first[7:9] == ["-", "-"]


def test_best_of_each_row():
    runs = times(a=2.0, b=1.0, c=math.inf, d=math.nan)
    runs += [record("a", 5.0, size="(8,2)", status="STALLED")]
    first, second = tables.best(Records(runs))
    expected = ("matching", "(4,2)", 1e-05, "b", 1.0)
    assert (first.problem, first.size, first.tolerance, first.solver, first.time) == expected
    assert first.ratios == {"a": 2.0, "b": 1.0, "c": math.inf, "d": math.inf}
    assert first.at_least == {"c": 60.0}
    assert second.solver is None and math.isnan(second.time) and second.ratios == {"a": math.inf}


def test_best_table_says_more_than_where_the_time_ran_out():
    table = tables.best_table(Records(times(a=2.0, b=1.0, c=math.inf, d=math.nan)))
    (line,) = _cells(markdown(table))
    assert line == ["matching", "(4,2)", "1e-5", "b", "1", "2.0", "**1.0**", "> 60.0", "- (raised)"]
    assert table.footnote == ">: it ran out of time."


def test_failures_table_keeps_what_was_said():
    table = tables.failures_table(small_comparison())
    assert table is not None
    lines = table.blocks[0].lines
    assert len(lines) == sum(not r.success for r in small_comparison())
    assert any(
        line.entries[-1].text == "The solver raised <b>ValueError</b>: a & b" for line in lines
    )
    assert tables.failures_table(Records([record()])) is None


# ---------------------------------------------------------------------- in a terminal, a notebook


def test_records_fit_on_a_screen() -> None:
    records = small_comparison()
    lines = repr(records).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert all(any(solver in line for line in lines) for solver in records.solvers)
    html = records._repr_html_()
    assert all(solver in html for solver in records.solvers)
    assert html.startswith(f"<p>{summary.headline(records)[0]}") and html.count("<svg") == 1


@pytest.mark.parametrize(
    "records", [Records([]), Records([record(status="STALLED", success=False)])]
)
def test_a_notebook_draws_nothing_where_no_run_succeeded(records: Records) -> None:
    assert "<table>" in records._repr_html_() and "<svg" not in records._repr_html_()


def test_many_solvers_are_cut_and_no_record_is_no_error() -> None:
    many = Records([record(solver=f"solver-{k}") for k in range(40)])
    assert len(repr(many).splitlines()) <= 24 and "and 28 more solvers" in repr(many)
    assert repr(Records([])).startswith("0 records")
