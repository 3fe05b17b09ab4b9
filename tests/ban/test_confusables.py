"""Normalized comparison: what is one, what stays apart, and where matches lie."""

import sys
import unicodedata

import pytest

from sfgen.ban import BannedWords, Match, scan
from sfgen.ban.characters import fold
from sfgen.ban.confusables import normalized
from sfgen.errors import BannedWordsError


def found(text: str, *words: str, **options: object) -> list[str]:
    """What is banned in a text, as the matcher and the scanner say."""
    banned = BannedWords(words, normalize=True, **options)  # type: ignore[arg-type]
    data, matches, matcher = text.encode(), scan(text, banned), banned.matcher()
    reported = [match for byte in data if (match := matcher.advance(bytes([byte])))]
    assert next(iter(reported), matcher.finish()) == next(iter(matches), None)
    return [data[match.start : match.end].decode() for match in matches]


TALKS = [
    "ｔalk", "ta\u200blk", "tаlk", "ＴＡＬＫ", "𝓽𝓪𝓵𝓴", "ⓣⓐⓛⓚ", "🅣🅐🅛🅚", "t⒜lk", "tálk", "t\u0301a\u0336l\u20e3k",
    "ta\u00adlk", "ta\ufe0flk", "t\u2060a\u2066l\u202ek", "t\U000e0061alk", "ta\u3164lk", "ta\ufeffl\u200dk", "ТАLК",
    "τalκ", "ᴛᴀʟᴋ", "ᎢᎪᏞᏦ", "ta\x00lk", "ta\x1blk", "ta\u0e48lk", "ta\u0345lk", "tal\u093fk",
    "ta\u034flk", "ta\U000e0100lk",
]  # fmt: skip


@pytest.mark.parametrize("text", TALKS)
def test_what_looks_like_the_word_is_the_word(text: str) -> None:
    assert found(f"small {text}, talking", "talk") == [text]
    assert found("Small TALK, talking", text) == ["TALK"]
    assert found(f"{text}ing s{text}", "talk") == []
    assert BannedWords(["talk"]).matcher().advance(f"{text} ".encode()) is None


def test_what_cannot_be_seen_is_no_boundary() -> None:
    assert found("s\u200btalk talk\u200bs", "talk") == []
    assert found("\u200btalk\u200b \u200btalk\u200b", "talk") == ["talk", "talk"]
    assert found("small\u200b \u00adtalk", "small talk") == ["small\u200b \u00adtalk"]
    assert found("small\u200btalk", "small talk") == []


def test_offsets_are_those_of_the_original_characters() -> None:
    banned = BannedWords(["talk"], normalize=True)
    text = "½ \u200bｔａ\u200blк\u0301\u200b!"
    assert scan(text, banned) == [Match("talk", 6, 18)]
    matcher = banned.matcher("½ \u200bｔ".encode())
    assert matcher.open_from() == -3
    assert matcher.advance("ａ\u200blк\u0301".encode()) is None
    assert matcher.advance(b"!") == Match("talk", -3, 9)


def test_what_an_invisible_character_follows_in_the_prompt_stays_in_the_prompt() -> None:
    banned = BannedWords(["talk"], normalize=True)
    matcher = banned.matcher(b"talk")
    assert matcher.advance("\u200b.".encode()) is None
    assert scan("\u200b.", banned, prompt="talk") == []
    assert banned.matcher(b"tal").advance("\u200bk.".encode()) == Match("talk", -3, 4)


def test_other_scripts_match_themselves() -> None:
    for text, word in [
        ("Это слово тут", "слово"), ("ЭТО СЛОВО ТУТ", "слово"), ("η Ελλάδα είναι", "ελλάδα"), ("ΕΛΛΆΔΑ", "Ελλάδα"),
        ("Հայաստան", "հայաստան"), ("我們聊天吧", "聊天"), ("ฉันกินข้าว", "กิน"), ("मैं किताब पढ़ता", "किताब"),
        ("한국어 책", "책"), ("שָׁלוֹם", "שלום"), ("İstanbul", "istanbul"), ("がく", "がく"), ("ｶﾞｸ", "ガク"),
        ("ﷺ", "صلى الله عليه وسلم"),
    ]:  # fmt: skip
        assert len(found(text, word)) == 1, text


@pytest.mark.parametrize(
    "text", ["taIk", "ta|k", "taǀk", "taΙk", "ta∣k", "ta│k", "taӏk", "ta𝐈k", "tаIк", "tᴀ￨k", "×talk×"]
)
def test_capital_i_and_bars_are_letters_as_well(text: str) -> None:
    assert found(f"we {text}, {text}ing", "talk") == [text.strip("×")] * (1 + ("×" in text))


def test_capital_i_is_i_and_l() -> None:
    assert found("smaII taIk, SMALL TALK, Iisten, |isten, l|sten", "small talk", "listen") == [
        "smaII taIk", "SMALL TALK", "Iisten", "|isten", "l|sten",
    ]  # fmt: skip
    assert found("Indigo FAIL Ill III Fail", "indigo", "fail", "ill", "iii") == ["Indigo", "FAIL", "Ill", "III", "Fail"]
    assert found("FAIL TAIK III DAILY Fail Alms", "fall", "talk", "ill", "dally", "aims") == []
    assert found("taIk TALK", "talk", ignore_case=False) == ["taIk"]
    # What is not said of words that begin so.
    assert found("Iamb", "lamb") == ["Iamb"]


def test_normalizing_loses_nothing() -> None:
    for text in [
        "|talk|",
        "a|talk|b",
        "talk²",
        "talk½",
        "①talk",
        "ⓐ talkⓐ",
        "talk×2",
        "_talk_",
        "talkᵃ",
        "ᵃtalk₂",
        "talk∪",
    ]:
        assert len(found(text, "talk")) == 1, text
    assert found("H₂O h2o ㎡ talk²", "h2o", "m2", "talk") == ["H₂O", "h2o", "㎡", "talk"]


