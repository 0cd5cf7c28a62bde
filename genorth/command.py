"""What the command lines share: subcommands, exit codes, and standard streams that cannot fail.

A `Command` is a function of the parsed options; a `Program` has several of them, and can be a
subcommand of another one.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from genorth.errors import refuse
from genorth.optional import optional

Options = argparse.Namespace
#: Arguments of a command: what `add_argument` takes, by name or flag.
Arguments = Mapping[str, Mapping[str, Any]]


# ---------------------------------------------------------------------- streams


class _Output(io.FileIO):
    """A stream whose reader may go away (`| head`): the rest is dropped, and the work goes on."""

    def write(self, content: Any) -> int:
        """Write, as long as somebody reads."""
        try:
            return super().write(content)
        except BrokenPipeError:
            return len(content)


def open_streams() -> None:
    """Reopen closed streams (`2>&-`) on os.devnull, so that no file gets their number."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        given = getattr(sys, name)
        if given is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
        buffer = io.BufferedWriter(_Output(number, "w", closefd=False))
        encoding = "utf-8" if given is None else given.encoding
        text = io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=True)
        setattr(sys, name, text)


# ---------------------------------------------------------------------- commands


@attrs.frozen
class Command:
    """A command.

    Args:
        run: `run(options)`; an integer that it returns is the exit code.
        about: What it does, for the help.
        arguments: Its arguments.
        examples: What the help ends with.
    """

    run: Callable[[Options], object]
    about: str
    arguments: Arguments = attrs.field(factory=dict)
    examples: str = ""


@attrs.frozen
class Program:
    """Several commands under one name; call it as `program(arguments, prog)`.

    Args:
        name: How its help calls it.
        description: What its help begins with.
        commands: The commands by name.
        default: What runs without a command: the name of one, which then gets the options, or
            "--help".
        examples: What its help ends with.
    """

    name: str
    description: str
    commands: Mapping[str, Command]
    default: str = "--help"
    examples: str = ""

    def options(self, arguments: Sequence[str] | None = None, prog: str | None = None) -> Options:
        """Parse a command line, by default that of the process; `run` is the chosen function."""
        parser = argparse.ArgumentParser(
            prog=prog or self.name,
            description=self.description,
            epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        named = parser.add_subparsers(metavar="COMMAND")
        for name, command in self.commands.items():
            about = f"{command.about[0].upper()}{command.about[1:]}."
            mine = named.add_parser(
                name, help=command.about, description=about, epilog=command.examples
            )
            mine.set_defaults(command=name, run=command.run)
            for flag, how in command.arguments.items():
                mine.add_argument(flag, **how)
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = given and given[0].startswith("-") and given[0] not in ("-h", "--help")
        if not given or (options and self.default in self.commands):
            given.insert(0, self.default)
        return parser.parse_args(given)

    def __call__(self, arguments: Sequence[str] | None = None, prog: str | None = None) -> int:
        """Run a command.

        Args:
            arguments: The command line; by default that of the process.
            prog: How the help calls the program, where it is a subcommand of another one.

        Returns:
            The exit code. Errors are printed to stderr, in a sentence.
        """
        options = self.options(arguments, prog)
        return exit_code(lambda: options.run(options))


def start(module: str) -> int:
    """Run `main` of a module, with streams that cannot fail; Ctrl-C is caught during imports too.

    Returns:
        The exit code.
    """
    open_streams()
    return exit_code(lambda: importlib.import_module(module).main())


def complete(options: Options, **defaults: Any) -> None:
    """Fill in the options that the user left out."""
    for name, value in defaults.items():
        if getattr(options, name, None) is None:
            setattr(options, name, value)


def make_folder(folder: Path, argument: str = "--out") -> None:
    """Make a folder, or refuse the argument that names it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(argument, "a folder that is there or can be made", f"{folder} ({error.strerror})")


def prepare(folder: Path) -> None:
    """Refuse what would fail after the runs: a missing extra, a folder that cannot be made."""
    for package in ("threadpoolctl", "matplotlib", "jinja2"):
        optional(package, "report", "a comparison")
    make_folder(folder)


def exit_code(command: Callable[[], object]) -> int:
    """Run a command of a command line; errors are printed to stderr, in a sentence.

    Args:
        command: What to run; an integer that it returns is the exit code.

    Returns:
        0 or that number; 1 where a file or a package is missing; 2 for bad usage; 130 after Ctrl-C.
    """
    try:
        found = command()
    except (OSError, ImportError) as error:
        return _told(f"error: {error}", 1)
    except ValueError as error:
        return _told(f"error: {error}", 2)
    except KeyboardInterrupt as interrupt:
        notes = getattr(interrupt, "__notes__", [])
        return _told(" ".join(["\nInterrupted.", *map(str, notes)]), 130)
    return found if isinstance(found, int) else 0


def _told(sentence: str, code: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return code
