"""`Copy`: the project in a temporary directory, where errors are planted and tests run.

The tree is never touched.
"""

from __future__ import annotations

import json
import os
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

    def _run(self, module: str, tests: tuple[str, ...], time_limit: float) -> Outcome:
        result, log = self.path / "session.json", self.path / "session.log"
        result.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "tests.mutation.session",
            str(result),
            module,
            f"--ignore={_CHEATS}",
            *tests,
        ]
        start = time.perf_counter()
        with log.open("w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                command,
                cwd=self.path,
                env=self._environment(),
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
            finished = self._wait(process, start + time_limit)
        seconds = time.perf_counter() - start
        if not finished:
            return Outcome("", f"no end within {time_limit:g} s", True, seconds)
        if not result.exists():
            raise HarnessError(
                f"the test process ended by itself (code {process.returncode}): {_tail(log)}"
            )
        return self._judged(json.loads(result.read_text(encoding="utf-8")), log, seconds)

    def _environment(self) -> dict[str, str]:
        # No bytecode: a planted sign changes neither the size of a file nor, within a second, its
        # time stamp.
        own = {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        return {**os.environ, "HYPOTHESIS_PROFILE": "quick", **own}

    def _wait(self, process: subprocess.Popen[bytes], deadline: float) -> bool:
        """False where the deadline passed.

        The process and its children are ended then, and on interruption.
        """
        while True:
            try:
                process.wait(timeout=0.5)
                return True
            except subprocess.TimeoutExpired:
                if time.perf_counter() < deadline and not self._stop.is_set():
                    continue
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if self._stop.is_set():
                raise KeyboardInterrupt
            return False

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
