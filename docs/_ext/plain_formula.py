"""`latex`: a formula as docstrings write it, `|phi(X) S - D|^2`, as LaTeX.

The notation is that of genorth/geometry: `^T` transposes, `DA(X)*[T]` is an adjoint, `<U, V>` and
`<<U, V>>` are inner products, `|U|` is a norm, `S1` has an index. Other words are names, such as
those of arguments; two of them in a row are prose, and refused.
"""

from __future__ import annotations

import re

_GREEK = "alpha beta gamma delta epsilon lambda mu rho sigma tau phi psi Phi Theta Omega Sigma"
_NAMES = "tr Re dim exp grad hess diag span id det kappa sign log round cond skew"
_TEXT = "over of for with and or if where tangent normal on all"
_WORDS = {
    **{word: rf"\{word}" for word in _GREEK.split()},
    **{word: rf"\operatorname{{{word}}}" for word in _NAMES.split()},
    **{word: rf"\text{{ {word} }}" for word in _TEXT.split()},
    "max": r"\max",
    "min": r"\min",
    "argmin": r"\arg\min",
    "in": r"\in",
    "x": r"\times",
    "inf": r"\infty",
    "egrad": r"\nabla f(X)",
    "ehess": r"\nabla^2 f(X)[Z]",
}
_CLOSING = {
    "(": ")",
    "[": "]",
    "{": r"\}",
    "<": r"\rangle ",
    "<<": r"\rangle\rangle ",
    "|": r"\rVert ",
}
_OPENING = {"{": r"\{", "<": r"\langle ", "<<": r"\langle\langle ", "|": r"\lVert "}
_SIGNS = {
    "<=": r"\le ",
    ">=": r"\ge ",
    "!=": r"\ne ",
    "->": r"\mapsto ",
    "<-": r"\leftarrow ",
    "+-": r"\pm ",
    "...": r"\dots ",
    "*": r"\ast ",
}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<raised>[\^_](?:\(|-?\w+))|(?P<fraction>\d+/\d+)|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z]+)(?P<index>\d*)|(?P<sign>\.\.\.|<<|>>|<=|>=|!=|->|<-|\+-|.)"
)
_NAME = rf"(?!(?:{'|'.join(_WORDS)})\b)[A-Za-z]{{3,}}"
_LIMITS = re.compile(r"\b(argmin|max|min) over (.+?) of ")


class NotUnderstoodError(ValueError):
    """What should be a formula is prose."""


def latex(formula: str) -> str:
    """The formula in LaTeX."""
    prose = re.search(rf"\b{_NAME} {_NAME}\b", formula)
    if prose:
        raise NotUnderstoodError(f"prose in a formula: {prose[0]!r}")
    limits = _LIMITS.search(formula)
    if limits:
        below = f"{_WORDS[limits[1]]}_{{{latex(limits[2])}}}"
        return f"{latex(formula[: limits.start()])}{below} {latex(formula[limits.end() :])}"
    closing: list[str] = []  # of the brackets that are open
    parts = [_translated(token, formula, closing) for token in _TOKEN.finditer(formula)]
    return re.sub(" +", " ", "".join(parts)).strip()


def _translated(token: re.Match[str], formula: str, closing: list[str]) -> str:
    text = token[0]
    if token["space"]:
        return " "
    if token["raised"]:
        return _raised(text, closing)
    if token["fraction"] and closing[-1:] != ["}"]:  # else an exponent, too small for a fraction
        above, below = text.split("/")
        return rf"\tfrac{{{above}}}{{{below}}}"
    if token["word"]:
        return _word(token["word"], token["index"])
    if text[0].isdigit():
        return text
    before, after = formula[: token.start()], formula[token.end() :]
    return _sign(text, before, after, closing)


def _raised(text: str, closing: list[str]) -> str:
    """A superscript or a subscript: a word, a number, or what stands in parentheses."""
    mark, inner = text[0], text[1:]
    if inner == "(":
        closing.append("}")
        return f"{mark}{{"
    return rf"{mark}\top " if text == "^T" else f"{mark}{{{inner}}}"


def _word(word: str, index: str) -> str:
    """A known word; letters, such as X or DA; or a name."""
    result = _WORDS.get(word) or (word if len(word) <= 2 else rf"\mathrm{{{word}}}")
    return f"{result}_{{{index}}}" if index else f"{result} "


def _sign(text: str, before: str, after: str, closing: list[str]) -> str:
    if text == "*" and before and not before[-1].isspace():
        return r"^\ast "
    if text == ",":
        return ", " if closing else r",\quad "
    relation = text in "<>" and before[-1:].isspace() and after[:1].isspace()
    if relation or text not in (*_CLOSING, ")", "]", "}", ">", ">>"):
        return _SIGNS.get(text, text)
    if text in _CLOSING and not (text == "|" and closing[-1:] == [_CLOSING["|"]]):
        closing.append(_CLOSING[text])
        return _OPENING.get(text, text)
    return closing.pop() if closing else text
