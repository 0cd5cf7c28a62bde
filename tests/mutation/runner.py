"""The check itself: each mutant by its named tests, and if need be by all.

A test that fails for a mutant must pass on the source as it stands.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from queue import SimpleQueue

import attrs

from .copies import Copy, HarnessError, Outcome
from .mutant import Mutant
from .results import Store, Verdict, key


@attrs.frozen
class Settings:
    """How the check is run."""

    jobs: int = 2
    #: What runs where the named tests find nothing; empty: no more.
    suite: tuple[str, ...] = ("tests",)
    #: Seconds for the named tests, and for the suite.
    limits: tuple[float, float] = (300.0, 1800.0)


class Check:
    """One run over some mutants. `tell(line)` gets a line for each."""

    def __init__(self, settings: Settings, store: Store, tell: Callable[[str], None]) -> None:
        self.settings, self.store, self.tell = settings, store, tell
        self.broken: list[str] = []
        self._lock, self._stop, self._done = threading.Lock(), threading.Event(), 0
        self._clean: dict[tuple[str, ...], bool] = {}

    def run(self, mutants: list[Mutant], controls: list[Mutant]) -> dict[str, Verdict]:
        """The verdicts by name; those in the store are taken from there.

        `broken` says what could not be run.
        """
        with self._copies() as copies:
            one = copies.get()
            keys = _keys(one, mutants, controls)
            verdicts: dict[str, Verdict] = {}
            for mutant in [*controls, *mutants]:
                known = self.store.get(keys[mutant.name])
                if known is not None and known.settles(mutant):
                    verdicts[mutant.name] = known
            todo = [m for m in [*controls, *mutants] if m.name not in verdicts]
            self.tell(f"{len(verdicts)} verdicts known, {len(todo)} to find")
            copies.put(one)
            self._all(todo, keys, copies, verdicts)
        return verdicts

    @contextmanager
    def _copies(self) -> Iterator[SimpleQueue[Copy]]:
        with tempfile.TemporaryDirectory(prefix="genorth-mutants-") as root:
            copies: SimpleQueue[Copy] = SimpleQueue()
            with ExitStack() as stack:
                for slot in range(self.settings.jobs):
                    path = Path(root).resolve() / str(slot)
                    path.mkdir()
                    copies.put(stack.enter_context(closing(Copy(path, self._stop))))
                yield copies

    def _passes(self, tests: tuple[str, ...], limit: float, copy: Copy) -> bool:
        """Whether the source as it stands passes what found an error; each is run once."""
        if tests not in self._clean:
            outcome = copy.run(None, tests, limit)
            self._clean[tests] = not (outcome.failed or outcome.hung)
        return self._clean[tests]

    def _all(
        self,
        todo: list[Mutant],
        keys: dict[str, str],
        copies: SimpleQueue[Copy],
        verdicts: dict[str, Verdict],
    ) -> None:
        def one(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                verdict = self._judge(mutant, keys[mutant.name], copy)
            except HarnessError as error:
                with self._lock:
                    self.broken.append(f"{mutant.name}: {error}")
                    self._report(
                        mutant.name, "NOT RUN", str(error).strip().splitlines()[0], 0.0, len(todo)
                    )
            else:
                with self._lock:
                    self.store.add(verdict)
                    verdicts[mutant.name] = verdict
                    self._report(
                        mutant.name, verdict.status, verdict.killed_by, verdict.seconds, len(todo)
                    )
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(self.settings.jobs) as pool:
            futures = [pool.submit(one, mutant) for mutant in todo]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            except KeyboardInterrupt:
                self._stop.set()  # the threads end their test processes
                pool.shutdown(cancel_futures=True)
                raise
        for future in futures:
            future.result()

    def _judge(self, mutant: Mutant, key: str, copy: Copy) -> Verdict:
        seconds, outcome = 0.0, Outcome()
        whole = "the suite" if self.settings.suite == Settings().suite else "a part of the suite"
        stages = [("the named tests", mutant.killers), (whole, self.settings.suite)]
        status, stage = "survived", ""
        for (name, tests), limit in zip(stages, self.settings.limits, strict=True):
            if not tests:
                break
            stage, outcome = name, copy.run(mutant, tests, limit)
            seconds += outcome.seconds
            if outcome.hung or outcome.failed:
                status = "hung" if outcome.hung else "killed"
                # A hang is one only if the source as it stands needs less than half of the time.
                found = (outcome.failed,) if outcome.failed else tests
                if not self._passes(found, limit / 2, copy):
                    what = outcome.failed or f"the limit of {limit / 2:g} s"
                    raise HarnessError(f"the source as it stands fails {what} too")
                break
        by, why = outcome.failed, outcome.message
        return Verdict(mutant.name, key, status, by, why, stage, round(seconds, 1))

    def _report(self, name: str, status: str, by: str, seconds: float, total: int) -> None:
        self._done += 1
        self.tell(f"[{self._done:3}/{total}] {seconds:6.1f} s  {status:8}  {name:40}  {by}")


def _keys(copy: Copy, mutants: list[Mutant], controls: list[Mutant]) -> dict[str, str]:
    """Of every mutant; a node that is no longer found is reported before anything runs."""
    texts = copy.sources.texts
    keys = {m.name: key(m, [texts[copy.sources.planted(m)[0]]]) for m in mutants}
    return keys | {m.name: key(m, list(texts.values())) for m in controls}
