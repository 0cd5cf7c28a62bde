"""How sure a comparison is: ranges over the starts, and no winner where they overlap."""

import math

import attrs
from hypothesis import given
from hypothesis import strategies as st

from genorth.compare import effect, plots, profiles, summary, tables
from genorth.compare.analysis.rows import (
    Runs,
    behind,
    best_of,
    by_row,
    duels,
    leaders,
    shared,
)
from genorth.compare.render.table import digits, markdown
from genorth.compare.runs.record import Records
from support.compare_records import timed, timetable, trace
from support.refusals import refused

SOLVERS = ("cdf-gd", "cdf-lbfgs", "rtr", "rgd")
seconds = st.one_of(st.sampled_from([1.0, 2.0, 4.0, math.inf]), st.floats(0.1, 10.0))


@st.composite
def rows(draw: st.DrawFn) -> dict[str, list[float]]:
    """The times of several solvers from the same starts."""
    count, names = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    times = st.lists(seconds, min_size=count, max_size=count)
    return {solver: draw(times) for solver in SOLVERS[:names]}


def _row(times: dict[str, list[float]]) -> tuple[Records, dict[str, Runs]]:
    records = Records(timetable(times, "seed"))
    (runs,) = by_row(records).values()
    return records, runs


@given(times=rows())
def test_a_winner_is_faster_from_its_worst_start_than_any_other_from_its_best(times):
    _, runs = _row(times)
    first = leaders(runs)
    best = best_of(runs)
    if best is None:
        assert not first
        return
    assert first[0] == best
    solves = [solver for solver in times if math.isfinite(runs[solver].time)]
    clear = all(max(times[best]) < min(times[solver]) for solver in solves if solver != best)
    assert (len(first) == 1) == clear
    assert set(first) <= set(solves)


@given(times=rows())
def test_words_and_tables_name_a_winner_only_where_there_is_one(times):
    records, runs = _row(times)
    first, headline = leaders(runs), summary.headline(records)
    assert any(text.startswith(f"{name} is fastest") for text in headline for name in times) == (
        len(first) == 1
    )
    assert any("no winner there" in text for text in headline) == (len(first) > 1)
    for table in (tables.best_table(records), *tables.paper_tables(records)):
        bold = [e for block in table.blocks for line in block.lines for e in line.entries if e.bold]
        timed = sum(head.name in ("Wall (s)", "CPU (s)") for head in table.heads) or 1
        assert len(bold) == (len(first) == 1) * timed
    table = tables.best_table(records)
    assert ("Several names" in table.footnote) == (len(first) > 1)
    (line,) = table.blocks[0].lines
    assert line.entries[3].text == (" or ".join(first) or "none")


@given(times=rows())
def test_families_are_told_apart_only_where_their_ranges_are(times):
    _, runs = _row(times)
    for duel in duels({("matching", "(4,2)", 1e-5): runs}):
        assert sum(duel.won) + sum(duel.overlap) == len(duel.ratios) == len(duel.overlap) <= 1
        if duel.ratios and len(times) == 3:  # one Riemannian solver
            penalty, other = times[best_of(runs, SOLVERS[:2]) or ""], times["rtr"]
            apart = max(penalty) < min(other) or max(other) < min(penalty)
            assert sum(duel.won) == apart


@given(times=rows())
def test_the_range_is_shown_beside_the_median(times):
    records, runs = _row(times)
    (table,) = tables.paper_tables(records)
    lines = {line.entries[0].text: line.entries[-2] for line in table.blocks[0].lines}
    for solver, each in times.items():
        solved = [time for time in each if math.isfinite(time)]
        low, _, high = runs[solver].spread("time")
        assert (low, high) == (min(each), max(each))
        if math.isfinite(runs[solver].time) and len(solved) > 1:
            assert f"{min(solved):.3g} to {max(solved):.3g}" in lines[solver].note


@given(times=rows())
def test_a_plot_shows_each_family_at_its_ratio_to_the_best(times):
    records, runs = _row(times)
    found = behind(runs)
    best = best_of(runs)
    assert bool(found) == (best is not None)
    if best is not None:
        assert min(found.values()) == 1.0
        most = all(len(each.solved) == len(runs[best].solved) for each in runs.values())
        assert not most or found[runs[best].family] == 1.0
        for kind, ratio in found.items():
            mine = [runs[name].time for name in runs if runs[name].family == kind]
            assert ratio >= 1  # as the axis of the plot says
            assert math.isinf(ratio) == all(map(math.isinf, mine))
    figure = plots.behind(records)
    drawn = [x for line in figure.axes[0].get_lines() for x in line.get_xdata()]
    low, high = figure.axes[0].get_xlim()
    assert all(max(low, 1) <= x <= high for x in drawn)
    unsolved = [text.get_text() for text in figure.axes[0].texts]
    assert unsolved == ["1 of 1 not solved"] * sum(map(math.isinf, found.values()))
    if found:
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels == list(found)


