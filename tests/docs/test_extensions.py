"""The two extensions of the documentation.

LaTeX becomes MathML or is refused, docstrings lose no character to reST.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, _EXTENSIONS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def formula() -> ModuleType:
    pytest.importorskip(
        "latex2mathml", reason="latex2mathml is not installed: pip install 'genorth[docs]'"
    )
    return _load("formula")


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\mathcal S_1", "<msub><mi>\U0001d4ae</mi><mn>1</mn></msub>"),
        (r"\mathcal{B}", "<mi>\u212c</mi>"),
        (r"\mathbb R", "<mi>\u211d</mi>"),
        (r"\operatorname{tr} X", '<mi>tr</mi><mspace width="0.1667em" /><mi>X</mi>'),
        (r"\mathrm{grad} f", '<mi>grad</mi><mspace width="0.1667em" /><mi>f</mi>'),
        (r"\operatorname{tr}(X)", '<mi>tr</mi><mo stretchy="false">(</mo>'),
        (r"a\!b", '<mspace width="-0.1667em" />'),
        (
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
            '<mtd style="text-align: right"><mi>c</mi></mtd>',
        ),
        (r"\begin{cases} 1 & x \\ 0 & y \end{cases}", "<mtable>"),
        (r"\bigl\| X \bigr\|^2", "\u2016"),
        (r"\langle\langle U, V\rangle\rangle", "\u27e8"),
        (r"\Theta", '<mi mathvariant="normal">\u0398</mi>'),
        ("T := S'", "<mo>\u2254</mo><msup><mi>S</mi><mo>\u2032</mo></msup>"),
        (r"\tfrac34\max f", '</mstyle><mspace width="0.1667em" /><mi>max</mi>'),
        (
            r"\lVert X\rVert_2",
            '<mo stretchy="false">\u2016</mo><mi>X</mi><msub><mo stretchy="false">\u2016</mo>',
        ),
        (r"a < b", 'alttext="a &lt; b"'),
    ],
)
def test_latex_becomes_mathml_core(formula: ModuleType, latex: str, part: str) -> None:
    assert part in formula.mathml(latex)


def test_limits_stand_below_in_displayed_formulas_only(formula: ModuleType) -> None:
    for latex in (r"\max_{x} f", r"\arg\min_{x} f", r"\operatorname*{argmin}_{x} f"):
        assert "<munder>" in formula.mathml(latex, display=True)
        assert "<msub>" in formula.mathml(latex)


@pytest.mark.parametrize(
    "latex",
    [
        r"\unknowncommand x",
        r"\begin{unknown} a \end{unknown}",
        "a & b",
        r"\eqref{x}",
        r"\mathcal{\alpha}",
    ],
)
def test_what_would_be_shown_raw_is_refused(formula: ModuleType, latex: str) -> None:
    with pytest.raises(formula.NotUnderstoodError):
        formula.mathml(latex)


def test_docstrings_lose_no_character() -> None:
    docutils = pytest.importorskip(
        "docutils.core", reason="docutils is not installed: pip install 'genorth[docs]'"
    )
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install 'genorth[docs]'")
    lines = [
        "|C(X)| is DA(X)*[T] * 2, beta*, x_ and a_b; `code |x|*` and e.g. `a` |b|.",
        "",
        "As here::",
        "",
        "    |x| * y_",
    ]
    text = "\n".join(_load("plain_docstrings").plain(lines))
    tree = docutils.publish_doctree(
        text, settings_overrides={"report_level": 1, "halt_level": 2, "default_role": "code"}
    )
    assert tree.astext() == "\n\n".join(["".join(lines[0].split("`")), "As here:", "|x| * y_"])
