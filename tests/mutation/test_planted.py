"""The tables of planted errors fit the source."""

from collections import Counter

import pytest

from .table import ROOT, TABLES, read, read_all


@pytest.mark.parametrize("table", sorted(TABLES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_errors_fit_the_source_and_their_tests_exist(table):
    """Where this fails, edit the table in tests/mutation/planted."""
    for error in read(table):
        assert error.source() != (ROOT / error.module).read_text(encoding="utf-8"), str(error)
        assert [name for name in error.tests if not (ROOT / name).is_file()] == [], str(error)


def test_no_error_is_planted_twice():
    assert [name for name, count in Counter(map(str, read_all())).items() if count > 1] == []
