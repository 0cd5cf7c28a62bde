"""Names that have moved: the error says where they are now."""

import importlib

import pytest

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
