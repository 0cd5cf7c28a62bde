"""Names that have moved: the error says where they are now."""

import importlib
import re
from pathlib import Path

import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth.solve.solver import RENAMED

CHANGELOG = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")

_NAMES = {
    "genorth.TangentSpace": "genorth.Place",
    "baselines.rgd": "genorth.riemannian.rgd",
    "baselines.rtr": "genorth.riemannian.rtr",
    "genorth.compare.Instance": "genorth.compare.Case",
    "genorth.compare.Progress": "genorth.compare.Observer",
    "genorth.compare.train": "genorth.training.train",
    "genorth.compare.training_report": "genorth.training.report",
    "genorth.compare.tuned": "genorth.training.tuned",
}


@pytest.mark.parametrize(("old", "new"), _NAMES.items())
def test_an_old_name_says_where_it_is(old: str, new: str) -> None:
    home, _, name = old.rpartition(".")
    with pytest.raises(ImportError, match=rf"{old} is {new} now.*Migrating"):
        getattr(importlib.import_module(home), name)
    with pytest.raises(ImportError, match=f"is {new} now"):
        exec(f"from {home} import {name}")
    home, _, name = new.rpartition(".")
    assert hasattr(importlib.import_module(home), name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("baselines.riemannian", "genorth.riemannian.run.OnManifold"),
        ("baselines.riemannian.run", "genorth.riemannian.run.OnManifold"),
        ("baselines.geometry", "genorth.Place"),
        ("baselines.geometry.base", "genorth.Place"),
    ],
)
def test_an_old_module_says_what_replaces_it(old: str, new: str) -> None:
    with pytest.raises(ImportError, match=f"is gone.*{new}.*Migrating"):
        importlib.import_module(old)
    home, _, name = new.rpartition(".")
    assert hasattr(importlib.import_module(home), name)


@pytest.mark.parametrize("module", ["genorth", "baselines", "genorth.compare"])
def test_other_names_are_simply_unknown(module: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = importlib.import_module(module).nothing


def test_the_changelog_has_every_solver_that_was_renamed() -> None:
    _, _, text = CHANGELOG.partition("- **Solvers.**")
    lines = re.findall(r"^  \| (`[^|]+) \| ([^|]+) \|$", text.partition("\n- **")[0], re.MULTILINE)
    listed = {
        old: new
        for line in lines
        for old, new in zip(
            *(re.findall(r"`([\w-]+-[\w-]+|r\w+)`", cell) for cell in line), strict=True
        )
    }
    scipys = {
        f"{h}-{loop}": f"{h}-{loop}-scipy" for h in ("cdf", "odf") for loop in ("cg", "lbfgs", "tr")
    }
    never = {"rtr-products"}  # refused like the others
    assert listed == {old: new for old, new in RENAMED.items() if old not in never} | scipys
    assert set(listed.values()) <= set(go.SOLVERS)


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_solver_says_its_new_name(old: str) -> None:
    problem = go.Problem(go.Stiefel(4, 1), lambda X: X.sum(), lambda X: 0 * X + 1)
    with pytest.raises(ValueError, match=f"'{RENAMED[old]}', the new name"):
        go.minimize(problem, method=old)
