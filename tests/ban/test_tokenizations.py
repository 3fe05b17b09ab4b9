from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.vocabularies import BYTES, loaded

from sfgen.ban.tokenizations import MATCHED, Route, Routes, transitions
from sfgen.errors import BannedWordsError
from sfgen.vocabulary import Vocabulary

DATA = Path(__file__).resolve().parent.parent / "data"
Table = dict[int, list[tuple[int, int]]]


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What the document prints for Gemma-2: the words, the tokens that take part, the routes, the state table."""
    data: dict[str, Any] = json.loads((DATA / "banned_routes.json").read_text(encoding="utf-8"))
    return data


def printed_table(printed: dict[str, Any]) -> Table:
    return {int(state): [(token, following) for token, following in row] for state, row in printed["fsm"].items()}


def ids_of(routes: Routes) -> list[tuple[int, ...]]:
    return [route.token_ids for route in routes]


def vocabulary_of(ids: dict[str, int]) -> Vocabulary:
    """Tokens by their strings, where ``▁`` is a space."""
    tokens: list[bytes | None] = [None] * (1 + max(ids.values()))
    for token, token_id in ids.items():
        tokens[token_id] = token.replace("▁", " ").encode()
    return Vocabulary(tokens)


# --- the printed example -------------------------------------------------------------------------------------------


def test_the_printed_routes(printed: dict[str, Any]) -> None:
    routes = Routes(vocabulary_of(printed["vocab"] | {"▁": 235248}), printed["words"])
    assert routes.count == 140
    assert set(ids_of(routes)) == set(map(tuple, printed["routes"]))
    assert len(ids_of(routes)) == 140
    names = {token_id: name for name, token_id in printed["vocab"].items()}
    texts = ["".join(names[token] for token in route).replace("▁", " ").strip() for route in printed["routes"]]
    assert routes.counts == {word: texts.count(word) for word in printed["words"]}
    assert len(routes.transitions()) == 150


def test_the_printed_order_and_state_numbers(printed: dict[str, Any]) -> None:
    """Routes are in the order of the tokens, which in the document was a hash table's: numbered so, all agrees."""
    order = hash_order(printed["routes"])
    order += sorted(set(printed["vocab"].values()) - set(order))
    names = {token_id: name for name, token_id in printed["vocab"].items()}
    renumbered = vocabulary_of({names[token_id]: number for number, token_id in enumerate(order)})
    routes = Routes(renumbered, printed["words"])
    assert [[order[token] for token in route] for route in ids_of(routes)] == printed["routes"]
    table = {state: [(order[token], after) for token, after in row] for state, row in routes.transitions().items()}
    assert table == printed_table(printed)
    assert list(table) == sorted(table)


def test_the_state_table_of_the_printed_routes(printed: dict[str, Any]) -> None:
    assert transitions(Route("", tuple(ids)) for ids in printed["routes"]) == printed_table(printed)


def test_the_routes_of_gemma(printed: dict[str, Any], real_tokenizer_directory: Callable[[str], Path]) -> None:
    """Over all 256 000 tokens, with byte-fallback tokens that write ``t``, ``a``, ``l`` and ``k`` as well."""
    routes = Routes(loaded(real_tokenizer_directory("gemma2"))[1], printed["words"])
    found = list(routes)
    assert routes.count == len(found) == 140
    assert {route.token_ids for route in found} == set(map(tuple, printed["routes"]))
    in_printed_order = sorted(found, key=lambda route: printed["routes"].index(list(route.token_ids)))
    assert transitions(in_printed_order) == printed_table(printed)
    assert len(routes.transitions()) == 150


def hash_order(routes: list[list[int]]) -> list[int]:
    """An order of the tokens in which the routes of each length come by their last token, then by the one before."""
    from graphlib import TopologicalSorter

    before: dict[int, set[int]] = {}
    for first, second in pairwise(routes):
        if len(first) == len(second):
            earlier, later = next((a, b) for a, b in zip(first[::-1], second[::-1], strict=True) if a != b)
            before.setdefault(later, set()).add(earlier)
    return list(TopologicalSorter(before).static_order())  # raises if there is none


# --- against brute force -------------------------------------------------------------------------------------------

PIECES = [text.encode() for length in (1, 2, 3) for text in map("".join, product("ab ", repeat=length))]
WORDS = st.lists(st.from_regex(r"[ab]{1,4}( [ab]{1,2})?", fullmatch=True), min_size=1, max_size=3)


def brute_force(vocabulary: Vocabulary, words: list[str]) -> dict[tuple[int, ...], str]:
    """Every sequence of tokens, by extending all that are a beginning of a word; with its word."""
    spelled = {space + word.encode(): word for word in reversed(words) for space in (b"", b" ")}
    tokens = [(number, token) for number, token in enumerate(vocabulary.tokens) if token]
    joins_blanks = any(b" " in token and token.strip() for _, token in tokens)
    found = {}
    open_routes: list[tuple[tuple[int, ...], bytes]] = [((), b"")]
    while open_routes:
        route, text = open_routes.pop()
        if text in spelled:
            found[route] = spelled[text]
        for number, token in tokens:
            if token.isspace() and (joins_blanks or not text):
                continue
            if any(word.startswith(text + token) for word in spelled):
                open_routes.append(((*route, number), text + token))
    return found


