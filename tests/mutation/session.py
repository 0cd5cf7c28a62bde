"""pytest runs inside a copy of the project, each in a child of `python -m tests.mutation.session`.

Each line of standard input is a run: a JSON list RESULT, LOG, MODULE, ARGUMENTS. The answer is the
id of the child, and a second line when it has ended. RESULT (JSON) then holds the exit code, the
first test that failed, and the file that MODULE was imported from.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

#: What most tests import, the project itself left out.
_LIBRARIES = (
    *("array_api_compat", "attrs", "hypothesis", "hypothesis.strategies", "threadpoolctl"),
    *("scipy.fft", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg"),
)
_OPTIONS = (
    *("-x", "-q", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is imported already
)


class Recorder:
    """Keeps the first failure; failures are not shrunk, as it only counts that there is one."""

    def __init__(self) -> None:
        self.failed, self.message, self.collection = "", "", ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings
        from hypothesis.internal.conjecture import providers

        # Hypothesis also draws numbers that it finds in the modules imported so far. Then a planted
        # error would change the examples, and a test could fail for those alone.
        providers._get_local_constants = providers.Constants

        # The profile that conftest.py has loaded: the same examples.
        settings.register_profile("mutation", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutation")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collection = self.collection or f"{report.nodeid}: {str(report.longrepr)[-500:]}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed, self.message = report.nodeid, _last_line(report)


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return (str(report.longrepr) if crash is None else crash.message)[:500]


def run(result: str, module: str, arguments: list[str]) -> None:
    """One run."""
    recorder = Recorder()
    code = int(pytest.main([*_OPTIONS, *arguments], plugins=[recorder]))
    imported = getattr(sys.modules.get(module), "__file__", None)
    outcome = {"code": code, "imported": imported, **vars(recorder)}
    Path(result).write_text(json.dumps(outcome), encoding="utf-8")


def serve() -> None:
    """Run what standard input asks for."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        result, log, module, *arguments = json.loads(line)
        child = os.fork()
        if not child:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            try:
                run(result, module, arguments)
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.write(1, f"{child}\n".encode())
        os.waitpid(child, 0)
        os.write(1, b"ended\n")


if __name__ == "__main__":
    serve()
