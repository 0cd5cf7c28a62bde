"""The command `genorth`: from a plain file to a check, a solution and a report.

And what all command lines share: no traceback, and an exit code that says how it ended (0; 1: it
could not be done; 2: usage; 130: Ctrl-C).
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from genorth import compare
from genorth.__main__ import main
from genorth.gallery.commands import main as gallery_main
from paper_repro import figures
from paper_repro.commands import main as paper_main

ROOT = Path(__file__).parents[1]
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")

MY = """\
import numpy as np
import genorth as go

A = np.diag(np.arange(1.0, 13.0))
modes = go.Problem(go.Stiefel(12, 2), lambda X: np.vdot(X, A @ X), lambda X: 2 * A @ X)
"""
SOLVER = """
def mine(problem, x0, *, tol):
    return go.minimize(problem, x0, method="rgd", tol=tol).x

solvers = {"mine": mine}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A first file, in the working directory; what running it changes is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = Path("my_problem.py")
    path.write_text(MY, "utf-8")
    return path


# ---------------------------------------------------------------------- the commands


def test_from_an_empty_file_to_a_report(tmp_path: Path) -> None:
    """Under ten lines of code and one command, as a user types it."""
    assert len(MY.splitlines()) < 10
    (tmp_path / "my.py").write_text(MY, "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "genorth", "compare", "my.py", "--starts", "2"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "[6/6]" in run.stderr and "All 6 runs succeeded." in run.stdout
    page = tmp_path / "genorth_out" / "my" / "report.html"
    assert "modes" in page.read_text("utf-8")


def test_compare_resumes_and_reports_again(file: Path, capsys) -> None:
    file.write_text(MY + SOLVER, "utf-8")
    asked = ["compare", str(file), "--solvers", "auto,mine", "--tol", "1e-4", "--out", "found"]
    assert main(asked) == 0
    records = compare.load("found/records")
    assert records.distinct("solver") == ["auto", "mine"] and all(r.success for r in records)
    assert "[2/2]" in capsys.readouterr().err
    assert main([*asked, "--starts", "2"]) == 0
    assert "[2/2]" in capsys.readouterr().err  # the two that were missing
    Path("found/report.html").unlink()
    assert main(["report", "found"]) == 0
    assert "found/report.html" in capsys.readouterr().out and Path("found/report.html").is_file()


@pytest.mark.slow
def test_functions_of_the_file_reach_other_processes(file: Path) -> None:
    file.write_text(MY + SOLVER, "utf-8")
    pytest.importorskip("cloudpickle", reason="comes with the extra: pip install genorth[compare]")
    assert main(["compare", str(file), "--solvers", "mine", "--jobs", "2", "--out", "found"]) == 0


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("", "", 0, "gradient of modes on Stiefel(12, 2): passed"),
        ("2 * A @ X)", "A @ X)", 1, "gradient of modes on Stiefel(12, 2): 2 of 3 failed"),
        ("2 * A @ X)", "2 * A @ X, lambda X, Z: A @ Z)", 1, "Hessian of modes on Stiefel(12, 2): "),
        (", lambda X: 2 * A @ X", "", 1, "FAIL  no gradient"),
    ],
    ids=["right", "gradient", "Hessian", "none"],
)
def test_check_finds_wrong_derivatives(old, new, code, said, file: Path, capsys) -> None:
    file.write_text(MY.replace(old, new), "utf-8")
    assert main(["check", str(file)]) == code
    assert said in capsys.readouterr().out


def test_solve_prints_and_keeps_the_result(file: Path, capsys) -> None:
    import numpy as np

    assert main(["solve", str(file), "--method", "rlbfgs", "--out", "found"]) == 0
    shown = capsys.readouterr().out
    assert "modes:" in shown and "CONVERGED" in shown and "rlbfgs" in shown
    assert np.load("found/modes.npy").shape == (12, 2)
    assert main(["solve", str(file), "--max-time", "1e-9"]) == 1


