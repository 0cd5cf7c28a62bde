"""`python -m genorth.gallery`: the list, runs and the report.

tests/test_command.py has what all command lines share.
"""

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from genorth import compare, gallery
from genorth.gallery import base, comparison, constrained
from genorth.gallery.commands import main

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")

#: An instance that needs no package, and solvers that take no time.
QUICK = ["run", "ergotropy-spins", "--quick", "--jobs", "1", "--solvers", "rtr"]


@pytest.fixture
def no_report(monkeypatch) -> None:
    """Without the report, which takes most of the time."""
    monkeypatch.setattr(comparison, "report", lambda folder: folder / "report.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("gallery")
    assert main([*QUICK, "--out", str(out)]) == 0
    return out


def test_the_list_has_every_instance_and_names_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(base, "installed", lambda module: module == "scipy")
    for arguments in ([], ["list"]):
        assert main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        shown = [line.split()[0] for line in lines if line.startswith("  ")]
        assert sorted(shown) == sorted(gallery.names() + gallery.names("classics"))
        assert "scikit-learn needs scikit-learn: pip install 'genorth[gallery]'" in lines


def test_the_report_has_a_table_and_a_picture(folder):
    page = (folder / "report.html").read_text("utf-8")
    instance = gallery.load("ergotropy-spins")
    assert instance.about in page and instance.truth_by in page and "solved" in page
    pictures = map(base64.b64decode, re.findall(r'svg\+xml;base64,([^"]+)"', page))
    assert b"".join(pictures).count(b">population<") == 1  # the label of an axis


@pytest.mark.slow
def test_a_picture_made_of_pixels_is_allowed_in_the_report(tmp_path):
    instance = gallery.load("dot-magnetic")
    records = comparison.run(None, [instance.name], ["rtr"], max_time=10.0, progress=None)
    picture = [("own", comparison.picture(instance))]
    page = compare.report(records, tmp_path / "report.html", sections=picture).read_text("utf-8")
    figures = [base64.b64decode(text) for text in re.findall(r"svg\+xml;base64,([^\"]*)", page)]
    assert any(b"data:image/png" in figure for figure in figures) and "img-src data:" in page


@pytest.mark.usefixtures("no_report")
def test_runs_are_resumed(folder, capsys):
    before = compare.load(folder / "records")
    assert main([*QUICK, "--out", str(folder)]) == 0
    assert compare.load(folder / "records") == before
    out = capsys.readouterr().out
    assert "[1/" not in out and "1 of 1 runs reach the truth." in out


def test_all_solvers_of_an_instance_run_in_processes_of_their_own(tmp_path):
    """Rows in a metric, and the domain's, go to other processes by pickle."""
    name = "lda-wine"
    if reason := gallery.why_not(name):
        pytest.skip(reason)
    instance, solvers = gallery.load(name), ["rlbfgs", "rtr"]
    how: dict[str, Any] = {"jobs": 2, "max_time": 20.0, "starts": 2, "progress": None}
    records = comparison.run(tmp_path, [name], solvers, **how)
    assert records.distinct("solver") == [*solvers, *(f"{each}, metric" for each in solvers)]
    assert {comparison.verdict(instance, record) for record in records} == {"solved"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run", "lda-beer"], "name: need one of"),
        (["run", "--solvers", "nothing"], "solvers: need one of"),
        (["report"], "out: need a folder"),
    ],
)
def test_wrong_names_end_with_2(arguments, word, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"error: {word}")
    assert not list(tmp_path.iterdir())


def test_a_missing_package_ends_with_1_where_it_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(base, "installed", lambda module: module == "scipy")
    assert main(["run", "lda-wine", "--out", str(tmp_path / "out")]) == 1
    error = "error: lda-wine needs scikit-learn: pip install 'genorth[gallery]'\n"
    assert capsys.readouterr().err == error


@pytest.mark.usefixtures("no_report")
def test_a_missing_package_is_named_and_left_out_otherwise(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(base, "installed", lambda module: module == "scipy")
    arguments = ["run", "--quick", "--jobs", "1", "--solvers", "rtr", "--out", str(tmp_path)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "lda-wine needs scikit-learn: pip install 'genorth[gallery]'" in out.splitlines()
    made = compare.load(tmp_path / "records").distinct("problem")
    others = {"ising-tree", "dot-magnetic", "ergotropy-spins"}
    assert set(made) == others | constrained.SOURCE.instances.keys()
