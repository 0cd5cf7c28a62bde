"""The extensions of the documentation.

LaTeX becomes MathML or is refused, docstrings lose no character to reST, their formulas are
typeset, citations are links.
"""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from genorth.bibliography import entries

ROOT = Path(__file__).parents[2]
_EXTENSIONS = ROOT / "docs" / "_ext"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, _EXTENSIONS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def formula() -> ModuleType:
    pytest.importorskip("latex2mathml", reason="is missing: pip install 'genorth[docs]'")
    return _load("formula")


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\mathcal S_1", "<msub><mi>\U0001d4ae</mi><mn>1</mn></msub>"),
        (r"\operatorname{tr} X", '<mi>tr</mi><mspace width="0.1667em" /><mi>X</mi>'),
        (r"a\!b", '<mspace width="-0.1667em" />'),
        (
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
            '<mtd style="text-align: right"><mi>c</mi></mtd>',
        ),
        (r"\Theta", '<mi mathvariant="normal">\u0398</mi>'),
        ("T := S'", "<mo>\u2254</mo><msup><mi>S</mi><mo>\u2032</mo></msup>"),
        (r"\tfrac34\max f", '</mstyle><mspace width="0.1667em" /><mi>max</mi>'),
        (
            r"\lVert X\rVert_2",
            '<mo stretchy="false">\u2016</mo><mi>X</mi><msub><mo stretchy="false">\u2016</mo>',
        ),
    ],
)
def test_latex_becomes_mathml_core(formula, latex, part):
    assert part in formula.mathml(latex)


def test_limits_stand_below_in_displayed_formulas_only(formula):
    for latex in (r"\max_{x} f", r"\arg\min_{x} f", r"\operatorname*{argmin}_{x} f"):
        assert "<munder>" in formula.mathml(latex, display=True)
        assert "<msub>" in formula.mathml(latex)


@pytest.mark.parametrize(
    "latex",
    [r"\unknowncommand x", r"\begin{unknown} a \end{unknown}", "a & b", r"\mathcal{\alpha}"],
)
def test_what_would_be_shown_raw_is_refused(formula, latex):
    with pytest.raises(formula.NotUnderstoodError):
        formula.mathml(latex)


@pytest.fixture(scope="module")
def plain_formula() -> ModuleType:
    return _load("plain_formula")


@pytest.fixture(scope="module")
def docstrings(plain_formula: ModuleType) -> ModuleType:
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install 'genorth[docs]'")
    return _load("docstrings")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("C(X) = X^T phi(X) - I", r"C (X ) = X ^\top \phi (X ) - I"),
        ("DA(X)*[Z, T]", r"DA (X )^\ast [Z , T ]"),
        ("|X|^2 |<U, V>|", r"\lVert X \rVert ^{2} \lVert \langle U , V \rangle \rVert"),
        ("<<Y, Y>>^(-1/2), Y", r"\langle\langle Y , Y \rangle\rangle ^{-1/2},\quad Y"),
        ("min over S in S1 of |S|", r"\min_{S \in S_{1}} \lVert S \rVert"),
        ("{X : X > 0}", r"\{X : X > 0\}"),
        ("T -> psi(T)", r"T \mapsto \psi (T )"),
    ],
)
def test_a_plain_formula_becomes_latex(plain_formula, text, latex):
    assert plain_formula.latex(text) == latex


def test_prose_is_no_formula(plain_formula):
    with pytest.raises(plain_formula.NotUnderstoodError, match="some words"):
        plain_formula.latex("X = some words here")


def test_a_formula_is_indented_and_stands_before_the_sections(docstrings):
    text = "Summary.\n\n    Y = 2 y\n\nMore:\n\n- item,\n  continued\n\nArgs:\n    x: The |x|.\n"
    assert docstrings.plain(text.splitlines()) == [
        *("Summary.", "", "", ".. math:: Y = 2 y", "", "", "More:", ""),
        *("- item,", "  continued", "", "Args:", r"    x: The \|x\|."),
    ]


def test_docstrings_lose_no_character(docstrings):
    docutils = pytest.importorskip("docutils.core", reason="needs 'genorth[docs]'")
    first = "|C(X)| is DA(X)*[T] * 2, beta*, x_ and a_b; `code |x|*` and e.g. `a` |b|, `b`s."
    lines = [first, "", "As here::", "", "    |x| * y_"]
    tree = docutils.publish_doctree(
        "\n".join(docstrings.plain(lines)),
        settings_overrides={"report_level": 1, "halt_level": 2, "default_role": "code"},
    )
    assert tree.astext() == "\n\n".join([first.replace("`", ""), "As here:", "|x| * y_"])


def test_a_citation_is_a_link_in_docstrings_and_pages(docstrings):
    citations = _load("citations")
    assert docstrings.plain(["See [higham2008functions], A[abc]."]) == [
        "See :ref:`[higham2008functions] <higham2008functions>`, A[abc]."
    ]
    assert docstrings.plain(["A (F6)."]) == ["A (`proof <../mathematics.html#f6>`__)."]
    page = citations.resolved("See [higham2008functions].\n", "../")
    key = "higham2008functions"
    assert page == f"See [\\[{key}\\]](../bibliography.md#{key}).\n"
    listed = citations.resolved("# Works\n\n<!-- bibliography -->\n")
    assert re.findall(r"^\(([\w-]+)\)=$", listed, re.MULTILINE) == list(entries())