@pytest.mark.parametrize(
    "more",
    [
        'problems = {"a": modes, "b": modes}',
        'problems = [go.Problem(go.Stiefel(12, 2), lambda X: 0.0, lambda X: 0 * X, name="a")]',
        "def make_a(seed):\n    return modes",
        "def make_a():\n    return modes",
    ],
    ids=["mapping", "list", "with a seed", "without"],
)
def test_problems_are_found_by_name(more: str, file: Path, capsys) -> None:
    file.write_text(f"{MY}\n{more}\n", "utf-8")
    assert main(["solve", str(file), "a"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("a:") and "modes:" not in shown and "b:" not in shown


def test_list_and_help_read_as_text(capsys) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for text in ("rtr", "Riemannian", "SymplecticStiefel", "ergotropy-spins"):
        assert text in shown
    for arguments in ([], ["compare", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert "--starts 5 --solvers auto,rlbfgs" in shown and "None" not in shown


def test_programs_of_other_packages_are_subcommands(monkeypatch, capsys) -> None:
    assert main(["gallery", "list"]) == 0
    assert "ergotropy-spins" in capsys.readouterr().out
    paper = importlib.metadata.EntryPoint("paper", "paper_repro.commands:main", "genorth.commands")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [paper])
    assert main(["paper", "list"]) == 0
    assert "table 7" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["paper", "--help"])
    assert capsys.readouterr().out.startswith("usage: genorth paper")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "genorth paper --help" in capsys.readouterr().out


def test_the_entry_points_are_declared() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"genorth": "genorth.__main__:run"}
    assert project["entry-points"]["genorth.commands"] == {"paper": "paper_repro.commands:main"}


# ---------------------------------------------------------------------- all command lines

TOY = ["--toy", "--solvers", "rtr"]
#: Commands of every program, without --out; none takes long.
COMPARISONS = {
    "genorth": (main, ["compare", "FILE", "--solvers", "rtr"]),
    "gallery": (
        gallery_main,
        ["run", "ergotropy-spins", "--quick", "--jobs", "1", "--solvers", "rtr"],
    ),
    "paper table": (paper_main, ["table", "1", *TOY]),
    "paper figure": (paper_main, ["figure", "2", *TOY]),
    "paper all": (paper_main, ["all", *TOY]),
}
every_comparison = pytest.mark.parametrize("name", COMPARISONS)


def compared(name: str, file: Path, out: Path) -> int:
    program, arguments = COMPARISONS[name]
    given = [str(file) if argument == "FILE" else argument for argument in arguments]
    return program([*given, "--out", str(out)])


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before anything is measured."""

    def run(*_, **__):
        raise AssertionError("measured")

    monkeypatch.setattr(compare, "run", run)
    for kind in figures._KINDS.values():
        monkeypatch.setattr(kind, "measure", run)


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
@every_comparison
def test_out_that_cannot_be_a_folder_is_refused(name, place, file, tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    assert compared(name, file, tmp_path / place) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: --out: need a folder") and str(tmp_path / place) in message
    assert (tmp_path / "file").read_text("utf-8") == "mine"


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("package", ["matplotlib", "threadpoolctl", "jinja2"])
@every_comparison
def test_a_missing_extra_is_named_before_anything_is_measured(
    name, package, file, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert compared(name, file, tmp_path / "out") == 1
    message = capsys.readouterr().err
    assert message.startswith("error: ") and "pip install 'genorth[report]'" in message
    assert package in message and not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["genorth", "gallery", "paper table"])
def test_an_interrupted_command_ends_with_130_and_its_notes(
    name, file, tmp_path, monkeypatch, capsys
) -> None:
    def interrupted(*_, **__):
        interrupt = KeyboardInterrupt()
        interrupt.add_note("3 of 4 runs are kept.")
        raise interrupt

    monkeypatch.setattr(compare, "run", interrupted)
    assert compared(name, file, tmp_path / "out") == 130
    assert capsys.readouterr().err == "\nInterrupted. 3 of 4 runs are kept.\n"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *((main, line) for line in ("nothing", "--nothing", "solve", "solve my.py --tol small")),
        *((gallery_main, line) for line in ("nothing", "run --jobs two", "list x")),
        *(
            (paper_main, line)
            for line in ("nothing", "table", "table one", "table 1 --sizes a,b", "export")
        ),
    ],
)
def test_wrong_usage_ends_with_2(program, arguments, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        program(arguments.split())
    assert end.value.code == 2
    assert "usage: " in capsys.readouterr().err


_INTERRUPTED = """
import runpy, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{program}.commands":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv = ["program", "list"]
runpy.run_module("{program}", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("program", ["genorth.gallery", "paper_repro"])
def test_ctrl_c_during_imports_ends_with_130(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED.format(program=program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nInterrupted.\n")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('"$@" | true; exit ${PIPESTATUS[0]}', marks=pytest.mark.slow),
        pytest.param('"$@" 2>&-', marks=pytest.mark.slow),
        '"$@" <&- >&- 2>&-',
    ],
    ids=["pipe that nobody reads", "no stderr", "no stream"],
)
def test_streams_that_are_gone_do_not_cost_the_report(line: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "paper_repro", "table", "1", *TOY, "--out", str(tmp_path)]
    done = subprocess.run(
        ["bash", "-c", line, "bash", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout and "Exception" not in done.stderr
    assert "</html>" in (tmp_path / "report.html").read_text("utf-8")
    assert len(compare.load(tmp_path / "records")) == 2  # no stream has written among them


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("x = 1\n", 2, "FILE: need problems = {name: Problem, ...}"),
        ("problems = {}\n", 2, "FILE: need problems = {name: Problem, ...}"),
        ("problems = 3\n", 2, "problems: need a genorth.Problem"),
        ("1 / 0\n", 2, "my_problem.py: ZeroDivisionError: division by zero (my_problem.py, line 1"),
        ("def make(:\n", 2, "SyntaxError"),
        ("import nothing_of_this_name\n", 1, "nothing_of_this_name"),
        (None, 1, "my_problem.py: there is no such file"),
    ],
)
@pytest.mark.parametrize("command", ["check", "solve", "compare"])
def test_a_bad_file_is_told_in_a_sentence(command, text, code, said, file, capsys) -> None:
    file.unlink()
    if text is not None:
        file.write_text(text, "utf-8")
    assert main([command, str(file)]) == code
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error
    assert not Path("genorth_out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "--solvers", "auto,rtrr"], "solvers: need one of"),
        (["compare", "--starts", "0"], "starts: need"),
        (["solve", "--method", "rtrr"], "method: need one of"),
        (["check", "others"], "NAME: need one of 'modes'; got 'others'"),
    ],
    ids=["solver", "starts", "method", "name"],
)
def test_wrong_arguments_end_with_2(arguments, said, file, capsys) -> None:
    assert main([arguments[0], str(file), *arguments[1:]]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_a_cost_that_raises_is_told_and_the_others_go_on(file: Path, capsys) -> None:
    bad = "\nbad = go.Problem(go.Stiefel(12, 2), lambda X: X / 'a', lambda X: X)\n"
    file.write_text(MY.replace("modes", "z_modes") + bad, "utf-8")
    assert main(["solve", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "FAIL  " in shown and "my_problem.py, line 7" in shown and "CONVERGED" in shown


def test_a_folder_without_records_is_refused(tmp_path: Path, capsys) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "need a folder that compare.run has made" in capsys.readouterr().err
