"""The command `genorth`, also `python -m genorth`: check, solve and compare the problems of a file.

Exit codes: 0; 1 where a check fails, a run does not converge, or a file or package is missing; 2
for bad usage; 130 after Ctrl-C. The entry points of the group "genorth.commands" add programs:
functions main(arguments, prog) that return an exit code.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import genorth as go
from genorth import command, manifolds
from genorth.command import Command, Options, Program
from genorth.errors import refuse, require_known

GROUP = "genorth.commands"
#: What `compare` runs where --solvers is not given, beside the solvers of the file.
SOLVERS = ("auto", "rlbfgs", "odf-lbfgs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, or a program of another package.

    Args:
        arguments: The command line; by default that of the process.

    Returns:
        The exit code. Errors are printed to stderr, in a sentence.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    found = programs()
    if given and given[0] in found:
        return found[given[0]].load()(given[1:], f"genorth {given[0]}")
    others = {
        name: Command(_list, f"see genorth {name} --help ({point.module.partition('.')[0]})")
        for name, point in found.items()
    }
    return Program("genorth", _DESCRIPTION, _COMMANDS | others, examples=_EXAMPLES)(given)


def run() -> int:
    """Run the command line of the process with streams that cannot fail, and return its code."""
    return command.start("genorth.__main__")


def programs() -> dict[str, importlib.metadata.EntryPoint]:
    """The programs that are subcommands: the gallery, and those of installed packages."""
    gallery = importlib.metadata.EntryPoint("gallery", "genorth.gallery.commands:main", GROUP)
    return {point.name: point for point in (gallery, *importlib.metadata.entry_points(group=GROUP))}


# ---------------------------------------------------------------------- the file of a user


def load(path: Path) -> dict[str, Any]:
    """Run a Python file, and return its names.

    Raises:
        FileNotFoundError: If it is not there.
        ValueError: If it raises.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return runpy.run_path(str(path), run_name=path.stem)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:
        from genorth.compare.runs.bench import told

        refuse("FILE", "a Python file that runs", f"{path}: {told(error)}")


def problems_of(options: Options) -> dict[str, Any]:
    """The problems of the file by name, as `compare.run` takes them; of those named, if any are.

    Raises:
        ValueError: If it has none, or none of a name that is asked for.
    """
    from genorth.compare.runs.spec import as_cases

    options.module = load(options.file)
    given = options.module.get("problems", dict(_named(options.module)))
    if not given:
        refuse(
            "FILE",
            "problems = {name: Problem, ...}, a Problem, or a function make_NAME(seed)",
            f"none of these in {options.file}",
        )
    found = {case.problem: case for case in as_cases(given)}
    for name in options.names:
        require_known("NAME", name, found)
    return {name: found[name] for name in options.names or found}


