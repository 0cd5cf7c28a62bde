"""The folder of a comparison.

Records survive, a second call makes what is missing, another comparison is refused.
"""

import json
import os
import signal
import tempfile
import tracemalloc
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth import compare
from genorth.compare.runs.definition import changes, fingerprint
from genorth.compare.runs.record import About
from genorth.compare.runs.store import decode, encode
from support.compare_cases import Counting, ended, instance, procrustes, raising, standing
from support.processes import printed, started, wait_for
from support.refusals import refused

pytest.importorskip("threadpoolctl", reason="comparisons pin BLAS threads by threadpoolctl")

SETTINGS = {"starts": 3, "tolerances": (1e-3, 1e-6), "max_time": 5.0}
RUNS = 6


def run(out: Any, solver: Any, problem: Any = None, **changes: Any) -> compare.Records:
    return compare.run(
        problem or instance(), [solver], out=out, progress=None, **SETTINGS | changes
    )


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), max_size=8)


@given(
    texts=st.tuples(_texts(), _texts(), _texts(), _texts()),
    seed=st.integers(0, 2**40),
    figures=st.lists(st.floats(), min_size=3, max_size=3),
    positive=st.tuples(st.floats(0, 1e9), st.floats(1e-300, 1e300)),
    column=st.lists(st.floats(), max_size=3),
    beta=st.none() | st.floats(),
)
def test_every_record_survives_a_round_trip(texts, seed, figures, positive, column, beta):
    words = dict(zip(("problem", "size", "solver", "message"), texts, strict=True))
    numbers = dict(zip(("fun", "gradient_norm", "feasibility"), figures, strict=True))
    numbers |= {"time": positive[0], "tolerance": positive[1], "seed": seed, "beta": beta}
    record = compare.Record(
        **words,
        **numbers,
        status="STALLED",
        success=False,
        seconds={texts[0]: positive[0]},
        environment={texts[1]: texts[2]},
        about=About(label=texts[0] or "-", family="penalty", cites=texts[1:3]),
        definition={"options": {texts[0]: [1, None, {"a": 2.5}]}},
        trace=go.Trace(column, column, column, column, list(range(len(column)))),
    )
    line = encode(record)
    assert "\n" not in line
    back = decode(line, compare.Record)
    # by repr, as NaN is not equal to itself
    assert repr(attrs.asdict(back)) == repr(attrs.asdict(record))


def test_load_gives_what_run_gave(tmp_path):
    how: dict[str, Any] = {"out": tmp_path, "progress": None, "starts": 2}
    made = compare.run([instance("a"), instance("b")], ["cdf-lbfgs", "cdf-cg"], **how)
    read = compare.load(tmp_path)
    assert len(made) == 8 and list(read) == list(made) and read.settings == made.settings
    assert read.settings["max_time"] == 60.0 and read.settings["format"] == 2
    assert read.solvers["cdf-cg"].family == "penalty" and read.solvers["cdf-cg"].algorithm == "cg"
    assert read[0].environment["numpy"] == np.__version__ and len(read[0].trace) == read[0].nit + 1


