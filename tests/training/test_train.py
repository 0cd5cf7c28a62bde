"""`training.train`: what is measured and when, what fails, how step sizes are chosen, the report.

Nothing here needs PyTorch: a mean is learned (tests/support/training_cases.py).
"""

import math
import statistics
import time
from functools import cache
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genorth import training as gt
from genorth.compare import About, Records
from genorth.compare.analysis import by_row, leaders
from genorth.compare.runs.store import encode
from genorth.training import TrainingRecord
from support.training_cases import BATCHES, Mean, method, numbers, training

pytest.importorskip("threadpoolctl", reason="the extra `report` is not installed")


def train(*methods: gt.Method, rates: Any = (0.1,), epochs: int = 3, **more: Any) -> Records:
    return gt.train(
        [training()],
        methods or [method()],
        **{"rates": rates, "epochs": epochs, "starts": 1, "progress": None} | more,
    )


def test_losses_and_violation_are_those_after_each_epoch():
    for record in train(rates=(0.1, 0.5), starts=2):
        learner = Mean(numbers(record.seed), record.rate)
        found = [learner.losses()[1]]
        for _ in range(3):
            for batch in learner.batches():
                learner.step(batch)
            found.append(learner.losses()[1])
        assert record.curve["held_out"] == found and record.steps == 3 * BATCHES
        assert (record.validation, record.held_out) == learner.losses()
        assert record.curve["feasibility"] == [1.0] * 4 and record.feasibility == 0.0
        assert record.success and record.status == "TRAINED"
        assert record.curve["time"] == sorted(record.curve["time"])


def test_the_clock_runs_while_it_learns_and_not_while_we_measure():
    begin = time.perf_counter()
    (record,) = train(method(pause=0.1))  # five times
    assert record.time <= time.perf_counter() - begin - 5 * 0.1
    (record,) = train(method(wait=0.02))
    assert (np.diff(record.curve["time"]) >= BATCHES * 0.02).all()


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        ("nan", "NOT_FINITE", "after 4 steps. ZeroDivisionError: no such step"),
        ("infinite", "NOT_FINITE", "The held-out loss is inf after epoch 2."),
        ("raises", "RAISED", "ZeroDivisionError: no such step"),
        ("unmeasurable", "RAISED", "ZeroDivisionError: no such loss"),
        ("far", "DIVERGED", "X: too far"),
        ("infeasible", "NOT_FEASIBLE", "|C| is 1, not 1e-05."),
    ],
)
def test_a_run_that_fails_is_kept_and_explained(fault, status, word):
    good, bad = train(method(), method("bad", fault=fault))
    assert good.success and not bad.success
    assert (bad.status, word in bad.message) == (status, True)
    if status in ("NOT_FINITE", "DIVERGED"):
        assert math.isnan(bad.held_out) and math.isnan(bad.validation)
        assert len(bad.curve["time"]) >= 2


def test_a_run_that_takes_too_long_ends_after_an_epoch():
    (record,) = train(method(wait=0.05), max_time=0.1)
    assert record.status == "TIME_LIMIT" and not record.success
    assert len(record.curve["time"]) == 2 and math.isfinite(record.held_out)


def test_what_cannot_be_made_is_told():
    bad = attrs.evolve(training(), make=len)
    (record,) = gt.train([bad], [method()], rates=[1.0], epochs=1, starts=1, progress=None)
    assert record.status == "UNPREPARED" and "TypeError" in record.message


def test_a_training_is_resumed(tmp_path):
    first = train(rates=(0.1,), out=tmp_path)
    second = train(rates=(0.1, 0.5), starts=2, out=tmp_path)
    assert len(second) == 4 and encode(second[0]) == encode(first[0])
    kept = gt.load(tmp_path).where(seed=0, solver="plain 0.1")
    assert [encode(record) for record in kept] == [encode(first[0])]


def test_records_of_other_data_are_refused(tmp_path):
    train(out=tmp_path)
    how: dict[str, Any] = {"rates": [0.1], "epochs": 3, "starts": 1, "progress": None}
    with pytest.raises(ValueError, match="train at the start was"):
        gt.train([training(shift=1.0)], [method()], out=tmp_path, **how)
    with pytest.raises(ValueError, match="epochs was 3, is 4"):
        train(epochs=4, out=tmp_path)


@pytest.mark.slow
def test_worker_processes_make_the_same_records(tmp_path):
    methods = method(), method("bad", fault="nan")
    here, there = train(*methods, starts=2), train(*methods, starts=2, jobs=2, out=tmp_path)
    for one, two in zip(here, there, strict=True):
        assert (one.key, one.status, one.steps) == (two.key, two.status, two.steps)
        np.testing.assert_array_equal(one.curve["held_out"], two.curve["held_out"])


