"""Standings, wins and gains over many rows, on records that are made up."""

import math
import statistics

import attrs
from hypothesis import given
from hypothesis import strategies as st

from genorth.compare import Records
from genorth.compare.analysis import by_row
from paper_repro.experiments import LONGER, REFERENCE
from paper_repro.findings import FAMILIES, _equally_limited, ratios, slower, standings, won
from support.compare_records import record, timetable

PENALTY, SECOND, RIEMANNIAN = "cdf-gd", "cdf-lbfgs", "rtr"
SOLVERS = (PENALTY, SECOND, RIEMANNIAN)
seconds = st.one_of(st.just(math.inf), st.floats(0.1, 10.0))
#: Rows with the time of each solver.
tables = st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=6)


def _records(rows: list[tuple[float, ...]]) -> Records:
    return Records(timetable(dict(zip(SOLVERS, zip(*rows, strict=True), strict=True))))


@given(rows=tables)
def test_standings_count_rows_that_someone_solves(rows):
    solved = [row for row in rows if math.isfinite(min(row))]
    found = standings(_records(rows))
    assert {*found.index} == {*SOLVERS}
    if not solved:
        assert not found["rows"].any()
        return
    for n, solver in enumerate(SOLVERS):
        mine, ratios = found.loc[solver], [row[n] / min(row) for row in solved]
        assert mine["rows"] == len(solved)
        assert mine["solved"] == sum(map(math.isfinite, ratios))
        assert mine["best"] == sum(row[n] == min(row) for row in solved)
        assert mine["best"] <= mine["within 2x"] <= mine["solved"]
        assert mine["within 2x"] == sum(ratio <= 2 for ratio in ratios)
        assert mine["median"] == statistics.median(ratios)
    assert list(found["median"]) == sorted(found["median"])


@given(rows=tables)
def test_a_family_wins_a_row_if_it_beats_the_other_there(rows):
    found = won(by_row(_records(rows)))
    penalty = sum(min(row[:2]) < row[2] for row in rows)
    riemannian = sum(row[2] < min(row[:2]) for row in rows)
    assert found == dict(zip(FAMILIES, (penalty, riemannian, 0), strict=True))


@given(rows=tables)
def test_ratios_are_those_of_rows_that_one_side_solves(rows):
    pairs = [(row[0], row[2]) for row in rows if math.isfinite(min(row[0], row[2]))]
    expected = [first / second for first, second in pairs]
    assert ratios(_records(rows), {PENALTY}, {RIEMANNIAN}) == expected
    found = slower(_records(rows), PENALTY)
    assert math.isnan(found) if not expected else found == statistics.median(expected)


def test_the_reference_has_no_longer_than_others_where_an_ingredient_is_judged():
    """Its time limit is longer by a factor, so that leads over it are figures and not bounds."""
    limits = {REFERENCE: {"max_time": LONGER * 10.0}, "rgd": {"max_time": 10.0}}
    made = [
        attrs.evolve(record(solver, time, size=f"({n})"), definition=limits[solver])
        for n, (solver, time) in enumerate([(REFERENCE, 9.0), (REFERENCE, 11.0), ("rgd", 11.0)])
    ]
    found = _equally_limited(Records(made))
    assert [each.success for each in found] == [True, False, True]
    assert [each.time for each in found] == [9.0, 11.0, 11.0]
