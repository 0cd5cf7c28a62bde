"""What the command lines share: exit codes, and standard streams that cannot fail."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any


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


def exit_code(command: Callable[[], object]) -> int:
    """Run a command of a command line; what goes wrong is told on stderr, in a sentence.

    Args:
        command: What to run; its whole number is the code of a success.

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
