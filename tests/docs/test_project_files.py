"""The files that other programs read agree with the project: CITATION.cff, Makefile, workflows."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from genorth.bibliography import entries

ROOT = Path(__file__).parents[2]
PAPER = entries()["zhang-improved"]
COMMANDS = {"test", "slow", "lint", "docs", "bench"}


def _yaml(path: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing: pip install 'genorth[docs]'")
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_citation_file_cites_the_paper_of_the_bibliography():
    file = _yaml("CITATION.cff")
    assert file["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= file.keys()
    assert file["license"] == _project()["license"]
    cited = file["preferred-citation"]
    authors = (f"{each['family-names']}, {each['given-names']}" for each in cited["authors"])
    assert cited["title"] == PAPER.fields["title"]
    assert " and ".join(authors) == PAPER.fields["author"]
    assert (str(cited["year"]), cited["url"]) == (PAPER.fields["year"], PAPER.url)


def test_the_readme_cites_the_paper_of_the_bibliography():
    text = " ".join((ROOT / "README.md").read_text("utf-8").replace("\n> ", " ").split())
    assert PAPER.fields["title"] in text
    assert f"[arXiv:{PAPER.fields['eprint']}]({PAPER.url})" in text


def test_the_commands_of_the_contributing_page_are_targets_of_the_makefile():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    assert set(re.findall(r"^\| `make (\w+)` \|", page, re.MULTILINE)) == COMMANDS
    assert set(targets) == COMMANDS | {"help"}


def test_the_workflow_runs_ci_on_three_versions_from_the_oldest_on():
    job = _yaml(".github/workflows/ci.yml")["jobs"]["run"]
    versions = job["strategy"]["matrix"]["python"]
    assert len(versions) == 3
    assert _project()["requires-python"] == f">={versions[0]}"
    assert {"run": ".ci/run"} in job["steps"]


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")), ids=str)
def test_an_issue_template_has_what_github_needs(path):
    form = _yaml(str(path))
    if path.name != "config.yml":
        assert {"name", "description", "body"} <= form.keys()
        assert all("label" in field["attributes"] for field in form["body"])


def test_the_hooks_of_a_commit_are_tools_of_the_extra_dev():
    (repo,) = _yaml(".pre-commit-config.yaml")["repos"]
    hooks = ["ruff", "ruff-format", "mypy", "check-added-large-files"]
    assert [hook["id"] for hook in repo["hooks"]] == hooks
    assert all(hook["entry"].startswith(".venv/bin/") for hook in repo["hooks"])


def test_the_public_modules_exist():
    page = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    modules = re.findall(r"^\| `([\w.]+?)(?:\.\*)?` \|", page, re.MULTILINE)
    assert len(modules) == 8
    assert all(map(importlib.util.find_spec, modules))


def test_docstrings_are_no_statements(tmp_path):
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "statements", tmp_path / ".ci")
    (tmp_path / "genorth" / "room").mkdir(parents=True)
    code = (
        '"""A module."""\n\nx = 1  # a comment\n\n\ndef f():\n    """A function."""\n    return x\n'
    )
    (tmp_path / "genorth" / "room" / "module.py").write_text(code, "utf-8")
    printed = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == ["3", "genorth", "3", "genorth/room", "3", "total"]