@given(times=rows())
def test_an_effect_counts_rows_that_both_solve_and_rows_of_one_alone(times):
    records, runs = _row(times)
    if len(times) < 2:
        with refused("records", "a row with 'cdf-gd' and 'cdf-lbfgs'", "none", False):
            effect(records, "cdf-gd", "cdf-lbfgs")
        return
    found = effect(records, "cdf-gd", "cdf-lbfgs")
    mine, theirs = runs["cdf-gd"], runs["cdf-lbfgs"]
    done = math.isfinite(mine.time), math.isfinite(theirs.time)
    assert found.rows == 1
    assert (found.only_solver, found.only_other) == (done == (True, False), done == (False, True))
    assert found.gains["time"] == ((theirs.time / mine.time,) if all(done) else ())
    assert len(found.gains["evaluations"]) == all(done)
    back = effect(records, "cdf-lbfgs", "cdf-gd")
    assert (back.only_solver, back.only_other) == (found.only_other, found.only_solver)
    if all(done):
        assert math.isclose(back.gain("time") * found.gain("time"), 1.0)
        assert found.range("time") == (found.gain("time"),) * 2
    text = markdown(tables.effects_table([("beta", found)]))
    assert ("-" in text) and "cdf-gd" in text and "beta" in text


@given(one=st.floats(0.1, 10.0), many=st.lists(st.floats(0.1, 10.0), min_size=2, max_size=5))
def test_solvers_with_other_starts_are_compared_from_those_they_share(one, many):
    """A single start is held against the same start of others, and wins no row of several."""
    records, runs = _row({"rgd-paper": [one], "rtr": many})
    assert best_of(runs) == "rtr" and leaders(runs) == ("rtr",)
    assert best_of(runs, ["rgd-paper"]) == "rgd-paper"
    (gain,) = effect(records, "rtr", "rgd-paper").gains["time"]
    assert math.isclose(gain, one / many[0])
    same = shared(runs, "rgd-paper")
    assert [len(each.records) for each in same.values()] == [1, 1]


def test_in_words():
    both = {
        "(1)": {"cdf-gd": [4.0, 5.0, 6.0], "rtr": [1.0, 2.0, 3.0]},
        "(2)": {"cdf-gd": [2.0, 3.0, 4.0], "rtr": [1.0, 2.0, 3.0]},
    }
    clear, close = (
        [attrs.evolve(each, size=size) for each in timetable(times, "seed")]
        for size, times in both.items()
    )
    near = "The ranges of the fastest over the starts overlap in 1 of 2 rows: no winner there."
    assert summary.headline(Records(clear + close)) == [
        "rtr is fastest in 1 of 2 rows.",
        "Riemannian wins 1 of 2 rows (1 undecided), 2x faster in the median (1.5x to 2.5x).",
        f"Medians over 3 starts; t{near[1:]}",
    ]
    assert summary.headline(Records(close))[0] == (
        "Penalty cannot be told apart from Riemannian in the one row: their ranges overlap."
    )
    won = summary.headline(Records(clear), own=["rtr"])[0]
    assert won == "Your solver rtr is fastest in the one row, and solves 3 of 3 runs."
    twice = [attrs.evolve(each, size="(3)") for each in clear]
    same = "Riemannian wins both rows, 2.5x faster in the median."  # no range where it is one value
    assert same in summary.headline(Records(clear + twice))
    text = markdown(tables.paper_tables(Records(close))[0])
    assert "| 3 (2 to 4) |" in text and "| 2 (1 to 3) |" in text and "**2" not in text
    assert "unless the range of another overlaps" in text


def test_wall_and_cpu_time_rank_on_their_own():
    """The solver that is first by wall time need not be by CPU time, in tables and profiles."""
    runs = [timed("rtr", 1.0, cpu=3.0), timed("rgd", 2.0, cpu=0.5), timed("rcg", 3.0, cpu=math.nan)]
    records = Records(runs)
    for by, first, ratio in (("time", "rtr", 2.0), ("cpu", "rgd", 6.0)):
        (row,) = tables.best(records, by)
        assert row.solver == first and max(filter(math.isfinite, row.ratios.values())) >= ratio
        assert profiles.profile(records, by).share(first, 1.0) == 1.0
        line = tables.best_table(records, by=by).blocks[0].lines[0]
        assert line.entries[3].text == first
    assert profiles.profile(records, "cpu").solved("rcg") == 0
    with refused("measure", "'time' or 'evaluations' where at='target'", "'cpu'", False):
        profiles.profile(records, "cpu", at="target")


def test_a_family_with_fewer_or_failed_starts_is_never_left_of_the_best():
    times = {"rtr": [2.0, 2.0, 4.0], "cdf-gd": [1.0, 1.0, math.inf], "landing": [8.0]}
    _, runs = _row(times)
    assert behind(runs) == {"penalty": 1.0, "Riemannian": 2.0, "infeasible": 8.0}


def test_the_way_to_a_target_is_bold_only_where_ranges_are_apart():
    near = [
        timed(name, 1.0, seed=seed, trace=trace(1.0, 1e-6, seconds=each))
        for name, row in {"rgd": (0.1, 0.3), "rtr": (0.2, 0.25)}.items()
        for seed, each in enumerate(row)
    ]
    assert "**" not in markdown(tables.target_tables(Records(near))[0]).split("|", 2)[2]


@given(st.floats(1e-3, 1e6))
def test_ratios_have_no_exponent(ratio):
    text = digits(ratio)
    assert math.isclose(float(text), ratio, rel_tol=0.051) and ("e" not in text or ratio < 1)


def test_a_family_that_wins_rows_and_is_slower_on_the_whole_is_told_so():
    records = timetable({"cdf-gd": [1.0, 3.0], "rtr": [1.1, 1.0]})
    assert summary.headline(Records(records))[1] == (
        "Penalty wins as many rows as Riemannian, 1 of 2, but over both rows it is 1.4x slower in "
        "the median (0.33x to 1.1x)."
    )