def test_a_method_is_left_out_where_it_does_not_run():
    elsewhere = attrs.evolve(method("other"), only=("wave",))
    assert train(method(), elsewhere).distinct("solver") == ["plain 0.1"]
    with pytest.raises(ValueError, match="methods: need one that runs"):
        train(elsewhere)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"rates": []}, "rates: need step sizes > 0"),
        ({"rates": [0.1, -1.0]}, "rates: need step sizes > 0"),
        ({"rates": [0.1, 0.1]}, "rates: need step sizes > 0"),
        ({"epochs": 0}, "epochs: need"),
        ({"tuning": 0}, "tuning: need"),
        ({"feasibility_tol": 0.0}, "feasibility_tol: need"),
    ],
)
def test_wrong_arguments_are_refused(wrong, word):
    with pytest.raises(ValueError, match=word):
        train(**wrong)


@pytest.mark.parametrize(
    ("trainings", "methods", "word"),
    [
        (training(), [method()], "trainings: need a list of genorth"),
        ([training()], ["cdf-gd"], "methods: need a list of genorth"),
        ([training()], [method(), method()], "methods: need each name once"),
    ],
)
def test_wrong_trainings_and_methods_are_refused(trainings, methods, word):
    with pytest.raises(ValueError, match=word):
        gt.train(trainings, methods, rates=[0.1], epochs=1)


def test_a_method_without_a_constraint_may_end_anywhere():
    (record,) = train(attrs.evolve(method(fault="infeasible"), free=True))
    assert record.success and record.feasibility == 1.0


def test_the_loss_within_seconds_is_that_of_the_last_epoch_that_ended():
    curve = {"time": [0.0] * 3, "cpu": [0.0, 0.5, 1.0], "held_out": [3.0, 2.0, 1.0]}
    record = attrs.evolve(trained(), curve=curve | {"feasibility": [0.0] * 3})
    found = [record.loss_within(seconds) for seconds in (0.0, 0.4, 0.5, 0.9, 1.0, 9.0)]
    assert found == [3.0, 3.0, 2.0, 2.0, 1.0, 1.0]
    assert attrs.evolve(record, success=False).loss_within(1.0) == math.inf
    far = attrs.evolve(record, curve=record.curve | {"feasibility": [0.0, 0.5, 0.02]})
    assert far.loss_within(1.0) == 3.0  # next to the manifold, or without a constraint
    assert attrs.evolve(far, feasibility=0.5).loss_within(1.0) == 1.0


# ---------------------------------------------------------------------- step sizes


def test_seeds_of_their_own_choose_the_step_size(tmp_path):
    """All step sizes run from the seeds beyond, and only the best of them from the others."""
    how: dict[str, Any] = {"rates": (0.01, 0.5, 5.0), "starts": 2, "tuning": 2, "out": tmp_path}
    records = train(**how)
    (tuning,) = gt.tunings(records).values()
    assert tuning.seeds == {2, 3} and tuning.rate == 0.5
    assert {record.seed for record in gt.tuned(records)} == {0, 1} and len(records) == 3 * 2 + 2
    lines = (tmp_path / "records.jsonl").read_bytes()
    assert [record.key for record in train(**how)] == [record.key for record in records]
    assert (tmp_path / "records.jsonl").read_bytes() == lines
    runs = {seed: run("plain", 0.5, seed, 9.0 * seed) for seed in (0, 1)}  # too late to matter
    later = [runs.get(r.seed, r) if r.rate == 0.5 else r for r in records]
    assert gt.tunings(Records(later))["mean", "plain"].rate == 0.5


def test_the_grid_is_widened_where_the_best_step_size_is_at_its_end():
    """In the ratio of the last two, three times at most; a single step size has no ratio."""
    for rates, tried, edge in (
        ((1.0, 2.0), [0.12, 0.25, 0.5, 1.0, 2.0], False),
        ((2.0, 8.0), [0.029, 0.12, 0.5, 2.0, 8.0], True),
        ((8.0,), [8.0], False),
    ):
        (tuning,) = gt.tunings(train(rates=rates, epochs=1, tuning=1)).values()
        assert sorted(tuning.runs) == tried and tuning.edge == edge


_LOSSES = st.integers(-8, 8).map(float) | st.just(math.inf)
RATES = (0.01, 0.1, 1.0)


@cache
def trained() -> TrainingRecord:
    (record,) = train()
    return record


