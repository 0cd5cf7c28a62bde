"""The comparison of trainings: all methods start alike, losses are what they say, the command."""

import html
import warnings
from contextlib import suppress
from functools import cache
from itertools import islice

import numpy as np
import pytest

from genorth import training
from genorth.__main__ import main
from genorth.gallery.stochastic import comparison
from genorth.gallery.stochastic.tasks import SUBJECTS, Task

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit, at the import of geoopt
    with suppress(ImportError):
        import geoopt  # noqa: F401
    with suppress(ImportError):
        import geotorch  # noqa: F401
torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("sklearn", reason="the extra `gallery` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")

from genorth.gallery.stochastic import methods as ways  # noqa: E402  torch

TASKS = [name for name, reason in comparison.reasons().items() if reason is None]
RATE = 0.01
BATCHES = 3


@cache
def task(name: str, seed: int = 0) -> Task:
    return SUBJECTS[name].training.make(seed)


CASES = [
    (name, method.name)
    for name in TASKS
    for method in ways.methods()
    if name in (method.only or ())
]


def unit(name: str) -> float:
    return float(torch.finfo(getattr(torch, task(name).dtype)).eps)


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_method_starts_where_all_start_and_ends_on_the_manifold(name, row):
    """The same first weights and minibatches; |C| to rounding; a loss that falls on all data."""
    learner, model = ways.ROWS[row].start(task(name), RATE), task(name).model()
    plain = ways.TorchLearner(task(name), model)
    np.testing.assert_allclose(learner.losses(), plain.losses(), rtol=1e3 * unit(name))
    assert learner.feasibility() <= 1e3 * unit(name)
    first, pairs = learner.losses(), zip(learner.batches(), plain.batches(), strict=True)
    for one, two in islice(pairs, BATCHES):
        assert torch.equal(one, two)
        learner.step(one)
    learner.finish()
    assert (learner.feasibility() <= 1e3 * unit(name)) == (ways.ROWS[row].on != "free")
    assert learner.losses() < first or task(name).batch > 1


@pytest.mark.parametrize("row", [row for name, row in CASES if name == "transformer"])
def test_only_the_constrained_weights_have_the_step_size(row):
    """With a step size of almost nothing they stay, and the other weights are trained as ever."""
    learner = ways.ROWS[row].start(task("transformer"), 1e-12)
    model = learner._model
    held = [model.get_submodule(spot.path) for spot in task("transformer").spots]
    others = [model["output"], model["embed"]]
    before = [layer.weight.detach().clone() for layer in (*held, *others)]
    for batch in islice(learner.batches(), BATCHES):
        learner.step(batch)
    after = [layer.weight.detach() for layer in (*held, *others)]
    moved = [float(torch.dist(*pair) / pair[0].norm()) for pair in zip(before, after, strict=True)]
    assert max(moved[: len(held)]) <= 1e-3 and min(moved[len(held) :]) > 1e-2


# ---------------------------------------------------------------------- the command

TINY = ["train", "pca", "--epochs", "1", "--starts", "2", "--rates", "0.01,0.1"]


def test_the_command_writes_tables_and_the_report(tmp_path, capsys):
    assert main([*TINY, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    names = [row for name, row in CASES if name == "pca"]
    assert all(name in out for name in names) and "Report: " in out
    assert "no constraint, AdamW, no constraint, Muon: only where the loss is bounded" in out
    page = html.unescape((tmp_path / "report.html").read_text("utf-8"))
    assert all(name in page for name in names) and SUBJECTS["pca"].about in page
    before = (tmp_path / "records" / "records.jsonl").read_bytes()
    assert main([*TINY, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "records" / "records.jsonl").read_bytes() == before
    records = training.load(tmp_path / "records")
    # a seed chooses the step size, of two or up to three more; two seeds run with it
    assert sum(record.seed in (0, 1) for record in records) == 2 * len(names)
    assert all(2 <= len(each.runs) <= 5 for each in training.tunings(records).values())
    assert {record.seed for record in training.tuned(records)} == {0, 1}
    assert set(training.tuned(records).solvers) == set(names)


def test_what_is_wrong_is_told(tmp_path, monkeypatch, capsys):
    assert main(["train", "letters", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: name: need one of 'recall'")
    assert main([*TINY, "--tuning", "0", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: tuning: need ")
    with pytest.raises(ValueError, match="out: need a folder"):
        comparison.report(tmp_path / "nothing")
    monkeypatch.setattr(ways, "installed", lambda package: package != "geotorch")
    assert "geotorch, AdamW: needs geotorch: pip install geotorch." in ways.left_out()
    assert "geotorch, AdamW" not in [method.name for method in ways.methods()]
    monkeypatch.setattr(comparison, "installed", lambda module: module != "torch")
    assert main([*TINY, "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "error: pca needs torch: pip install 'genorth[torch]'\n"
