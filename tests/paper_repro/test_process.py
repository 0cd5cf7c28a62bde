"""`python -m paper_repro` never ends in a traceback, and its exit code says how it ended.

0; 1: a comparison could not be made; 2: usage; 130: Ctrl-C.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from genorth import compare
from paper_repro import experiments, figures
from paper_repro.commands import main

ROOT = Path(__file__).parents[2]

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")

TOY = ["--toy", "--solvers", "rtr"]
COMMANDS = (["table", "1", *TOY], ["figure", "2", *TOY], ["all", *TOY])


@pytest.fixture
def never_run(monkeypatch) -> None:
    """What is refused is refused before anything is measured."""

    def run(*_, **__):
        raise AssertionError("measured")

    monkeypatch.setattr(compare, "run", run)
    for kind in figures._KINDS.values():
        monkeypatch.setattr(kind, "measure", run)


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_out_that_cannot_be_a_folder_is_refused(command, place, tmp_path, capsys):
    (tmp_path / "file").write_text("mine", "utf-8")
    out = tmp_path / place
    assert main([*command, "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: --out: need a folder") and str(out) in message
    assert (tmp_path / "file").read_text("utf-8") == "mine"


@pytest.mark.parametrize("command", ["report", "results", "export"])
def test_out_without_records_is_refused(command, tmp_path, capsys):
    more = ["--to", str(tmp_path / "to")] if command == "export" else []
    for out in (tmp_path / "new", Path(__file__)):
        assert main([command, "--out", str(out), *more]) == 2
        message = capsys.readouterr().err
        assert message.startswith("error: out: need a folder that ") and str(out) in message
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Records of one solver on one toy problem."""
    out = tmp_path_factory.mktemp("process")
    assert main(["table", "1", *TOY, "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("to", ["file", ""])
def test_to_that_cannot_be_written_is_refused(to, folder, tmp_path, capsys):
    """A file, and the folder itself, whose records would be replaced by thinner ones."""
    (tmp_path / "file").touch()
    assert main(["export", "--out", str(folder), "--to", str(tmp_path / to if to else folder)]) == 2
    assert capsys.readouterr().err.startswith("error: --to: need ")


def test_a_full_disk_is_told_and_leaves_the_old_report(folder, monkeypatch, capsys):
    before = (folder / "report.html").read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compare, "report", full)
    assert main(["report", "--out", str(folder)]) == 1
    assert capsys.readouterr().err == "error: [Errno 28] No space left on device\n"
    assert (folder / "report.html").read_bytes() == before


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("package", ["matplotlib", "threadpoolctl"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_missing_extra_is_named_before_anything_is_measured(
    command, package, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, package, None)
    assert main([*command, "--out", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: ") and "pip install 'genorth[report]'" in message
    assert package in message
    assert not list(tmp_path.iterdir())


_RUN = {
    "size": "(10,5)",
    "solver": "cdf-cg",
    "status": "CONVERGED",
    "initial": [1.0],
    "final": [0.5],
}
_DAMAGED = {
    "empty": "",
    "half": '{"settings": {"figure": 2}, "runs": [{"si',
    "list": "[]",
    "number": "3",
    "no runs": '{"settings": {}}',
    "runs": '{"settings": {}, "runs": 5}',
    "settings": '{"settings": 5, "runs": []}',
    "field missing": json.dumps({"settings": {}, "runs": [{"size": "(10,5)"}]}),
    "field too many": json.dumps({"settings": {}, "runs": [_RUN | {"more": 1}]}),
    "words": json.dumps({"settings": {}, "runs": [_RUN | {"final": ["far"]}]}),
    "nan": json.dumps({"settings": {}, "runs": [_RUN | {"final": [float("nan")]}]}),
    "bytes": "\udcff",
}


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("content", _DAMAGED.values(), ids=_DAMAGED.keys())
@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command[0])
def test_a_damaged_figure_is_named_before_anything_is_measured(command, content, tmp_path, capsys):
    file = tmp_path / "figure-2.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main([*command, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert str(file) in message and "Remove it to measure again." in message
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    data = figures.Data(*figures.FIGURES[2], {"figure": 2})
    figures.save(tmp_path, data)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    data.runs.append(figures.sample_errors.Run(**_RUN))
    with pytest.raises(KeyboardInterrupt):
        figures.save(tmp_path, data)
    assert figures.load(tmp_path, 2).runs == []
    assert [path.name for path in tmp_path.iterdir()] == ["figure-2.json"]


def test_an_interrupted_command_ends_with_130_and_its_notes(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        interrupt = KeyboardInterrupt()
        interrupt.add_note("3 of 4 runs are kept.")
        raise interrupt

    monkeypatch.setattr(experiments, "run", interrupted)
    assert main(["table", "1", *TOY, "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "\nInterrupted. 3 of 4 runs are kept.\n"


@pytest.mark.parametrize(
    "arguments",
    [["table"], ["table", "one"], ["nothing"], ["table", "1", "--sizes", "a,b"], ["export"]],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: python -m paper_repro" in capsys.readouterr().err


_INTERRUPTED = """
import runpy, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv = ["paper_repro", "list"]
runpy.run_module("paper_repro", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", ["numpy", "genorth", "baselines", "paper_repro.commands"])
def test_ctrl_c_during_imports_ends_with_130(module):
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED.format(module=module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nInterrupted.\n")


def _shell(line: str, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The toy comparison by bash, with pipes and redirections as `line` has them."""
    command = [sys.executable, "-m", "paper_repro", "table", "1", *TOY, "--out", str(out), *more]
    return subprocess.run(
        ["bash", "-c", line, "bash", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('"$@" | true; exit ${PIPESTATUS[0]}', marks=pytest.mark.slow),
        pytest.param('"$@" 2>&-', marks=pytest.mark.slow),
        '"$@" <&- >&- 2>&-',
    ],
    ids=["pipe that nobody reads", "no stderr", "no stream"],
)
def test_streams_that_are_gone_do_not_cost_the_report(line, tmp_path):
    done = _shell(line, tmp_path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout and "Exception" not in done.stderr
    assert "</html>" in (tmp_path / "report.html").read_text("utf-8")
    assert len(compare.load(tmp_path / "records")) == 2  # no stream has written among them
