"""One pytest run inside a copy of the project.

`python -m tests.mutation.session RESULT MODULE ARGUMENTS`.

Writes to RESULT (JSON) the exit code, the first test that failed, and the file that MODULE was
imported from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


class Recorder:
    """Keeps the first failure; failures are not shrunk, as it only counts that there is one."""

    def __init__(self) -> None:
        self.failed, self.message, self.collection = "", "", ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        # Imported here, as pytest wants to be the first to import a plugin.
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


def main(result: str, module: str, arguments: list[str]) -> None:
    recorder = Recorder()
    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments], plugins=[recorder]))
    imported = getattr(sys.modules.get(module), "__file__", None)
    outcome = {"code": code, "imported": imported, **vars(recorder)}
    Path(result).write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
