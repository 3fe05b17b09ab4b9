r"""Pages of one file that fetch nothing, and the parts in which a run is seen step by step.

A page is put together of a template, styles and scripts. Its policy lets its own style and script run and no others,
whatever stands in the texts. The parts of a run are ``page.css``, ``key.html`` (the marks of tokens), ``timeline.html``
(the controls) and the scripts of ``RUN``: ``panel.js`` shows one sample, ``strip.js`` how likely its tokens were,
``tree.js`` its tried continuations, and ``timeline.js`` goes from step to step. A sample may grow while it is shown.

>>> page = Page.of("<style>{{style}}</style>{{title}}<script>{{script}}</script>", ["b{}"], ["f()"], title="{{style}}")
>>> print(page.document)
<style>b{}</style>{{style}}<script>"use strict";
f()</script>
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

RUN = ("panel.js", "strip.js", "tree.js", "timeline.js")
"""The scripts that show a run, in their order."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")


class Page(NamedTuple):
    """A page of one file.

    Attributes:
        document: Its HTML.
        policy: The content security policy that it needs.
    """

    document: str
    policy: str

    @classmethod
    def of(cls, template: str, styles: Sequence[str], scripts: Sequence[str], **values: str) -> Page:
        """Put a page together; ``{{name}}`` in the template is a value, the style, the script or the policy."""
        style, script = "\n".join(styles), "\n".join(['"use strict";', *scripts])
        policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
        known = {**values, "style": style, "script": script, "policy": policy}
        return cls(_PLACE.sub(lambda place: known[place[1]], template), policy)


def part(name: str, package: str = "sfgen.page") -> str:
    """Read a file of a package: a template, a style or a script."""
    return (files(package) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The digest by which a policy allows a style or a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
