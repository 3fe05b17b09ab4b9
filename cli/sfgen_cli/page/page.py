"""The page itself: data, style and scripts in one file of HTML that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from importlib.resources import files

from sfgen.printable import json_text
from sfgen.trace import Recording
from sfgen_cli.page.sample import clean, sample_data

BEGINNING = b"<!doctype html>\n<!-- a run of sfgen -->"
"""What every page begins with."""

_SCRIPTS = ("panel.js", "tree.js", "timeline.js")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_TITLE = 80  # characters


def page(recordings: Sequence[Recording]) -> str:
    """Make the page of some samples, to be seen side by side."""
    style = _file("page.css")
    script = '"use strict";\n' + "\n".join(map(_file, _SCRIPTS))
    prompt = " ".join(clean(recordings[0].scene.prompt).split())
    values = {
        # Nothing is fetched, and no script runs but this one, whatever is in the texts.
        "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'",
        "title": html.escape(prompt[:_TITLE] or "a run of sfgen"),
        "style": style,
        "texts": "\n".join(f"<pre>{html.escape(clean(recording.text))}</pre>" for recording in recordings),
        "run": _inside_a_script(json_text({"samples": [sample_data(recording) for recording in recordings]})),
        "script": script,
    }
    return _PLACE.sub(lambda place: values[place[1]], _file("page.html"))


def _inside_a_script(json: str) -> str:
    r"""JSON that ends no script element: in strings alone there is a ``<``, which may be written by its number.

    >>> print(_inside_a_script('["</script>"]'))
    ["\u003c/script>"]
    """
    return json.replace("<", r"\u003c")


def _file(name: str) -> str:
    return (files("sfgen_cli.page") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The digest by which a page's policy allows a style or a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
