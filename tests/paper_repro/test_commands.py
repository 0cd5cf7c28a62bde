"""The command line of paper_repro.

Every table and figure at toy size, resuming, the words, and what is refused.
"""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from baselines import SOLVERS as REGISTRY
from genorth import compare
from genorth.compare import Records
from genorth.gallery import comparison, constrained
from genorth.solve.result import Status
from paper_repro import data, experiments, figures, findings, kinds, ladder, report
from paper_repro.commands import main
from paper_repro.experiments import (
    OURS,
    PAPERS,
    PEERS,
    REFERENCE,
    SOLVERS,
    TABLES,
    TOLERANCES,
    own,
    table,
)
from paper_repro.figures import iteration_times
from paper_repro.findings import GALLERY, LADDER
from paper_repro.problems import PROBLEMS
from support.compare_records import record

ROOT = Path(__file__).parents[2]

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")


def test_the_252_rows_of_the_paper():
    rows = data.printed()
    keys = {(row.table, row.size, row.solver, row.tolerance) for row in rows}
    assert len(rows) == 252 == len(keys)
    assert rows[0] == data.Printed(
        1, "(100,10)", "cdf-gd", 1e-5, (6.29e-03, 265.0, 9.63e-06, 3.19e-15, 0.15)
    )
    stopped = [row for row in rows if not row.solved]
    sizes = {(2, "(1000,50)"), (2, "(1000,100)"), (6, "(500,5,5)"), (7, "(100,30,5)")}
    assert {(row.table, row.size, row.solver) for row in stopped} == {
        (2, "(1000,100)", "rgd-paper"),
        *((*size, "rcg-paper") for size in sizes),
    }
    assert all(row.figures == (None, None, None, None, ">1800") for row in stopped)


@pytest.mark.parametrize("number", TABLES)
def test_every_run_of_the_paper_has_one_of_ours(number):
    """Sizes and solvers are those of the paper, in its order; penalty methods have its beta."""
    experiment = table(number)
    theirs = [row.size for row in data.printed() if row.table == number]
    assert list(dict.fromkeys(theirs)) == [size.name for size in experiment.sizes]
    assert set(experiments.reference(experiment)) == {
        (experiment.name, size.name, solver, tol)
        for size in experiment.sizes
        for solver in PAPERS
        for tol in TOLERANCES
    }
    assert set(SOLVERS) == {*PAPERS, *OURS, *PEERS} and not experiment.missing
    beta = {1: 0.012, 2: 0.012, 3: 0.5, 4: 0.5}.get(number, 0.8)
    penalties = ("cdf-gd", "cdf-cg-scipy", "cdf-lbfgs-scipy", "cdf-tr-scipy")
    for instance in experiment.instances():
        assert instance.options == {solver: {"beta": beta} for solver in penalties}


@pytest.mark.parametrize("printed", [False, True], ids=["corrected", "printed"])
@pytest.mark.parametrize("number", TABLES)
def test_starts_of_the_tables(number, printed):
    """On M, the same for the same seed, another for another seed, and not stationary."""
    experiment = table(number, printed).toy()
    (instance,) = experiment.instances()
    problem, start = instance.made(3)
    again, elsewhere = instance.made(3)[1], instance.made(4)[1]
    M = problem.manifold
    assert M.feasibility(start) <= 1e-12 * M.scale(start)
    assert (start == again).all() and not (start == elsewhere).all()
    value, G = problem.evaluate(start)
    assert float(M.norm(M.gradient(start, G))) > 1e-3 * max(1.0, value)


def test_tables_with_a_size_in_common_have_instances_of_their_own():
    first, second = (table(number).toy().sizes[0] for number in (1, 2))
    assert first.numbers == second.numbers
    assert not (first.generated(0).A == second.generated(0).A).all()


