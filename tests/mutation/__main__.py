"""`python -m tests.mutation`: plant each error in a copy of the project and run the named tests.

The exit code is 0 if every error was found.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from .table import ROOT, Planted, read_all

_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "mutation")
#: Exit codes of pytest.
_VERDICTS = {0: "SURVIVED", 1: "found", -signal.SIGXCPU: "found: time limit"}


class Copy:
    """A copy of the project, in which one test process runs at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        shutil.copytree(ROOT, path, ignore=_LEFT_OUT)
        self.passes = cache(lambda test: self._run([test]) == "SURVIVED")

    def verdict(self, error: Planted) -> str:
        """SURVIVED, found, or found by the time limit; else why nothing can be said."""
        if not all(map(self.passes, error.tests)):
            return "NOT RUN: the tests fail without the error too"
        file, source = self.path / error.module, (self.path / error.module).read_text("utf-8")
        file.write_text(error.source(self.path), encoding="utf-8")
        try:
            return self._run(error.tests)
        finally:
            file.write_text(source, encoding="utf-8")

    def _run(self, tests: Iterable[str], time_limit: int = 300) -> str:
        # No bytecode: a planted sign changes neither the size of a file nor, within a second, its
        # time stamp.
        own = {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        # The limit is on processor time, which other programs do not shorten.
        command = ["sh", "-c", f'ulimit -t {time_limit}; exec "$@"', "sh", sys.executable, "-m"]
        command += ["pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        try:
            how = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 20 * time_limit}
            own |= {"HYPOTHESIS_PROFILE": "mutation"}
            ended = subprocess.run(command, cwd=self.path, env=os.environ | own, check=False, **how)
        except subprocess.TimeoutExpired:
            return "found: time limit"
        last = ended.stdout.decode(errors="replace").strip().splitlines()[-1:]
        return _VERDICTS.get(ended.returncode, f"NOT RUN: {last}")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("words", nargs="*", help="errors with one of these words (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="number of test processes (2)")
    arguments = parser.parse_args()
    words = arguments.words or [""]
    errors = [error for error in read_all() if any(word in str(error) for word in words)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for job in range(arguments.jobs):
            copies.put(Copy(Path(folder).resolve() / str(job)))

        def verdict(error: Planted) -> str:
            copy = copies.get()
            try:
                return copy.verdict(error)
            finally:
                copies.put(copy)

        found = 0
        for error, said in zip(errors, pool.map(verdict, errors), strict=True):
            found += said.startswith("found")
            print(f"{said:10} {error}", flush=True)
    print(f"{len(errors)} errors, {found} found")
    return int(found < len(errors))


if __name__ == "__main__":
    sys.exit(main())
