"""Characters that a matcher cannot tell apart: exchanged for each other, they leave every match where it was."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen import BannedWords
from sfgen.ban import scan
from sfgen.ban.characters import Seen
from sfgen.ban.state_table import character_classes, folding, text_classes

LETTERS = "ilI|ǀＩ²ⓑ½L\u0323ábABsk1_ .'ßİſ\u212a我ก\u0e31が🙂\u0301\u0345\u200bаｔ각ᾳϹισ⒜("

BANS = [
    BannedWords(["ab", "s 1", "a'b*", "我ก"]),
    BannedWords(["ab", "ska", "ß"], match="substring", ignore_case=False),
    BannedWords(["ab", "s 1", "illi", "a|b", "2b"], normalize=True, match="substring"),
    BannedWords(["at", "sa", "ก\u0e31", "각"], normalize=True, allow=["bat", "a sa"]),
    BannedWords(["a b"], [r"(?u)\b\w1", r"k.a", "[а-я]+s", r"(?i)s\W+a"]),
    BannedWords(patterns=["我+[^a]", r"_(?!_)"]),
]


@pytest.mark.parametrize("banned", BANS, ids=range(len(BANS)))
@tried("some")
@given(st.data(), st.integers(0, 1 << 30))
def test_members_of_a_class_are_interchangeable(banned: BannedWords, data: st.DataObject, seed: int) -> None:
    labels, members = character_classes(banned.automata, False)
    character = st.sampled_from(LETTERS) | st.sampled_from(members) | st.characters(exclude_categories=["Cs"])
    pieces = character | st.sampled_from([*banned.words, *banned.allow, "a"])
    random = Random(seed)
    for text in data.draw(st.lists(st.lists(pieces, max_size=8).map("".join), min_size=1, max_size=10)):
        # Some exchanged, some not: both directions are tried.
        other = "".join(random.choice([one, members[labels.number(ord(one))]]) for one in text)
        found = [places(text, banned), places(other, banned)]
        assert found[0] == found[1], (text, other)


def places(text: str, banned: BannedWords) -> set[tuple[str, int, int]]:
    """The matches, with their places in characters."""
    data = text.encode()
    return {
        (match.word, len(data[: match.start].decode()), len(data[: match.end].decode())) for match in scan(text, banned)
    }


@pytest.mark.parametrize("banned", BANS, ids=range(len(BANS)))
@given(st.lists(st.text(st.sampled_from(LETTERS) | st.characters(), max_size=4), min_size=1, max_size=40))
def test_texts_of_a_class_have_the_same_characters_but_for_their_classes(banned: BannedWords, texts: list[str]) -> None:
    labels, _ = character_classes(banned.automata, False)
    found = text_classes(banned.automata, texts).tolist()
    assert sorted(set(found)) == list(range(max(found) + 1))
    if banned.patterns:
        keys = [tuple(labels.number(ord(character)) for character in text) for text in texts]
        assert len(set(zip(found, keys, strict=True))) == len(set(found)) == len(set(keys))


@pytest.mark.parametrize("banned", BANS, ids=range(len(BANS)))
def test_ascii_alone_is_the_beginning_of_all(banned: BannedWords) -> None:
    labels, members = character_classes(banned.automata, False)
    some, some_members = character_classes(banned.automata, True)
    assert len({(some.number(one), labels.number(one)) for one in range(128)}) == len(some_members)
    assert len(some_members) == len({labels.number(one) for one in range(128)})
    assert {some.number(code) for code in range(128, 0x110000, 61)} == {-1}
    assert all(labels.number(ord(member)) == number for number, member in enumerate(members))
    assert {labels.number(code) for code in range(0xD800, 0xE000)} == {-1}


@pytest.mark.parametrize(("ignore_case", "normalize"), [(True, False), (False, False), (True, True), (False, True)])
def test_what_is_known_of_all_characters_is_so(ignore_case: bool, normalize: bool) -> None:
    classes, numbers, _ = folding(ignore_case, normalize, 0x110000)
    seen = Seen((), ignore_case, normalize)
    random = Random(0)
    # Every letter that could be odd, and a sample of all.
    codes = [*range(0x3100), *range(0xA640, 0xAC80), *range(0xF900, 0x10800), *random.sample(range(0x110000), 20_000)]
    for code in codes:
        if not 0xD800 <= code < 0xE000:
            key = seen[chr(code)]
            assert classes[code] == numbers.get(key, key), hex(code)