def _named(module: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The Problems of a module, and its functions make_NAME, with a seed or without."""
    for name, value in module.items():
        if isinstance(value, go.Problem):
            yield name, value
        elif name.startswith("make_") and callable(value):
            seeded = bool(inspect.signature(value).parameters)
            yield name.removeprefix("make_"), value if seeded else value()


# ---------------------------------------------------------------------- the commands


def _check(options: Options) -> int:
    return _each(problems_of(options), _checked)


def _checked(name: str, case: Any) -> bool:
    problem = case.made(0)[0].fresh()
    problem.name = name
    reports = [go.check_assumptions(problem.manifold, rng=0)]
    if problem.has_gradient:
        reports.append(go.check_gradient(problem, rng=0))
    if problem.has_hessian:
        reports.append(go.check_hessian(problem, rng=0))
    print(*reports, sep="\n")
    if not problem.has_gradient:
        print("FAIL  no gradient: give euclidean_gradient, or autodiff='jax' or 'torch'")
    return problem.has_gradient and all(report.passed for report in reports)


def _solve(options: Options) -> int:
    cases = problems_of(options)
    go.SOLVERS.find(options.method)
    return _each(cases, partial(_solved, options))


def _solved(options: Options, name: str, case: Any) -> bool:
    import numpy as np

    problem, start = case.made(options.seed)
    how = {"method": options.method, "tol": options.tol, "max_time": options.max_time}
    result = go.minimize(problem, start, **how)
    print(result)
    if options.out is not None:
        command.make_folder(options.out)
        np.save(options.out / f"{name}.npy", result.x)
        print(f"x: {options.out / name}.npy")
    return result.success


def _each(cases: Mapping[str, Any], work: Callable[[str, Any], bool]) -> int:
    """Do something with each problem; 1 if one fails or raises."""
    from genorth.compare.runs.bench import told

    failed = 0
    for name, case in cases.items():
        print(f"{name}:")
        try:
            failed |= not work(name, case)
        except Exception as error:
            print(f"FAIL  {told(error)}")
            failed = 1
    return int(failed)


def _compare(options: Options) -> None:
    from genorth import compare
    from genorth.compare.runs.spec import as_solvers

    out = options.out or Path("genorth_out") / options.file.stem
    cases = list(problems_of(options).values())
    given = options.module.get("solvers")
    own = as_solvers(given) if given else {}
    wanted = options.solvers or [*SOLVERS, *own]
    solvers = as_solvers({name: own.get(name, name) for name in wanted})
    command.prepare(out)
    records = compare.run(
        cases,
        solvers,
        starts=options.starts,
        tolerances=options.tol,
        max_time=options.max_time,
        jobs=options.jobs,
        out=out / "records",
    )
    print(*compare.summary.sentences(records), sep="\n")
    _write(out, options.file.stem)


def _report(options: Options) -> None:
    _write(options.folder, None)


def _write(folder: Path, title: str | None) -> None:
    from genorth import compare

    kept = folder / "records"
    records = compare.load(kept if kept.is_dir() else folder)
    print(f"Writing the report of {len(records)} runs.", file=sys.stderr)
    print(f"Report: {compare.report(records, folder / 'report.html', title)}")


def _train(options: Options) -> None:
    from genorth.gallery import commands

    commands.train(options)


def _list(_: Options) -> None:
    from genorth.gallery import base

    about = {s.name: (s.family, s.algorithm, s.variant) for s in go.SOLVERS.values()}
    _table(
        "Solvers (--solvers, --method)",
        {name: ", ".join(filter(None, words)) for name, words in about.items()},
    )
    docs = {name: inspect.getdoc(getattr(manifolds, name)) or "" for name in manifolds.__all__}
    _table("Manifolds", {name: doc.partition("\n")[0] for name, doc in docs.items()})
    _table("Gallery (genorth gallery run NAME)", dict.fromkeys(base.names(), ""))


def _table(title: str, lines: Mapping[str, str]) -> None:
    width = max(map(len, lines))
    print(title, *(f"  {name:{width}}  {text}".rstrip() for name, text in lines.items()), sep="\n")


# ---------------------------------------------------------------------- the command line


def names(text: str) -> list[str]:
    """Names with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(text: str) -> list[float]:
    """Numbers with commas: 1e-5,1e-9."""
    return [float(part) for part in names(text)]


_DESCRIPTION = """\
Check, solve and compare your own problems. FILE is a plain Python file that defines

  problems = {"name": Problem, ...}   or a Problem, or a function make_NAME(seed) that returns one
  solvers = {"name": function, ...}   your own solvers, if you have any, for the command compare
"""
_EXAMPLES = """\
examples:
  genorth check my.py                     are phi, psi, gradient and Hessian right?
  genorth solve my.py                     minimise each problem, print what was found
  genorth compare my.py --starts 5 --solvers auto,rlbfgs --out results
  genorth report results                  write the report of these records again
  genorth train pca                       compare ways to train on manifolds
  genorth list                            solvers, manifolds, gallery
"""
_FILE: dict[str, dict[str, Any]] = {
    "file": {"type": Path, "metavar": "FILE", "help": "your Python file"},
    "names": {"nargs": "*", "metavar": "NAME", "help": "only these problems (default: all)"},
}


def _with(default: Any, metavar: str, about: str) -> dict[str, Any]:
    """An option with a default, whose type it has."""
    about += " (default: %(default)s)"
    return {"default": default, "type": type(default), "metavar": metavar, "help": about}


_COMMANDS = {
    "check": Command(
        _check,
        "check the assumptions on phi and psi, the gradient and the Hessian of each problem",
        _FILE,
        "example: genorth check my.py",
    ),
    "solve": Command(
        _solve,
        "minimise each problem and print the result",
        _FILE
        | {
            "--method": _with("auto", "NAME", "the solver"),
            "--tol": _with(1e-6, "T", "gradient norm"),
            "--max-time": {"type": float, "metavar": "S", "help": "seconds of each run"},
            "--seed": _with(0, "K", "of the random start"),
            "--out": {"type": Path, "metavar": "FOLDER", "help": "write x there, as NAME.npy"},
        },
        "example: genorth solve my.py --method rlbfgs --tol 1e-8",
    ),
    "compare": Command(
        _compare,
        "run solvers on each problem from the same starts; write the records and a report. The "
        "same command again makes only the runs that are missing",
        _FILE
        | {
            "--solvers": {
                "type": names,
                "metavar": "NAME,...",
                "help": f"default: {','.join(SOLVERS)} and the solvers of FILE",
            },
            "--starts": _with(1, "K", "random starts"),
            "--tol": {
                "type": numbers,
                "default": [1e-6],
                "metavar": "T,...",
                "help": "tolerances on the gradient norm (default: 1e-6)",
            },
            "--max-time": _with(60.0, "S", "seconds of each run"),
            "--jobs": _with(1, "K", "processes"),
            "--out": {
                "type": Path,
                "metavar": "FOLDER",
                "help": "records and report.html (default: genorth_out/ and the name of FILE)",
            },
        },
        "example: genorth compare my.py --starts 5 --solvers auto,rlbfgs --out results",
    ),
    "train": Command(
        _train,
        "train models with weights on manifolds by genorth's ways and others', with tuned step "
        "sizes; write the records and a report. The same command again makes only the runs that "
        "are missing",
        {
            "names": {
                "nargs": "*",
                "metavar": "NAME",
                "help": "recall, transformer, cca, autoencoder, pca, pca-printed, procrustes "
                "(default: all)",
            },
            "--quick": {"action": "store_true", "help": "few step sizes, seeds and epochs"},
            "--starts": {"type": int, "metavar": "K", "help": "seeds (5; quick 2)"},
            "--tuning": {"type": int, "metavar": "K", "help": "seeds that choose step sizes (1)"},
            "--rates": {"type": numbers, "metavar": "T,...", "help": "grid of step sizes"},
            "--epochs": {"type": int, "metavar": "K", "help": "passes over the data (10; quick 3)"},
            "--max-time": {"type": float, "metavar": "S", "help": "seconds of each run (300)"},
            "--jobs": {"type": int, "metavar": "K", "help": "processes (1)"},
            "--out": {
                "type": Path,
                "metavar": "FOLDER",
                "help": "records and report.html (default: train_out/full or train_out/quick)",
            },
        },
        "example: genorth train pca procrustes --out results",
    ),
    "report": Command(
        _report,
        "write the report of a folder that compare has made",
        {"folder": {"type": Path, "metavar": "FOLDER", "help": "the folder"}},
        "example: genorth report results",
    ),
    "list": Command(_list, "the solvers, manifolds and instances of the gallery"),
}


if __name__ == "__main__":
    sys.exit(run())
