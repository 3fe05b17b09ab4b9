"""Vocabularies from JSON files, and the errors that name the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfgen.errors import VocabularyError
from sfgen.vocabulary import Vocabulary


def write(directory: Path, content: str | bytes) -> Path:
    path = directory / "vocabulary.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_list_gives_the_tokens_in_order(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_file(write(tmp_path, '["a", "né", null, "", "\\u0000"]'))
    assert vocabulary.tokens == (b"a", b"n\xc3\xa9", None, None, b"\0")
    assert vocabulary.end_token_ids == ()


def test_an_object_gives_ids_with_gaps(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff{"b": 3, "a": 0, "": 1}')  # with the byte order mark that some editors write
    assert Vocabulary.from_file(path, end_token_ids=[1]).tokens == (b"a", None, None, b"b")
    assert Vocabulary.from_file(str(path), end_token_ids=[1]).end_token_ids == (1,)


def test_both_forms_give_the_same_vocabulary(tmp_path: Path) -> None:
    strings = ["{", '"', "\\", "日本", "\u2028", "🙂", "ab"]
    as_list = Vocabulary.from_file(write(tmp_path, json.dumps(strings)))
    as_object = Vocabulary.from_file(write(tmp_path, json.dumps({s: i for i, s in enumerate(strings)})))
    assert as_list == as_object
    assert as_list.tokens == tuple(string.encode() for string in strings)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["a", 1]', r"\$\[1\] is 1, and must be a string"),
        ('["a", ["b"]]', r"\$\[1\] is a list, and must be a string"),
        ('["\\ud800"]', r"\$\[0\] has half of a surrogate pair"),
        ('{"\\ud800": 0}', r'\$\["\\ud800"\] has half of a surrogate pair'),
        ('{"a": "0"}', r'\$\["a"\] is "0", and must be a token id'),
        ('{"a": true}', r'\$\["a"\] is true, and must be a token id'),
        ('{"a": 1.0}', r'\$\["a"\] is 1.0, and must be a token id'),
        ('{"a": {"b": 1}}', r'\$\["a"\] is an object, and must be a token id'),
        ('{"a": -1}', r'\$\["a"\] is -1, and an id is between'),
        ('{"a": 99999999999999999999}', r'\$\["a"\] is 1e\+20, and an id is between'),
        ('{"a": 0, "b": 1, "a": 2}', r'\$\["a"\] occurs twice'),
        ('{"a": 0, "b": 0}', r'\$\["b"\] has the id 0, and so has "a"'),
        ("[]", r"\$ is empty"),
        ("{}", r"\$ is empty"),
        ('"a"', r'\$ is "a", and must be a list or an object'),
        ("null", r"\$ is null, and must be"),
        ("", "line 1, column 1: not valid JSON"),
        ('["a",\n "b",\n "c"; "d"]', "line 3, column 5: not valid JSON"),
        (b'["a",\n"\xff"]', "line 2: byte 7 is not valid UTF-8"),
        ("[" * 200_000, "too deep"),
        ('{"a": ' + "9" * 5000 + "}", "too large"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_file(write(tmp_path, content))
    assert "vocabulary.json" in caught.value.message
    assert "\n" not in caught.value.message


def test_broken_json_is_shown_with_a_caret(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_file(write(tmp_path, '[\n  "a" "b"\n]'))
    assert caught.value.details == ('    "a" "b"', "        ^")


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="cannot be read: No such file"):
        Vocabulary.from_file(tmp_path / "none.json")
    with pytest.raises(VocabularyError, match="cannot be read: Is a directory"):
        Vocabulary.from_file(tmp_path)
