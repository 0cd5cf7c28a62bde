"""The command line of paper_repro: the paper's tables and figures, measured here.

Exit codes: 0; 1 where a comparison could not be made; 2 for bad usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from genorth.command import exit_code
from genorth.compare import Records, join
from genorth.errors import refuse
from genorth.optional import optional
from paper_repro import example, experiments, figures, findings, ladder, report
from paper_repro.experiments import TABLES, Experiment
from paper_repro.problems import PROBLEMS

#: Seconds of each run; a full one has the limits of its tables.
TIME_LIMITS = MappingProxyType({"full": None, "quick": 5.0, "toy": 1.0})
#: Of a quick run, in whose time limit hardly any solver of the paper reaches the paper's 1e-9.
QUICK_TOLERANCES = (1e-5, 1e-7)
#: Seconds of each run of the ladder and the gallery in a full run; and of each method at each size
#: of a figure, which its starts share.
LADDER_LIMIT, FIGURE_LIMIT = 10.0, 20.0
#: Starts of a full run (of the ladder and the gallery, which have many rows), and from how many of
#: them a solver may run out of time.
STARTS, FEWER, GIVE_UP = 5, 3, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line; by default that of the process.

    Returns:
        The exit code. What went wrong is told on stderr, in a sentence.
    """
    options = parser().parse_args(arguments)
    return exit_code(lambda: _COMMANDS[options.command][0](_completed(options)))


# ---------------------------------------------------------------------- the commands

_Options = argparse.Namespace


def _quick(options: _Options) -> None:
    _briefly(options)
    print(f"Report: {report.report(options.out)}")


def _tables(options: _Options) -> None:
    numbers = dict.fromkeys(options.numbers)
    _show(options, _run(options, [_table(options, number) for number in numbers]))


def _own(options: _Options) -> None:
    _show(
        options, _run(options, [experiments.own(options.problem, options.sizes, options.printed)])
    )


def _everything(options: _Options) -> None:
    figures.load_all(options.out)  # a damaged file is refused now, not after the tables
    _briefly(options)
    how = _settings(options, "brief") | {
        "max_time": options.max_time or LADDER_LIMIT,
        "starts": min(options.seeds, FEWER),
    }
    sizes = {"full": ladder.SIZES, "quick": ladder.SIZES[:1], "toy": ladder.TOY}[options.mode]
    rungs = ladder.run(options.out / "ladder", sizes, **how)
    print(*report.lines(rungs), sep="\n", flush=True)
    real = findings.run_gallery(options.out / "gallery", quick=options.mode != "full", **how)
    print("Gallery:", *report.headline(real), flush=True)
    for number in figures.FIGURES:
        _measure(options, number)
    print(f"Report: {report.report(options.out)}")


def _figures(options: _Options) -> None:
    for number in options.numbers:
        figures.load(options.out, number)
    _prepare(options)
    for number in options.numbers:
        data = _measure(options, number)
        path = options.out / f"figure-{number}.svg"
        data.draw().savefig(path)
        print(f"Figure {number}: {path}", *data.sentences(), sep="\n")


def _report(options: _Options) -> None:
    _show(options, experiments.load(options.out))


def _results(options: _Options) -> None:
    print(*report.make(options.out), sep="\n")


def _export(options: _Options) -> None:
    records = experiments.load(options.out)
    _make_folder(options.to, "--to")
    print(*report.export(records, options.out, options.to), sep="\n")


def _list(options: _Options) -> None:  # noqa: ARG001  every command takes the options
    for number in TABLES:
        table = experiments.table(number)
        sizes = ", ".join(size.name for size in table.sizes)
        print(f"table {number}  {table.problem.name}: {sizes}\n         {table.caption}")
    for number, (problem, figure) in figures.FIGURES.items():
        sizes = ", ".join(size.name for size in problem.sizes(figure.sizes))
        print(f"figure {number} {problem.name}: {sizes}\n         {figure.caption}")
    names = (f"{name} ({','.join(problem.numbers)})" for name, problem in PROBLEMS.items())
    print("problems ", ", ".join(names))
    kinds = (experiments.PAPERS, experiments.OURS, experiments.PEERS)
    papers, ours, peers = (", ".join(names) for names in kinds)
    print("solvers  ", f"{papers} as in the paper; {ours}; with --peers {peers}")


# ---------------------------------------------------------------------- what they share


def _table(options: _Options, number: int) -> Experiment:
    """The table of the paper at the sizes that are asked for."""
    found = experiments.table(number, options.printed)
    if options.sizes:
        return found.at(options.sizes)
    sizes = {"full": found, "quick": found.smallest(), "toy": found.toy()}
    return sizes[options.mode]


def _prepare(options: _Options) -> None:
    """Refuse what would fail after the measurements: a missing extra, a folder that is none."""
    for package in ("threadpoolctl", "matplotlib", "jinja2"):
        optional(package, "report", "a comparison")
    _make_folder(options.out, "--out")


