"""README and docs say what is true.

Their Python blocks run and print what is shown, their commands and names exist.
"""

import contextlib
import doctest
import importlib.util
import io
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

import baselines  # noqa: F401  registers its solvers, as the installed entry point does
import genorth as go
import genorth.testing as gt
from genorth import manifolds

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
#: A fenced block: its language, further words (modules it needs), its text.
_FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SCIENTIFIC = re.compile(r"-?\d+(?:\.\d+)?e[+-]\d+")


@attrs.frozen
class Block:
    """A Python block, the modules it needs, and the output shown under it, if any.

    Numbers of an output `text about` may differ by a factor of two: counts vary with rounding.
    """

    code: str
    line: int
    needs: tuple[str, ...]
    shown: str | None
    about: bool


def blocks(text: str) -> list[Block]:
    fences, found = [*_FENCE.finditer(text), None], []
    for fence, after in pairwise(fences):
        if fence[1] == "python":
            shown = after is not None and after[1] == "text"
            shown = shown and not text[fence.end() : after.start()].strip()
            line = text.count("\n", 0, fence.start()) + 2
            needs = tuple(fence[2].split())
            about = shown and after[2].split() == ["about"]
            found.append(Block(fence[3], line, needs, after[3] if shown else None, about))
    return found


def _without_rounding(output: str) -> str:
    """Figures below 1e-9 are rounding: only that they are so small counts."""

    def small(figure: re.Match[str]) -> str:
        return "<rounding>" if abs(float(figure[0])) < 1e-9 else figure[0]

    return _SCIENTIFIC.sub(small, output)


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


def _is_about(shown: str, printed: str) -> bool:
    """The same words, and numbers within a factor of two; those below 1e-6 are rounding."""
    words = [" ".join(_NUMBER.sub("#", text).split()) for text in (shown, printed)]
    pairs = zip(*(map(float, _NUMBER.findall(text)) for text in (shown, printed)), strict=False)
    near = (
        a == b or (a * b > 0 and 0.5 <= a / b <= 2) or max(abs(a), abs(b)) < 1e-6 for a, b in pairs
    )
    return words[0] == words[1] and all(near)


def run(text: str, name: str) -> dict[str, Any]:
    """Run all blocks in one namespace, and compare what they print with what is shown."""
    namespace: dict[str, Any] = {"__name__": name}
    for block in blocks(text):
        if not all(map(importlib.util.find_spec, block.needs)):
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            # The blank lines make tracebacks name the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), namespace)
        if block.shown is not None:
            shown, printed = _without_rounding(block.shown), _without_rounding(output.getvalue())
            same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
            same = same or (block.about and _is_about(block.shown, output.getvalue()))
            where = f"{name}, line {block.line}"
            assert same, f"{where}: shown\n{block.shown}\nprinted\n{output.getvalue()}"
    return namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_blocks_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what they write
    text = page.read_text("utf-8")
    assert text.count("```python") == len(blocks(text))
    run(text, page.name)


def test_the_contract_suite_in_three_lines():
    """The test that the page on a user's own manifold shows, run as pytest would run it."""
    page = ROOT / "docs" / "custom-manifold.md"
    test_contract = run(page.read_text("utf-8"), page.name)["test_contract"]
    for prop in gt.PROPERTIES:
        test_contract(prop)


@pytest.mark.parametrize("marker", ["main command", "test command"])
def test_a_command_is_one_line_and_its_extras_exist(marker):
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(rf"^<!-- {marker} -->\n```sh\n(.*?)^```$", text, re.M | re.S)
    assert block is not None
    (line,) = block[1].splitlines()
    asked = re.search(r"install -q -e \"\.\[([\w,]+)\]\"", line)
    assert asked is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(asked[1].split(",")) <= set(project["optional-dependencies"])


def test_the_methods_that_the_geometry_page_names_exist():
    text = (ROOT / "docs" / "geometry.md").read_text("utf-8")
    named = {*re.findall(r"`(\w+)\(", text), *re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)}
    both = (*vars(go.GenOrthManifold), *go.GenOrthManifold.__annotations__)
    known = {name for name in both if name[0] != "_"}
    assert named == known


def test_the_readme_has_each_manifold_once():
    text = (ROOT / "README.md").read_text("utf-8")
    table = text.partition("<!-- manifolds -->")[2].partition("$B$, $H$ and $A$")[0]
    named = re.findall(r"`(\w+)\(", "".join(line.split(" | ")[0] for line in table.splitlines()))
    assert sorted(named) == sorted(manifolds.__all__)
