"""`Folder`: where a comparison keeps its records, the data of its figures, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from genorth import compare
from genorth.compare import Records
from genorth.errors import refuse
from paper_repro.experiments import TABLES, TOLERANCES, Experiment, table


@attrs.frozen
class Folder:
    """A folder with `records/` (of `genorth.compare.run`) and `figure-1.json` to `figure-3.json`."""

    path: Path = attrs.field(converter=Path)

    def run(
        self,
        experiments: Iterable[Experiment],
        solvers: Iterable[str] | None = None,
        **settings: Any,
    ) -> Records:
        """Make the runs that are missing.

        The records of these experiments, with those of earlier calls.
        """
        parts = []
        for experiment in experiments:
            chosen = _chosen(experiment.solvers, solvers)
            parts.append(
                compare.run(
                    experiment.instances(),
                    chosen,
                    tolerances=TOLERANCES,
                    out=self.path / "records",
                    **settings,
                )
            )
        return compare.join(parts)

    def records(self) -> Records:
        """All records."""
        if not (self.path / "records" / "settings.json").exists():
            refuse(
                "out",
                "a folder in which `python -m paper_repro` has put records",
                f"none in {self.path}",
            )
        return compare.load(self.path / "records")

    def save_figure(self, number: int, data: Mapping[str, Any]) -> None:
        """Keep the data of a figure."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / f"figure-{number}.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")

    def figure(self, number: int) -> dict[str, Any] | None:
        """The data of a figure, if they are there."""
        path = self.path / f"figure-{number}.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else None


def known_experiments() -> dict[str, Experiment]:
    """All tables, corrected and as printed, by the name that their records have."""
    all_of_them = [table(number, printed) for number in TABLES for printed in (False, True)]
    return {experiment.name: experiment for experiment in all_of_them}


def _chosen(solvers: Mapping[str, Any], names: Iterable[str] | None) -> dict[str, Any]:
    if names is None:
        return dict(solvers)
    unknown = [name for name in names if name not in solvers]
    if unknown:
        refuse("solvers", f"some of {', '.join(map(repr, solvers))}", ", ".join(map(repr, unknown)))
    return {name: solvers[name] for name in names}
