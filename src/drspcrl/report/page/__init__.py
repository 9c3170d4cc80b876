"""`index.html`: one page with everything in it, that works from disk."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from drspcrl import __version__
from drspcrl.report.collected import Collected
from drspcrl.report.made import Made
from drspcrl.report.page.payload import payload

SCRIPTS = ("base.js", "plot.js", "charts.js", "tables.js", "main.js")


def render_page(collected: Collected, made: Sequence[Made] = ()) -> str:
    """The page as one string of HTML.

    Args:
        collected: What it shows.
        made: The files beside it, for its links.
    """
    style = _asset("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, SCRIPTS)) + "\n})();\n"
    # Only this very script and style may run or load: nothing that slipped in with a name can.
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "CSP": policy,
        "VERSION": __version__,
        "STYLE": style,
        "DATA": embed_json(payload(collected, made)),
        "SCRIPT": script,
    }
    # One pass, so that a name like @SCRIPT@ inside the data stays what it is.
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], _asset("page.html"))


def embed_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character of it can end that element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
