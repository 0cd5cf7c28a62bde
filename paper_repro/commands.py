"""The command line of paper_repro: the paper's tables and figures, measured here.

Exit codes: 0; 1 where a comparison could not be made; 2 for bad usage; 130 after Ctrl-C.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from genorth import command, compare
from genorth.command import Command, Options, Program
from genorth.compare import Records, summary
from genorth.compare.render import text
from genorth.gallery import comparison as gallery
from genorth.gallery import constrained
from paper_repro import experiments, figures, kinds, ladder, report
from paper_repro.experiments import LABELS, TABLES, Experiment
from paper_repro.problems import PROBLEMS

#: Seconds of each run; a full one has the limits of its tables.
TIME_LIMITS = {"full": None, "medium": 3.0, "quick": 5.0, "toy": 1.0}
#: Of a quick run, in whose time limit hardly any solver of the paper reaches the paper's 1e-9.
QUICK_TOLERANCES = (1e-5, 1e-7)
#: Seconds of each run of the ladder, the gallery and the other kinds in a full run; and of each
#: method at each size of a figure, which its starts share.
LIMIT, FIGURE_LIMIT = 10.0, 20.0
#: Starts of all solvers in a full or medium run, and from how many a solver may run out of time.
STARTS, GIVE_UP = 5, 1
_WHOLE = ("full", "medium")


# ---------------------------------------------------------------------- the commands


def _quick(options: Options) -> None:
    _run_all_tables(options)
    print(f"Report: {report.report(options.out)}")


def _tables(options: Options) -> None:
    chosen = [_table(options, number, options.sizes) for number in dict.fromkeys(options.numbers)]
    _show(options, _run(options, chosen))


def _own(options: Options) -> None:
    experiment = experiments.own(options.problem, options.sizes, options.printed)
    _show(options, _run(options, [experiment]))


def _everything(options: Options) -> None:
    figures.load_all(options.out)  # a damaged file is refused now, not after the tables
    _run_all_tables(options)
    how = _settings(options, "brief") | {"max_time": options.max_time or LIMIT}
    sizes = {"full": ladder.SIZES, "toy": ladder.TOY}.get(options.mode, ladder.SIZES[:1])
    rungs = ladder.run(options.out / "ladder", sizes, **how)
    print(*report.lines(rungs), sep="\n", flush=True)
    here = [name for name in gallery.here() if name not in constrained.NAMES]
    print(f"Gallery: {len(here)} instances are installed; pip install 'genorth[gallery]' has all")
    rows = gallery.DEFAULTS["full" if options.mode == "full" else "quick"]["solvers"]
    real = gallery.run(options.out / "gallery", here, rows, **how)
    print("Gallery:", *summary.headline(real, LABELS), flush=True)
    for name, kind in kinds.KINDS.items():
        found = kinds.run(options.out / name, name, options.mode, **how)
        print(f"{kind.title}:", *summary.headline(found, LABELS), flush=True)
    for number in figures.FIGURES:
        _measure(options, number)
    print(f"Report: {report.report(options.out)}")


def _figures(options: Options) -> None:
    for number in options.numbers:
        figures.load(options.out, number)
    command.prepare(options.out)
    for number in options.numbers:
        data = _measure(options, number)
        path = options.out / f"figure-{number}.svg"
        data.draw().savefig(path)
        print(f"Figure {number}: {path}", text(data.told()), sep="\n")


def _report(options: Options) -> None:
    _show(options, compare.load(options.out / "records"))


def _results(options: Options) -> None:
    print(*report.make(options.out), sep="\n")


def _export(options: Options) -> None:
    compare.load(options.out / "records")  # refused before the folder is made
    command.make_folder(options.to, "--to")
    print(*report.export(options.out, options.to), sep="\n")


def _list(_: Options) -> None:
    for number in TABLES:
        table = experiments.table(number)
        sizes = ", ".join(size.name for size in table.sizes)
        print(f"table {number}  {table.problem.name}: {sizes}\n         {table.caption}")
    for number, (problem, figure) in figures.FIGURES.items():
        sizes = ", ".join(size.name for size in problem.sizes(figure.sizes))
        print(f"figure {number} {problem.name}: {sizes}\n         {figure.caption}")
    names = (f"{name} ({','.join(problem.numbers)})" for name, problem in PROBLEMS.items())
    print("problems ", ", ".join(names))
    for kind in ("PAPERS", "OURS", "PEERS"):
        print(f"solvers   {kind.lower()}:", ", ".join(getattr(experiments, kind)))


# ---------------------------------------------------------------------- what they share


def _completed(run: Callable[[Options], object], options: Options) -> object:
    """Run a command with the defaults of its mode: "full", "quick" or "toy"."""
    everything = options.command == "all"
    quick = options.quick or options.command == "compare"
    medium = "medium" if options.medium else "full"
    options.mode = mode = "toy" if options.toy else "quick" if quick else medium
    several = options.command in ("compare", "all") and not options.toy
    command.complete(
        options,
        out=Path("paper_repro_out") / mode,
        solvers=list(experiments.SOLVERS) if options.peers or mode in _WHOLE else None,
        max_time=TIME_LIMITS[mode],
        seeds=STARTS if everything and mode in _WHOLE else 1,
        jobs=min(2 if several else 1, os.cpu_count() or 1),
    )
    return run(options)


def _table(options: Options, number: int, sizes: Any = None) -> Experiment:
    """The table of the paper at the sizes that are asked for, or at those of the mode."""
    found = experiments.table(number, options.printed)
    if sizes:
        return found.at(sizes)
    return {"full": found, "toy": found.toy()}.get(options.mode) or found.smallest()


def _run_all_tables(options: Options) -> None:
    """All tables: a line for each when it is finished, then who wins in all."""
    found = []
    for number in TABLES:
        found.append(_run(options, [_table(options, number)], "brief"))
        print(*report.lines(found[-1]), sep="\n", flush=True)
    print(*summary.headline(compare.join(found), LABELS), sep="\n")


def _run(options: Options, chosen: Sequence[Experiment], progress: str = "auto") -> Records:
    experiments.chosen(options.solvers)
    command.prepare(options.out)
    tolerances = QUICK_TOLERANCES if options.mode == "quick" else experiments.TOLERANCES
    how = _settings(options, progress) | {"tolerances": tolerances}
    return experiments.run(options.out, chosen, options.solvers, **how)


def _settings(options: Options, progress: str) -> dict[str, Any]:
    """What `genorth.compare.run` is given; without a time limit, that of each table."""
    return {
        "starts": options.seeds,
        "jobs": options.jobs,
        "progress": progress,
        "give_up": GIVE_UP if options.command == "all" else None,
        "max_time": options.max_time,
    }


def _show(options: Options, records: Records) -> None:
    """Print the tables; the report holds all that is in the folder."""
    print(report.text(records, "text"))
    print(f"Report: {report.report(options.out)}")


def _measure(options: Options, number: int) -> figures.Data:
    return figures.measure(
        options.out,
        number,
        mode="quick" if options.mode == "medium" else options.mode,
        max_time=options.max_time or FIGURE_LIMIT,
        starts=options.seeds,
    )


# ---------------------------------------------------------------------- the command line


def size(text: str) -> tuple[int, ...]:
    """Whole numbers with commas: 1000,20."""
    return tuple(int(part) for part in text.strip("()").split(","))


_DESCRIPTION = """\
Without a command: the quick comparison, the smallest size of each table. Records are kept in the
folder --out; the same command again makes only the runs that are missing, so that an interrupted
one continues where it stopped."""
_SIZES: dict[str, Any] = {"nargs": "+", "type": size, "metavar": "N,P", "help": "n,p or n,p,l,N"}
_NUMBERS = {"numbers": {"nargs": "+", "type": int, "metavar": "NUMBER"}}
#: Options of all commands.
_SHARED: dict[str, dict[str, Any]] = {
    "--quick": {"action": "store_true", "help": "smallest sizes, to 1e-5 and 1e-7, 5 s a run"},
    "--medium": {
        "action": "store_true",
        "help": "smallest sizes and classics an eighth as large, 3 s a run, all solvers",
    },
    "--toy": {"action": "store_true", "help": "sizes of a few rows: does everything work?"},
    "--printed": {"action": "store_true", "help": "the instances as the paper prints them"},
    "--max-time": {
        "type": float,
        "metavar": "S",
        "help": "seconds of each run (10 or 15, by table; medium 3; quick 5; toy 1)",
    },
    "--seeds": {"type": int, "metavar": "K", "help": "random instances and starts (1; all: 5)"},
    "--peers": {
        "action": "store_true",
        "help": "pymanopt and infeasible methods too, as in full runs",
    },
    "--solvers": {"nargs": "+", "metavar": "NAME", "help": "only these"},
    "--jobs": {"type": int, "metavar": "K", "help": "processes (1; all, without a command: 2)"},
    "--out": {"type": Path, "metavar": "FOLDER", "help": "records and report (paper_repro_out)"},
}
#: What each command does, the sentence that explains it, and its own options.
_COMMANDS: dict[str, tuple[Callable[[Options], None], str, dict[str, Any]]] = {
    "compare": (_quick, "the smallest size of each table, as without a command", {}),
    "table": (_tables, "tables of the paper: table 1 ... table 7", _NUMBERS | {"--sizes": _SIZES}),
    "figure": (_figures, "figures of the paper: figure 1 ... figure 3", _NUMBERS),
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
        "all results: tables, figures, ladder, gallery and other kinds (two hours; medium: 30 min)",
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
}
main = Program(
    "python -m paper_repro",
    _DESCRIPTION,
    {
        name: Command(partial(_completed, run), about, _SHARED | own)
        for name, (run, about, own) in _COMMANDS.items()
    },
    "compare",
)