def test_one_printed_size_does_not_exist():
    """At p = n = 1000, X^T B X = I has no solution (R7)."""
    (missing,) = (line for number in TABLES for line in table(number, printed=True).missing)
    assert missing.startswith("(1000,1000): ") and "empty" in missing


def _words_only(records, path, title, sections=(), **_):
    """The report without the parts of genorth.compare, which have tests of their own."""
    path.write_text(f"{title}\n{sections}", "utf-8")
    return path


@pytest.fixture
def quick_report(monkeypatch) -> None:
    monkeypatch.setattr(compare, "report", _words_only)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All tables and figures at toy size, the ladder, and the first instance of the gallery."""
    out = tmp_path_factory.mktemp("paper") / "toy"
    installed = [name for name in comparison.here() if name not in constrained.NAMES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "report", _words_only)
        patch.setattr(comparison, "names", lambda: installed[:1])
        assert main(["all", "--toy", "--out", str(out)]) == 0
    return out


@pytest.mark.statement("Ta1", "Ta2", "Ta3", "Ta4", "Ta5", "Ta6", "Ta7", "fig:1", "fig:2", "fig:3")
def test_all_makes_every_table_and_figure(folder):
    records = compare.load(folder / "records")
    assert records.distinct("problem") == [table(number).name for number in TABLES]
    assert len(records) == len(TABLES) * len([*PAPERS, *OURS]) * len(TOLERANCES)
    assert not [r.message for r in records if r.status in ("RAISED", "UNSUPPORTED", "HUNG")]
    assert all(r.success for r in records), [r.key for r in records if not r.success]
    for number in figures.FIGURES:
        assert json.loads((folder / f"figure-{number}.json").read_text("utf-8"))["runs"]
    report = (folder / "report.html").read_text("utf-8")
    for text in ("Agreement with the paper", "Figure 1", "Figure 3", "erratum R7", "claims"):
        assert text in report
    assert "All kinds of problem together" in report and "newer papers" in report


def test_all_results_together_are_computed_from_the_records(folder):
    evidence = findings.load(folder)
    rungs = len(list(ladder.rungs(ladder.TOY)))
    assert len({record.row for record in evidence.ladder}) == rungs == 26
    assert {*evidence.ladder.solvers} == {
        *ladder.SOLVERS,
        *(f"{name}, metric" for name in ladder.IN_METRIC),
    }
    classes = {problem.group for problem in PROBLEMS.values()}
    others = {kind.title for kind in kinds.KINDS.values()}
    assert {*evidence.groups.values()} == {*classes, LADDER, GALLERY, *others}
    for name, records in evidence.kinds.items():
        assert {*records.solvers} == {*kinds.KINDS[name].solvers}
        assert {record.status for record in records} <= {status.name for status in Status}
    assert {*evidence.union.distinct("problem")} == {*evidence.groups}
    assert not {*PAPERS} & {*evidence.union.solvers}
    made = report.blocks(evidence)
    rows = len(evidence.union.distinct("row"))
    *parts, whole = (
        [entry.text for entry in line.entries] for line in made["classes"].blocks[0].lines
    )
    assert whole[:2] == ["all", str(rows)] and sum(int(each[1]) for each in parts) == rows
    for each in (*parts, whole):  # every row has a winner or none
        won = sum(int(cell.partition("(")[2].rstrip(")")) for cell in each[2:5])
        assert won + int(each[5]) == int(each[1])
    assert len(made["claims"].blocks[0].lines) == 2 + len(findings._CLAIMS)
    assert len(made["newer"].blocks[0].lines) == len(findings._NEWER)
    assert "rtr" in [line.entries[0].text for line in made["solvers"].blocks[0].lines]


@pytest.mark.usefixtures("quick_report")
def test_a_second_run_makes_nothing_anew(folder, capsys):
    files = [*(folder / "records").iterdir(), folder / "figure-1.json"]
    before = {path: path.stat().st_mtime_ns for path in files if path.name[0] != "."}
    assert main(["table", "5", "--toy", "--out", str(folder)]) == 0
    assert main(["figure", "1", "--toy", "--out", str(folder)]) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    printed = capsys.readouterr().out
    assert "Table 5: joint diagonalisation, " in printed and "Table 6" not in printed
    assert (folder / "figure-1.svg").exists()


@pytest.mark.usefixtures("quick_report")
def test_the_quick_comparison_prints_a_line_for_each_table_and_where_the_report_is(folder, capsys):
    assert main(["--toy", "--out", str(folder)]) == 0
    out, err = capsys.readouterr()
    printed = out.splitlines()
    assert len(printed) <= 40 and not err  # two screens, with all that may be missing
    for number in TABLES:
        assert len([line for line in printed if line.startswith(f"Table {number}: ")]) == 1
    assert any("is fastest in" in line for line in printed)
    assert printed[-1] == f"Report: {folder / 'report.html'}"


def test_an_interrupted_figure_goes_on_where_it_stopped(folder, tmp_path):
    kept = json.loads((folder / "figure-1.json").read_text("utf-8"))
    first = kept["runs"][0] | {"seconds": 123.0}
    (tmp_path / "figure-1.json").write_text(json.dumps(kept | {"runs": [first]}), "utf-8")
    assert main(["figure", "1", "--toy", "--out", str(tmp_path)]) == 0
    runs = json.loads((tmp_path / "figure-1.json").read_text("utf-8"))["runs"]
    assert runs[0] == first
    assert [run["solver"] for run in runs] == list(iteration_times.METHODS)
    for run in runs[1:]:
        # a problem of a few rows may be solved to rounding before the last iteration
        assert 0 < run["iterations"] <= iteration_times.ITERATIONS
        assert 0 < run["gradient"] <= run["seconds"]
        assert 0 <= run["retraction"] + run["transport"] <= run["seconds"]
        assert (run["retraction"] > 0) == (REGISTRY[run["solver"]].family == "Riemannian")


def test_a_figure_tells_which_runs_ended_early_and_scales_their_time():
    """A method may converge, stall or run out of time before its last iteration."""
    ends = {"cdf-gd": (100, "LIMIT"), "cdf-cg-scipy": (95, "STALLED"), "rgd": (0, "RAISED")}
    runs = [
        iteration_times.Run("(4,2)", solver, *end, 1.9, 0.5, 0.25, 0.0)
        for solver, end in ends.items()
    ]
    (line,) = iteration_times.told(runs).blocks[0].lines
    cells = [entry.text for entry in line.entries]
    assert cells[:3] == ["(4,2)", "19", "20"]
    assert cells[-1] == "cdf-cg-scipy after 95 (stalled), rgd after 0 (raised)"
    drawn = figures.Data(*figures.FIGURES[1], {}, runs).draw().axes[1].containers
    bars = [each for each in drawn if each.get_label() in ("CDFGD total", "CDFGD gradient")]
    assert len(bars) == 2 and all(len(bar) == 1 for bar in bars)
    assert bars[0][0].get_height() == pytest.approx(1.9)


def test_a_figure_shows_medians_and_ranges_over_starts():
    each = ("(4,2)", "rgd-paper", 100, "ITERATION_LIMIT")
    runs = [iteration_times.Run(*each, 2.0 + k, (2.0 + k) * 0.1 * k, 0.0, 0.0) for k in (1, 2, 4)]
    (line,) = iteration_times.told(runs).blocks[0].lines
    assert [entry.text for entry in line.entries][3:8:4] == ["40", "20 (10 to 40)"]
    axes = figures.Data(*figures.FIGURES[1], {}, runs).draw().axes
    paths = [path.vertices for band in axes[2].collections for path in band.get_paths()]
    (heights,) = (path[:, 1] for path in paths if len(path))
    assert (heights.min(), heights.max()) == pytest.approx((30.0, 60.0))


def test_the_starts_of_a_figure_share_its_time(tmp_path, monkeypatch):
    """A method that takes half of the limit has two starts, one that takes more has one."""
    seconds = {"cdf-gd": 15.0, "cdf-cg-scipy": 40.0}
    given: list[tuple[str, int, float]] = []

    def measure(problem, size, solver, start, limit):
        given.append((solver, start, limit))
        spent = seconds.get(solver, 0.1)
        return iteration_times.Run(size.name, solver, 100, "", spent, 0.0, 0.0, 0.0, start)

    monkeypatch.setattr(iteration_times, "measure", measure)
    how = {"mode": "toy", "max_time": 30.0, "starts": 3, "say": lambda _: None}
    data = figures.measure(tmp_path, 1, **how)
    assert given[:3] == [("cdf-gd", 0, 30.0), ("cdf-gd", 1, 15.0), ("cdf-cg-scipy", 0, 30.0)]
    assert [start for solver, start, _ in given if solver == "rgd"] == [0, 1, 2]
    assert figures.measure(tmp_path, 1, **how).runs == data.runs  # nothing is measured again


@pytest.mark.statement("fig:2")
def test_figure_2_shows_smaller_errors_at_the_end(folder):
    data = figures.load(folder, 2)
    (run,) = data.runs
    assert sum(run.final) < sum(run.initial)
    (line,) = data.told().blocks[0].lines
    assert float(line.entries[2].text) < float(line.entries[1].text)


@pytest.mark.usefixtures("quick_report")
def test_what_is_exported_makes_all_results(folder, tmp_path, capsys):
    """A repository keeps compressed records and the data of figures; `results` makes the rest."""
    kept = tmp_path / "kept"
    assert main(["export", "--out", str(folder), "--to", str(kept)]) == 0
    data = {f"figure-{number}.json" for number in figures.FIGURES}
    parts = {"records", "ladder", "gallery", *kinds.KINDS}
    assert {path.name for path in kept.iterdir()} == data | parts
    mine, theirs = (compare.load(each / "records") for each in (folder, kept))
    assert [r.key for r in mine] == [r.key for r in theirs]
    assert max(len(r.trace) for r in theirs) <= 151
    assert main(["results", "--out", str(kept)]) == 0
    made = {f"figure-{number}.{kind}" for number in figures.FIGURES for kind in ("svg", "png")}
    made |= {"overview.md", "tables.md", "tables.csv", "tables.tex", "report.html"}
    assert {path.name for path in kept.iterdir()} == data | made | parts
    assert capsys.readouterr().out.count(str(kept)) >= len(made)
    assert main(["report", "--out", str(kept)]) == 0
    assert main(["table", "1", "--toy", "--out", str(kept)]) == 0
    assert len(compare.load(kept / "records")) == len(mine)  # compressed records are resumed too


@pytest.mark.usefixtures("quick_report")
def test_printed_instances_and_sizes_of_ones_own(tmp_path, capsys):
    solvers = ["--solvers", "rtr", "rgd-paper"]
    assert main(["table", "3", "--printed", "--toy", "--out", str(tmp_path), *solvers]) == 0
    more = ["--sizes", "6,2", "--max-time", "1", "--out", str(tmp_path), *solvers]
    assert main(["table", "1", *more]) == 0
    assert main(["problem", "matching", *more]) == 0
    records = compare.load(tmp_path / "records")
    named = ["Table 3: extrinsic mean, as printed", "Table 1: matching", "matching"]
    assert records.distinct("problem") == named
    assert records.distinct("solver") == ["rtr", "rgd-paper"]
    assert "As printed (erratum R7)" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("quick_report")
@pytest.mark.parametrize("more", [[], ["--peers"]], ids=["without", "with"])
def test_peers_run_where_they_are_asked_for(more, tmp_path, capsys):
    own = ["problem", "matching", "--sizes", "6,2", "--max-time", "1", "--quick", *more]
    assert main([*own, "--out", str(tmp_path)]) == 0
    found = compare.load(tmp_path / "records").distinct("solver")
    assert {*found} == {*PAPERS, *OURS, *(PEERS if more else ())}
    assert all(name in capsys.readouterr().out for name in PEERS[:1]) == bool(more)


def test_the_report_shows_the_papers_figures_beside_ours(tmp_path):
    arguments = ["--solvers", "rtr", "cdf-lbfgs-scipy", "--max-time", "1", "--out", str(tmp_path)]
    assert main(["table", "4", "--quick", *arguments]) == 0
    report = (tmp_path / "report.html").read_text("utf-8")
    for text in ("Agreement with the paper", "0.237", "erratum R7", "saddle", "<figure>"):
        assert text in report


def test_the_results_of_the_documentation_hold_all_tables() -> None:
    """The records that are kept are of every row, for each solver that has records."""
    records = compare.load(ROOT / "docs" / "results" / "records")
    known = [table(number) for number in TABLES]
    assert {*PAPERS} <= {*records.solvers}
    assert {(r.problem, r.size, r.solver, r.tolerance) for r in records} == {
        (experiment.name, size.name, solver, tolerance)
        for experiment in known
        for size in experiment.sizes
        for solver in records.solvers
        for tolerance in TOLERANCES
    }
    assert len(report.lines(records)) == len(TABLES)
    assert all(figures.load(ROOT / "docs" / "results", number) for number in figures.FIGURES)


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for text in ("table 7", "figure 3", *PROBLEMS, *PAPERS, *OURS, *PEERS, "(1000,1000)", "N=100"):
        assert text in printed


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("table 8", "table: need one of 1, 2, 3, 4, 5, 6, 7; got 8"),
        ("figure 4 --toy", "figure: need one of 1, 2, 3; got 4"),
        ("problem mean --sizes 4,2", "'matching', 'extrinsic mean'"),
        ("problem matching --sizes 11,4", "n even"),
        ("problem matching --sizes 4,6", "p <= n = 4; got 6"),
        ("table 4 --sizes 100,90 --printed", "at least 90 positive"),
        ("table 5 --sizes 8,2", "4 numbers n,p,l,N"),
        ("table 1 --toy --solvers rgd-fast", "solvers: need one of 'cdf-gd'"),
        ("report --toy", "need a folder that compare.run has made"),
        ("table 1 --toy --max-time -1", "max_time > 0"),
    ],
)
def test_bad_input_is_told_in_a_sentence(arguments, named, tmp_path, capsys):
    assert main([*arguments.split(), "--out", str(tmp_path)]) == 2
    assert named in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["report", "results", "export"])
def test_out_without_records_is_refused(command, tmp_path, capsys):
    more = ["--to", str(tmp_path / "to")] if command == "export" else []
    for out in (tmp_path / "new", Path(__file__)):
        assert main([command, "--out", str(out), *more]) == 2
        message = capsys.readouterr().err
        assert message.startswith("error: out: need a folder that ") and str(out) in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["file", ""])
def test_to_that_cannot_be_written_is_refused(to, folder, tmp_path, capsys):
    """A file, and the folder itself, whose records would be replaced by thinner ones."""
    (tmp_path / "file").touch()
    assert main(["export", "--out", str(folder), "--to", str(tmp_path / to if to else folder)]) == 2
    assert capsys.readouterr().err.startswith("error: --to: need ")


_RUN = {"size": "(10,5)", "solver": "cdf-cg-scipy", "status": "CONVERGED"}
_RUN |= {"initial": [1.0], "final": [0.5]}
_DAMAGED = {
    "half": '{"settings": {"figure": 2}, "runs": [{"si',
    "list": "[]",
    "no runs": '{"settings": {}}',
    "settings": '{"settings": 5, "runs": []}',
    "field": json.dumps({"settings": {}, "runs": [_RUN | {"more": 1}]}),
    "words": json.dumps({"settings": {}, "runs": [_RUN | {"final": ["far"]}]}),
    "nan": json.dumps({"settings": {}, "runs": [_RUN | {"final": [float("nan")]}]}),
    "bytes": "\udcff",
}


@pytest.mark.parametrize("content", _DAMAGED.values(), ids=_DAMAGED.keys())
@pytest.mark.parametrize("command", [["figure", "2"], ["all"]], ids=" ".join)
def test_a_damaged_figure_is_named_before_anything_is_measured(command, content, tmp_path, capsys):
    file = tmp_path / "figure-2.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main([*command, "--toy", "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert str(file) in message and "Remove it to measure again." in message
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_other_settings_in_the_same_folder_are_refused(folder, capsys):
    assert main(["table", "1", "--toy", "--max-time", "2", "--out", str(folder)]) == 2
    assert "max_time" in capsys.readouterr().err
    assert main(["figure", "1", "--toy", "--max-time", "2", "--out", str(folder)]) == 2
    assert "Choose another folder" in capsys.readouterr().err


def _like_the_paper(number: int, **changes) -> Records:
    """Records with the paper's own figures; `changes` are applied to all."""
    made = []
    for (problem, size, solver, tolerance), (fun, nit, *_, seconds) in experiments.reference(
        table(number)
    ).items():
        stopped = isinstance(seconds, str)
        figures = {} if stopped else {"fun": fun, "nit": int(nit)} | changes
        status = "TIME_LIMIT" if stopped else "CONVERGED"
        key = {"problem": problem, "size": size, "tolerance": tolerance}
        made.append(record(solver, 1800.0 if stopped else seconds, status=status, **key, **figures))
    return Records(made, {"max_time": 60.0, "threads": 1})