def test_a_record_is_on_disk_when_the_next_run_begins(tmp_path):
    seen: list[int] = []

    def looking(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        path = tmp_path / "records.jsonl"
        seen.append(path.read_text().count("\n") if path.exists() else 0)
        return ended(x0, success=False, status=go.Status.STALLED)

    run(tmp_path, looking)
    assert seen == list(range(RUNS))


def test_a_second_call_makes_nothing_and_more_of_anything_makes_only_that(tmp_path):
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
    assert len(run(out, attrs.evolve(solver, name="another"), starts=1)) == 2
    assert len(solver.calls) == RUNS + 9
    read = compare.load(out)
    assert read.distinct("seed") == [0, 1, 2, 3] and len(read.distinct("problem")) == 2
    assert list(read.solvers) == ["counting", "another"] and len(read) == len(solver.calls)


def test_failures_are_kept_and_made_again_on_demand(tmp_path):
    calls: list[int] = []

    def failing(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        calls.append(1)
        return raising(problem, x0) if len(calls) <= RUNS else standing(problem, x0)

    assert run(tmp_path, failing).distinct("status") == ["RAISED"]
    assert run(tmp_path, failing).distinct("status") == ["RAISED"] and len(calls) == RUNS
    assert run(tmp_path, failing, retry=True).distinct("status") == ["STALLED"]
    assert len(calls) == 2 * RUNS
    assert compare.load(tmp_path).distinct("status") == ["STALLED"]  # the last one of each counts


_SCRIPT = """
import sys
from pathlib import Path
from support.compare_cases import Counting, instance
from genorth import compare
compare.run(instance(), [Counting(Path(sys.argv[1]))], out=sys.argv[2], progress=None,
            starts=3, tolerances=(1e-3, 1e-6), max_time=5.0, grace=100)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
@pytest.mark.slow
def test_a_comparison_that_is_killed_five_times_loses_nothing(tmp_path):
    """Killed in the middle of a run, each time of another one.

    Finished runs are not repeated, and the one that was cut off is made again.
    """
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    for number in range(1, 6):
        held = 2 * number - 1  # calls so far: number - 1 records, as many cut off, and this one
        solver.path.with_suffix(".hold").write_text(str(held))
        process = started(_SCRIPT, solver.path, out)
        try:
            wait_for(lambda held=held: len(solver.calls) >= held, process)
        finally:
            process.kill()
            process.wait()
        assert len(compare.load(out)) == number - 1 == held - number
    solver.path.with_suffix(".hold").unlink()
    before = solver.calls
    records = run(out, solver)
    assert len(records) == RUNS and len({record.key for record in records}) == RUNS
    assert len(solver.calls) == len(before) + RUNS - 4
    assert max(map(solver.calls.count, solver.calls)) == 2  # no run was made more than twice
    assert repr(list(compare.load(out))) == repr(list(records))
    assert (out / "records.jsonl").read_bytes().count(b"\n") == RUNS


@given(share=st.floats(0, 1))
def test_a_file_that_ends_anywhere_is_completed(share):
    """Cut off at any byte: whole lines are kept, half a line is reported and its run made again."""
    with tempfile.TemporaryDirectory() as folder:
        solver, out = Counting(Path(folder) / "calls"), Path(folder) / "out"
        first = run(out, solver)
        file = out / "records.jsonl"
        whole = file.read_bytes()
        kept = whole[: round(share * len(whole))]
        file.write_bytes(kept)
        *lines, rest = kept.split(b"\n")
        # all but the end of the line is a record too
        torn = rest and rest not in whole.split(b"\n")
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


def _shifted(seed: int, shift: float = 0.0, scale: float = 1.0) -> go.Problem:
    base = procrustes(seed)
    functions = lambda X: base.cost(X) + shift, lambda X: scale * base.euclidean_gradient(X)
    return go.Problem(base.manifold, *functions, name="procrustes")


def _made(at: int | None = None, **changes: float) -> compare.Case:
    start = None if at is None else lambda problem, _: problem.manifold.random_point(at)
    return instance(make=partial(_shifted, **changes), start=start)


def _weighted(*weights: float) -> compare.Case:
    M = go.GeneralizedStiefel(np.array(weights), 2)
    zero = go.Problem(M, lambda X: 0.0, lambda X: 0 * X, name="zero")
    return compare.Case("p", "s", lambda seed: zero)


def _with(**options: Any) -> compare.Case:
    return instance(options={"it": {"line": (1, None), "scale": np.float64(2)} | options})


@attrs.frozen
class Tuned:
    """A solver with an option of its own."""

    step: float

    def __call__(self, problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        return standing(problem, x0)


def _closure(step: float) -> Any:
    return lambda problem, x0, **_: standing(problem, x0, step=step)


@pytest.mark.parametrize(
    ("what", "first", "second", "said"),
    [
        ("max_time", 5.0, 6.0, "max_time was 5.0, is 6.0"),
        ("threads", 1, 2, "threads was 1, is 2"),
        ("max_iterations", None, 10, "max_iterations was None, is 10"),
        ("problem", _with(beta=50.0), _with(beta=500.0), "options.beta was 50.0, is 500.0"),
        ("problem", _with(metric=np.eye(3)), _with(metric=2 * np.eye(3)), "options.metric was"),
        ("problem", _with(rule=raising), _with(rule=procrustes), "options.rule.function was"),
        (
            *("solver", *(partial(partial(standing, beta=1.0), beta=b) for b in (2.0, 3.0))),
            "solver.beta was 2.0, is 3.0",
        ),
        ("solver", Tuned(0.5), Tuned(0.25), "solver.step was 0.5, is 0.25"),
        ("solver", _closure(1.0), _closure(2.0), "solver.closure.step was 1.0, is 2.0"),
        ("solver", raising, standing, "solver.function was"),
        ("solver", "cdf-lbfgs", "cdf-cg", "solver.solver was 'cdf-lbfgs', is 'cdf-cg'"),
        ("problem", _made(), _made(shift=1.0), "cost at the start was"),
        ("problem", _made(), _made(scale=1.01), "gradient at the start was"),
        ("problem", _made(at=7), _made(at=8), "start at the start was"),
        ("problem", _weighted(*[1.0] * 6), _weighted(1, 2, 3, 4, 5, 6), "phi at the start was"),
        ("problem", _weighted(*[1.0] * 6), _weighted(*[1.0] * 7), "shape was [6, 2], is [7, 2]"),
    ],
)
def test_what_defines_a_run_is_compared(tmp_path, what, first, second, said):
    def call(value: Any, **more: Any) -> compare.Records:
        settings = {"problem": instance(), "solver": standing, **SETTINGS, what: value} | more
        problem, solver = settings.pop("problem"), settings.pop("solver")
        return compare.run(problem, {"it": solver}, out=tmp_path, progress=None, **settings)

    made = call(first)
    assert repr(call(first)) == repr(made)  # what is the same is kept
    before = _visible(tmp_path)
    with refused("out", "made by the same call", said, tolerance=False):
        call(second)
    assert _visible(tmp_path) == before
    again = call(second, retry=True)
    assert [record.key for record in again] == [record.key for record in made]
    assert all(record.definition != old.definition for record, old in zip(again, made, strict=True))
    assert repr(call(second)) == repr(again)


def _visible(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def test_a_folder_of_another_version_is_refused(tmp_path, monkeypatch):
    solver, out = Counting(tmp_path / "calls"), tmp_path / "out"
    run(out, solver)
    version = go.__version__
    monkeypatch.setattr(go, "__version__", "99.0")
    with refused("out", "same call", f"genorth was '{version}', is '99.0'", tolerance=False):
        run(out, solver)
    assert len(compare.load(out)) == RUNS


def test_a_rounding_error_is_no_change():
    then = fingerprint(procrustes(0), np.eye(6, 2))
    rounded = json.loads(json.dumps(then))
    rounded["gradient"]["re"] *= 1 + 1e-12
    assert not list(changes(then, rounded)) and list(changes(then, {**rounded, "dtype": "f4"}))


def test_a_description_is_the_same_in_another_process():
    code = (
        "import json; from functools import partial\n"
        "from support.compare_cases import Counting, raising\n"
        "from genorth.compare.runs.definition import described\n"
        "from genorth.solve.solver import SOLVERS\n"
        "print(json.dumps(described([partial(raising, a={'x': {1, 2}}), SOLVERS['cdf-gd'],"
        " Counting('p'), {'text'}])))"
    )
    told = [printed(code, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    assert told[0] == told[1] and "raising" in told[0]


def test_records_of_the_old_layout_are_refused_with_their_version(tmp_path):
    (tmp_path / "settings.json").write_text('{"genorth": "0.1.0", "max_time": 60.0}')
    (tmp_path / "records.jsonl").write_text("{}\n")
    for call in (lambda: compare.load(tmp_path), lambda: run(tmp_path, raising)):
        with refused("out", "format 2", "format 1, by genorth 0.1.0", tolerance=False):
            call()


def test_saved_records_are_compressed_and_read_again(tmp_path):
    made = compare.run(procrustes(0), ["cdf-gd", "cdf-lbfgs"], out=tmp_path / "made", progress=None)
    folder = compare.save(made, tmp_path / "kept", lines=5)
    assert sorted(path.name for path in folder.iterdir()) == ["records.jsonl.xz", "settings.json"]
    read = compare.load(folder)
    assert read.settings == made.settings and [r.key for r in read] == [r.key for r in made]
    for one, other in zip(read, made, strict=True):
        assert attrs.evolve(one, trace=other.trace) == other and len(one.trace) <= 6
        assert one.trace.gradient_norm[-1] == pytest.approx(other.trace.gradient_norm[-1], rel=1e-5)
    first = (folder / "records.jsonl.xz").read_bytes()
    compare.save(read, folder, lines=5)
    assert (folder / "records.jsonl.xz").read_bytes() == first
    (folder / "records.jsonl.xz").write_bytes(first[:-40])
    with pytest.warns(UserWarning, match=r"records\.jsonl\.xz: the rest cannot be read"):
        compare.load(folder)


def test_a_path_that_is_no_folder_of_ours_is_refused(tmp_path):
    solver = Counting(tmp_path / "calls")
    file = tmp_path / "file"
    file.write_text("mine")
    with refused("out", "a folder", "the file", tolerance=False):
        run(file, solver)
    stray = tmp_path / "stray"
    stray.mkdir()
    (stray / "records.jsonl").write_text("{}\n")
    with refused("out", "a folder that is new", "records without settings.json", tolerance=False):
        run(stray, solver)
    with refused("out", "compare.run has made", "none in", tolerance=False):
        compare.load(tmp_path / "nowhere")
    with refused("out", "the path of a folder", "too long", tolerance=False):
        run(tmp_path / ("x" * 300), solver)
    good = {"format": 2, "genorth": "1", "max_time": 1.0, "threads": 1, "max_iterations": None}
    for text in ("{", "[]", *(json.dumps(good | {name: []}) for name in good)):
        (stray / "settings.json").write_text(text)
        for call in (lambda: run(stray, solver), lambda: compare.load(stray)):
            with pytest.raises(ValueError, match=r"out: need a folder that is new.*got"):
                call()
    assert not solver.calls and (stray / "records.jsonl").read_text() == "{}\n"


def test_a_folder_with_other_files_can_be_used(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert len(run(tmp_path, Counting(tmp_path / "calls"))) == RUNS
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_full_disk_leaves_the_old_files(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    out, report = tmp_path / "out", tmp_path / "report.html"
    records = compare.run(instance(), [standing], out=out, progress=None)
    compare.report(records, report)
    kept = report.read_bytes(), (out / "records.jsonl").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        compare.report(records, report, title="another")
    with pytest.raises(OSError, match="No space") as caught:
        compare.run(instance(), [standing], starts=3, out=out, progress=None)
    assert len(caught.value.records) == 1
    assert (report.read_bytes(), (out / "records.jsonl").read_bytes()) == kept
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []


def test_a_note_of_a_crash_that_cannot_be_read_is_no_note(tmp_path):
    key = ["procrustes", "(6,2)", 0]
    note = json.dumps({"key": key, "times": 1e308}).replace("1e+308", "1e999")
    (tmp_path / ".underway.json").write_text(note)
    assert run(tmp_path, raising).distinct("status") == ["RAISED"]


def test_many_records_share_what_is_the_same(tmp_path):
    """A line takes at most 5 kB of memory."""
    compare.run(instance(), ["rgd", "rtr"], out=tmp_path, progress=None)
    file, many = tmp_path / "records.jsonl", 5_000
    lines = list(map(json.loads, file.read_text().splitlines()))
    copies = (json.dumps(lines[seed % 2] | {"seed": seed}) + "\n" for seed in range(many))
    file.write_text("".join(copies))
    tracemalloc.start()
    kept = compare.load(tmp_path)
    assert len(kept) == many and tracemalloc.get_traced_memory()[1] <= 5e3 * many
    tracemalloc.stop()
    for name in ("about", "definition", "environment"):
        assert len({id(getattr(record, name)) for record in kept}) <= 2


# ---------------------------------------------------------------------- strict reading

_TRACE: dict[str, Any] = {"time": [0.0], "cost": [1.0], "gradient_norm": [1.0]}
_TRACE |= {"feasibility": [0.0], "evaluations": [1]}
_ABOUT = {"label": "a", "family": "penalty", "algorithm": "", "variant": "", "cites": []}
#: Values that a field must not have, for each type and each rule.
WRONG: list[tuple[str, Any]] = [
    *(("message", value) for value in (3, None)),
    *(("seed", value) for value in ("0", 1.5, None, True, -1, [])),
    *(("tolerance", value) for value in ("1e-3", None, True, 0.0, "inf", "nan")),
    *(("status", value) for value in ("FINE", 3)),
    *(("success", value) for value in ("yes", 1, None, True)),
    *((name, -1) for name in ("nit", "nfev")),
    *((name, value) for name in ("time", "cpu") for value in ("long", None, -1.0)),
    *(("seconds", value) for value in ([], {"cost": "a"}, {"cost": -1.0}, {"cost": None}, None)),
    *(("beta", value) for value in ("auto", [], True)),
    *(("environment", value) for value in ([], {"a": 1}, None)),
    *(("definition", value) for value in ([], None)),
    ("traced_by", "nobody"),
    *(("trace", _TRACE | each) for each in ({"cost": ["a"]}, {"cost": [1.0, 2.0]}, {"time": 3})),
    *(("trace", each) for each in (None, _TRACE | {"evaluations": [1.5]}, _TRACE | {"more": []})),
    *(("about", _ABOUT | each) for each in ({"family": "none"}, {"cites": "key"}, {"cites": [3]})),
    *(("about", each) for each in (None, "cdf-gd", _ABOUT | {"label": 3}, _ABOUT | {"more": 3})),
    ("unknown", 3),
]
#: Lines that are none, and what is said of them.
_NO_LINES = {
    *{(bytes([255, 254]), "decode"), (b"{", "Expecting"), (b"[]", "object"), (b"null", "object")},
    *{(b'{"problem":"a"}', "missing"), (b"NaN", "object"), (b"1" * 10_000, "digits")},
    (b"[" * 100_000, "recursion"),
}


def _line() -> dict[str, Any]:
    """A line with every field."""
    made = compare.Record(
        problem="p", size="s", seed=0, solver="a", tolerance=1e-3, status="STALLED",
        message="m", success=False, time=1.0, fun=0.5, beta=2.0,
        about=About(**_ABOUT | {"cites": ()}), trace=go.Trace(*_TRACE.values()),
    )  # fmt: skip
    return json.loads(encode(made))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((json.dumps(_line() | {field: value}).encode(), field) for field, value in WRONG),
        *((json.dumps({k: v for k, v in _line().items() if k != "seed"}).encode(), "'seed'"),),
        *sorted(_NO_LINES),
    ],
)
def test_a_wrong_line_is_reported_with_its_number_and_field(tmp_path, line, said):
    """And the others are kept; an empty line is nobody's record."""
    good = [json.dumps(_line() | {"seed": seed}).encode() for seed in (1, 2)]
    (tmp_path / "records.jsonl").write_bytes(b"\n".join([good[0], line, b"", good[1], b""]))
    settings = {"format": 2, "genorth": "1", "max_time": 1.0, "threads": 1, "max_iterations": None}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    with pytest.warns(UserWarning, match=rf"line 2: no record \(.*{said}.*\); it is left out"):
        records = compare.load(tmp_path)
    assert [record.seed for record in records] == [1, 2]
