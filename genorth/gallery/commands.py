"""The command line of the gallery.

Exit codes: 0; 1 where a comparison could not be made; 2 for bad usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from genorth.command import exit_code
from genorth.errors import refuse
from genorth.gallery import comparison
from genorth.gallery.base import Source, load, names, source_of, sources, why_not
from genorth.optional import optional

_Options = argparse.Namespace
#: The defaults of a run: starts, seconds of each run, processes.
_DEFAULTS = MappingProxyType(
    {
        "full": {"starts": 2, "max_time": 60.0, "jobs": 1},
        "quick": {"starts": 1, "max_time": 5.0, "jobs": min(2, os.cpu_count() or 1)},
    }
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line; by default that of the process.

    Returns:
        The exit code. What went wrong is told on stderr, in a sentence.
    """
    options = parser().parse_args(arguments)
    return exit_code(lambda: options.command(options))


# ---------------------------------------------------------------------- the commands


def _list(_: _Options) -> None:
    width = max(map(len, names()))
    for package, mine in _by_package().items():
        reason = next(filter(None, (source.why_not() for source in mine)), None)
        print(f"{package} {reason or importlib.metadata.version(package)}")
        for source in mine:
            for name, entry in source.instances.items():
                print(f"  {name:{width}}  {entry.about}")


def _by_package() -> dict[str, list[Source]]:
    found: dict[str, list[Source]] = {}
    for source in sources().values():
        found.setdefault(source.package, []).append(source)
    return found


def _run(options: _Options) -> None:
    mode = "quick" if options.quick else "full"
    folder = options.out or Path("gallery_out") / mode
    asked = list(dict.fromkeys(options.names or names()))
    for name in asked:
        source_of(name)
    default = comparison.QUICK if options.quick else comparison.ALL
    solvers = comparison.chosen(options.solvers, default)
    for package in ("threadpoolctl", "matplotlib", "jinja2"):
        optional(package, "report", "a comparison")
    reasons = {name: why_not(name) for name in asked}
    lacking = {name: reason for name, reason in reasons.items() if reason}
    if lacking and options.names:
        raise ImportError("; ".join(f"{name} {reason}" for name, reason in lacking.items()))
    for name, reason in lacking.items():
        print(f"{name} {reason}")
    _make_folder(folder)
    instances = [load(name) for name in asked if name not in lacking]
    records = comparison.run(
        folder,
        instances,
        solvers,
        **_chosen(options, _DEFAULTS[mode]),
    )
    print(comparison.told(instances, records))
    print(f"Report: {comparison.report(folder)}")


def _stochastic(options: _Options) -> None:
    from genorth.gallery.stochastic import comparison as training

    mode = "quick" if options.quick else "full"
    folder = options.out or Path("gallery_out") / f"stochastic-{mode}"
    asked = training.subjects(options.names)
    for package in ("threadpoolctl", "matplotlib", "jinja2"):
        optional(package, "report", "a comparison")
    reasons = {each.training.problem: training.why_not(each) for each in asked}
    lacking = [f"{name} {reason}" for name, reason in reasons.items() if reason]
    if lacking and (options.names or len(lacking) == len(asked)):
        raise ImportError("; ".join(lacking))
    for line in lacking:
        print(line)
    _make_folder(folder)
    defaults = {"jobs": min(2, os.cpu_count() or 1), "max_time": 60.0}
    records = training.run(
        folder,
        [each for each in asked if not reasons[each.training.problem]],
        **_chosen(options, {**defaults, **training.DEFAULTS[mode]}),
    )
    print(training.told(records))
    print(f"Report: {training.report(folder)}")


def _report(options: _Options) -> None:
    mode = "quick" if options.quick else "full"
    print(f"Report: {comparison.report(options.out or Path('gallery_out') / mode)}")


def _chosen(options: _Options, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options of these names, or the default where the user says nothing."""
    given = {name: getattr(options, name) for name in defaults}
    return {name: defaults[name] if value is None else value for name, value in given.items()}


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse("--out", "a folder that is there or can be made", f"{path} ({error.strerror})")


# ---------------------------------------------------------------------- the command line

_DESCRIPTION = """\
Real problems with answers from outside. Without a command: the list of them. Records are kept in
the folder --out; the same command again makes only the runs that are missing."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m genorth.gallery", description=_DESCRIPTION)
    made.set_defaults(command=_list)
    commands = made.add_subparsers(metavar="COMMAND")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--quick", action="store_true", help="few solvers, a short time limit")
    shared.add_argument(
        "--out", type=Path, metavar="FOLDER", help="records and report (gallery_out/full or quick)"
    )
    text = "the instances, by package"
    commands.add_parser("list", help=text, description=text).set_defaults(command=_list)
    text = "compare solvers on instances, all that are installed or those named; write the report"
    run = commands.add_parser("run", help=text, description=text, parents=[shared])
    run.set_defaults(command=_run)
    run.add_argument("names", nargs="*", metavar="NAME", help="instances, see the command list")
    run.add_argument("--solvers", nargs="+", metavar="SOLVER", help="only these, and the domain's")
    run.add_argument(
        "--starts", type=int, metavar="K", help="the practitioner's start and K - 1 random ones"
    )
    run.add_argument("--max-time", type=float, metavar="S", help="seconds of each run (60; 5)")
    run.add_argument("--jobs", type=int, metavar="K", help="processes (1; with --quick 2)")
    text = (
        "train models with weights on manifolds by every method, tune step sizes; write the report"
    )
    train = commands.add_parser("stochastic", help=text, description=text, parents=[shared])
    train.set_defaults(command=_stochastic)
    train.add_argument("names", nargs="*", metavar="NAME", help="digits, correlation, wave")
    train.add_argument("--rates", type=float, nargs="+", metavar="T", help="the grid of step sizes")
    train.add_argument("--epochs", type=int, metavar="K", help="passes over the data (10; 5)")
    train.add_argument("--starts", type=int, metavar="K", help="seeds (5; 2)")
    train.add_argument("--max-time", type=float, metavar="S", help="seconds of each run (60)")
    train.add_argument("--jobs", type=int, metavar="K", help="processes (2)")
    text = "write the report of the records in --out"
    report = commands.add_parser("report", help=text, description=text, parents=[shared])
    report.set_defaults(command=_report)
    return made
