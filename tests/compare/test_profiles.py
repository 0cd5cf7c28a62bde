"""Performance and data profiles: hand-made cases, exactly; failures stay in the denominator."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genorth.compare import Records, plots, tables
from genorth.compare.analysis.profiles import Profile, profile
from genorth.solve.solver import FAMILIES
from support.compare_records import record, small_comparison, timetable, trace

INF = math.inf
HAND = Records(timetable({"a": [1.0, 4.0, 2.0, INF, INF], "b": [2.0, 1.0, 2.0, 3.0, INF]}))


def test_hand_made_case():
    # Ratios: a = 1, 4, 1, inf, inf; b = 2, 1, 1, 1, inf. The third row is a tie; nobody solves the
    # last.
    found = profile(HAND)
    assert found.count == 5 and found.left_out == 0
    assert found.ratios["a"].tolist() == [1, 1, 4, math.inf, math.inf]
    assert found.ratios["b"].tolist() == [1, 1, 1, 2, math.inf]
    taus = (1, 1.99, 2, 3.99, 4, 1e300)
    assert [found.share("a", tau) for tau in taus] == [2 / 5, 2 / 5, 2 / 5, 2 / 5, 3 / 5, 3 / 5]
    assert [found.share("b", tau) for tau in taus] == [3 / 5, 3 / 5, 4 / 5, 4 / 5, 4 / 5, 4 / 5]
    assert found.largest == 4


def test_curve_steps_where_the_share_does():
    tau, rho = profile(HAND).curve("a", 10.0)
    assert tau.tolist() == [1, 4, 10] and rho.tolist() == [2 / 5, 3 / 5, 3 / 5]


def test_by_evaluations():
    records = Records(
        [record("a", 9.0, nfev=10, njev=10), record("b", 1.0, nfev=5, njev=20, nhev=10)]
    )
    found = profile(records, "evaluations")
    assert found.ratios["a"].tolist() == [1.0] and found.ratios["b"].tolist() == [3.0]


def test_a_failed_run_is_not_the_best_however_short():
    records = Records([record("a", 1e-3, status="STALLED"), record("b", 5.0)])
    found = profile(records)
    assert found.share("a", 1e6) == 0 and found.share("b", 1) == 1


def test_seeds_and_tolerances_are_problems_of_their_own():
    records = small_comparison()
    starts = {(r.problem, r.size, r.seed, r.tolerance) for r in records}
    assert profile(records).count == len(starts)


def test_a_start_that_one_solver_was_not_run_on_is_left_out():
    records = Records([*HAND, record("a", 1.0, size="only a")])
    found = profile(records)
    assert (found.count, found.left_out) == (5, 1)


def test_nothing_in_common_is_refused():
    with pytest.raises(ValueError, match="records: need at least one start"):
        profile(Records([record("a", size="1"), record("b", size="2")]))


def test_bad_arguments_list_the_known():
    with pytest.raises(
        ValueError, match="measure: need one of 'time', 'cpu', 'evaluations'; got 'speed'"
    ):
        profile(HAND, "speed")
    for named in ("by", "at"):
        with pytest.raises(ValueError, match=f"^{named}: need one of '"):
            profile(HAND, **{named: "noon"})
    with pytest.raises(ValueError, match="solver: need one of 'a', 'b'; got 'c'"):
        profile(HAND).share("c", 1)


_times = st.lists(st.one_of(st.floats(1e-3, 1e3), st.just(math.inf)), min_size=4, max_size=4)


@given(st.lists(_times, min_size=2, max_size=4), st.floats(1, 1e7))
def test_general_properties(table, tau):
    names = [f"s{n}" for n in range(len(table))]
    found = profile(Records(timetable(dict(zip(names, table, strict=True)))))
    # rho_s rises to the share that s solves, and the shares at 1 add up to at least that of the
    # rows that anybody does.
    for name, times in zip(names, table, strict=True):
        solved = sum(map(math.isfinite, times)) / 4
        shares = [found.share(name, at) for at in (1, tau, 1e300)]
        assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] == solved
    anybody = sum(any(math.isfinite(times[n]) for times in table) for n in range(4)) / 4
    assert sum(found.share(name, 1) for name in names) >= anybody


# ---------------------------------------------------------------------- data profiles, families

_NAMES = ("cdf-gd", "rgd", "landing", "rtr")


@given(st.lists(_times, min_size=1, max_size=4), st.floats(1e-4, 1e4))
def test_the_data_profile_is_the_share_within_a_budget(table, budget):
    found = profile(Records(timetable(dict(zip(_NAMES, table, strict=False)))))
    for name, times in zip(_NAMES, table, strict=False):
        assert found.within(name, budget) == sum(t <= budget for t in times) / 4
        assert found.solved(name) == sum(map(math.isfinite, times)) / 4
        assert found.within(name, 0.0) == 0 <= found.within(name, budget) <= found.solved(name)
    low, high = found.range
    finite = [t for times in table for t in times if math.isfinite(t)] or [1.0]
    assert (low, high) == (min(finite), max(finite))


@given(st.lists(_times, min_size=1, max_size=4), st.floats(1, 1e4))
def test_a_family_is_its_best_solver_in_each_run(table, tau):
    records = Records(timetable(dict(zip(_NAMES, table, strict=False))))
    found = profile(records, by="family")
    kinds = {name: about.family for name, about in records.solvers.items()}
    assert list(found.solvers) == [kind for kind in FAMILIES if kind in kinds.values()]
    best = {
        kind: [
            min(t[n] for name, t in zip(_NAMES, table, strict=False) if kinds[name] == kind)
            for n in range(4)
        ]
        for kind in found.solvers
    }
    for kind, times in best.items():
        assert found.costs[kind].tolist() == sorted(times)
        within = [
            math.isfinite(time) and time <= tau * min(each[n] for each in best.values())
            for n, time in enumerate(times)
        ]
        near = abs(found.share(kind, tau) - sum(within) / 4)
        assert near == 0 or any(  # t <= tau t_best and t / t_best <= tau differ by rounding
            math.isclose(time, tau * min(each[n] for each in best.values()), rel_tol=1e-12)
            for n, time in enumerate(times)
        )


@given(
    st.lists(st.lists(st.floats(1e-10, 1.0), min_size=1, max_size=6), min_size=1, max_size=3),
    st.sampled_from(["time", "evaluations"]),
)
def test_the_way_to_the_target_ends_at_the_first_iterate_that_meets_it(norms, measure):
    """Also where the run itself went on, or was stopped, after that."""
    ends = ("CONVERGED", "TIME_LIMIT", "CONVERGED")
    records = Records(
        record(name, 9.0, status=end, tolerance=1e-5, trace=trace(*each))
        for name, each, end in zip(_NAMES, norms, ends, strict=False)
    )
    found = profile(records, measure, at="target")
    for name, each in zip(_NAMES, norms, strict=False):
        first = next((n for n, norm in enumerate(each) if norm <= 1e-5), math.inf)
        cost = 0.1 * first if measure == "time" else 2 * first + 1
        if math.isinf(first) and name != _NAMES[1]:  # a success that its trace does not show
            cost = 9.0 if measure == "time" else 12
        assert found.costs[name].tolist() == [pytest.approx(cost)]


def _steps(found: Profile, kind: str) -> list[float]:
    return sorted({found.within(kind, cost) for cost in found.costs[kind] if math.isfinite(cost)})


def test_the_plot_shows_every_family_in_four_panels():
    pytest.importorskip("matplotlib")
    records = small_comparison()
    axes = plots.families(records).axes
    assert len(axes) == 4
    for axis in axes:
        assert len(axis.get_lines()) == len(records.distinct("family")) == 2
    found = profile(records, "time", "family", "target")
    for line, kind in zip(axes[2].get_lines(), found.solvers, strict=True):
        drawn = sorted(set(line.get_ydata()) - {0.0})
        assert drawn == pytest.approx(_steps(found, kind))


def test_the_share_that_each_solver_solves():
    records = small_comparison()
    table = tables.solved_table(records)
    *problems, everything = table.heads[2:]
    assert (len(problems), everything.name) == (2, "All")
    for line in table.blocks[0].lines:
        mine = records.where(solver=line.entries[0].text)
        solved = sum(r.success for r in mine)
        assert line.entries[-1].text == f"{solved} of {len(mine)}"
        assert sum(int(e.text.split()[0]) for e in line.entries[2:-1]) == solved