def test_letters_of_unicodes_table() -> None:
    assert found("ꮯool ᛕiss ⲣoⲟⲣ𝗌 ꞟꭎꭒ Ꭓ-ray гot", "cool", "kiss", "poops", "uuu", "x-ray", "rot") == [
        "ꮯool", "ᛕiss", "ⲣoⲟⲣ𝗌", "ꞟꭎꭒ", "Ꭓ-ray", "гot",
    ]  # fmt: skip
    # Ours only.
    assert found("ħɛłłσ ħɛłłο", "hello") == ["ħɛłłο"]
    # Digits, several letters for one, and letters that would be one with another of their script.
    assert found("ta1k 0ops cornrnon bьg b৪t", "talk", "oops", "common", "bbg", "bst") == []
    assert found("σσο", "οσο") == []


def test_turkish_letters() -> None:
    for text, word in (("İstanbul", "istanbul"), ("DIŞ", "dış"), ("dış", "DIŞ"), ("İSTANBUL", "istanbul")):
        assert found(text, word) == [text]
        assert scan(text, BannedWords([word])) == []  # the help says so


def test_what_differs_in_spelling_stays_apart() -> None:
    assert found("กันกำ", "กิน") == []
    assert found("का की", "कि") == []
    assert found("かく", "がく") == []
    assert found("책", "착") == []
    assert found("台湾", "台灣") == []  # neither are traditional and simplified characters one
    assert found("ta1k 7alk", "talk") == []


def test_a_syllable_is_its_letters() -> None:
    assert found("각가", "가", match="substring") == ["가"]
    assert found("각 가", "가") == ["가"]
    assert found("ᄀ\u1161ᆨ", "각") == ["ᄀ\u1161ᆨ"]


def test_case_may_matter() -> None:
    assert found("Ｔаlk ｔаlk ТALK", "talk", ignore_case=False) == ["ｔаlk"]
    assert found("ТALK", "TALK", ignore_case=False) == ["ТALK"]
    assert found("нow НOW", "how") == ["нow", "НOW"]
    assert found("нow НOW", "how", ignore_case=False) == []


def test_punctuation_that_looks_alike() -> None:
    assert found("don’t donʼt", "don't") == ["don’t", "donʼt"]
    assert found("re‑do re–do", "re-do") == ["re‑do", "re–do"]


@pytest.mark.parametrize("word", ["\u200b", "\u0301", "\u200b*", " \u00ad ", "´"])
def test_words_of_which_nothing_is_left_are_refused(word: str) -> None:
    with pytest.raises(BannedWordsError, match=r"banned word 2 of 2 is .* of which nothing is left"):
        BannedWords(["a", word], normalize=True)
    with pytest.raises(BannedWordsError, match=r"allowed word 1 of 1 is .* of which nothing is left"):
        BannedWords(["a"], normalize=True, allow=[word])
    BannedWords(["a", word], allow=[word])


@pytest.mark.parametrize("ignore_case", [False, True])
def test_every_character(ignore_case: bool) -> None:
    some = range(0x3400, sys.maxunicode + 1, 13)  # ideographs and syllables are all alike
    for code in (*range(0x3400), *some, *range(0xA000, 0xAC00), *range(0xF900, 0x10000), *range(0x1D000, 0x20000)):
        if 0xD800 <= code <= 0xDFFF:
            continue
        character = chr(code)
        text = normalized(character, ignore_case)
        assert "".join(normalized(piece, ignore_case) for piece in text) == text, hex(code)
        assert all(unicodedata.category(piece) != "Cf" for piece in text), hex(code)
        assert unicodedata.normalize("NFKD", text) == text, hex(code)
        if ignore_case and "\u0345" not in unicodedata.normalize("NFD", character + character.upper()):
            assert "".join(normalized(piece, True) for piece in character.casefold()) == text, hex(code)


def equal_for_unicode(text: str, ignore_case: bool) -> str:
    """NFKC or NFKC_Casefold, until nothing changes: folding and compatibility do not commute."""
    while True:
        folded = unicodedata.normalize("NFD", text).casefold() if ignore_case else text
        if (found := unicodedata.normalize("NFKC", folded)) == text:
            return text
        text = found


def test_a_sigma_is_found_whatever_its_shape() -> None:
    for text in ("οδος", "ΟΔΟΣ", "οδοσ", "οδοϹ", "οδοϲ", "ΟΔΟϹ"):
        for word in ("οδος", "οδοϹ", "ΟΔΟΣ"):
            assert found(f"η {text}.", word) == [text]
    assert found("Ϲool ϲool", "cool") == ["Ϲool", "ϲool"]
    assert found("ᾳδω αιδω αδω", "αιδω") == ["ᾳδω", "αιδω"]
    assert found("(a) ⒜ a", "(a)") == ["(a)", "⒜"]


@pytest.mark.parametrize("ignore_case", [False, True])
def test_every_character_is_found_for_what_unicode_takes_it_for(ignore_case: bool) -> None:
    """But for an iota subscript by itself, which is a mark, and dropped."""
    several = 0
    for character in map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))):
        word = equal_for_unicode(character, ignore_case)
        if word == character or character == "\u0345":
            continue
        several += 1
        if fold(character, ignore_case, True) != fold(word, ignore_case, True):
            banned = BannedWords([word], match="substring", ignore_case=ignore_case, normalize=True)
            assert scan(character, banned), (hex(ord(character)), word)
            matcher = banned.matcher()
            assert matcher.advance(character.encode()) or matcher.finish(), (hex(ord(character)), word)
    assert several > 4_000
