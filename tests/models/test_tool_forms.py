"""How calls of tools are written: the named forms."""

from __future__ import annotations

import pytest

from sfgen.models.tool_forms import ARGUMENTS, NAME, NAMED


@pytest.mark.parametrize("name", NAMED)
def test_each_named_form_is_whole(name: str) -> None:
    form = NAMED[name]
    assert form.call.count(NAME) == form.call.count(ARGUMENTS) == 1
    assert all(form.call), "no text is empty"
    assert form.name_text("add") == "add"


def test_a_name_between_quotes_has_escapes() -> None:
    assert NAMED["json"].name_text('a"b') == 'a\\"b'
    assert NAMED["harmony"].name_text('a"b') == 'a"b'
    assert NAMED["pythonic"].name_text('a"b') == 'a"b'
