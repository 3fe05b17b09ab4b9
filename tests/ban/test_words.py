"""What a user may write for a banned word, and what is refused."""

import io
import sys
from pathlib import Path
from typing import Any, get_args
from unicodedata import combining, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban import BannedWords, Match, character_patterns, read_words, scan, split_words
from sfgen.ban.entries import Entry, MatchMode, read_entries
from sfgen.ban.words import entries_of
from sfgen.errors import BannedWordsError, InputError, PatternError, SfgenError, UsageError


def found(text: str, *words: str, **options: Any) -> list[str]:
    """What was found, as pieces of the text."""
    data = text.encode()
    return [data[match.start : match.end].decode() for match in scan(text, BannedWords(words, **options))]


def test_whole_words() -> None:
    assert found("Talk, talking, small_talk, TALK", "talk") == ["Talk", "talk", "TALK"]
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
    assert found("fuckyou fuck_you fuck your you", "fuck you") == ["fuck_you"]
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


def test_what_hangs_on_a_word_is_no_part_of_it() -> None:
    assert found("_talk_ __talk__ talk² talk¹ talk₂ talkᵃ ①talk talk½ talk‿talk", "talk") == ["talk"] * 10
    assert found("talk2 2talk talk٣ talkⅣ talkª talking", "talk") == ["talk"]  # the one with a superscript a
    assert found("h2o H₂O small_talk small talk", "h2o", "small_talk") == ["h2o", "small_talk"]


@pytest.mark.parametrize("match", ["word", "prefix", "substring"])
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_canonically_equal_spellings_are_the_same_word(match: Any, form: Any, other: Any) -> None:
    words = ["café", "한국어", "각", "cậu", "Ångström", "ΐδρις", "がく", "שָׁלוֹם", "ड़ब", "İstanbul", "\u2126", "ᾷ"]
    for word in words:
        written = normalize(form, word)
        banned = BannedWords([normalize(other, word)], match=match)
        assert [(m.start, m.end) for m in scan(f"a {written}.", banned)] == [(2, 2 + len(written.encode()))], word
        assert banned.matcher().advance(f"a {written}.".encode()) is not None, word
        assert scan(f"a {written}", BannedWords([word], allow=[normalize(other, f"a {word}")])) == []


def test_marks_may_come_in_any_order_that_means_the_same() -> None:
    for text in ("cậu", "ca\u0302\u0323u", "ca\u0323\u0302u", "câ\u0323u", "cạ\u0302u"):
        assert found(text, "cậu") == [text]
        assert found(text, "cau", "câu", "cạu", "ca\u0302u\u0323") == []
    # Of the same class, the order counts.
    assert found("a\u0301\u0302 a\u0302\u0301", "a\u0301\u0302") == ["a\u0301\u0302"]
    mixed = "x\u0323\u0324\u0301\u0302\u0334"
    for text in (
        "x\u0334\u0323\u0324\u0301\u0302",
        "x\u0301\u0323\u0302\u0334\u0324",
        "x\u0323\u0301\u0334\u0324\u0302",
    ):
        assert found(text, mixed) == [text]
    assert found("x\u0324\u0323\u0334\u0301\u0302", mixed) == []
    with pytest.raises(BannedWordsError, match="too many combining marks"):
        BannedWords(["a" + "".join(chr(code) for code in range(0x300, 0x370) if combining(chr(code))) * 9])


def test_a_match_ends_with_a_whole_character() -> None:
    assert found("cafe\u0301 café cafe", "cafe") == ["cafe"]
    assert found("café cafes", "cafe", match="prefix") == ["cafe"]
    assert found("자질 자지", "자지", match="substring") == ["자지"]
    assert found("さげ さけ", "さけ") == ["さけ"]
    # What follows is not waited for, where nothing bounds the match.
    assert found("cafe\u0301", "cafe", match="substring") == ["cafe"]


def test_split_words() -> None:
    assert split_words("talk, listen，fuck you、聊天,,") == ["talk", "listen", "fuck you", "聊天"]
    assert split_words(r"1\,000,a\，b,\\,x,talk\*,") == ["1,000", "a，b", "\\\\", "x", r"talk\*"]
    assert split_words(" , ") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no banned word"),
        (["a", ""], "banned word 2 of 2 is empty"),
        ([" \t"], "banned word 1 of 1 is white space only, which is no word"),
        (["a", "b", " * "], "banned word 3 of 3 is a star alone"),
        (["\udc80"], "banned word 1 of 1 is not valid text"),
        ("talk, listen", "banned words must be a list, not the text 'talk, listen'"),
        (["a", b"b"], "banned words: number 2 of 2 is b'b', which is not text"),
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


def test_white_space_is_banned_as_a_pattern() -> None:
    with pytest.raises(BannedWordsError) as caught:
        BannedWords(["a", "\n\n"])
    assert caught.value.hint == r"White space is banned as a pattern: patterns=['\\n\\n']."
    banned = BannedWords(patterns=["\\n\\n"])
    assert [bool(scan(text, banned)) for text in ("a\n\nb", "a\nb")] == [True, False]


def test_patterns_that_ban_nothing_are_refused() -> None:
    with pytest.raises(BannedWordsError, match="no banned word and no banned pattern"):
        BannedWords((), (), allow=["a"])
    with pytest.raises(BannedWordsError, match="banned patterns: number 2 of 2 is None, which is not text"):
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