def _agreement(records: Records) -> dict[str, str]:
    """The one line of the table, by head."""
    found = findings.agreement(records)
    (line,) = found.blocks[0].lines
    return {head.name: entry.text for head, entry in zip(found.heads, line.entries, strict=True)}


@pytest.mark.parametrize("number", TABLES)
def test_the_papers_own_figures_agree_with_themselves(number):
    found = _agreement(_like_the_paper(number))
    solved = sum(row.solved for row in data.printed() if row.table == number)
    f = "both zero" if number >= 5 else "1"
    counts = [str(number), str(solved), "0", "0", f, "1", f"{solved} of {solved}"]
    assert list(found.values()) == [*counts, "6 of 6", "6 of 6", "0 of 6"]


def test_what_does_not_agree_is_told():
    """f 0.1 in place of 0.374, 1000 iterations in place of 3 to 14; a solver that fails."""
    found = _agreement(_like_the_paper(3, fun=0.1, nit=1000))
    theirs = [row for row in data.printed() if row.table == 3]
    near = sum(500 <= row.figures[1] <= 2000 for row in theirs)
    assert found["f over the paper's"].startswith("0.27")
    assert found["within 2x"] == f"{near} of {len(theirs)}"
    assert found["iterations over the paper's"].endswith(" to 330)")
    late = {"success": False, "status": "TIME_LIMIT", "time": 60.0}
    slow = [attrs.evolve(r, **late) if r.solver == "cdf-gd" else r for r in _like_the_paper(3)]
    found = _agreement(Records(slow, {}))
    assert (found["solved by both"], found["by the paper alone"]) == ("30", "6")
    fastest: dict[Any, data.Printed] = {}
    for row in theirs:
        best = fastest.setdefault((row.size, row.tolerance), row)
        if row.figures[-1] < best.figures[-1]:
            fastest[row.size, row.tolerance] = row
    same = sum(row.solver != "cdf-gd" for row in fastest.values())
    assert found["same solver fastest"] == f"{same} of 6"


