"""The language of a pattern's automaton against ``re.fullmatch``, the one oracle; and against other engines."""

from __future__ import annotations

import random
import re
import warnings

import interegular
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import regex
from sfgen.automata import Dfa
from sfgen.errors import PatternError

# Characters that tell the rules apart: case pairs within and beyond ASCII, white space, digits, all UTF-8 lengths.
ALPHABET = "abkKsS1_ -.\n\u00e9\u00c9\u017f\u212a\u0130\u0131\u00b5\u03bc\u0660\u2022\U00010400\U00010428\U0001f600"
ESCAPES = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\x41", r"\u00e9", r"\U0001F600", r"\N{BULLET}", r"\101", r"\0", r"\n",
    r"\.", r"\-",
]  # fmt: skip

literals = st.sampled_from(ALPHABET).map(re.escape)
members = st.one_of(
    st.sampled_from(ALPHABET).map(re.escape),
    st.sampled_from(ESCAPES),
    st.tuples(st.sampled_from(ALPHABET), st.sampled_from(ALPHABET)).map(
        lambda pair: "-".join(map(re.escape, sorted(pair)))
    ),
)
classes = st.builds(
    lambda no, inside: f"[{no}{''.join(inside)}]", st.sampled_from(["", "^"]), st.lists(members, min_size=1, max_size=4)
)
atoms = st.one_of(literals, literals, st.just("."), st.sampled_from(ESCAPES), classes)
groups = st.sampled_from(["(", "(?:", "(?P<@>", "(?i:", "(?s:", "(?u:", "(?a:", "(?-i:", "(?x: ", "(?ui:", "(?m:"])
counts = st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,3}", "{,2}", "{2,}", "{ 2}", "{,}"])


def combined(parts: st.SearchStrategy[str], *, extras: bool) -> st.SearchStrategy[str]:
    ways = [
        st.lists(parts, max_size=3).map("".join),
        st.builds(
            lambda group, branches: f"{group}{'|'.join(branches)})", groups, st.lists(parts, min_size=1, max_size=3)
        ),
        st.builds(lambda part, count, kind: f"(?:{part}){count}{kind}", parts, counts, st.sampled_from(["", "?"])),
        st.builds(lambda atom, count: f"{atom}{count}", atoms, counts),
    ]
    if extras:
        ways += [
            st.builds(lambda anchor, part: anchor + part, st.sampled_from(["^", "$", r"\A", r"\Z"]), parts),
            st.builds(lambda part, anchor: part + anchor, parts, st.sampled_from(["^", "$", r"\A", r"\Z"])),
            st.builds(lambda atom, count: f"{atom}{count}+", atoms, counts),
            parts.map(lambda part: f"(?>{part})"),
        ]
    return st.one_of(ways)


def whole(extras: bool) -> st.SearchStrategy[str]:
    def finished(flags: str, branches: list[str]) -> str:
        pieces = f"{flags}{'|'.join(branches)}".split("@")
        return "".join(piece + (f"g{i}" if i < len(pieces) - 1 else "") for i, piece in enumerate(pieces))

    bodies = st.recursive(atoms, lambda parts: combined(parts, extras=extras), max_leaves=8)
    flags = st.sampled_from(["", "", "(?i)", "(?u)", "(?iu)", "(?s)", "(?m)", "(?x)", "(?a)(?i)"])
    return st.builds(finished, flags, st.lists(bodies, min_size=1, max_size=2))