def _make_folder(path: Path, argument: str) -> None:
    """Make the folder, or refuse the argument."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(argument, "a folder that is there or can be made", f"{path} ({error.strerror})")


def _briefly(options: _Options) -> None:
    """All tables: a line for each when it is finished, then who wins in all."""
    found = []
    for number in TABLES:
        found.append(_run(options, [_table(options, number)], "brief"))
        print(*report.lines(found[-1]), sep="\n", flush=True)
    print(*report.headline(join(found)), sep="\n")


def _run(options: _Options, chosen: Sequence[Experiment], progress: str = "auto") -> Records:
    experiments.chosen(options.solvers)
    _prepare(options)
    for experiment in chosen:
        for line in experiment.missing:
            print(f"{experiment.name} {line}")
    how = _settings(options, progress)
    if options.mode == "quick":
        how["tolerances"] = QUICK_TOLERANCES
    return experiments.run(options.out, chosen, options.solvers, **how)


def _settings(options: _Options, progress: str) -> dict[str, Any]:
    """What `genorth.compare.run` is given; no time limit for that of each table."""
    how = {"starts": options.seeds, "jobs": options.jobs, "progress": progress}
    if options.command == "all":
        how["give_up"] = GIVE_UP
    if options.max_time is not None:
        how["max_time"] = options.max_time
    return how


def _show(options: _Options, records: Records) -> None:
    """Print the tables; the report holds all that is in the folder."""
    print(report.text(records, "text"))
    print(f"Report: {report.report(options.out)}")


def _measure(options: _Options, number: int) -> figures.Data:
    limit = options.max_time or FIGURE_LIMIT
    how = {"mode": options.mode, "max_time": limit, "starts": options.seeds}
    return figures.measure(options.out, number, **how)


# ---------------------------------------------------------------------- the command line


def _size(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.strip("()").split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"need whole numbers with commas, as 1000,20; got {text!r}"
        ) from None


_DESCRIPTION = """\
Without a command: the quick comparison, the smallest size of each table. Records are kept in the
folder --out; the same command again makes only the runs that are missing, so that an interrupted
one continues where it stopped."""
_SIZES = {"nargs": "+", "type": _size, "metavar": "N,P", "help": "sizes: n,p or n,p,l,N"}
_NUMBERS = {"nargs": "+", "type": int, "metavar": "NUMBER"}
#: Options of all commands.
_SHARED = {
    "--quick": {"action": "store_true", "help": "smallest sizes, to 1e-5 and 1e-7, 5 s a run"},
    "--toy": {"action": "store_true", "help": "sizes of a few rows: does everything work?"},
    "--printed": {"action": "store_true", "help": "the instances as the paper prints them"},
    "--max-time": {
        "type": float,
        "metavar": "S",
        "help": "seconds of each run (10 to 60, by table; 5; 1)",
    },
    "--seeds": {"type": int, "metavar": "K", "help": "random instances and starts (1; all 5)"},
    "--peers": {"action": "store_true", "help": "the infeasible methods too, as in full runs"},
    "--solvers": {"nargs": "+", "metavar": "NAME", "help": "only these"},
    "--jobs": {"type": int, "metavar": "K", "help": "processes (1; all, without a command 2)"},
    "--out": {"type": Path, "metavar": "FOLDER", "help": "records and report (paper_repro_out)"},
}
#: What each command does, the sentence that explains it, and its own options.
_COMMANDS = MappingProxyType(
    {
        "compare": (_quick, "the smallest size of each table, as without a command", {}),
        "table": (
            _tables,
            "tables of the paper: table 1 ... table 7",
            {"numbers": _NUMBERS, "--sizes": _SIZES},
        ),
        "figure": (
            _figures,
            "figures of the paper: figure 1 ... figure 3",
            {"numbers": _NUMBERS},
        ),
        "problem": (
            _own,
            "one of the paper's problems at sizes of your own",
            {
                "problem": {"metavar": "NAME", "help": "see the command list"},
                "--sizes": _SIZES | {"required": True},
            },
        ),
        "all": (
            _everything,
            "all results: tables, figures, ladder of conditions, gallery (an hour or two)",
            {},
        ),
        "report": (_report, "print the tables of the records in --out, write their report", {}),
        "results": (_results, "write tables, figures and report of the records in --out", {}),
        "export": (
            _export,
            "write what a repository keeps of --out: compressed records, data of figures",
            {"--to": {"type": Path, "metavar": "FOLDER", "required": True, "help": "where to"}},
        ),
        "list": (_list, "the tables, figures, problems and solvers", {}),
        "example": (
            lambda _: example.show(),
            "problems with a known minimum, solved by both families",
            {},
        ),
    }
)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    for flag, how in _SHARED.items():
        shared.add_argument(flag, **how)
    made = argparse.ArgumentParser(
        prog="python -m paper_repro", description=_DESCRIPTION, parents=[shared]
    )
    unset = ("numbers", "sizes", "problem", "solvers", "max_time", "seeds", "jobs", "out")
    made.set_defaults(
        command="compare",
        quick=False,
        toy=False,
        printed=False,
        peers=False,
        **dict.fromkeys(unset),
    )
    commands = made.add_subparsers(metavar="COMMAND")
    for name, (_, text, arguments) in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, parents=[shared])
        command.set_defaults(command=name)
        for flag, how in arguments.items():
            command.add_argument(flag, **how)
    return made


def _completed(options: _Options) -> _Options:
    """The options with the defaults of their mode: "full", "quick" or "toy"."""
    quick = options.quick or options.command == "compare"
    options.mode = "toy" if options.toy else "quick" if quick else "full"
    options.out = options.out or Path("paper_repro_out") / options.mode
    if options.solvers is None and (options.peers or options.mode == "full"):
        options.solvers = list(experiments.SOLVERS)
    if options.max_time is None:
        options.max_time = TIME_LIMITS[options.mode]
    if options.seeds is None:
        options.seeds = STARTS if options.command == "all" and options.mode == "full" else 1
    if options.jobs is None:
        most = 2 if options.command in ("compare", "all") and not options.toy else 1
        options.jobs = min(most, os.cpu_count() or 1)
    return options
