"""What a user may write for a banned word, and what is refused."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from sfgen.ban import BannedWords, Match, read_words, scan, split_words
from sfgen.errors import BannedWordsError, InputError, PatternError, SfgenError, UsageError


def found(text: str, *words: str, **options: Any) -> list[str]:
    """What was found, as pieces of the text."""
    data = text.encode()
    return [data[match.start : match.end].decode() for match in scan(text, BannedWords(words, **options))]


def test_whole_words() -> None:
    assert found("Talk, talking, small_talk, TALK", "talk") == ["Talk", "TALK"]
    assert found("talking smalltalk", "talk", match="prefix") == ["talk"]
    assert found("talking smalltalk", "talk", match="substring") == ["talk", "talk"]
    assert found("Talk talk", "talk", ignore_case=False) == ["talk"]


def test_a_star_means_prefix_for_that_word_only() -> None:
    assert found("talking listening", "talk*", "listen") == ["talk"]
    assert found("smalltalk", "talk*", match="substring") == []
    assert found("f** talk* talks", r"talk\*", r"f\*\*") == ["f**", "talk*"]
    assert found("f**k f**", "f**k") == ["f**k"]


def test_phrases_allow_any_run_between_their_words() -> None:
    assert found("fuck you, Fuck,  you; fuck... you fuck🙂you", "fuck you") == [
        "fuck you", "Fuck,  you", "fuck... you", "fuck🙂you",
    ]  # fmt: skip
    assert found("fuckyou fuck_you fuck your you", "fuck you") == []
    assert found("c++, c+++ fan c++fan", "c++ fan") == ["c+++ fan"]


def test_punctuation_in_a_word_is_literal() -> None:
    assert found("c++ and C++11 and c+ +", "c++") == ["c++", "C++"]
    assert found("Don't, dont, don’t, don'ts", "don't") == ["Don't"]
    assert found("ok:-) :-(", ":-)") == [":-)"]
    assert found("a.b aab a.bc xa.b", "a.b") == ["a.b"]
    assert found("a.b aab a.bc xa.b", "a.b", match="prefix") == ["a.b", "a.b"]


def test_scripts_without_spaces_need_no_boundary() -> None:
    assert found("我們可以聊天嗎", "聊天") == ["聊天"]
    assert found("我們talk吧 talking吧", "talk") == ["talk"]
    assert found("我們一起聊talk吧 聊talks", "聊talk") == ["聊talk"]
    assert found("ฉันอยากพูดคุยกับเธอ", "พูดคุย") == ["พูดคุย"]
    assert found("禁止,詞彙 禁止詞彙", "禁止 詞彙") == ["禁止,詞彙"]


def test_folding_covers_whole_characters() -> None:
    assert found("STRASSE Straße", "straße") == ["STRASSE", "Straße"]
    assert found("Straße", "s", match="substring") == ["S", "ß"]
    assert found("\u212aelvin leſs İ", "kelvin", "less", "İ") == ["\u212aelvin", "leſs", "İ"]
    assert found("İstanbul", "istanbul") == []


def test_marks_are_not_boundaries() -> None:
    assert found("cafe\u0301 cafe", "cafe") == ["cafe"]
    assert found("🙂\ufe0ftalk🙂\ufe0f", "talk") == ["talk"]


def test_split_words() -> None:
    assert split_words("talk, listen，fuck you、聊天,,") == ["talk", "listen", "fuck you", "聊天"]
    assert split_words(r"1\,000,a\，b,\\,x,talk\*,") == ["1,000", "a，b", "\\\\", "x", r"talk\*"]
    assert split_words(" , ") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no banned word"),
        (["a", ""], "banned word 2 of 2 is empty"),
        ([" \t"], "banned word 1 of 1 is white space only"),
        (["a", "b", " * "], "banned word 3 of 3 is a star alone"),
        (["\udc80"], "banned word 1 of 1 is no valid text"),
        ("talk, listen", "banned words must be a list, not the text 'talk, listen'"),
        (["a", b"b"], "banned words: number 2 of 2 is b'b', which is no text"),
    ],
)
def test_words_that_ban_nothing_are_refused(words: Any, message: str) -> None:
    with pytest.raises(BannedWordsError, match=message) as caught:
        BannedWords(words)
    assert caught.value.hint
    if words:
        with pytest.raises(BannedWordsError, match=message.replace("banned", "allowed")) as caught:
            BannedWords(["a"], allow=words)
        assert caught.value.hint


def test_patterns_that_ban_nothing_are_refused() -> None:
    with pytest.raises(BannedWordsError, match="no banned word and no banned pattern"):
        BannedWords((), (), allow=["a"])
    with pytest.raises(BannedWordsError, match="banned patterns: number 2 of 2 is None, which is no text"):
        BannedWords(patterns=["a", None])  # type: ignore[list-item]
    with pytest.raises(BannedWordsError, match="matches the empty text"):
        BannedWords(["a"], [""])
    with pytest.raises(PatternError):
        BannedWords(["a"], ["("])


def test_words_and_patterns_are_kept_as_they_were_given() -> None:
    banned = BannedWords(iter(["talk*"]), iter([r"\d"]), "prefix", False, True, iter(["Talks"]))
    assert (banned.words, banned.patterns, banned.allow) == (("talk*",), (r"\d",), ("Talks",))
    assert (banned.match, banned.ignore_case, banned.normalize, len(banned)) == ("prefix", False, True, 2)
    assert repr(banned) == (
        r"<BannedWords 2: 'talk*', '\\d'; match='prefix', ignore_case=False, normalize=True, 1 allowed>"
    )
    assert BannedWords(["a", "b"], ["x", r"\d"]).matcher().advance(b"1") == Match(r"\d", 0, 1)
    only = BannedWords(patterns=[r"\d"])
    assert only.matcher(b"a").advance(b"b1") == Match(r"\d", 1, 2)
    assert scan("b1", only) == [Match(r"\d", 1, 2)]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="'words'"):
        BannedWords(["a"], match="words")  # type: ignore[arg-type]


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\ufeff# a list\r\ntalk \r\n\r\n  fuck you\n  # more\n\\#tag\nc#, c++\nlisten*\n聊天"
    expected = ["talk", "fuck you", "#tag", "c#, c++", "listen*", "聊天"]
    path = tmp_path / "words.txt"
    path.write_bytes(content.encode())
    assert read_words(path) == read_words(str(path)) == read_words(io.StringIO(content)) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), encoding="latin-1"))
    assert read_words("-") == expected
    banned = BannedWords.from_file(path, match="prefix", ignore_case=False)
    assert (banned.words, banned.match, banned.ignore_case) == (tuple(expected), "prefix", False)
    banned = BannedWords.from_file(path, ["x"], normalize=True, allow=["talk"])
    assert (banned.words, banned.patterns, banned.normalize, banned.allow) == (tuple(expected), ("x",), True, ("talk",))


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"talk\n\n \\* \n*\n", BannedWordsError, "words.txt, line 4: the banned word is a star alone"),
        (b"# nothing\n\n", BannedWordsError, "words.txt has no banned word"),
        (b"talk\nlis\xfften\n", InputError, "words.txt, line 2: not UTF-8"),
        (None, InputError, "words.txt: No such file"),
    ],
)
def test_files_that_cannot_be_used(
    tmp_path: Path, content: bytes | None, error: type[SfgenError], message: str
) -> None:
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=message):
        read_words(path)


def test_twenty_thousand_phrases() -> None:
    words = [f"w{number} v{number % 71}" for number in range(20_000)]
    banned = BannedWords(words)
    assert banned.word_automata is not None
    assert len(banned) == len(banned.word_automata.plain) == 20_000
    matcher = banned.matcher()
    text = "; ".join(f"w{number} v{number % 70}" for number in range(0, 20_000, 97))
    expected = [f"w{number} v{number % 71}" for number in range(0, 20_000, 97) if number % 70 == number % 71]
    heard = [match for byte in (text + ".").encode() if (match := matcher.advance(bytes([byte])))]
    assert [match.word for match in heard] == [match.word for match in scan(text, banned)] == expected