def compiled(pattern: str) -> re.Pattern[str]:
    """The oracle: ``re.ASCII``, or not where the pattern says ``(?u)``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern, re.ASCII)
        except ValueError as error:
            if isinstance(error, re.error):
                raise
            return re.compile(pattern)


def random_text(dfa: Dfa, generator: random.Random) -> str:
    """A text of the language by a random walk that heads for the end after a while."""
    longest = generator.randrange(12)
    data, state = bytearray(), 0
    while not (dfa.accepting[state] and (len(data) >= longest or generator.random() < 0.2)):
        bytes_on = [byte for byte in range(256) if dfa.step(state, byte) >= 0]
        if not bytes_on:
            break
        if len(data) >= longest:
            return (bytes(data) + shortest_from(dfa, state)).decode()
        byte = generator.choice(bytes_on)
        data.append(byte)
        state = dfa.step(state, byte)
    return data.decode()


def shortest_from(dfa: Dfa, state: int) -> bytes:
    paths = {state: b""}
    queue = [state]
    for here in queue:
        if dfa.accepting[here]:
            return paths[here]
        for byte in range(256):
            target = dfa.step(here, byte)
            if target >= 0 and target not in paths:
                paths[target] = paths[here] + bytes([byte])
                queue.append(target)
    raise AssertionError("a state that reaches no accepting one")


def mutated(text: str, generator: random.Random) -> str:
    characters = list(text)
    for _ in range(generator.randrange(1, 3)):
        place = generator.randrange(len(characters) + 1)
        match generator.randrange(4):
            case 0:
                characters.insert(place, generator.choice(ALPHABET))
            case 1 if place < len(characters):
                del characters[place]
            case 2 if place < len(characters):
                characters[place] = generator.choice([characters[place].swapcase()[0], generator.choice(ALPHABET)])
            case _:
                characters.append("\n")
    return "".join(characters)


def texts_for(dfa: Dfa | None, generator: random.Random) -> list[str]:
    texts = ["", "\n", *("".join(generator.choices(ALPHABET, k=generator.randrange(1, 6))) for _ in range(8))]
    if dfa is not None:
        matching = [random_text(dfa, generator) for _ in range(6)]
        texts += matching + [mutated(text, generator) for text in matching for _ in range(3)]
    return [text for text in texts if len(text) <= 40]


def check(pattern: str, seed: int) -> bool:
    oracle = compiled(pattern)
    try:
        dfa = Dfa.from_regex(pattern)
    except PatternError as error:
        if "no text at all" not in error.reason:
            return False
        dfa = None
    for text in texts_for(dfa, random.Random(seed)):
        expected = oracle.fullmatch(text) is not None
        assert (dfa is not None and dfa.accepts(text)) == expected, (pattern, text)
    return True


slow = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@slow
@given(whole(extras=False), st.integers(0, 1 << 30))
def test_supported_constructs_agree_with_re(pattern: str, seed: int) -> None:
    assert check(pattern, seed), f"{pattern!r} was refused"


@slow
@given(whole(extras=True), st.integers(0, 1 << 30))
def test_anchors_and_atomic_groups_agree_with_re_or_are_refused(pattern: str, seed: int) -> None:
    try:
        compiled(pattern)
    except re.error:
        # A quantifier behind an anchor: the message and the place are those of `re`.
        with pytest.raises(PatternError, match=r"nothing to repeat|multiple repeat"):
            Dfa.from_regex(pattern)
        return
    check(pattern, seed)


readable_elsewhere = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "\u00e9", "[a-k]", r"\."]),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"({'|'.join(branches)})"),
        st.builds(lambda part, count: f"({part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])),
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(readable_elsewhere, st.integers(0, 1 << 30))
def test_agrees_with_interegular(pattern: str, seed: int) -> None:
    other = interegular.parse_pattern(pattern).to_fsm()
    dfa = Dfa.from_regex(pattern)
    for text in texts_for(dfa, random.Random(seed)):
        assert dfa.accepts(text) == other.accepts(text), text


@settings(max_examples=60, deadline=None)
@given(st.data(), whole(extras=False))
def test_accepts_what_hypothesis_generates(data: st.DataObject, pattern: str) -> None:
    strategy = st.from_regex(compiled(pattern), fullmatch=True, alphabet=st.characters(codec="utf-8"))
    try:
        dfa = Dfa.from_regex(pattern)
    except PatternError as error:
        assume("no text at all" not in error.reason)
        raise
    text = data.draw(strategy)
    assert dfa.accepts(text)


PROPERTIES = [r"\p{L}", r"\P{Lu}", r"\pN", r"[^\p{Greek}\p{Nd}]", r"[\p{Ll}_-]", r"[\P{L}k]", r"\p{Script=Cyrillic}",
              r"[^\p{L}]", r"\p{^L}"]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(PROPERTIES), min_size=1, max_size=2),
    st.sampled_from(["", "+", "{1,2}", "|x"]),
    st.integers(0, 1 << 30),
)
def test_properties_agree_with_the_regex_package(pieces: list[str], count: str, seed: int) -> None:
    pattern = "(?u)" + "".join(pieces) + count
    oracle = regex.compile(pattern)
    dfa = Dfa.from_regex(pattern)
    generator = random.Random(seed)
    for text in [*sampled_characters(generator), *texts_for(dfa, generator)]:
        assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


@pytest.mark.parametrize("name", [r"\p{Lu}", r"\P{Lu}", r"\p{Lt}", r"\p{Greek}", r"\P{L}", r"[^\p{Ll}]"])
def test_properties_ignoring_case(name: str) -> None:
    # Alone only. Beside other members `regex` treats the property as another set: (?i)\P{Lu}|x matches small letters
    # that have no capital, (?i)\P{Lu} does not. Here a property is the same set everywhere.
    oracle = regex.compile(f"(?i){name}")
    dfa = Dfa.from_regex(f"(?i){name}")
    for text in sampled_characters(random.Random(1), 3000):
        assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


def sampled_characters(generator: random.Random, count: int = 60) -> list[str]:
    return [chr(code) for code in generator.choices([*range(0x3000), *range(0x10000, 0x10500)], k=count)]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a$", "a\n", False),
        ("^a$", "a", True),
        (r"\Aa\Z|b", "b", True),
        ("a^b|c", "c", True),
        ("a^b|c", "ab", False),
        ("(?:^a)?b", "ab", True),
        ("(?m)^a$", "a", True),
        ("x$yz|w", "w", True),
        ("(?:a|)*?b", "aab", True),
        (r"(?x) a  b # comment \n c", "ab", True),
        (r"(?#note)a(?-i:b)", "ab", True),
        (r"[]a]+", "]a", True),
        (r"[^]]", "]", False),
        ("a{,2}", "aa", True),
        ("a{x}", "a{x}", True),
        ("{", "{", True),
        ("\\\n", "\n", True),
        ("[\ud800-\udfffa]", "a", True),
        (r"\377", "\xff", True),
        (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\0610", "abcdefghij10", True),
        ("x*+y", "xxy", True),
        ("[a-f]++[0-9]", "abc1", True),
        ("(?>ab)c", "abc", True),
        ("(?:x*+y)*", "xyy", True),
        (r"(?i:k)K", "\u212aK", False),
        (r"(?iu:k)K", "\u212aK", True),
    ],
)
def test_cases(pattern: str, text: str, expected: bool) -> None:
    assert (compiled(pattern).fullmatch(text) is not None) == expected
    assert Dfa.from_regex(pattern).accepts(text) == expected
