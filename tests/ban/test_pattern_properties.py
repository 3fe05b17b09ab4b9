"""Banned patterns against ``re``, which is asked about every span of a text in the context of the whole."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import RandomPattern, compiled
from tests.support.patterns.spans import Reader, check, earliest, spans
from tests.support.patterns.texts import TreeSampler, mutated, short_texts
from tests.support.running.tried import rounds, tried

from sfgen.automata import algebra
from sfgen.automata.compile import compile_bordered
from sfgen.automata.determinize import determinize
from sfgen.automata.dfa import Dfa
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import BORDER, build
from sfgen.ban.patterns import PatternAutomata
from sfgen.errors import BannedWordsError, PatternError
from sfgen.regex.ast import Border, Characters, concatenation, repeat
from sfgen.regex.oracle import read_pattern, ways

LETTERS = "ab \n"


def test_random_patterns_agree_with_re_on_every_span() -> None:
    refused: Counter[str] = Counter()
    accepted = pairs = matches = 0
    count = rounds(750)
    for seed in range(count):
        random = Random(seed)
        drawn = RandomPattern(random)
        try:
            compiled(drawn.text, ascii_only=False)
        except re.error:
            continue
        texts = [*short_texts(drawn.letters[:3]), *likely_texts(drawn, random)]
        try:
            automata = PatternAutomata([drawn.text])
        except PatternError as error:
            refused[error.reason] += 1
            if "no text at all" in error.reason:
                assert not any(spans(drawn.text, text) for text in texts), (seed, drawn.text)
            continue
        except BannedWordsError:
            refused["empty"] += 1
            text, place = empty_match(drawn.text)
            assert (place, place) in spans(drawn.text, text), (seed, drawn.text, text, place)
            continue
        accepted += 1
        for text in random.sample(texts, min(40, len(texts))):
            split = random.randint(0, len(text))
            assert not any(start == end for start, end in spans(drawn.text, text)), (seed, drawn.text, text)
            matches += check(drawn.text, automata, text[:split], text[split:])
            pairs += 1
    print(f"{accepted} patterns, {pairs} texts, {matches} matches; refused: {dict(refused)}")
    assert accepted > 0.4 * count
    assert matches > 6 * count


def likely_texts(drawn: RandomPattern, random: Random) -> Iterator[str]:
    """What the pattern may match, with something before and behind it; no longer than ``re`` takes."""
    tree = TreeSampler(drawn.text, drawn.letters)
    for _ in range(30):
        around = ["".join(random.choices(drawn.letters, k=random.randrange(3))) for _ in range(2)]
        text = f"{around[0]}{tree.text(random)}{around[1]}"
        if random.random() < 0.3:
            text = mutated(text, drawn.letters, random)
        if len(text) <= 12 and not any("\ud800" <= character <= "\udfff" for character in text):
            yield text


def empty_match(pattern: str) -> tuple[str, int]:
    """A text, and a place in it where the pattern matches the empty text: what the automaton itself says."""
    automaton, _, symbols = compile_bordered(pattern)
    anything = repeat(Characters(((0, len(symbols.members) - 1),)), 0, None)
    tree = concatenation([anything, Border(), Border(), anything])
    both = algebra.product(automaton, determinize(build(tree, pattern), pattern), algebra.Keep.BOTH, pattern)
    before, behind = (
        "".join(symbols.members[ord(symbol)] for symbol in half.decode())
        for half in Dfa(*minimize(both)).shortest().split(bytes([BORDER, BORDER]))
    )
    return before + behind, len(before)


class SmallPatterns:
    """A grammar of patterns about few letters, whose lookaheads decide themselves within two characters."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def choice(self, options: list[str]) -> str:
        return self.random.choice(options)

    def atom(self) -> str:
        return self.choice(["a", "b", "a", "b", " ", r"\n", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", "(?s:.)"])

    def look(self) -> str:
        kind = self.random.random()
        if kind < 0.5:
            return self.choice(["^", "$", r"\A", r"\Z", r"\b", r"\b", r"\B", "(?m:^)", "(?m:$)", "(?m:^)", "(?m:$)"])
        first = self.choice(["^", r"\b", "$"])
        inside = self.choice([self.atom(), self.atom() + self.atom(), first + self.atom()])
        if kind < 0.75:
            return f"(?<{self.choice(['=', '!'])}{inside})"
        ahead = self.choice([inside, inside, ".*b", r".*\Z", "a*b"])
        return f"(?{self.choice(['=', '!'])}{ahead})"

    def part(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.5 or not depth:
            return self.atom() + self.choice(["", "", "", "", "?", "*", "+", "{2}", "*?", "*+"])
        if kind < 0.75:
            return self.look()
        return f"(?:{self.pattern(depth - 1)}){self.choice(['', '', '?', '*', '+', '{1,2}'])}"

    def pattern(self, depth: int = 2) -> str:
        sequences = [
            "".join(self.part(depth) for _ in range(self.random.choice([1, 1, 2, 2, 3])))
            for _ in range(self.random.choice([1, 1, 1, 2]))
        ]
        return "|".join(sequences)


@lru_cache(maxsize=256)
def small_pattern(seed: int) -> tuple[str, PatternAutomata] | None:
    """The pattern with this number; ``None`` if it cannot be banned, or ``re`` might think about it for ever."""
    return readable(SmallPatterns(Random(seed)).pattern())


def readable(pattern: str) -> tuple[str, PatternAutomata] | None:
    read = read_pattern(pattern, ascii_only=False)
    if read is None or ways(read[1], 10) > 10_000:
        return None
    try:
        return pattern, PatternAutomata([pattern])
    except (PatternError, BannedWordsError):
        return None


def bannable(seed: int) -> tuple[str, PatternAutomata]:
    """The same, for those that can be banned only."""
    drawn = small_pattern(seed)
    assume(drawn is not None)
    assert drawn is not None
    return drawn


class UnicodePatterns(SmallPatterns):
    """The same about letters of Unicode, of which ``re.ASCII`` would see other things."""

    def atom(self) -> str:
        set_of = [r"\w", r"\W", r"\s", r"\S", r"\d", "[à-ü]", "[^é]", r"[\wé]", r"[^\s]", "[a-z]", "."]
        return self.choice([*UNICODE_LETTERS, *set_of])

    def part(self, depth: int) -> str:
        part = super().part(depth)
        return f"(?{self.choice(['i', 'i', 'i', 'a', 'u', 'ai'])}:{part})" if self.random.random() < 0.3 else part


@lru_cache(maxsize=256)
def unicode_pattern(seed: int) -> tuple[str, PatternAutomata] | None:
    random = Random(seed)
    pattern = random.choice(["", "", "(?i)", "(?i)", "(?a)", "(?ai)"]) + UnicodePatterns(random).pattern()
    return readable(pattern)


UNICODE_LETTERS = [
    *"aeéÉiIİısſßẞkσς٣3²_中",
    "\u212a", "\xa0", "\u2003", "\u0301", "\U00010400", "\U00010428",
]  # fmt: skip


@tried("many", mostly_assumed_away=True)
@given(st.integers(0, 1 << 20), *[st.lists(st.sampled_from([*UNICODE_LETTERS, " ", "\n"]), max_size=5)] * 2)
def test_patterns_mean_what_they_mean_to_re_in_any_script(seed: int, prompt: list[str], text: list[str]) -> None:
    drawn = unicode_pattern(seed)
    assume(drawn is not None)
    assert drawn is not None
    check(*drawn, "".join(prompt), "".join(text))


SEEDS = st.integers(0, 1 << 20)
TEXTS = st.text(LETTERS, max_size=5)
CONTINUATIONS = ["".join(letters) for length in range(4) for letters in product(LETTERS, repeat=length)]


@tried("many", mostly_assumed_away=True)
@given(SEEDS, TEXTS, TEXTS)
def test_small_patterns_agree_with_re_on_every_span(seed: int, prompt: str, text: str) -> None:
    check(*bannable(seed), prompt, text)


@tried(mostly_assumed_away=True)
@given(SEEDS, st.text(LETTERS, max_size=2), st.text(LETTERS, min_size=1, max_size=4))
def test_a_match_is_reported_as_soon_as_it_is_certain(seed: int, prompt: str, text: str) -> None:
    pattern, automata = bannable(seed)
    reader = Reader(automata, prompt)
    known = certain(pattern, prompt, len(prompt))
    for character in text:
        found = {(start, end) for end, _, start, _ in reader.read(character)}
        now = certain(pattern, reader.text, len(prompt))
        assert earliest(found) == earliest(now - known), (pattern, prompt, reader.text)
        known = now


def certain(pattern: str, text: str, prompt: int) -> set[tuple[int, int]]:
    """The spans that match whatever follows and end in the generated text."""
    ever = set.intersection(*(set(spans(pattern, text + more)) for more in CONTINUATIONS))
    return {(start, end) for start, end in ever if end > prompt}


@tried(mostly_assumed_away=True)
@given(SEEDS, st.text(LETTERS, max_size=3), st.text(LETTERS, max_size=3))
def test_open_from_is_where_the_earliest_match_under_way_begins(seed: int, prompt: str, text: str) -> None:
    pattern, automata = bannable(seed)
    reader = Reader(automata, prompt, text)
    whole = prompt + text
    done = certain(pattern, whole, len(prompt))
    possible = {
        start
        for more in CONTINUATIONS
        for start, end in spans(pattern, whole + more)
        if start < len(whole) and end > len(prompt) and (start, end) not in done
    }
    open_from = reader.open_from()
    if open_from is None or min(possible, default=None) != open_from:
        # Some matches need a longer continuation; then there is one, and `re` finds the match in it.
        assert open_from is not None or not possible, (pattern, prompt, text)
        if open_from is not None:
            assert open_from <= min(possible, default=open_from), (pattern, prompt, text)
            assert completes(reader, pattern, open_from), (pattern, prompt, text)


def completes(reader: Reader, pattern: str, start: int) -> bool:
    """Whether some continuation completes a match that begins there; the letters have one byte each."""
    threads, shift = reader.threads, len(reader.text) - reader.position
    seen = set()
    waiting = [(threads.mark(), "")]
    for mark, more in waiting:
        for character in LETTERS + "!":
            threads.reset(mark)
            text = reader.text + more
            found = threads.at_end()
            found += threads.step(character, len(text) - shift, len(text) + 1 - shift)
            for end, _, begun, _ in found:
                if begun + shift == start:
                    return {(start, end + shift)} <= spans(pattern, text) | spans(pattern, text + character)
            if (state := threads.state) not in seen:
                seen.add(state)
                waiting.append((threads.mark(), more + character))
    return False


@tried("some", mostly_assumed_away=True)
@given(SEEDS)
def test_equal_states_have_the_same_future(seed: int) -> None:
    pattern, automata = bannable(seed)
    futures: defaultdict[object, dict[tuple[bool, ...], str]] = defaultdict(dict)
    texts = ["".join(letters) for length in range(4) for letters in product("ab ", repeat=length)]
    for text in texts:
        for split in range(len(text) + 1):
            threads = Reader(automata, text[:split], text[split:]).threads
            mark = threads.mark()
            future = []
            for more in texts[1:]:
                threads.reset(mark)
                here = len(text[split:])
                found = [threads.step(letter, here + place, here + place + 1) for place, letter in enumerate(more)]
                future.append(any(found) or bool(threads.at_end()))
            threads.reset(mark)
            future.append(bool(threads.at_end()))
            futures[threads.state].setdefault(tuple(future), f"{text[:split]}|{text[split:]}")
    for state, different in futures.items():
        assert len(different) == 1, (pattern, state, list(different.values()))


@tried("some", mostly_assumed_away=True)
@given(st.lists(SEEDS, max_size=4), st.lists(st.sampled_from([*LETTERS, "mark", "reset"]), max_size=30), st.data())
def test_reset_is_as_if_nothing_had_been_read_since(seeds: list[int], actions: list[str], data: st.DataObject) -> None:
    chosen = [drawn[0] for seed in seeds if (drawn := small_pattern(seed)) is not None]
    automata = PatternAutomata(chosen)
    reader = Reader(automata, "")
    threads, text = reader.threads, ""
    marks = [(threads.mark(), "")]
    for action in actions:
        if action == "mark":
            marks.append((threads.mark(), text))
        elif action == "reset":
            mark, text = data.draw(st.sampled_from(marks))
            threads.reset(mark)
        else:
            threads.step(action, len(text), len(text) + 1)
            text += action
        fresh = Reader(automata, "", text).threads
        assert threads.state == fresh.state
        assert threads.at_end() == fresh.at_end()
        assert threads.open_from() == fresh.open_from()
