"""`python -m tests.mutation`.

Plants each error, says which tests find it, and writes docs/mutants.md.

The exit code is 0 if every mutant that is not declared equivalent died and every control survived.
"""

from __future__ import annotations

import argparse
import fnmatch
import signal
import sys
from pathlib import Path

from .copies import HarnessError
from .mutant import ROOT, Mutant, TableError
from .report import write
from .results import Store, Verdict
from .runner import Check, Settings
from .tables import read_all


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="names or definitions that match, e.g. 'penalty-*' or 'Dense.*'",
    )
    parser.add_argument("--jobs", type=int, default=2, help="tests run in this many processes (2)")
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "build" / "mutants.jsonl",
        help="verdicts; those found there are kept",
    )
    parser.add_argument(
        "--suite",
        nargs="*",
        default=["tests"],
        help="what runs where the named tests pass (tests); none: nothing",
    )
    parser.add_argument("--fresh", action="store_true", help="forget the verdicts in --out")
    parser.add_argument("--no-report", action="store_true", help="leave docs/mutants.md as it is")
    return parser.parse_args()


def _selected(mutants: list[Mutant], pattern: str | None) -> list[Mutant]:
    if pattern is None:
        return mutants
    return [
        m for m in mutants if fnmatch.fnmatch(m.name, pattern) or fnmatch.fnmatch(m.within, pattern)
    ]


def _list(mutants: list[Mutant]) -> None:
    for m in mutants:
        note = "  (equivalent)" if m.equivalent else ""
        print(f"{m.kind:10} {m.within:34} {m.name:40} {m.old}  ->  {m.new}{note}")
    print(f"{len(mutants)} mutants")


def _problems(mutants: list[Mutant], verdicts: dict[str, Verdict]) -> list[str]:
    """What is not as it should be, in sentences."""
    problems = []
    for m in mutants:
        verdict = verdicts.get(m.name)
        if verdict is None:
            continue
        if not verdict.dead and not m.equivalent:
            problems.append(f"SURVIVED {m.name}: {m.breaks} ({m.within}: {m.old} -> {m.new})")
        if verdict.dead and m.equivalent:
            problems.append(
                f"NOT EQUIVALENT {m.name}: {verdict.killed_by} fails: {verdict.message}"
            )
    return problems


def main() -> int:
    """Run the check."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # copies are removed then, too
    arguments = _arguments()
    mutants, controls = (_selected(table, arguments.only) for table in read_all())
    if arguments.list:
        _list([*mutants, *controls])
        return 0
    if arguments.fresh:
        arguments.out.unlink(missing_ok=True)
    settings = Settings(jobs=max(1, arguments.jobs), suite=tuple(arguments.suite))
    check = Check(settings, Store(arguments.out), lambda line: print(line, flush=True))
    try:
        verdicts = check.run(mutants, controls)
    except KeyboardInterrupt:
        print(f"interrupted; run again to go on ({arguments.out})")
        return 130
    except (HarnessError, TableError) as error:
        print(f"stopped: {error}")
        return 2
    problems = _problems([*mutants, *controls], verdicts) + [
        f"NOT RUN {line}" for line in check.broken
    ]
    dead = sum(verdicts[m.name].dead for m in mutants if m.name in verdicts)
    print(*problems, f"{len(mutants)} mutants: {dead} killed, {len(problems)} problems", sep="\n")
    if arguments.only is None and not check.broken and not arguments.no_report:
        print(f"written: {write(mutants, controls, verdicts).relative_to(ROOT)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