def test_claims_are_counted_row_by_row():
    """With the paper's own figures its claims hold as it says, where its times are printed."""
    records = compare.join(_like_the_paper(number) for number in TABLES)
    lines = findings.claims(records).blocks[0].lines
    told = {line.entries[0].text.partition(" (")[0]: line.entries[1].text for line in lines}
    grows = "Penalty methods outperform Riemannian ones as n grows"
    assert told[grows].startswith("faster in 4 of 4 rows")


@pytest.mark.parametrize(
    ("wins", "verdict"), [(10, "confirmed"), (9, "confirmed"), (5, "in part"), (1, "not confirmed")]
)
def test_a_verdict_on_a_newer_paper_follows_from_its_rows(wins, verdict):
    """Landing against rgd in ten rows, of which it is faster in some."""
    made = [record("landing", 1.0, size=str(row)) for row in range(10)]
    made += [record("rgd", 2.0 if row < wins else 0.5, size=str(row)) for row in range(10)]
    evidence = findings.Evidence(Records([]), Records([]), Records(made))
    (line,) = findings.newer(evidence).blocks[0].lines
    assert line.entries[2].text.startswith(f"faster in {wins} of 10 rows")
    assert line.entries[3].text == verdict and "(ablin2024infeasible)" in line.entries[0].text


