"""The command line of the gallery.

Exit codes: 0; 1 where a comparison could not be made; 2 for bad usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from genorth import command
from genorth.command import Command, Options, Program
from genorth.errors import require_known
from genorth.gallery import comparison
from genorth.gallery.base import sources
from genorth.solve.solver import SOLVERS


def _list(_: Options) -> None:
    width = max(len(name) for source in sources().values() for name in source.instances)
    for source in sources().values():
        print(source.package, source.why_not() or importlib.metadata.version(source.package))
        for name, entry in source.instances.items():
            print(f"  {name:{width}}  {entry.about}")


def _run(options: Options) -> None:
    for name in options.solvers or ():
        require_known("solvers", name, SOLVERS)
    _compared(comparison, options)


def train(options: Options) -> None:
    """Train by every method: the command `genorth train`."""
    from genorth.gallery.stochastic import comparison as training

    _compared(training, options, "train")


def _compared(kind: ModuleType, options: Options, name: str = "gallery") -> None:
    """Make a comparison of those whose packages are installed, with the defaults of its mode.

    Raises:
        ImportError: If a package is missing that the user asks for, or nothing is left.
    """
    folder, defaults = _folder(options, name), kind.DEFAULTS["quick" if options.quick else "full"]
    reasons = kind.reasons(options.names)
    if options.quick and not options.names:
        reasons = {name: why for name, why in reasons.items() if name not in kind.SLOW}
    missing = [f"{name} {reason}" for name, reason in reasons.items() if reason]
    if missing and (options.names or len(missing) == len(reasons)):
        raise ImportError("; ".join(missing))
    for line in missing:
        print(line)
    command.prepare(folder)
    command.complete(options, **defaults)
    how = {name: getattr(options, name) for name in defaults}
    records = kind.run(folder, [name for name in reasons if not reasons[name]], **how)
    print(kind.told(records))
    print(f"Report: {kind.report(folder)}")


def _report(options: Options) -> None:
    print(f"Report: {comparison.report(_folder(options))}")


def _folder(options: Options, name: str = "gallery") -> Path:
    return options.out or Path(f"{name}_out") / ("quick" if options.quick else "full")


# ---------------------------------------------------------------------- the command line

_DESCRIPTION = """\
Real problems with independently known answers. Without a command: the list of them. Records are
kept in the folder --out; the same command again makes only the runs that are missing."""
_FOLDER: dict[str, dict[str, Any]] = {
    "--quick": {"action": "store_true", "help": "few solvers, a short time limit; no slow ones"},
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
    "report": Command(_report, "write the report of the records in --out", _FOLDER),
}
main = Program("python -m genorth.gallery", _DESCRIPTION, _COMMANDS, "list")