def test_a_words_file_says_how_it_was_read() -> None:
    content = [
        "talk # rude", "c# minor # a key", r"\#tag", r"we are \#1", "#nice", "# a list", "####", "#!/bin/sh", '"talk"',
        "“talk”", "talk,", "f**k", "talk**", "*talk*", r"f\*\*k", "talk*", "follow #me", "don't", "'tis", "#",
        "a\t#\tb",
    ]  # fmt: skip
    said: list[str] = []
    words = read_words(io.StringIO("\n".join(content)), said.append)
    assert words == read_words(io.StringIO("\n".join(content)))
    assert words == [
        "talk", "c# minor", "#tag", "we are #1", '"talk"', "“talk”", "talk,", "f**k", "talk**", "*talk*", r"f\*\*k",
        "talk*", "follow #me", "don't", "'tis", "a",
    ]  # fmt: skip
    assert [line.removeprefix("the stream, line ") for line in said] == [
        r"5: '#nice' is read as a comment; for a word that begins with #, write \#nice",
        "9: '\"talk\"' is read with its quotes; for the word alone, leave the quotes out",
        "10: '“talk”' is read with its quotes; for the word alone, leave the quotes out",
        "11: 'talk,' is read with its comma; leave the comma out",
        r"12: 'f**k' is read with its stars as they are; write \* for a star to say so",
        r"13: 'talk**' is read as all words that begin with 'talk*'; write \* for a star to say so",
        r"14: '*talk*' is read as all words that begin with '*talk'; write \* for a star to say so",
        "17: 'follow #me' is read as one phrase; a comment needs a blank after its #",
    ]
    banned = BannedWords.from_file(io.StringIO("talk,\n"), warn=said.append)
    assert (banned.words, len(said)) == (("talk,",), 9)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\ufeff# a list\r\ntalk \r\n\r\n  fuck you\n  # more\n\\#tag\nc#, c++\nlisten*\n聊天"
    expected = ["talk", "fuck you", "#tag", "c#, c++", "listen*", "聊天"]
    path = tmp_path / "words.txt"
    path.write_bytes(content.encode())
    assert read_words(path) == read_words(str(path)) == read_words(io.StringIO(content)) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), encoding="latin-1"))
    assert read_words(sys.stdin) == expected
    with pytest.raises(InputError, match="the banned words in -"):
        read_words("-")
    with pytest.raises(SfgenError, match="a list, line 2: the banned word is a star alone"):
        read_words(io.StringIO("talk\n*"), title="a list")
    banned = BannedWords.from_file(path, match="prefix", ignore_case=False)
    assert (banned.words, banned.match, banned.ignore_case) == (tuple(expected), "prefix", False)
    banned = BannedWords.from_file(path, ["x"], normalize=True, allow=["talk"])
    assert (banned.words, banned.patterns, banned.normalize, banned.allow) == (tuple(expected), ("x",), True, ("talk",))


def test_a_file_of_millions_of_words_is_read_but_none_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"#" * (17 << 20) + b"\ntalk\n")
    assert read_words(path) == ["talk"]
    monkeypatch.setattr("sfgen.ban.words._LONGEST_FILE", 1 << 20)
    with pytest.raises(InputError, match="is longer than 1,048,576 bytes"):
        read_words(path)


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
    assert len(banned) == len(list(entries_of(banned))) == 20_000
    matcher = banned.matcher()
    text = "; ".join(f"w{number} v{number % 70}" for number in range(0, 20_000, 97))
    expected = [f"w{number} v{number % 71}" for number in range(0, 20_000, 97) if number % 70 == number % 71]
    heard = [match for byte in (text + ".").encode() if (match := matcher.advance(bytes([byte])))]
    assert [match.word for match in heard] == [match.word for match in scan(text, banned)] == expected


@given(
    st.lists(st.text("aB1é中 *-", min_size=1, max_size=5).filter(lambda word: word.strip(" *")), max_size=5),
    st.sampled_from(get_args(MatchMode)),
    st.booleans(),
    st.booleans(),
)
def test_a_list_is_read_word_by_word(words: list[str], match: MatchMode, ignore_case: bool, normalize: bool) -> None:
    """A long list of plain words has a quick way, which reads them alike."""
    entries = list(read_entries(words, "banned", match, ignore_case, normalize))
    assert entries == [Entry.parse(word, match, ignore_case, normalize) for word in words]


# ---- characters by name ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("han", "a我b。ひ", "我"),
        ("cjk", "a我ひカ한ㄅжa", "我ひカ한ㄅ"),
        ("Cyrillic", "aжЖéα", "жЖ"),
        ("old italic", "a\U00010300", "\U00010300"),
        ("emoji", "1#❤🙂🇩🇪", "🙂🇩🇪"),
        ("emoji", "❤\ufe0f 1\ufe0f\u20e3 ©", "❤\ufe0f1\ufe0f"),
    ],
)
def test_characters_by_name(name: str, text: str, expected: str) -> None:
    data = text.encode()
    matches = scan(text, BannedWords(patterns=character_patterns([name])))
    assert "".join(data[match.start : match.end].decode() for match in matches) == expected


@pytest.mark.parametrize("name", ["chinese", "", "Lu", "han}|a{", "L", "\\"])
def test_characters_that_do_not_exist(name: str) -> None:
    with pytest.raises(UsageError, match="no characters by the name") as caught:
        character_patterns([name])
    assert "cyrillic" in caught.value.hint
