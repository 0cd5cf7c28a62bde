"""Other processes: a script that is run with tests/ on its path, and what is left of it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    """Ours, in which tests/support can be imported."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path} | more


def started(script: str, *arguments: Any, **how: Any) -> subprocess.Popen[str]:
    """Start a script; `folder=` where it must be a file, for its own children to import."""
    file = how.pop("folder", None)
    command = ["-c", script]
    if file is not None:
        (file / "script.py").write_text(script)
        command = [str(file / "script.py")]
    command = [sys.executable, *command, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), text=True, **how)


def wait_for(condition: Callable[[], Any], process: Any = None, seconds: float = 60.0) -> None:
    """Wait until the condition holds, while the process runs."""
    end = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, "it ended before"
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.005)


def processes() -> list[tuple[int, int, int]]:
    """Process, parent and group of those that are no zombies, by /proc."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, group, *_ = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if state != "Z":
            found.append((int(status.parent.name), int(parent), int(group)))
    return found
