"""Draw docs/_static/overview.svg, and fill in what pages say of docs/results: `python overview.py`.

A page holds a text between `<!-- made: name -->` and `<!-- /made -->`; the texts are those of
`paper_repro.report.blocks`, of `benchmark_tables` and of `stochastic`, from the records, and the
list of solvers. A test compares the two.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import benchmark_tables
import stochastic

from baselines import SOLVERS
from genorth.compare import plots
from genorth.compare.render import markdown
from paper_repro import findings, report

DOCS = Path(__file__).parents[1]
PAGES = (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), DOCS / "results" / "index.md")
_BLOCK = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- /made -->\n)", re.DOTALL)
_WIDTH = 100


def load() -> findings.Evidence:
    """The records of docs/results."""
    return findings.load(DOCS / "results")


def texts(evidence: findings.Evidence) -> dict[str, str]:
    """What stands in the blocks, by name: of the comparison, of benchmarks, of training."""
    tables = {name: markdown(table) for name, table in report.blocks(evidence).items()}
    return tables | benchmark_tables.blocks() | stochastic.blocks() | {"registry": registry()}


_ALGORITHMS = {
    "gd": "gradient descent",
    "cg": "conjugate gradients",
    "lbfgs": "L-BFGS",
    "tr": "trust regions",
    "prox": "proximal gradients",
    "alm": "augmented Lagrangian",
    "sqp": "quadratic programs",
    "smoothing": "smoothing",
    "adam": "Adam",
    "auto": "chosen for the problem",
}


def registry() -> str:
    """Every registered solver: what it is, what it needs, and what else it takes."""
    lines = ["| solver | family | algorithm | needs | takes too |", "|---|---|---|---|---|"]
    for each in SOLVERS.values():
        more = {
            "nonsmooth term": each.nonsmooth,
            "constraints": each.constrained,
            "JAX and PyTorch arrays": each.on_device,
        }
        takes = ", ".join(name for name, taken in more.items() if taken)
        needs = "Hessian products" if "hessian" in each.needs else "gradient"
        lines.append(
            f"| `{each.name}` | {each.family} | {_ALGORITHMS[each.algorithm]} | {needs} | {takes} |"
        )
    return "\n".join(lines) + "\n"


def figure(evidence: findings.Evidence) -> Any:
    """How far each family is behind, by problem class."""
    return plots.behind(evidence.union, groups=evidence.groups)


def filled(page: str, texts: dict[str, str]) -> str:
    """The page with its blocks filled in; a KeyError for one that is not known."""
    return _BLOCK.sub(lambda found: f"{found[1]}{_wrapped(texts[found[2]])}{found[3]}", page)


def _wrapped(text: str) -> str:
    """Lists in lines of at most 100; lines of tables cannot be broken."""
    lines = (
        textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        if line.startswith("- ")
        else line
        for line in text.splitlines()
    )
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write the figure and the pages."""
    import matplotlib

    evidence = load()
    # text stays text, and the same records give the same file
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "genorth"}
    figure(evidence).savefig(DOCS / "_static" / "overview.svg", metadata={"Date": None})
    filled_in = texts(evidence)
    for path in PAGES:
        page = path.read_text("utf-8")
        if (made := filled(page, filled_in)) != page:
            path.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
