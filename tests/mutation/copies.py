"""`Copy`: the project in a temporary directory, where errors are planted and tests run.

The tree is never touched.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs

from .anchor import Sources, module_of
from .mutant import ROOT, Mutant
from .tables import Suite

_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".*", "bench", "build", "dist", "*.egg-info", "*.pyc"
)
#: This file asks for today's source, so it would find every mutant without testing anything.
_CHEATS = "tests/mutation/test_mutants.py"


class HarnessError(RuntimeError):
    """The tests did not run as they should: nothing is known of the mutant."""


@attrs.frozen
class Outcome:
    """What one run of tests says: the first test that failed (empty: all passed), or hung."""

    failed: str = ""
    message: str = ""
    hung: bool = False
    seconds: float = 0.0


class Copy:
    """One copy of the project; used by one thread."""

    def __init__(self, path: Path, stop: threading.Event) -> None:
        self.path, self._stop = path, stop
        for entry in ROOT.iterdir():
            if (
                entry.is_dir()
                and not entry.name.startswith(".")
                and entry.name not in ("build", "dist")
            ):
                shutil.copytree(entry, path / entry.name, ignore=_LEFT_OUT)
            elif entry.is_file() and not entry.name.startswith("."):
                shutil.copy2(entry, path / entry.name)
        self.sources, self._tests = Sources(path), Suite(path)
        self._server: subprocess.Popen[bytes] | None = None

    def run(self, mutant: Mutant | None, tests: tuple[str, ...], time_limit: float) -> Outcome:
        """The tests, by name, with the error planted (None: the source as it stands)."""
        nodes = tuple(dict.fromkeys(map(self._node, tests)))
        if mutant is None:
            return self._run("genorth", nodes, time_limit)
        file, planted = self.sources.planted(mutant)
        (self.path / file).write_text(planted, encoding="utf-8")
        try:
            return self._run(module_of(file), nodes, time_limit)
        finally:
            (self.path / file).write_text(self.sources.texts[file], encoding="utf-8")

    def _node(self, test: str) -> str:
        """A test by its node id, by its path, or by its name."""
        known = "::" in test or (self.path / test).exists()
        return test if known else self._tests.node(test)

    def close(self) -> None:
        """End the process that runs the tests."""
        if self._server is not None:
            with self._server as server:
                server.kill()
            self._server = None

    def _run(self, module: str, tests: tuple[str, ...], time_limit: float) -> Outcome:
        result, log = self.path / "session.json", self.path / "session.log"
        result.unlink(missing_ok=True)
        request = [str(result), str(log), module, f"--ignore={_CHEATS}", *tests]
        start = time.perf_counter()
        server = self._server = self._server or self._start()
        assert server.stdin is not None
        server.stdin.write(json.dumps(request).encode() + b"\n")
        finished = self._wait(int(self._answer()), start + time_limit)
        seconds = time.perf_counter() - start
        if not finished:
            return Outcome("", f"no end within {time_limit:g} s", True, seconds)
        if not result.exists():
            raise HarnessError(f"the test process ended by itself: {_tail(log)}")
        return self._judged(json.loads(result.read_text(encoding="utf-8")), log, seconds)

    def _start(self) -> subprocess.Popen[bytes]:
        """The process that forks for each run, so that libraries are imported once."""
        # No bytecode: a planted sign changes neither the size of a file nor, within a second, its
        # time stamp.
        own = {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.session"],
            cwd=self.path,
            env={**os.environ, "HYPOTHESIS_PROFILE": "quick", **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    def _answer(self) -> bytes:
        assert self._server is not None and self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise HarnessError("the process that runs the tests has ended")
        return line

    def _wait(self, child: int, deadline: float) -> bool:
        """False where the deadline passed.

        The child and its children are ended then, and on interruption.
        """
        assert self._server is not None
        while not select.select([self._server.stdout], [], [], 0.5)[0]:
            if time.perf_counter() < deadline and not self._stop.is_set():
                continue
            os.killpg(child, signal.SIGKILL)
            self._answer()
            if self._stop.is_set():
                raise KeyboardInterrupt
            return False
        self._answer()
        return True

    def _judged(self, report: dict[str, str], log: Path, seconds: float) -> Outcome:
        imported = report["imported"]
        if imported is not None and not Path(imported).is_relative_to(self.path):
            raise HarnessError(f"the tests imported {imported}, which is not the copy {self.path}")
        if report["collection"] or int(report["code"]) not in (0, 1):
            raise HarnessError(
                f"the tests could not be collected: {report['collection'] or _tail(log)}"
            )
        if imported is None and report["failed"]:
            raise HarnessError(
                f"{report['failed']} failed without importing the file with the error"
            )
        return Outcome(report["failed"], report["message"], False, seconds)


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-1500:]
