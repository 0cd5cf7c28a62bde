"""The folder of a comparison.

Records survive, a second call makes what is missing, another comparison is refused.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from compare_cases import Counting, ended, instance, raising
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import genorth as go
from genorth import compare

pytest.importorskip("threadpoolctl", reason="comparisons pin BLAS threads by threadpoolctl")

SETTINGS = {"starts": 3, "tolerances": (1e-3, 1e-6), "time_limit": 5.0}
RUNS = 6


def run(out: Any, solver: Any, problem: Any = None, **changes: Any) -> compare.Records:
    return compare.run(
        problem or instance(), [solver], out=out, progress=None, **SETTINGS | changes
    )


# ---------------------------------------------------------------------- round trip


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), max_size=8)


@given(
    texts=st.tuples(_texts(), _texts(), _texts(), _texts()),
    seed=st.integers(0, 2**40),
    figures=st.lists(st.floats(), min_size=5, max_size=5),
    column=st.lists(st.floats(), max_size=3),
    beta=st.none() | st.floats(),
)
def test_every_record_survives_a_round_trip(
    texts: Any, seed: int, figures: Any, column: Any, beta: Any
) -> None:
    fun, gradient_norm, feasibility, seconds, tolerance = figures
    record = compare.Record(
        problem=texts[0],
        size=texts[1],
        solver=texts[2],
        message=texts[3],
        seed=seed,
        tolerance=tolerance,
        status="STALLED",
        success=False,
        fun=fun,
        gradient_norm=gradient_norm,
        feasibility=feasibility,
        time=seconds,
        seconds={texts[0]: seconds},
        beta=beta,
        environment={texts[1]: texts[2]},
        trace=go.Trace(column, column, column, column, list(range(len(column)))),
    )
    line = record.to_json()
    assert "\n" not in line
    back = compare.Record.from_json(line)
    assert repr(attrs.asdict(back)) == repr(
        attrs.asdict(record)
    )  # by repr, as NaN is not equal to itself


def test_load_gives_what_run_gave(tmp_path: Path) -> None:
    made = compare.run(
        [instance("a"), instance("b")],
        ["cdf-lbfgs", "cdf-cg"],
        out=tmp_path,
        progress=None,
        starts=2,
    )
    read = compare.load(tmp_path)
    assert len(made) == 8 and list(read) == list(made) and read.settings == made.settings
    assert read.settings["solvers"] == ["cdf-lbfgs", "cdf-cg"] and read.settings["seeds"] == [0, 1]
    assert read[0].environment["numpy"] == np.__version__ and len(read[0].trace) == read[0].nit + 1


def test_a_record_is_on_disk_when_the_next_run_begins(tmp_path: Path) -> None:
    seen: list[int] = []

    def looking(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        path = tmp_path / "records.jsonl"
        seen.append(path.read_text().count("\n") if path.exists() else 0)
        return ended(x0, success=False, status=go.Status.STALLED)

    run(tmp_path, looking)
    assert seen == list(range(RUNS))


# ---------------------------------------------------------------------- going on


def test_a_second_call_makes_nothing_and_more_of_anything_makes_only_that(tmp_path: Path) -> None:
    solver = Counting(tmp_path / "calls")
    out = tmp_path / "out"
    first = run(out, solver)
    assert len(solver.calls) == RUNS
    assert list(run(out, solver)) == list(first) and len(solver.calls) == RUNS
    run(out, solver, starts=4)  # one seed more: two tolerances
    assert solver.calls[RUNS:] == ["3 0.001", "3 1e-06"]
    run(out, solver, tolerances=(1e-3, 1e-4))
    assert solver.calls[RUNS + 2 :] == ["0 0.0001", "1 0.0001", "2 0.0001"]
    other = run(out, solver, [instance(), instance("other")], starts=1)
    assert len(other) == 4 and solver.calls[RUNS + 5 :] == ["0 0.001", "0 1e-06"]
    assert (
        len(run(out, attrs.evolve(solver, name="another"), starts=1)) == 2
        and len(solver.calls) == RUNS + 9
    )
    settings = compare.load(out).settings
    assert settings["seeds"] == [0, 1, 2, 3] and settings["tolerances"] == [1e-3, 1e-6, 1e-4]
    assert settings["solvers"] == ["counting", "another"] and len(settings["problems"]) == 2
    assert len(compare.load(out)) == len(solver.calls)


def test_failures_are_kept_and_made_again_on_demand(tmp_path: Path) -> None:
    calls: list[int] = []

    def failing(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        calls.append(1)
        return (
            raising(problem, x0)
            if len(calls) <= RUNS
            else ended(x0, success=False, status=go.Status.STALLED)
        )

    assert run(tmp_path, failing).distinct("status") == ["RAISED"]
    assert run(tmp_path, failing).distinct("status") == ["RAISED"] and len(calls) == RUNS
    assert (
        run(tmp_path, failing, retry=True).distinct("status") == ["STALLED"]
        and len(calls) == 2 * RUNS
    )
    assert compare.load(tmp_path).distinct("status") == ["STALLED"]  # the last one of each counts


_SCRIPT = """
import sys
from pathlib import Path
from compare_cases import Counting, instance
from genorth import compare
compare.run(instance(), [Counting(Path(sys.argv[1]), hold=3)], out=sys.argv[2], progress=None,
            starts=3, tolerances=(1e-3, 1e-6), time_limit=5.0, grace=100)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_a_killed_comparison_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed in the middle of a run.

    Finished ones are not repeated, and the one that was cut off is made again.
    """
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, str(solver.path), str(out)],
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        _wait_for(lambda: len(solver.calls) >= 3, process)
    finally:
        process.kill()
        process.wait()
    before = solver.calls
    finished = len(compare.load(out))
    assert finished == len(before) - 1 == 2
    records = run(out, solver)
    assert len(records) == RUNS and len({record.key for record in records}) == RUNS
    assert len(solver.calls) == RUNS + 1 and solver.calls.count(before[-1]) == 2
    assert list(compare.load(out)) == list(records)


def _wait_for(condition: Any, process: subprocess.Popen[Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < end, (
            "the comparison ended before it could be killed"
        )
        time.sleep(0.005)


@given(share=st.floats(0, 1))
def test_a_file_that_ends_anywhere_is_completed(share: float) -> None:
    """Cut off at any byte: whole lines are kept, half a line is reported with its number, and its run is made again."""
    with tempfile.TemporaryDirectory() as folder:
        solver, out = Counting(Path(folder) / "calls"), Path(folder) / "out"
        first = run(out, solver)
        file = out / "records.jsonl"
        whole = file.read_bytes()
        kept = whole[: round(share * len(whole))]
        file.write_bytes(kept)
        *lines, rest = kept.split(b"\n")
        torn = rest and rest not in whole.split(
            b"\n"
        )  # all but the end of the line is a record too
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            second = run(out, solver)
            said = [str(warning.message) for warning in caught]
            assert {record.key for record in compare.load(out)} == {record.key for record in first}
        missing = RUNS - len(lines) - bool(rest and not torn)
        assert [record.key for record in second] == [record.key for record in first]
        assert len(solver.calls) == RUNS + missing
        assert file.read_bytes().startswith(kept) and file.read_bytes().endswith(b"\n")
        assert len(said) == bool(torn) and all(
            f"records.jsonl, line {len(lines) + 1}: no record" in s for s in said
        )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"3",
        b"null",
        b'{"problem":"a"}',
        b'{"trace":{}}',
        b"<status>",
        b"<seed>",
    ],
    ids=[
        "empty",
        "not text",
        "half",
        "list",
        "number",
        "null",
        "few fields",
        "empty trace",
        "status",
        "seed",
    ],
)
def test_a_corrupt_line_is_reported_with_its_number_and_the_others_are_kept(
    tmp_path: Path, line: bytes
) -> None:
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    run(out, solver)
    file = out / "records.jsonl"
    lines = file.read_bytes().splitlines()
    spoiled = {b"<status>": (b'"STALLED"', b'"FINE"'), b"<seed>": (b'"seed":0', b'"seed":"0"')}.get(
        line
    )
    lines[1] = lines[1].replace(*spoiled) if spoiled else line
    file.write_bytes(b"\n".join(lines) + b"\n")
    if line:
        with pytest.warns(UserWarning, match=r"records\.jsonl, line 2: no record"):
            records = compare.load(out)
    else:
        records = compare.load(out)  # an empty line is nobody's record
    assert len(records) == RUNS - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert len(run(out, solver)) == RUNS
    assert solver.calls[RUNS:] == ["0 1e-06"]


# ---------------------------------------------------------------------- another comparison


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({"time_limit": 6.0}, "time_limit = 5.0, not 6.0"),
        ({"threads": 2}, "threads = 1, not 2"),
        ({"max_iterations": 10}, "max_iterations = None, not 10"),
        (
            {"problem": instance(options={"counting": {"beta": 1.0}})},
            "options {}, not {'beta': 1.0}",
        ),
    ],
    ids=["time limit", "threads", "iterations", "options"],
)
def test_a_folder_of_other_settings_is_refused(
    tmp_path: Path, changes: dict[str, Any], measured: str
) -> None:
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    run(out, solver)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with refused("out", "same settings", measured, tolerance=False):
        run(out, solver, **changes)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before and len(
        solver.calls
    ) == RUNS


def test_a_folder_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    run(out, solver)
    version = go.__version__
    monkeypatch.setattr(go, "__version__", "99.0")
    with refused(
        "out", "same version", f"version of genorth = '{version}', not '99.0'", tolerance=False
    ):
        run(out, solver)
    assert len(compare.load(out)) == RUNS


def test_options_of_arrays_and_functions_are_told_apart(tmp_path: Path) -> None:
    """By what they hold, not by where they are.

    The same options are the same in another process.
    """

    def with_options(A: Any, **more: Any) -> compare.Instance:
        return instance(
            options={"counting": {"metric": A, "scale": np.float64(2), "line": (1, None), **more}}
        )

    solver = Counting(tmp_path / "calls")
    run(tmp_path, solver, with_options(np.eye(3), rule=raising))
    run(tmp_path, solver, with_options(np.eye(3), rule=raising))
    assert len(solver.calls) == RUNS
    for other in (with_options(2 * np.eye(3), rule=raising), with_options(np.eye(3), rule=run)):
        with refused("out", "same settings", "options", tolerance=False):
            run(tmp_path, solver, other)


def test_a_path_that_is_no_folder_of_ours_is_refused(tmp_path: Path) -> None:
    solver = Counting(tmp_path / "calls")
    file = tmp_path / "file"
    file.write_text("mine")
    with refused("out", "a folder", "the file", tolerance=False):
        run(file, solver)
    stray = tmp_path / "stray"
    stray.mkdir()
    (stray / "records.jsonl").write_text("{}\n")
    with refused("out", "same settings", "records.jsonl without settings.json", tolerance=False):
        run(stray, solver)
    with refused("out", "compare.run has made", "none in", tolerance=False):
        compare.load(tmp_path / "nowhere")
    for text in ("{", "[]", json.dumps({"genorth": "1"})):
        (stray / "settings.json").write_text(text)
        with refused("out", "same settings", "settings.json that cannot be read", tolerance=False):
            run(stray, solver)
        with refused("out", "same settings", "settings.json that cannot be read", tolerance=False):
            compare.load(stray)
    assert not solver.calls and (stray / "records.jsonl").read_text() == "{}\n"


def test_a_folder_with_other_files_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert len(run(tmp_path, Counting(tmp_path / "calls"))) == RUNS
    assert (tmp_path / "notes.txt").read_text() == "mine"