def test_leads_are_those_of_rows_in_which_the_reference_takes_long():
    made = [record(REFERENCE, 9.0), record("rtr", 0.5, seconds={"cost": 0.25})]
    made += [record("rtr", 1e-3, seed=1, seconds={"cost": 1e-3})]  # a start that it has not
    made += [record(REFERENCE, 4.0, size="short"), record("rtr", 1.0, size="short")]
    made += [
        record(REFERENCE, 60.0, size="late", status="TIME_LIMIT"),
        record("rtr", 2.0, size="late", seconds={"cost": 2.0}),
    ]
    lines = findings.leads(Records(made)).blocks[0].lines
    assert [[entry.text for entry in line.entries[1:]] for line in lines] == [
        ["9", "rtr", "18", "2"],
        ["> 60", "rtr", "> 30", "1"],
    ]


def test_auto_and_peers_are_judged_row_by_row():
    """RGD as the paper ran it is neither ours nor a peer; SciPy's on h is a peer, as it ran it."""
    made = [record("rtr", 1.0, size=str(row)) for row in range(10)]
    made += [record("rgd-paper", 0.01, size=str(row)) for row in range(10)]
    made += [record("rgd", 0.4, size="0"), record("pymanopt-cg", 0.8, size="1")]
    made += [record("cdf-lbfgs-scipy", 0.2, size="2"), record("pymanopt-tr", 4.0, size="3")]
    made += [record("pymanopt-tr", 1e-3, size="4", status="TIME_LIMIT")]
    evidence = findings.Evidence(Records(made), Records([]), Records([]))
    shown = findings.default(attrs.evolve(evidence, gallery=evidence.paper, paper=Records([])))
    cells = [[entry.text for entry in line.entries] for line in shown.blocks[0].lines]
    figures = ["10", "1", "2.5", "5", "3", "1.2", "2"]
    assert cells == [[GALLERY, *figures], ["all", *figures]]
    lines = findings.misses(evidence).blocks[0].lines
    told = [[entry.text for entry in line.entries[1:]] for line in lines]
    auto, first = "auto (rtr)", "cdf-lbfgs-scipy"
    assert told == [
        [auto, "rgd", "2.5"],
        ["rtr", "pymanopt-cg", "1.25"],
        [auto, first, "5"],
        ["rtr", first, "5"],
    ]


def test_nothing_is_told_of_what_was_not_measured():
    assert report.notes(Records([record(problem="mine")])) == {}
    mine = own("matching", [(8, 2)])
    assert experiments.reference(mine) == {}
    assert not findings.agreement(Records([])).blocks[0].lines
