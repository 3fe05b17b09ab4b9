"""jsonschema without the parsers that two of its formats need: they are there when they are asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import cast

import pytest

IRIS = ["https://example.org/é", "http://[", "urn:a:ß", "no scheme", "é", "", "a b", "http://☃.example/?x=é#y"]


def printed(script: str) -> str:
    return subprocess.check_output([sys.executable, "-c", script], text=True)


@pytest.mark.parametrize(
    "schema", ['{"type": "string"}', '{"format": "date"}', '{"properties": {"a": {"format": "uri"}}}']
)
def test_most_schemas_need_no_parsers(schema: str) -> None:
    script = (
        f"import sys, sfgen; schema = sfgen.JsonSchema({schema!r}); schema.refusal(b'\"2020-01-01\"'); "
        "print([name for name in ('jsonschema', 'rfc3987_syntax', 'lark') if name in sys.modules])"
    )
    assert printed(script) == "['jsonschema']\n"


CHECKED = "print(json.dumps([[checker.conforms(iri, name) for iri in IRIS] for name in ('iri', 'iri-reference')]))"
BEFORE = f"import json; IRIS = {IRIS!r}; "
THEIRS = "import jsonschema; checker = jsonschema.Draft202012Validator.FORMAT_CHECKER; "
OURS = (
    "from sfgen.schema.scalars.formats import jsonschema; checker = jsonschema().Draft202012Validator.FORMAT_CHECKER; "
)


@pytest.fixture(scope="module")
def expected() -> list[list[bool]]:
    """What jsonschema says by itself."""
    return cast(list[list[bool]], json.loads(printed(BEFORE + THEIRS + CHECKED)))


@pytest.mark.parametrize("first", ["", "import jsonschema; ", "import rfc3987_syntax; "])
def test_the_formats_are_checked_as_ever(first: str, expected: list[list[bool]]) -> None:
    """And others import the parsers whole afterwards."""
    assert [any(each) for each in expected] == [True, True]
    assert [all(each) for each in expected] == [False, False]
    whole = "; import rfc3987_syntax; print(hasattr(rfc3987_syntax, 'parse'))"
    checked, is_whole = printed(first + BEFORE + OURS + CHECKED + whole).splitlines()
    assert json.loads(checked) == expected
    assert is_whole == "True"


HIDDEN = """
import sys
from importlib import util
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "rfc3987_syntax":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
find = util.find_spec
util.find_spec = lambda name: None if name == "rfc3987_syntax" else find(name)
"""


def test_where_they_are_not_installed_the_formats_are_unknown() -> None:
    """As in jsonschema by itself: it takes any text for one."""
    assert printed(HIDDEN + OURS + "print(checker.conforms('a b', 'iri'))") == "True\n"