def run(
    name: str, rate: float, seed: int, validation: float, held_out: float = 0.5
) -> TrainingRecord:
    """A record of `train`; an infinite validation loss is a failure."""
    good = math.isfinite(validation)
    losses = {"validation": validation, "held_out": held_out} if good else {}
    made: dict[str, Any] = {"validation": math.nan, "held_out": math.nan, **losses, "seed": seed}
    made |= {"solver": f"{name} {rate:g}", "about": About(label=name, family="penalty")}
    made |= {"status": "TRAINED" if good else "NOT_FINITE", "success": good}
    options = {"method": name, "rate": rate}
    return attrs.evolve(trained(), definition={"options": options}, **made)


@given(
    grid=st.lists(st.lists(_LOSSES, min_size=3, max_size=3), min_size=3, max_size=3),
    held_out=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_the_least_median_of_the_validation_loss_is_chosen(grid, held_out):
    """Whatever the held-out losses are; the smaller step size of two that are equally good."""
    records = Records(
        run("plain", rate, seed, loss, fun)
        for rate, row, fun in zip(RATES, grid, held_out, strict=True)
        for seed, loss in enumerate(row)
    )
    medians = [statistics.median(row) for row in grid]
    best = medians.index(min(medians))
    chosen = gt.tuned(records)
    assert chosen.distinct("solver") == ["plain"] and len(chosen) == 3
    assert {record.rate for record in chosen} == {RATES[best]}
    tuning = gt.tunings(records)["mean", "plain"]
    assert tuning.edge == (best != 1)
    assert tuning.lost == sum(map(math.isinf, medians))


@given(losses=st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=4))
def test_no_method_wins_whose_range_meets_that_of_another(losses):
    records = Records(
        run(f"m{n}", 0.1, seed, 1.0, float(fun))
        for n, pair in enumerate(losses)
        for seed, fun in enumerate(pair)
    )
    best = min(range(len(losses)), key=lambda n: sum(losses[n]))
    near = [n for n in range(len(losses)) if min(losses[n]) <= max(losses[best])]
    (runs,) = by_row(gt.tuned(records)).values()
    first = leaders(runs, figure="held_out")
    assert first[0] == f"m{best}" and set(first) == {f"m{n}" for n in near}
    (table,) = gt.loss_tables(records)
    bold = [line.entries[0].text for line in table.blocks[0].lines if line.entries[3].bold]
    assert bold == ([f"m{best}"] if len(near) == 1 else [])


def test_the_table_has_medians_ranges_and_why_a_method_fails():
    losses = {0: 1.0, 1: 4.0, 2: 2.0}
    records = Records(
        [run("plain", 0.1, seed, 1.0, fun) for seed, fun in losses.items()]
        + [run("bad", 0.1, seed, math.inf) for seed in losses]
        + [run("half", 0.1, seed, math.inf if seed else 1.0, 3.0) for seed in losses]
    )
    (table,) = gt.loss_tables(records)
    shown = {line.entries[0].text: line.entries for line in table.blocks[0].lines}
    assert [entry.full for entry in shown["plain"][1:4]] == ["0.1", "0 of 1", "2 (1 to 4)"]
    assert shown["bad"][3].full == "- (not finite)" and shown["bad"][3].hint
    assert [entry.full for entry in shown["half"][2:4]] == ["1 of 1", "3 (2 of 3 not finite)"]


def test_the_report_shows_all_of_it(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    records = train(method(), method("bad", fault="nan"), rates=(0.1, 1.0, 5.0), starts=2)
    page = gt.report(records, tmp_path / "r.html", known={"mean": {"exact": 0.4}})
    text = page.read_text("utf-8")
    for word in ("mean", "plain", "no such step", "epochs", "step size", "CPU seconds"):
        assert word.lower() in text.lower(), word
    with pytest.raises(ValueError, match="records: need at least one"):
        gt.report(Records([]), tmp_path / "r.html")


def test_curves_are_the_median_within_the_range():
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    records = train(starts=3)
    figure = gt.curves(records)
    costs = np.array([record.curve["held_out"] for record in records])
    costs -= costs.min()  # the distance from the least
    (line,), (band,) = figure.axes[0].get_lines(), figure.axes[0].collections
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(line.get_ydata(), np.median(costs, axis=0))
    edge = band.get_paths()[0].vertices
    for epoch in range(4):
        mine = edge[edge[:, 0] == epoch, 1]
        np.testing.assert_allclose([mine.min(), mine.max()], [*np.sort(costs[:, epoch])[[0, -1]]])


def test_ranges_are_those_of_the_seeds():
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    records = Records(
        run("plain", 0.1, seed, 1.0, loss) for seed, loss in enumerate((2.0, 1.0, 400))
    )
    line, dot = gt.ranges(records).axes[0].get_lines()
    assert [*line.get_xdata()] == [1.0, 400.0] and [*dot.get_xdata()] == [2.0]
    assert gt.ranges(records).axes[0].get_xscale() == "log"
