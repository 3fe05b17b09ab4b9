"""The page at ``/``: a prompt, what its text must match and must not contain, and the text as it is drawn.

It is one file that asks only the own endpoints of the server, as any other client does: ``/v1/models`` and
``/v1/trace``. Nothing of the server stands in it, so that it needs no key; whoever uses it gives one to the page.
``request.js`` has the settings, the link that holds them, and the same request in other words; ``run.js`` makes a
sample of the lines of a trace, ``form.js`` asks, and tells errors where they belong. A sample is shown by the parts of
``sfgen.page``.
"""

from __future__ import annotations

from functools import cache

from fastapi.responses import HTMLResponse, Response

from sfgen.page import RUN, Page, part

_SCRIPTS = ("request.js", "run.js", "form.js")
_POLICY = "connect-src 'self'; img-src data:; form-action 'none'; frame-ancestors 'none'"


def page_to_try() -> Response:
    """Answer with the page."""
    page = _page()
    headers = {
        "Content-Security-Policy": f"{page.policy}; {_POLICY}",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
    return HTMLResponse(page.document, headers=headers)


@cache
def _page() -> Page:
    return Page.of(
        part("page.html", __name__),
        [part("page.css"), part("form.css", __name__)],
        [*map(part, RUN), *(part(name, __name__) for name in _SCRIPTS)],
        key=part("key.html"),
        timeline=part("timeline.html"),
    )
