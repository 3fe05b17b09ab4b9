"""Pages of ``replay --html`` in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.command.browser import Browser

from sfgen.trace import Recording
from sfgen_cli.page.page import page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        opened.screen(1280)
        yield opened


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Opens the page of some recordings, and sees to it that nothing is fetched and nobody complains."""
    path = tmp_path / "run.html"

    def show(recordings: list[Recording], fragment: str = "") -> Browser:
        path.write_text(page(recordings), encoding="utf-8")
        browser.open(path, fragment)
        return browser

    yield show
    browser.evaluate("0")  # what was complained of until now has come
    assert browser.complaints == []
    assert [address.partition("#")[0] for address in browser.requests] == [path.resolve().as_uri()]
    browser.screen(1280)