@given(st.lists(st.none() | st.sampled_from(PIECES), max_size=24), WORDS)
def test_all_routes_in_order(tokens: list[bytes | None], words: list[str]) -> None:
    vocabulary = Vocabulary(tokens)
    routes = Routes(vocabulary, words)
    expected = brute_force(vocabulary, words)
    assert routes.count == len(expected)
    assert {route.token_ids: route.word for route in routes} == expected
    assert ids_of(routes) == sorted(expected, key=lambda ids: (len(ids), ids[::-1]))
    assert routes.counts == {word: list(expected.values()).count(word) for word in words}


@given(st.lists(st.sampled_from(PIECES), max_size=24), WORDS, st.none() | st.integers(0, 30))
def test_the_state_table_reads_what_was_entered(tokens: list[bytes], words: list[str], limit: int | None) -> None:
    routes = Routes(Vocabulary(tokens), words)
    table = routes.transitions(limit)
    assert list(table) == list(range(len(table)))
    entered = [route.token_ids for route in islice(routes, limit)]

    def complete_after(ids: tuple[int, ...]) -> int | None:
        """How many tokens complete a word."""
        state = 0
        for number, token in enumerate(ids, 1):
            following = dict(table[state]).get(token)
            if following is None:
                return None
            if following == MATCHED:
                return number
            state = following
        return None

    for ids in entered:
        assert complete_after(ids) == min(len(other) for other in entered if ids[: len(other)] == other)
    ways = {ids[:length] for ids in entered for length in range(1, len(ids) + 1)}
    for way in ways:
        assert complete_after((*way[:-1], len(tokens))) is None or complete_after(way[:-1]) is not None


# --- what counts ---------------------------------------------------------------------------------------------------


def test_a_word_with_a_billion_routes() -> None:
    routes = Routes(Vocabulary([b"a", b"aa"]), ["a" * 500])
    fibonacci = [1, 1]
    while len(fibonacci) <= 500:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert routes.count == fibonacci[500]  # the word after a space has none: nothing writes a space
    first, second, third = (route.token_ids for route in islice(routes, 3))
    assert first == (1,) * 250
    assert (second, third) == ((*(1,) * 249, 0, 0), (*(1,) * 248, 0, 1, 0))
    assert len(routes.transitions(1)) == 250


def test_tokens_of_white_space_alone_do_not_count() -> None:
    vocabulary = Vocabulary([b"f", b"g", b" ", b" g", b"\t", "\u3000".encode(), b" f"])
    assert ids_of(Routes(vocabulary, ["f g", "f\tg", "f\u3000g"])) == [(0, 3), (6, 3)]


def test_white_space_alone_counts_within_a_phrase_where_no_token_joins_it() -> None:
    routes = Routes(Vocabulary([b"f", b"g", b" ", b"  ", b"fg"]), ["f g", "f  g", "fg"])
    assert ids_of(routes) == [(4,), (0, 1), (0, 2, 1), (0, 3, 1), (0, 2, 2, 1)]


def test_special_and_end_tokens_do_not_count() -> None:
    assert ids_of(Routes(Vocabulary([b"a", None, b"a", b"a"], end_token_ids=[0]), ["a"])) == [(2,), (3,)]


def test_byte_fallback_counts_where_nothing_else_writes_the_byte() -> None:
    tokens: list[bytes | None] = [None, None, *BYTES, b"t", b" t", "聊".encode()]
    routes = Routes(Vocabulary(tokens), ["t", "聊"])
    fallback = tuple(2 + byte for byte in "聊".encode())
    assert set(ids_of(routes)) == {(258,), (259,), (260,), fallback}  # a space alone does not count
    # In the other order of ids it is the same.
    routes = Routes(Vocabulary([b"t", *BYTES]), ["t"])
    assert ids_of(routes) == [(0,)]


def test_a_byte_level_vocabulary_has_no_fallback() -> None:
    routes = Routes(Vocabulary(BYTES), ["ab"])
    assert ids_of(routes) == [(97, 98)]


def test_words_are_taken_as_they_are_written() -> None:
    vocabulary = Vocabulary([b"T", b"t", b"*", b"x"])
    assert [(route.word, route.token_ids) for route in Routes(vocabulary, ["T", " t* ", r"x\*", "t"])] == [
        ("T", (0,)),
        (" t* ", (1,)),
        (r"x\*", (3, 2)),
    ]


def test_what_cannot_be_spelled_has_no_routes() -> None:
    routes = Routes(Vocabulary([b"a"]), ["a", "b"])
    assert routes.counts == {"a": 1, "b": 0}
    assert Routes(Vocabulary([]), ["a"]).count == 0
    assert list(Routes(Vocabulary([]), ["a"])) == []
    assert Routes(Vocabulary([]), ["a"]).transitions() == {0: []}


@pytest.mark.parametrize("words", [[], [""], ["a", " "], ["*"]])
def test_words_that_say_nothing(words: list[str]) -> None:
    with pytest.raises(BannedWordsError):
        Routes(Vocabulary([b"a"]), words)


def test_a_route_that_goes_on_after_a_word_adds_nothing() -> None:
    routes = Routes(Vocabulary([b"a", b"b"]), ["a", "ab", "abb"])
    assert ids_of(routes) == [(0,), (0, 1), (0, 1, 1)]
    assert routes.transitions() == {0: [(0, MATCHED)]}
