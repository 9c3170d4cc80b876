"""Make any string harmless where it is shown: LaTeX, Markdown, CSV, figures, HTML."""

import unicodedata

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "[": "{[}",
    "]": "{]}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "β": r"$\beta$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
    "σ": r"$\sigma$",
}
# What opens markup inside a cell; full stops and dashes do so only at the start of a line.
_MARKDOWN = set("\\`*_{}[]#|~^$")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def plain(text: str) -> str:
    """One line without control characters, which neither XML nor LaTeX can hold."""
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join(kept.split()) or "?"


def latex(text: str) -> str:
    """Text for LaTeX; what pdflatex has no letter for is shown by its code point."""
    return "".join(_LATEX.get(c) or _latex_letter(c) for c in plain(text))


def _latex_letter(character: str) -> str:
    if character.isascii():
        return character
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return latex(bare) if bare else f"U+{ord(character):04X}"


def markdown(text: str) -> str:
    """Text for a Markdown table: no markup, no HTML, no link, no new cell."""
    escaped = "".join(_ENTITIES.get(c) or (f"\\{c}" if c in _MARKDOWN else c) for c in plain(text))
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;")


def csv_text(text: str) -> str:
    """Text for a CSV field that no spreadsheet takes for a formula."""
    text = plain(text)
    return f"'{text}" if text[0] in "=+-@" else text
