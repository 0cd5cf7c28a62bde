"""The command `genorth`: from a plain file to a check, a solution and a report."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from genorth import compare
from genorth.__main__ import main

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
    """A first file, in the working directory; what importing it changes is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_problem", raising=False)
    path = Path("my_problem.py")
    path.write_text(MY, "utf-8")
    yield path
    sys.modules.pop("my_problem", None)


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


def test_check_finds_a_wrong_gradient(file: Path, capsys) -> None:
    assert main(["check", str(file)]) == 0
    assert "gradient of modes on Stiefel(12, 2): passed" in capsys.readouterr().out
    sys.modules.pop("my_problem")
    wrong = MY.replace("2 * A @ X)", "A @ X, lambda X, Z: 2 * A @ Z)")
    file.write_text(wrong, "utf-8")
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "gradient of modes on Stiefel(12, 2): 2 of 3 failed" in shown and "Hessian of" in shown


def test_check_says_that_there_is_no_gradient(file: Path, capsys) -> None:
    file.write_text(MY.replace(", lambda X: 2 * A @ X", ""), "utf-8")
    assert main(["check", str(file)]) == 1
    assert "FAIL  no gradient" in capsys.readouterr().out


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
    ids=["none", "empty", "number", "raises", "syntax", "import", "missing"],
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
