"""What a check returns: named findings with figure, bound and formula, and curves to plot."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.notebook import html_table
from genorth.optional import optional


@attrs.frozen
class Finding:
    """One measured figure and its bound: `value <= bound`, or `>=` if `at_least`."""

    name: str
    formula: str
    value: float
    bound: float
    at_least: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        """True if the figure is within its bound; NaN never is."""
        return bool(self.value >= self.bound) if self.at_least else bool(self.value <= self.bound)

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict, figures = (
            "ok  " if self.passed else "FAIL",
            f"{self.value:9.2e} {sign} {self.bound:8.2e}",
        )
        line = f"{verdict}  {self.name:<22} {figures}  {self.formula}"
        return f"{line}  ({self.note})" if self.note else line


@attrs.frozen(eq=False)
class Curve:
    """Errors against step lengths, with the fitted slope on logarithmic scales."""

    name: str
    steps: np.ndarray[Any, Any]
    errors: np.ndarray[Any, Any]
    slope: float


@attrs.frozen(eq=False)
class Report:
    """The findings of one check. `print(report)` shows them as a table."""

    title: str
    findings: tuple[Finding, ...]
    curves: tuple[Curve, ...] = ()
    #: Sentences on what was found besides.
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every finding passed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that did not pass."""
        return tuple(finding for finding in self.findings if not finding.passed)

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"{name!r}; known: {', '.join(finding.name for finding in self.findings)}")

    @property
    def verdict(self) -> str:
        """Whether it passed, or how many findings failed."""
        return "passed" if self.passed else f"{len(self.failures)} of {len(self.findings)} failed"

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.title}: {self.verdict}",
                *(f"  {finding}" for finding in self.findings),
                *(f"  note  {note}" for note in self.notes),
            ]
        )

    def _repr_html_(self) -> str:
        rows = (
            ("ok" if f.passed else "FAIL", f.name, f"{f.value:.2e}", f"{f.bound:.2e}", f.formula)
            for f in self.findings
        )
        head = ("", "finding", "figure", "bound", "formula")
        return html_table(f"{self.title}: {self.verdict}", rows, head)

    def plot(self, ax: Any = None) -> Any:
        """Plot the curves.

        Args:
            ax: A matplotlib axis. Default: a new one.

        Returns:
            The axis.

        Raises:
            ImportError: If matplotlib is not installed.
        """
        if ax is None:
            _, ax = optional("matplotlib.pyplot", "report", "Report.plot").subplots()
        for curve in self.curves:
            ax.loglog(
                curve.steps, curve.errors, ".-", label=f"{curve.name}, slope {curve.slope:.2f}"
            )
        ax.set_xlabel("step t")
        ax.set_ylabel("error")
        ax.set_title(self.title)
        if self.curves:
            ax.legend()
        return ax


def title(manifold: GenOrthManifold) -> str:
    """The name given to `from_maps`, or that of the class, with the shape of a point."""
    return f"{getattr(manifold, 'name', type(manifold).__name__)}{manifold.shape}"


def fit_slope(
    steps: np.ndarray[Any, Any], errors: np.ndarray[Any, Any], floor: float, points: int = 8
) -> float:
    """The slope of log(errors) against log(steps), over the shortest steps above the floor.

    There the leading term dominates and rounding does not yet. It is the median of the slopes
    between neighbours, so that a single step at which two terms cancel does not matter.

    Args:
        steps: The step lengths.
        errors: The errors.
        floor: Errors up to here are rounding.
        points: The number of steps used.

    Returns:
        The slope; infinite if fewer than three errors are above the floor: the expansion is exact.
    """
    steps, errors = np.asarray(steps, float), np.asarray(errors, float)
    order = np.argsort(steps)
    steps, errors = steps[order], errors[order]
    above = errors > floor
    if np.isnan(errors).any():
        return float("nan")
    if above.sum() < 3:
        return float("inf")
    steps, errors = steps[above][:points], errors[above][:points]
    return float(np.median(np.diff(np.log(errors)) / np.diff(np.log(steps))))
