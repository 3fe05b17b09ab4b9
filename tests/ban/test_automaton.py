"""The automaton of a ban: its steps are remembered, bounded and shared, and change nothing."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from sfgen.ban import BannedWords, Match
from sfgen.ban import automaton as module
from sfgen.ban.patterns import Contexts

Log = list[tuple[Match | None, Match | None, int | None]]


def read(banned: BannedWords, text: str) -> Log:
    """What a matcher says of a text, character by character."""
    matcher = banned.matcher(b"a ")
    return [(matcher.advance(letter.encode()), matcher.finish(), matcher.open_from()) for letter in text]


def some_words(generator: random.Random, count: int) -> list[str]:
    return ["".join(generator.choices("abc", k=generator.randint(1, 9))) for _ in range(count)]


def test_twenty_thousand_words() -> None:
    generator = random.Random(0)
    words = sorted({"".join(generator.choices("abcdefgh", k=generator.randint(4, 12))) for _ in range(20_000)})
    matcher = BannedWords(words, match="substring").matcher()
    text = "".join(generator.choices(words, k=50))
    found = {(end, words[number]) for end, _, _, number in matcher.all_certain(text.encode())}
    known = set(words)
    assert found == {
        (end, text[start:end]) for end in range(len(text) + 1) for start in range(max(0, end - 12), end)
        if text[start:end] in known
    }  # fmt: skip


def test_threads_that_share_an_automaton_find_what_one_alone_finds() -> None:
    generator = random.Random(1)
    words = some_words(generator, 3000)
    texts = ["".join(generator.choices("abc ", k=400)) for _ in range(8)]
    with ThreadPoolExecutor(len(texts)) as pool:
        together = list(pool.map(partial(read, BannedWords(words)), texts))
    assert together == [read(BannedWords(words), text) for text in texts]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(2)
    words, text = some_words(generator, 200), "".join(generator.choices("abc .", k=600))
    unbounded = read(BannedWords(words, ["a.{3}b"], allow=["ab c"]), text)
    monkeypatch.setattr(module, "MOST_STEPS", 10)
    banned = BannedWords(words, ["a.{3}b"], allow=["ab c"])
    matcher, bounded = banned.matcher(b"a "), []
    automaton = banned.automata
    for letter in text:
        bounded.append((matcher.advance(letter.encode()), matcher.finish(), matcher.open_from()))
        assert sum(len(state.steps) for state in automaton._states.values()) <= 10
        assert len(automaton._states) <= 24  # the targets of these steps, and of the texts that went on
    assert bounded == unbounded


def test_states_with_many_threads_are_bounded_by_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that overlaps itself has a thread for each of its beginnings."""
    monkeypatch.setattr(module, "MOST_STEPS", 200)
    word = "=" * 400
    banned = BannedWords([word], match="substring")
    matcher = banned.matcher()
    for _ in word[1:]:
        assert matcher.advance(b"=") is None
        assert sum(state.words for state in banned.automata._states.values()) < 3000
    assert matcher.open_from() == 0
    assert matcher.advance(b"=") == Match(word, 0, 400)


@pytest.mark.parametrize("patterns", [[], [r"a.{6}b", r"b.{5}c\b"]])
def test_nothing_hangs_on_the_start_for_ever(monkeypatch: pytest.MonkeyPatch, patterns: list[str]) -> None:
    """The start is held, however often all is forgotten, and so would be what its steps lead to."""
    monkeypatch.setattr(module, "MOST_STEPS", 200)
    generator = random.Random(3)
    banned = BannedWords(some_words(generator, 400), patterns, match="substring")
    for _ in range(400):
        banned.matcher("".join(generator.choices("abc .", k=30)).encode())
    states, contexts = {id(banned.automata.start): banned.automata.start}, dict[int, Contexts]()
    waiting = list(states.values())
    for state in waiting:
        known = state.content.patterns and state.content.patterns.contexts
        contexts |= {} if known is None else {id(known): known}
        new = {id(step.target): step.target for step in state.steps.values()}
        waiting += [target for number, target in new.items() if number not in states]
        states |= new
    further = list(contexts.values())
    for each in further:
        new_contexts = {id(target): target for target, _ in each.steps.values()}
        further += [target for number, target in new_contexts.items() if number not in contexts]
        contexts |= new_contexts
    assert sum(len(state.steps) for state in states.values()) <= 200
    assert sum(len(each.steps) for each in contexts.values()) <= 200
    assert len(states) <= 201
    assert len(contexts) <= 201


def test_texts_go_on_from_states_that_were_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    banned = BannedWords(["small talk"], [r"\bnot\b.*\bbut\b"])
    matcher = banned.matcher()
    assert matcher.advance(b"not small ta") is None
    mark = matcher.mark()
    banned.automata._forget()
    assert matcher.advance(b"lk") is None
    assert matcher.finish() == Match("small talk", 4, 14)
    matcher.reset(mark)
    assert matcher.advance(b"les, but") is None
    assert matcher.advance(b".") == Match(r"\bnot\b.*\bbut\b", 0, 20)


def test_equal_states_are_one() -> None:
    banned = BannedWords(["talk", "c++ d"], allow=["small talk"])
    one, other = banned.matcher(), banned.matcher()
    one.advance(b"small ta")
    other.advance(b"Oh, SMALL... ta")
    assert one._after._run.state is other._after._run.state
    assert one.open_from() == 6
    assert other.open_from() == 13


def test_a_gap_swallows_what_may_also_be_literal() -> None:
    banned = BannedWords(["c+ +d"])
    assert banned.matcher().advance(b"c++d ") is None
    assert banned.matcher().advance(b"c+x+d ") is None
    for text in (b"c+ +d ", b"c++++d "):
        assert banned.matcher().advance(text) == Match("c+ +d", 0, len(text) - 1)


def test_of_threads_that_become_one_the_earliest_start_stays() -> None:
    assert BannedWords([": d"]).matcher().advance(b":::d ") == Match(": d", 0, 4)
