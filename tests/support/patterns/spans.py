"""Every span of a text that a pattern matches, asked of ``re``; and what the threads of a banned pattern say of it."""

from __future__ import annotations

import re
from functools import lru_cache

from tests.support.patterns.random_patterns import compiled

from sfgen.ban.automaton import Automaton, RawMatch, Run
from sfgen.ban.patterns import PatternAutomata


@lru_cache(maxsize=4096)
def ending(pattern: str, behind: int) -> re.Pattern[str]:
    """The pattern, where so many characters follow its match."""
    flags, body = re.fullmatch(r"(?s)((?:\(\?[aimsux]+\))*)(.*)", pattern).groups()  # type: ignore[union-attr]
    newline = "\n" if "x" in flags else ""  # it ends a comment
    return compiled(f"{flags}(?:{body}{newline})(?=(?s:.{{{behind}}})\\Z)", ascii_only=False)


@lru_cache(maxsize=1 << 14)
def spans(pattern: str, text: str) -> frozenset[tuple[int, int]]:
    """Every start and end, in characters, between which the pattern matches."""
    return frozenset(
        (start, end)
        for end in range(len(text) + 1)
        for start in range(end + 1)
        # What stands before the place where a match begins stays visible to it.
        if ending(pattern, len(text) - end).match(text, start)
    )


def offsets(prompt: str, text: str) -> list[int]:
    """The byte offset of each character and of the end, from the end of the prompt."""
    sizes = [len(character.encode()) for character in prompt + text]
    return [sum(sizes[:place]) - len(prompt.encode()) for place in range(len(sizes) + 1)]


@lru_cache(maxsize=64)
def automaton_of(automata: PatternAutomata) -> Automaton:
    """The automaton of patterns alone."""
    return Automaton((), automata.patterns)


class PatternThreads(Run):
    """The partial matches of patterns in one text; the prompt comes first, and ends at 0."""

    def __init__(self, automata: PatternAutomata, position: int) -> None:
        super().__init__(automaton_of(automata), position)

    def step(self, character: str, start: int, end: int) -> list[RawMatch]:
        if end > 0 and self.state.is_in_prompt:
            self.begin()
        return list(super().step(character, start, end))

    def open_from(self) -> int | None:
        return min([*self.starts, *(start for spans in self.waiting for _, start in spans)], default=None)


class Reader:
    """Threads and the text that they read; all offsets are shown in characters."""

    def __init__(self, automata: PatternAutomata, prompt: str, text: str = "") -> None:
        self.prompt = prompt
        self.text = ""
        self.threads = PatternThreads(automata, -len(prompt.encode()))
        self.position = -len(prompt.encode())
        self.places = {self.position: 0}
        self.found: list[list[RawMatch]] = []
        for character in prompt + text:
            self.read(character)

    def read(self, character: str) -> list[RawMatch]:
        end = self.position + len(character.encode())
        found = self.threads.step(character, self.position, end)
        self.text += character
        self.position = end
        self.places[end] = len(self.text)
        for match_end, by_boundary, start, _ in found:
            assert start < match_end <= end
            assert by_boundary == (match_end < end)
        self.found.append(self.in_characters(found))
        return self.found[-1]

    def in_characters(self, found: list[RawMatch]) -> list[RawMatch]:
        return [(self.places[end], flag, self.places[start], number) for end, flag, start, number in found]

    def at_end(self) -> list[RawMatch]:
        return self.in_characters(self.threads.at_end())

    def open_from(self) -> int | None:
        start = self.threads.open_from()
        return None if start is None else self.places[start]


def check(pattern: str, automata: PatternAutomata, prompt: str, text: str) -> int:
    """All that is said about a text; how many matches it has."""
    whole = prompt + text
    expected = {(start, end) for start, end in spans(pattern, whole) if end > len(prompt)}
    reader = Reader(automata, prompt, text)
    at_end = reader.at_end()
    found = {(start, end) for matches in [*reader.found, at_end] for end, _, start, _ in matches}
    assert found <= expected, (pattern, prompt, text)
    assert earliest(found) == earliest(expected), (pattern, prompt, text)
    for read, matches in enumerate(reader.found, 1):
        assert not matches or read > len(prompt), (pattern, prompt, text)
    assert all(flag for _, flag, _, _ in at_end)
    return len(found)


def earliest(found: set[tuple[int, int]]) -> dict[int, int]:
    """The earliest start for each end."""
    return {end: min(start for start, other in found if other == end) for _, end in found}
