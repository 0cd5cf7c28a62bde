"""`Verdict`: what became of one mutant, a line of JSON, so that an interrupted check can go on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import attrs

from .anchor import meaning
from .mutant import Mutant


@attrs.frozen
class Verdict:
    """Status: killed, hung (counts as killed: a user would see it too) or survived.

    Tests: the last ones that ran, "the named tests", "the suite" or "a part of the suite".
    """

    name: str
    key: str
    status: str
    killed_by: str
    message: str
    tests: str
    seconds: float

    @property
    def dead(self) -> bool:
        """True if the default tests would have found the error."""
        return self.status != "survived"

    def settles(self, mutant: Mutant) -> bool:
        """False where it has to be run again, as new tests may change it.

        A survivor, or an equivalent that died.
        """
        return not self.dead and self.tests == "the suite" if mutant.equivalent else self.dead


def key(mutant: Mutant, sources: list[str]) -> str:
    """Changes with the mutant and with what its sources do: its own file, for a control all."""
    digest = hashlib.sha256(repr((mutant.within, mutant.old, mutant.new)).encode())
    for source in sources:
        digest.update(meaning(source).encode())
    return digest.hexdigest()[:16]


class Store:
    """Verdicts in a file, one line each, written as they come.

    Of two with the same key the last one holds.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._known = path, {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            verdict = Verdict(**json.loads(line))
        except (ValueError, TypeError):
            return  # cut off in the middle of writing: that mutant is run again
        self._known[verdict.key] = verdict

    def get(self, key: str) -> Verdict | None:
        """The verdict for this mutant on this source, if there is one."""
        return self._known.get(key)

    def add(self, verdict: Verdict) -> None:
        """Keep one."""
        self._known[verdict.key] = verdict
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(attrs.asdict(verdict)) + "\n")
