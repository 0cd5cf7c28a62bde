"""`mathml`: a formula in LaTeX as MathML Core, the part of MathML that browsers show by themselves.

latex2mathml translates. What it does not know and passes on as text is refused; what is not in
MathML Core is replaced.
"""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ElementTree

from latex2mathml.converter import convert

#: What latex2mathml does not know, by something that it knows and that looks the same.
_SAME = (
    (r"\\(begin|end)\{aligned\}", r"\\\1{split}"),
    (r"\\begin\{gathered\}", r"\\begin{array}{c}"),
    (r"\\end\{gathered\}", r"\\end{array}"),
    (r":\s*=", "\u2254"),
    (r"\\arg\s*\\(min|max)(?![A-Za-z])", r"\\arg\1"),
    (r"(\\[bB]igg?[lrm]?)\s*(\\\||\\[lr]?Vert(?![A-Za-z]))", "\\1\u2016"),
)
_KNOWN = {"split", "array", "cases", "matrix", "pmatrix", "bmatrix", "vmatrix", "align*"}
_SPACES = {
    "negativethinmathspace": "-0.1667em",
    "negativemediummathspace": "-0.2222em",
    "negativethickmathspace": "-0.2778em",
    "thinmathspace": "0.1667em",
    "mediummathspace": "0.2222em",
    "thickmathspace": "0.2778em",
}
_ALPHABETS = {
    "script": ("SCRIPT",),
    "double-struck": ("DOUBLE-STRUCK",),
    "fraktur": ("FRAKTUR", "BLACK-LETTER"),
    "bold": ("BOLD",),
    "bold-italic": ("BOLD ITALIC",),
    "sans-serif": ("SANS-SERIF",),
}
#: What latex2mathml takes for letters: colon, "is defined as", prime.
_RELATIONS = {":", "\u2254", "\u2032"}
#: Operators whose subscript stands below them in displayed formulas.
_LIMITS = {"max", "min", "sup", "inf", "argmin", "argmax", "arg\u2009min", "arg\u2009max", "lim"}
_BELOW = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_SCRIPTS = {*_BELOW, *_BELOW.values()}
_OPERANDS = {"mi", "mn", "mfrac", "msqrt", "mstyle", *_SCRIPTS}


class NotUnderstoodError(ValueError):
    """A formula has a part that would be shown as raw LaTeX."""


def mathml(latex: str, display: bool = False) -> str:
    """The formula as a <math> element; its LaTeX stays as the alternative text."""
    source = latex = " ".join(latex.split())  # a line may end with a space command
    for old, new in _SAME:
        source = re.sub(old, new, source)
    unknown = set(re.findall(r"\\begin\{([^}]*)\}", source)) - _KNOWN
    if unknown:
        raise NotUnderstoodError(f"unknown environment {', '.join(sorted(unknown))}")
    text = convert(source, display="block" if display else "inline")
    try:
        root = ElementTree.fromstring(
            text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
        )
    except ElementTree.ParseError as error:  # an alignment mark outside of any table
        raise NotUnderstoodError(str(error)) from error
    for element in list(root.iter()):
        _refuse_raw(element)
        _letters(element)
        _names(element)
        _layout(element, display)
    for element in list(root.iter()):
        _space_names(element)
    root.set("alttext", latex)
    return ElementTree.tostring(root, encoding="unicode")


def _refuse_raw(element: ElementTree.Element) -> None:
    """latex2mathml passes commands that it does not know on, as text."""
    if element.tag == "merror" or re.search(r"[\\$]|^&$", element.text or ""):
        raise NotUnderstoodError(f"{element.tag} with {element.text!r}")


def _letters(element: ElementTree.Element) -> None:
    """Alphabets by their own characters, as browsers ignore mathvariant.

    Greek capitals upright, as TeX has them.
    """
    text = element.text or ""
    variant = element.get("mathvariant", "normal")
    if variant != "normal":
        element.text = "".join(_in_alphabet(letter, variant) for letter in text)
        del element.attrib["mathvariant"]
    elif element.tag == "mi" and re.fullmatch("[\u0391-\u03a9]", text):
        element.set("mathvariant", "normal")
    elif element.tag == "mi" and text in _RELATIONS:
        element.tag = "mo"


def _in_alphabet(letter: str, variant: str) -> str:
    """The letter; some, such as the script B, predate the alphabets and have another name."""
    _, size, *_, name = unicodedata.name(letter).split()
    for alphabet in _ALPHABETS.get(variant, ()):
        for prefix in ("MATHEMATICAL ", ""):
            try:
                return unicodedata.lookup(f"{prefix}{alphabet} {size} {name}")
            except KeyError:
                continue
    raise NotUnderstoodError(f"{letter!r} in the alphabet {variant!r}")


def _names(element: ElementTree.Element) -> None:
    r"""\operatorname{tr} comes as an operator and \mathrm{tr} as a row of letters.

    Both are one name.
    """
    parts = list(element)
    if (
        element.tag == "mrow"
        and len(parts) > 1
        and all(part.get("mathvariant") == "normal" for part in parts)
    ):
        name = "".join(part.text or "" for part in parts)
        if name.isascii() and name.isalpha():
            for part in parts:
                element.remove(part)
            element.tag, element.text = "mi", name
    if element.tag == "mo" and re.fullmatch("[A-Za-z\u2009]{2,}", element.text or ""):
        element.tag = "mi"


def _layout(element: ElementTree.Element, display: bool) -> None:
    if element.tag == "mtd" and "columnalign" in element.attrib:
        element.set("style", f"text-align: {element.attrib.pop('columnalign')}")
    if element.tag == "mo" and element.text == "\u2016" and "stretchy" not in element.attrib:
        element.set(
            "stretchy", "false"
        )  # the closing bar of a norm with an index would not grow with the opening one
    if element.get("width") in _SPACES:
        element.set("width", _SPACES[element.attrib["width"]])
    if display and element.tag in _BELOW and len(element) and element[0].text in _LIMITS:
        element.tag = _BELOW[element.tag]


def _space_names(element: ElementTree.Element) -> None:
    """A thin space between a name and what it is applied to, or multiplied with."""
    if element.tag in _SCRIPTS or element.tag in {"mfrac", "mroot"}:
        return  # their children are not in a row
    children = list(element)
    for index in range(len(children) - 1, 0, -1):
        left, right = children[index - 1], children[index]
        if left.tag in _OPERANDS and right.tag in _OPERANDS and (_is_name(left) or _is_name(right)):
            element.insert(index, ElementTree.Element("mspace", width=_SPACES["thinmathspace"]))


def _is_name(element: ElementTree.Element) -> bool:
    base = element[0] if element.tag in _SCRIPTS and len(element) else element
    return base.tag == "mi" and len(base.text or "") > 1 and (base.text or "").isascii()
