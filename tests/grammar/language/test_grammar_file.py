"""Saved grammars come back as they were, and a file that is damaged or made up is refused; which format a text has."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from sfgen import Grammar, JsonSchema, SfgenError, Vocabulary
from sfgen.errors import GrammarError, IndexFileError, OtherVocabulary, UsageError
from sfgen.grammar.language.file import load, save, saved_grammar
from sfgen.grammar.language.grammar import GrammarSource
from sfgen.grammar.language.language import Format
from sfgen.index import saved_text
from sfgen.schema import file as schema_file

VOCABULARY = Vocabulary([b"a", b"b", None], end_token_ids=[2])
TEXT = 'root ::= "a" | list # é\nlist ::= "b" list | ""'


def test_a_grammar_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "grammar"
    for start in ("root", "list"):
        before = Grammar.from_gbnf(TEXT, start)
        save(before, VOCABULARY, path, force=True)
        assert load(path, VOCABULARY) == before == saved_grammar(path)
    save(before, VOCABULARY, path)  # the same once more
    with pytest.raises(IndexFileError, match="holds something else"):
        save(Grammar.from_gbnf(TEXT), VOCABULARY, path)


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    save(Grammar.from_gbnf(TEXT), VOCABULARY, tmp_path / "grammar")
    with pytest.raises(IndexFileError, match="made for another vocabulary") as caught:
        load(tmp_path / "grammar", Vocabulary([b"a", None], end_token_ids=[1]))
    assert isinstance(caught.value, OtherVocabulary)
    assert (caught.value.kind, caught.value.given[0]) == ("grammar", 2)
    assert "make it again, and save it with force=True" in caught.value.hint


def test_schemas_and_grammars_are_told_apart(tmp_path: Path) -> None:
    grammar, schema = tmp_path / "grammar", tmp_path / "schema"
    save(Grammar.from_gbnf(TEXT), VOCABULARY, grammar)
    schema_file.save(JsonSchema(True), VOCABULARY, schema)
    assert saved_grammar(schema) is None
    assert schema_file.saved_schema(grammar) is None
    with pytest.raises(IndexFileError, match="is not a grammar that sfgen saved"):
        load(schema, VOCABULARY)


def test_every_change_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "grammar"
    save(Grammar.from_gbnf(TEXT), VOCABULARY, path)
    data, random, refused = path.read_bytes(), Random(0), 0
    flipped = [
        data[:place] + bytes([byte ^ random.randint(1, 255)]) + data[place + 1 :] for place, byte in enumerate(data)
    ]
    for changed in [*flipped, *(data[:end] for end in range(len(data))), data + b" "]:
        path.write_bytes(changed)
        try:
            found = saved_grammar(path)
        except IndexFileError:
            refused += 1
        else:
            assert found is None, changed
    assert refused > len(data)


def _options(**changes: object) -> str:
    return json.dumps({"format": "gbnf", "start": "root", "max_blanks": None, "files": {}, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"grammar": "/etc/passwd"},
        {"grammar": 'root ::= "a'},
        {"options": "[]"},
        {"options": "{"},
        {"options": "{}"},
        {"options": _options(start="other")},
        {"options": _options(start=7)},
        {"options": _options(format="ebnf")},
        {"options": _options(max_blanks=3)},
        {"options": _options(nonsense=1)},
        {"options": _options(format="lark")},
        {"vocabulary_fingerprint": "no"},
        {"tokens": "-1"},
        {"format": "sfgen-grammar-2"},
        {"more": "1"},
    ],
    ids=str,
)
def test_a_file_that_somebody_made_up(tmp_path: Path, changes: dict[str, str]) -> None:
    """Its checksum is right; what it says is not."""
    path = tmp_path / "grammar"
    save(Grammar.from_gbnf(TEXT), VOCABULARY, path)
    metadata = json.loads(path.read_bytes()[8:])["__metadata__"] | changes
    metadata["checksum"] = saved_text.digest(metadata)
    path.write_bytes(saved_text.encode_header(metadata))
    with pytest.raises(SfgenError):
        load(path, VOCABULARY)


# ---- which format --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "origin", "named", "told"),
    [
        ('root ::= "a"', None, None, "gbnf"),
        ('# a comment\nmy-rule   ::= "a"', None, None, "gbnf"),
        ('start: "a"', None, None, "lark"),
        ('start: "::="', None, None, "lark"),
        ("", None, None, "lark"),
        ('start: "a"', "a/list.GBNF", None, "gbnf"),
        ('root ::= "a"', "list.lark", None, "lark"),
        ('root ::= "a"', "list.lark", "gbnf", "gbnf"),
        ('root ::= "a"', "list.txt", None, "gbnf"),
    ],
)
def test_the_format_of_a_text(text: str, origin: str | None, named: Format | None, told: str) -> None:
    assert GrammarSource(text, named, origin=origin).detected_format == told


def test_a_source_is_read() -> None:
    grammar = GrammarSource(TEXT, start="list", origin="list.gbnf").grammar()
    assert grammar == Grammar.from_gbnf(TEXT, "list")
    assert grammar.origin == "list.gbnf"
    with pytest.raises(GrammarError, match=r"grammar list.gbnf: .* at line 1, column 10"):
        GrammarSource("root ::= )", origin="list.gbnf").grammar()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "ebnf"}, "grammar_format is 'ebnf'"),
        ({"start": 7}, "grammar_start must be a text"),
        ({"max_blanks": 1}, "GBNF ignores no text"),
        ({"format": "lark", "max_blanks": -1}, "max_blanks must be"),
        ({"format": "lark", "max_blanks": 1001}, "max_blanks is at most"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        GrammarSource(TEXT, **options)  # type: ignore[arg-type]
