"""The command line of the gallery.

Exit codes: 0; 1 where a comparison could not be made; 2 for bad usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genorth import command
from genorth.command import Command, Options
from genorth.gallery import comparison
from genorth.gallery.base import load, names, sources, why_not

#: The defaults of a run: starts, seconds of each run, processes.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "full": {"starts": 2, "max_time": 60.0, "jobs": 1},
    "quick": {"starts": 1, "max_time": 5.0, "jobs": min(2, os.cpu_count() or 1)},
}


def main(arguments: Sequence[str] | None = None, prog: str = "python -m genorth.gallery") -> int:
    """Run a command.

    Args:
        arguments: The command line; by default that of the process.
        prog: How the help calls the program.

    Returns:
        The exit code. What went wrong is told on stderr, in a sentence.
    """
    return command.run(parser(prog), arguments)


# ---------------------------------------------------------------------- the commands


def _list(_: Options) -> None:
    width = max(map(len, names()))
    for source in sources().values():
        print(source.package, source.why_not() or importlib.metadata.version(source.package))
        for name, entry in source.instances.items():
            print(f"  {name:{width}}  {entry.about}")


def _run(options: Options) -> None:
    mode, folder = _mode(options)
    solvers = comparison.chosen(
        options.solvers, comparison.QUICK if options.quick else comparison.ALL
    )
    asked = _installed({name: why_not(name) for name in options.names or names()}, options)
    command.prepare(folder)
    instances = [load(name) for name in asked]
    records = comparison.run(folder, instances, solvers, **_how(options, _DEFAULTS[mode]))
    print(comparison.told(instances, records))
    print(f"Report: {comparison.report(folder)}")


def _stochastic(options: Options) -> None:
    from genorth.gallery.stochastic import comparison as training

    mode, folder = _mode(options, "stochastic-")
    subjects = {each.training.problem: each for each in training.subjects(options.names)}
    asked = _installed({name: training.why_not(each) for name, each in subjects.items()}, options)
    command.prepare(folder)
    defaults = {"jobs": min(2, os.cpu_count() or 1), "max_time": 60.0, **training.DEFAULTS[mode]}
    records = training.run(folder, [subjects[name] for name in asked], **_how(options, defaults))
    print(training.told(records))
    print(f"Report: {training.report(folder)}")


def _report(options: Options) -> None:
    print(f"Report: {comparison.report(_mode(options)[1])}")


# ---------------------------------------------------------------------- what they share


def _mode(options: Options, prefix: str = "") -> tuple[str, Path]:
    """The mode, "quick" or "full", and the folder."""
    mode = "quick" if options.quick else "full"
    return mode, options.out or Path("gallery_out") / f"{prefix}{mode}"


def _how(options: Options, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options of these names, or the default where the user says nothing."""
    command.complete(options, **defaults)
    return {name: getattr(options, name) for name in defaults}


def _installed(reasons: Mapping[str, str | None], options: Options) -> list[str]:
    """Those whose packages are installed; the others are named, or refused if they are asked for.

    Raises:
        ImportError: If a package is missing that the user needs, or nothing is left.
    """
    missing = [f"{name} {reason}" for name, reason in reasons.items() if reason]
    if missing and (options.names or len(missing) == len(reasons)):
        raise ImportError("; ".join(missing))
    for line in missing:
        print(line)
    return [name for name, reason in reasons.items() if not reason]


# ---------------------------------------------------------------------- the command line

_DESCRIPTION = """\
Real problems with independently known answers. Without a command: the list of them. Records are
kept in the folder --out; the same command again makes only the runs that are missing."""
_FOLDER: dict[str, dict[str, Any]] = {
    "--quick": {"action": "store_true", "help": "few solvers, a short time limit"},
    "--out": {"type": Path, "metavar": "FOLDER", "help": "records and report (gallery_out/full)"},
}
_RUNS = _FOLDER | {
    "names": {"nargs": "*", "metavar": "NAME", "help": "see the command list"},
    "--starts": {"type": int, "metavar": "K", "help": "the usual start and K - 1 random ones"},
    "--max-time": {"type": float, "metavar": "S", "help": "seconds of each run (60; quick 5)"},
    "--jobs": {"type": int, "metavar": "K", "help": "processes (1; quick 2)"},
}
_COMMANDS = {
    "list": Command(_list, "the instances, by source"),
    "run": Command(
        _run,
        "compare solvers on instances, all that are installed or those named; write the report",
        _RUNS
        | {"--solvers": {"nargs": "+", "metavar": "NAME", "help": "only these, and the domain's"}},
    ),
    "stochastic": Command(
        _stochastic,
        "train models with weights on manifolds by every method, tune step sizes; write the report",
        _RUNS
        | {
            "names": {"nargs": "*", "metavar": "NAME", "help": "digits, correlation, wave"},
            "--starts": {"type": int, "metavar": "K", "help": "seeds (5; quick 2)"},
            "--rates": {"type": float, "nargs": "+", "metavar": "T", "help": "grid of step sizes"},
            "--epochs": {"type": int, "metavar": "K", "help": "passes over the data (10; quick 5)"},
        },
    ),
    "report": Command(_report, "write the report of the records in --out", _FOLDER),
}


def parser(prog: str | None = None) -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog=prog, description=_DESCRIPTION)
    command.add_commands(made, _COMMANDS, "list")
    return made
