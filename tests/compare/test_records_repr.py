"""How a set of records reads: on one screen, in a terminal and in a notebook."""

from genorth.compare.runs.record import Records
from support.compare_records import record, small_comparison


def test_records_fit_on_a_screen() -> None:
    records = small_comparison()
    lines = repr(records).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert all(any(solver in line for line in lines) for solver in records.solvers)
    html = records._repr_html_()
    assert all(solver in html for solver in records.solvers)


def test_many_solvers_are_cut_and_no_record_is_no_error() -> None:
    many = Records([record(solver=f"solver-{k}") for k in range(40)])
    assert len(repr(many).splitlines()) <= 24 and "and 28 more solvers" in repr(many)
    assert repr(Records([])).startswith("0 records")
