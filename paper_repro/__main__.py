"""`python -m paper_repro`: the paper's tables and figures, measured here and shown beside the paper's own figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from paper_repro import commands

_DESCRIPTION = """\
Without a command: the quick comparison, the smallest size of each table. Records are kept in the folder --out; the same
command again makes only the runs that are missing, so that an interrupted one goes on where it stopped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and a sentence where the input is refused."""
    options = _parser().parse_args(arguments)
    try:
        return commands.COMMANDS[options.command](_settings(options))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print("\nInterrupted.", *getattr(interrupt, "__notes__", []), file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--quick", action="store_true", help="smallest sizes, a short time limit")
    shared.add_argument(
        "--toy", action="store_true", help="sizes of a few rows: does everything work?"
    )
    shared.add_argument(
        "--printed",
        action="store_true",
        help="the instances as the paper prints them, not corrected",
    )
    shared.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds of each run (60; quick: 5; toy: 1)"
    )
    shared.add_argument(
        "--seeds", type=int, metavar="K", help="so many random instances and starts (1)"
    )
    shared.add_argument("--solvers", nargs="+", metavar="NAME", help="only these")
    shared.add_argument("--jobs", type=int, metavar="K", help="processes (1; without a command 2)")
    shared.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where records and report go (paper_repro_out/...)",
    )
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro", description=_DESCRIPTION, parents=[shared]
    )
    parser.set_defaults(command="compare", numbers=(), sizes=None, problem=None)
    choose = parser.add_subparsers(metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = choose.add_parser(name, help=text, description=text, parents=[shared])
        made.set_defaults(command=name)
        return made

    tables = command("table", "tables of the paper: table 1 ... table 7")
    tables.add_argument("numbers", nargs="+", type=int, metavar="NUMBER")
    tables.add_argument(
        "--sizes", nargs="+", type=_size, metavar="N,P", help="other sizes: n,p or n,p,l,N"
    )
    figures = command("figure", "figures of the paper: figure 1 ... figure 3")
    figures.add_argument("numbers", nargs="+", type=int, metavar="NUMBER")
    own = command("problem", "one of the paper's problems at sizes of your own")
    own.add_argument("problem", metavar="NAME", help="see the command list")
    own.add_argument(
        "--sizes", nargs="+", type=_size, metavar="N,P", required=True, help="n,p or n,p,l,N"
    )
    command("all", "all tables and figures")
    command("report", "the report of the records in --out, without running anything")
    export = command(
        "export", "tables, figures, report and thinned records of --out, to be kept in a repository"
    )
    export.add_argument("--to", type=Path, metavar="FOLDER", required=True, help="where they go")
    command("list", "the tables, figures, problems and solvers")
    command("example", "three problems with a known minimum, each solved by both families")
    return parser


def _size(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.strip("()").split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"need whole numbers with commas, as 1000,20; measured {text!r}"
        ) from None


def _settings(options: argparse.Namespace) -> commands.Settings:
    given = vars(options)
    quick = given.get("quick", False) or options.command == "compare"
    mode = "toy" if given.get("toy") else "quick" if quick else "full"
    settings = commands.Settings(
        mode=mode,
        out=given.get("out", Path("paper_repro_out") / mode),
        time_limit=given.get("time_limit", commands.TIME_LIMITS[mode]),
        jobs=given.get(
            "jobs",
            min(2, os.cpu_count() or 1) if options.command == "compare" and mode != "toy" else 1,
        ),
    )
    fields = ("numbers", "sizes", "problem", "solvers", "seeds", "printed", "to")
    return attrs.evolve(settings, **{name: given[name] for name in fields if name in given})


if __name__ == "__main__":
    sys.exit(main())
