"""The kinds of characters, against the Unicode data of the ``regex`` package."""

import sys

import regex
from sfgen.ban.characters import MARK, NON_WORD, SPACED, UNSPACED, fold, kind_of, kinds_of

SCRIPTS = ("Hani", "Hira", "Kana", "Bopo", "Thai", "Laoo", "Khmr", "Mymr")


def test_kinds_follow_general_category_and_script() -> None:
    assigned = regex.compile(r"\P{Cn}")
    word = regex.compile(r"[\p{L}\p{Nd}\p{Nl}]")
    raised = regex.compile(r"[\p{dt=super}\p{dt=sub}]")
    mark = regex.compile(r"\p{M}")
    script = regex.compile("[" + "".join(rf"\p{{sc={name}}}" for name in SCRIPTS) + "]")
    shared = regex.compile("[" + "".join(rf"\p{{scx={name}}}" for name in SCRIPTS) + "]")
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        kind = kind_of(character)
        # Where the two libraries know different versions of Unicode, there is nothing to compare.
        if not assigned.match(character) or (kind == NON_WORD and not character.isprintable()):
            continue
        if mark.match(character):
            assert kind == MARK, hex(code)
        elif not word.match(character) or raised.match(character):
            assert kind == NON_WORD, hex(code)
        elif script.match(character):
            assert kind == UNSPACED, hex(code)
        elif kind != UNSPACED:
            assert kind == SPACED, hex(code)
        else:
            assert shared.match(character), hex(code)


def test_a_mark_belongs_to_the_character_before() -> None:
    assert kinds_of("\u0301e\u0301\u0302 \u0301กั🙂\ufe0fa\ufe0f") == [0, 1, 1, 1, 0, 0, 2, 2, 0, 0, 1, 1]


def test_folding_expands_and_can_be_off() -> None:
    assert fold("ẞ İ ſ K ŉ", True) == "ss i̇ s k ʼn"
    assert fold("ẞ İ ſ K", False) == "ẞ I\u0307 ſ K"
