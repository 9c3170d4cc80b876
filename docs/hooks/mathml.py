"""Formulas as MathML, which browsers draw themselves: no script and no font is fetched."""

import html
import re

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_) -> str:
    """Replace what pymdownx.arithmatex marked as formulas."""
    content = DISPLAY.sub(lambda m: convert(html.unescape(m[1]).strip(), display="block"), content)
    return INLINE.sub(lambda m: convert(html.unescape(m[1]).strip()), content)
