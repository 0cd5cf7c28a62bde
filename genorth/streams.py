"""Standard streams that cannot fail, for the command lines."""

from __future__ import annotations

import io
import os
import sys
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
    """Streams that the caller has closed (`2>&-`) lead nowhere, and no file takes their number."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        given = getattr(sys, name)
        if given is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
        buffer = io.BufferedWriter(_Output(number, "w", closefd=False))
        encoding = "utf-8" if given is None else given.encoding
        text = io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=True)
        setattr(sys, name, text)
