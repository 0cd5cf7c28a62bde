"""The files that other programs read agree with the project: CITATION.cff, Makefile, workflows."""

import importlib.util
import re
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


def test_no_room_is_above_its_ceiling():
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    table = page.partition("| room | statements, at most |")[2].partition("\n\n")[0]
    ceilings = {
        name: int(most) for name, most in re.findall(r"^\| `?(\S+?)`? \| (\d+) \|", table, re.M)
    }
    counts = subprocess.run(
        [sys.executable, ROOT / ".ci" / "statements"], capture_output=True, text=True, check=True
    )
    found = {name: int(count) for count, name in map(str.split, counts.stdout.splitlines())}
    rooms = {name for name in found if name.startswith("genorth/")} | {"baselines", "paper_repro"}
    found["all"] = found.pop("total")
    assert ceilings.keys() == rooms | {"all"}
    assert not {name: found[name] for name in ceilings if found[name] > ceilings[name]}


def test_the_workflow_runs_ci_on_three_versions_from_the_oldest_on():
    job = _yaml(".github/workflows/ci.yml")["jobs"]["run"]
    versions = job["strategy"]["matrix"]["python"]
    assert len(versions) == 3
    assert _project()["requires-python"] == f">={versions[0]}"
    assert {"run": ".ci/run"} in job["steps"]


def test_the_public_modules_exist():
    page = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    modules = re.findall(r"^\| `([\w.]+?)(?:\.\*)?` \|", page, re.MULTILINE)
    assert len(modules) == 8
    assert all(map(importlib.util.find_spec, modules))
