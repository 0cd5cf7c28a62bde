"""The command line of paper_repro.

Every table and figure at toy size, resuming, the words, and what is refused.
"""

import json
from pathlib import Path

import attrs
import pytest

from baselines import SOLVERS as REGISTRY
from genorth import compare
from genorth.compare import Records
from paper_repro import agreement, data, experiments, figures, findings, ladder, pages, report
from paper_repro.commands import main
from paper_repro.experiments import (
    AUTO,
    ORTHOGONAL,
    OURS,
    PAPERS,
    PEERS,
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
    assert (
        len(rows) == 252 == len({(row.table, row.size, row.solver, row.tolerance) for row in rows})
    )
    first = rows[0]
    assert (first.table, first.size, first.solver, first.tolerance) == (
        1,
        "(100,10)",
        "cdf-gd",
        1e-5,
    )
    assert first.figures == (6.29e-03, 265.0, 9.63e-06, 3.19e-15, 0.15)
    stopped = [row for row in rows if not row.solved]
    assert {(row.table, row.size, row.solver) for row in stopped} == {
        (2, "(1000,50)", "rcg-paper"),
        (2, "(1000,100)", "rgd-paper"),
        (2, "(1000,100)", "rcg-paper"),
        (6, "(500,5,5)", "rcg-paper"),
        (7, "(100,30,5)", "rcg-paper"),
    }
    assert all(row.figures == (None, None, None, None, ">1800") for row in stopped)


@pytest.mark.statement("Ta1")
@pytest.mark.statement("Ta2")
@pytest.mark.statement("Ta3")
@pytest.mark.statement("Ta4")
@pytest.mark.statement("Ta5")
@pytest.mark.statement("Ta6")
@pytest.mark.statement("Ta7")
@pytest.mark.parametrize("number", TABLES)
def test_every_run_of_the_paper_has_one_of_ours(number):
    """Sizes and solvers of the table are those of the paper, in its order.

    The penalty methods have its beta.
    """
    experiment = table(number)
    theirs = [row for row in data.printed() if row.table == number]
    assert list(dict.fromkeys(row.size for row in theirs)) == [
        size.name for size in experiment.sizes
    ]
    expected = {
        (experiment.name, size.name, solver, tol)
        for size in experiment.sizes
        for solver in PAPERS
        for tol in TOLERANCES
    }
    assert set(experiments.reference(experiment)) == expected
    assert set(SOLVERS) == {*PAPERS, *OURS, *PEERS}
    beta = {1: 0.012, 2: 0.012, 3: 0.5, 4: 0.5}.get(number, 0.8)
    for instance in experiment.instances():
        assert instance.options == {
            solver: {"beta": beta}
            for solver in ("cdf-gd", "cdf-cg-scipy", "cdf-lbfgs-scipy", "cdf-tr-scipy")
        }
        assert AUTO not in instance.options and ORTHOGONAL not in instance.options


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


def test_every_size_of_the_corrected_tables_exists():
    """And of the printed ones all but p = n = 1000, where X^T B X = I has no solution (R7)."""
    assert not [line for number in TABLES for line in table(number).missing]
    missing = [line for number in TABLES for line in table(number, printed=True).missing]
    assert len(missing) == 1 and missing[0].startswith("(1000,1000): ") and "empty" in missing[0]


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
    installed = [name for name in findings.instance_names() if findings.why_not(name) is None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "report", _words_only)
        patch.setattr(findings, "instance_names", lambda: installed[:1])
        assert main(["all", "--toy", "--out", str(out)]) == 0
    return out


@pytest.mark.statement("Ta1")
@pytest.mark.statement("Ta2")
@pytest.mark.statement("Ta3")
@pytest.mark.statement("Ta4")
@pytest.mark.statement("Ta5")
@pytest.mark.statement("Ta6")
@pytest.mark.statement("Ta7")
@pytest.mark.statement("fig:1")
@pytest.mark.statement("fig:2")
@pytest.mark.statement("fig:3")
def test_all_makes_every_table_and_figure(folder):
    records = compare.load(folder / "records")
    assert records.distinct("problem") == [table(number).name for number in TABLES]
    assert len(records) == len(TABLES) * len([*PAPERS, *OURS]) * len(TOLERANCES)
    assert not [r.message for r in records if r.status in ("RAISED", "UNSUPPORTED", "HUNG")]
    assert all(r.success for r in records), [r.key for r in records if not r.success]
    for number in figures.FIGURES:
        assert json.loads((folder / f"figure-{number}.json").read_text("utf-8"))["runs"]
    report = (folder / "report.html").read_text("utf-8")
    for text in ("Agreement with the paper", "Figure 1", "Figure 3", "over 5 s", "Corrected (R7)"):
        assert text in report
    for text in ("Tables, ladder and gallery together", "What each ingredient is worth"):
        assert text in report


def test_all_results_together_are_computed_from_the_records(folder):
    evidence = findings.load(folder)
    rungs = len(list(ladder.rungs(ladder.TOY)))
    assert len({record.row for record in evidence.ladder}) == rungs == 26
    assert {*evidence.ladder.solvers} == {
        *ladder.SOLVERS,
        *(findings.gallery.metric_name(name) for name in ladder.IN_METRIC),
    }
    classes = {problem.group for problem in PROBLEMS.values()}
    assert {*evidence.groups.values()} == {*classes, LADDER, GALLERY}
    assert {*evidence.union.distinct("problem")} == {*evidence.groups}
    assert not {*PAPERS} & {*evidence.union.solvers}
    made = pages.blocks(evidence)
    rows = len(evidence.union.distinct("row"))
    lines = made["classes"].splitlines()
    assert lines[-1].startswith(f"| all | {rows} |")
    cells = [line.split(" | ") for line in lines[2:]]
    assert sum(int(each[1]) for each in cells[:-1]) == rows
    for each in cells:  # every row has a winner or none
        won = sum(int(cell[cell.index("(") + 1 : -1]) for cell in each[2:5] if "(" in cell)
        assert won + int(each[5].strip(" |")) == int(each[1])
    assert f"in {rows} rows" in made["result"] and made["result"].count("\n- ") == 2
    assert made["claims"].count("\n") == 2 + 2 + len(agreement._CLAIMS)
    assert "| `rtr` |" in made["guide"] or "| `landing-newton` |" in made["guide"]
    for name in ("guide", "claims", "ingredients", "classes", "solvers"):
        widths = {line.replace("\\|", "").count("|") for line in made[name].splitlines()}
        assert len(widths) == 1, name


@pytest.mark.usefixtures("quick_report")
def test_a_second_run_makes_nothing_anew(folder, capsys):
    def written() -> dict[str, int]:
        files = [path for path in (folder / "records").iterdir() if path.name[0] != "."]
        return {path.name: path.stat().st_mtime_ns for path in files}

    before = written()
    drawn = (folder / "figure-1.json").stat().st_mtime_ns
    assert main(["table", "5", "--toy", "--out", str(folder)]) == 0
    assert main(["figure", "1", "--toy", "--out", str(folder)]) == 0
    assert written() == before
    assert (folder / "figure-1.json").stat().st_mtime_ns == drawn
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
        # A problem of a few rows may be solved to rounding before the last iteration.
        assert 0 < run["iterations"] <= iteration_times.ITERATIONS
        assert (run["iterations"] == iteration_times.ITERATIONS) or run[
            "status"
        ] != "ITERATION_LIMIT"
        assert 0 < run["gradient"] <= run["seconds"]
        assert 0 <= run["retraction"] + run["transport"] <= run["seconds"]
        assert (run["retraction"] > 0) == (REGISTRY[run["solver"]].family == "Riemannian")


def test_a_figure_tells_which_runs_ended_early_and_scales_their_time():
    """A method may converge, stall or run out of time before its last iteration."""
    parts = {"gradient": 0.5, "retraction": 0.25, "transport": 0.0}
    ends = {
        "cdf-gd": (100, "ITERATION_LIMIT"),
        "cdf-cg-scipy": (95, "STALLED"),
        "rgd": (0, "RAISED"),
    }
    runs = [
        iteration_times.Run("(4,2)", solver, iterations, status, seconds=1.9, **parts)
        for solver, (iterations, status) in ends.items()
    ]
    times, told = iteration_times.sentences(runs)
    assert times == "(4,2): milliseconds per iteration: CDFGD 19, CDFCG 20."
    assert told.startswith("Ended before 100 iterations, totals scaled to 100: ")
    assert told.endswith(": cdf-cg-scipy at (4,2) (95, stalled), rgd at (4,2) (0, raised).")
    drawn = figures.Data(*figures.FIGURES[1], {}, runs).draw().axes[1].containers
    bars = [each for each in drawn if each.get_label() in ("CDFGD total", "CDFGD gradient")]
    assert len(bars) == 2 and all(len(bar) == 1 for bar in bars)
    assert bars[0][0].get_height() == pytest.approx(1.9)
    assert runs[1].per_iteration() == pytest.approx(0.02)


def test_a_figure_shows_medians_and_ranges_over_starts():
    parts = {"retraction": 0.0, "transport": 0.0}
    runs = [
        iteration_times.Run(
            "(4,2)", "rgd-paper", 100, "ITERATION_LIMIT", 2.0 + k, (2.0 + k) * 0.1 * k, **parts
        )
        for k in (1, 2, 4)
    ]
    (told,) = iteration_times.sentences(runs)
    share = "(4,2): retraction and gradient 20 (10 to 40) % of RGD"
    assert told == f"{share}; milliseconds per iteration: RGD 40."
    axes = figures.Data(*figures.FIGURES[1], {}, runs).draw().axes
    (path,) = (path for band in axes[2].collections for path in band.get_paths())
    heights = path.vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((30.0, 60.0))


def test_the_starts_of_a_figure_share_its_time(tmp_path, monkeypatch):
    """A method that takes half of the limit has two starts, one that takes more has one."""
    seconds = {"cdf-gd": 15.0, "cdf-cg-scipy": 40.0}
    given: list[tuple[str, int, float]] = []

    def measure(problem, size, solver, start, limit):
        given.append((solver, start, limit))
        rest = {"gradient": 0.0, "retraction": 0.0, "transport": 0.0, "start": start}
        spent = seconds.get(solver, 0.1)
        return iteration_times.Run(size.name, solver, 100, "ITERATION_LIMIT", spent, **rest)

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
    assert "at the start" in data.sentences()[0]


@pytest.mark.usefixtures("quick_report")
def test_what_is_exported_makes_all_results(folder, tmp_path, capsys):
    """A repository keeps compressed records and the data of figures; `results` makes the rest."""
    kept = tmp_path / "kept"
    assert main(["export", "--out", str(folder), "--to", str(kept)]) == 0
    data = {f"figure-{number}.json" for number in figures.FIGURES}
    parts = {"records", "ladder", "gallery"}
    assert {path.name for path in kept.iterdir()} == data | parts
    mine, theirs = (compare.load(each / "records") for each in (folder, kept))
    assert [r.key for r in mine] == [r.key for r in theirs]
    assert max(len(r.trace) for r in theirs) <= 151
    assert main(["results", "--out", str(kept)]) == 0
    drawn = {f"figure-{number}.{kind}" for number in figures.FIGURES for kind in ("svg", "png")}
    tables = {"overview.md", "tables.md", "tables.csv", "tables.tex", "report.html"}
    tables |= {"findings.md"}
    assert {path.name for path in kept.iterdir()} == data | drawn | tables | parts
    assert capsys.readouterr().out.count(str(kept)) >= len(drawn | tables)
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
    assert records.distinct("problem") == [
        "Table 3: extrinsic mean, as printed",
        "Table 1: matching",
        "matching",
    ]
    assert records.distinct("solver") == ["rtr", "rgd-paper"]
    assert "As printed: J = I" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("quick_report")
def test_peers_run_beside_the_two_families(tmp_path, capsys):
    own = ["problem", "matching", "--sizes", "6,2", "--max-time", "1", "--quick"]
    assert main([*own, "--out", str(tmp_path / "without")]) == 0
    assert not {*PEERS} & {*compare.load(tmp_path / "without" / "records").distinct("solver")}
    capsys.readouterr()
    assert main([*own, "--peers", "--out", str(tmp_path / "with")]) == 0
    records = compare.load(tmp_path / "with" / "records")
    assert {*records.distinct("solver")} == {*SOLVERS}
    assert records.distinct("family").count("infeasible") == 1
    told = capsys.readouterr().out
    for name in PEERS:
        assert name in told


def test_the_report_shows_the_papers_figures_beside_ours(tmp_path):
    """The paper's size under its name, so that its figures are found.

    Solved by one solver, with a loose limit.
    """
    arguments = ["--solvers", "rtr", "cdf-lbfgs-scipy", "--max-time", "1", "--out", str(tmp_path)]
    assert main(["table", "4", "--quick", *arguments]) == 0
    report = (tmp_path / "report.html").read_text("utf-8")
    for text in (
        "Agreement with the paper",
        "2.37e-01",
        "Corrected (R7)",
        "saddle",
        "<figure>",
        "1800 s",
    ):
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
        (["table", "8"], "table: need one of 1, 2, 3, 4, 5, 6, 7; got 8"),
        (["figure", "4", "--toy"], "figure: need one of 1, 2, 3; got 4"),
        (
            ["problem", "mean", "--sizes", "4,2"],
            "'matching', 'extrinsic mean', 'joint diagonalisation'; got 'mean'",
        ),
        (["problem", "matching", "--sizes", "11,4"], "n even"),
        (["problem", "matching", "--sizes", "4,6"], "p <= n = 4; got 6"),
        (["problem", "extrinsic mean", "--sizes", "100,90", "--printed"], "at least 90 positive"),
        (["table", "5", "--sizes", "8,2"], "4 numbers n,p,l,N"),
        (["table", "1", "--toy", "--solvers", "rgd-fast"], "solvers: need one of 'cdf-gd'"),
        (["report", "--toy"], "need a folder that compare.run has made"),
        (["table", "1", "--toy", "--max-time", "-1"], "max_time > 0"),
    ],
    ids=[
        "table",
        "figure",
        "problem",
        "odd",
        "wide",
        "empty",
        "numbers",
        "solver",
        "nothing",
        "limit",
    ],
)
def test_bad_input_is_told_in_a_sentence(arguments, named, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert named in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


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
    found = agreement.agreement(records)
    (line,) = found.blocks[0].lines
    return {head.name: entry.text for head, entry in zip(found.heads, line.entries, strict=True)}


@pytest.mark.parametrize("number", TABLES)
def test_the_papers_own_figures_agree_with_themselves(number):
    found = _agreement(_like_the_paper(number))
    solved = sum(row.solved for row in data.printed() if row.table == number)
    assert found == {
        "table": str(number),
        "solved by both": str(solved),
        "by the paper alone": "0",
        "here alone": "0",
        "f over the paper's": "both zero" if number >= 5 else "1",
        "iterations over the paper's": "1",
        "within 2x": f"{solved} of {solved}",
        "same solver fastest": "6 of 6",
        "same family": "6 of 6",
        "one of ours faster": "0 of 6",
    }


def test_what_does_not_agree_is_told():
    """f 0.1 in place of 0.374, 1000 iterations in place of 3 to 14; a solver that fails."""
    found = _agreement(_like_the_paper(3, fun=0.1, nit=1000))
    counts = [row.figures[1] for row in data.printed() if row.table == 3]
    near = sum(500 <= count <= 2000 for count in counts)
    assert found["f over the paper's"].startswith("0.27")
    assert found["within 2x"] == f"{near} of {len(counts)}"
    assert found["iterations over the paper's"].endswith(" to 3.3e+02)")
    slow = [
        attrs.evolve(r, success=False, status="TIME_LIMIT", time=60.0)
        if r.solver == "cdf-gd"
        else r
        for r in _like_the_paper(3)
    ]
    found = _agreement(Records(slow, {}))
    assert (found["solved by both"], found["by the paper alone"]) == ("30", "6")
    fastest = {
        place: min(
            (row for row in data.printed() if (row.table, row.size, row.tolerance) == place),
            key=lambda row: row.figures[-1],
        ).solver
        for place in {(row.table, row.size, row.tolerance) for row in data.printed()}
        if place[0] == 3
    }
    same = sum(solver != "cdf-gd" for solver in fastest.values())
    assert found["same solver fastest"] == f"{same} of 6"


def test_claims_are_counted_row_by_row():
    """With the paper's own figures its claims hold as it says, where its times are printed."""
    records = compare.join(_like_the_paper(number) for number in TABLES)
    lines = {line[0].partition(" (")[0]: line[1] for line in agreement.claims(records)[1:-1]}
    assert lines["Penalty methods outperform Riemannian ones as n grows"].startswith(
        "faster in 4 of 4 rows"
    )
    assert lines["RCG is less efficient than RGD, by the cost of transport"].startswith("faster in")


def test_nothing_is_told_of_what_was_not_measured():
    assert report.notes(Records([record(problem="mine")])) == {}
    mine = own("matching", [(8, 2)])
    assert experiments.reference(mine) == {}
    assert not agreement.agreement(Records([])).blocks[0].lines
