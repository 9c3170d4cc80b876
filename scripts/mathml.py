"""A Markdown extension: formulas as MathML, which browsers draw without a script or a font.

`mkdocs.yml` names it; `make docs` puts this folder on Python's path.
"""

import html
import re

from latex2mathml.converter import convert  # pyright: ignore[reportMissingImports]
from markdown import Markdown  # pyright: ignore[reportMissingImports, reportMissingModuleSource]
from markdown.extensions import Extension  # pyright: ignore[reportMissingImports]
from markdown.postprocessors import Postprocessor  # pyright: ignore[reportMissingImports]

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
AFTER_RAW_HTML = 5  # Markdown's own step that puts HTML back has priority 30


class Formulas(Postprocessor):
    """Replace what pymdownx.arithmatex marked as formulas."""

    def run(self, text: str) -> str:
        """The page's HTML with MathML in it."""
        text = DISPLAY.sub(lambda m: convert(html.unescape(m[1]).strip(), display="block"), text)
        return INLINE.sub(lambda m: convert(html.unescape(m[1]).strip()), text)


class MathML(Extension):
    """Registers the step."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Called by Markdown."""
        md.postprocessors.register(Formulas(md), "mathml", AFTER_RAW_HTML)


def makeExtension(**options) -> MathML:
    """The name under which Markdown looks for an extension."""
    return MathML(**options)
