r"""The engine ``naive``: every token is tried at every step (Louf, Klett and Simpson 2023).

1. Start with the empty text.
2. Append every token of the vocabulary to it.
3. Ask the ``regex`` package, which knows partial matches, whether the result can become a match.
4. Choose among the tokens with which it can, and go back to 2.

A step takes as many partial matches as there are tokens, each as long as the text so far, and every partial match may
itself take long with a pattern that can read a text in many ways, such as ``(a|a)*b``.

Limits: as in the engine ``fsm``, a token is allowed if some text can follow it, whether or not the
vocabulary can write that text and whether or not it fits into the limit of tokens. With lookarounds, possessive repeats
and atomic groups even that is not certain: the partial match of ``regex`` then takes some texts that no match begins
with (``a*+ab`` and ``aa``), and the text may come to a position where nothing can follow. It never misses a match.

``regex`` and ``re`` differ in what ``(?i)`` and ``\w`` mean, in names and comments, and in ``{e}`` and ``[[:alpha:]]``;
and where a lazy repeat stands before a character, the partial match of ``regex`` takes texts that no match begins with
(``a+?b`` and ``aac``). So ``spelled`` writes the tree of ``re``'s own parser anew for ``regex``: with explicit sets of
characters, without flags, capturing groups and lazy repeats, which mean the same texts as greedy ones.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import regex
from sfgen import arguments
from sfgen.errors import PatternError
from sfgen.groups import Group
from sfgen.reference.guide import CharacterClasses, ReferenceGuide, character_sets, characters_from, refusal, split
from sfgen.regex import oracle, parse, settle
from sfgen.regex.ast import Alternation, Atomic, Characters, Concatenation, Look, Node, Repeat, is_nothing
from sfgen.regex.characters import Ranges
from sfgen.vocabulary import Vocabulary

State: TypeAlias = tuple[str, bytes]
"""The text so far: its whole characters, and the bytes of an unfinished one."""


class NaiveIndex:
    r"""The index that tries every token at each text.

    Args:
        pattern: The pattern, of Python's ``re`` with ``re.ASCII`` or ``(?u)``.
        vocabulary: The tokens.

    Attributes:
        classes: The classes of characters that the pattern tells apart.

    Raises:
        PatternError: The pattern cannot be read, or it matches no text at all.

    >>> index = NaiveIndex(r"[0-9]+\.[0-9]", Vocabulary([b"a", b".", b".2", b"1"]))
    >>> for text in ("", "1", "1.", "1.2"):
    ...     print(text, [text + index.vocabulary.text(token) for token in index.allowed_tokens((text, b""))])
     ['1']
    1 ['1.', '1.2', '11']
    1. ['1.1']
    1.2 []
    """

    start: State = ("", b"")

    def __init__(self, pattern: str, vocabulary: Vocabulary) -> None:
        self.pattern = pattern
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        tree = settle(parse(pattern))
        if is_nothing(tree):
            raise PatternError("it matches no text at all", pattern)
        self._regex = regex.compile(spelled(tree), regex.V0)
        self.classes = CharacterClasses(character_sets(tree))
        # The tokens by how they begin and end: with whole characters, or within one.
        self._whole: list[str] = []
        whole, self._unfinished, self._within = [], list[tuple[int, str, bytes]](), list[int]()
        for token in vocabulary.text_token_ids.tolist():
            parts = split(vocabulary.tokens[token] or b"")
            if parts is None:
                self._within.append(token)
            elif parts[1]:
                self._unfinished.append((token, *parts))
            else:
                whole.append(token)
                self._whole.append(parts[0])
        self._whole_ids = np.array(whole, dtype=np.int32)

    def allowed_tokens(self, state: State) -> NDArray[np.int32]:
        """Return the tokens after which a match is possible, ascending, int32."""
        completion, pending = _checked(state)
        if pending:
            candidates = [
                (token, *parts)
                for token in self._within
                if (parts := split(pending + (self.vocabulary.tokens[token] or b""))) is not None
            ]
            return np.array([each[0] for each in candidates if self._can_match(completion, *each[1:])], dtype=np.int32)
        match = self._regex.fullmatch
        mask = [match(completion + token, partial=True) is not None for token in self._whole]
        unfinished = [each[0] for each in self._unfinished if self._can_match(completion, *each[1:])]
        tokens = np.concatenate([self._whole_ids[np.array(mask, dtype=bool)], np.array(unfinished, dtype=np.int32)])
        tokens.sort()
        return tokens

    def next_state(self, state: State, token_id: int) -> State | None:
        """Return the text after a token; ``None`` if no match is possible.

        Args:
            state: The text before it.
            token_id: A token that is not an end token.
        """
        _checked(state)
        known = 0 <= arguments.whole_number("token_id", token_id) < len(self.vocabulary)
        data = self.vocabulary.tokens[token_id] if known else None
        return self.read(state, data) if data else None

    def read(self, state: State, data: bytes) -> State | None:
        """Return the text after some bytes; ``None`` if no match is possible.

        Args:
            state: The text before them.
            data: The bytes, which need not be those of a token.
        """
        text, pending = _checked(state)
        parts = split(pending + arguments.data("data", data))
        return (text + parts[0], parts[1]) if parts is not None and self._can_match(text, *parts) else None

    def pending(self, state: State) -> bytes:
        """Return the bytes of the unfinished character at the end."""
        return _checked(state)[1]

    def is_accepting(self, state: State) -> bool:
        """Return whether the text is a match."""
        text, pending = _checked(state)
        return not pending and self._regex.fullmatch(text) is not None

    def number(self, state: State) -> int:
        """Return the number of characters, since states have no numbers."""
        return len(_checked(state)[0])

    def accepts(self, data: bytes) -> bool:
        """Return whether a text in UTF-8 is a match."""
        parts = split(arguments.data("data", data))
        return parts is not None and self.is_accepting(parts)

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Return the named groups of the pattern in a matching text.

        See ``sfgen.Dfa.groups``.
        """
        data = arguments.utf8("text", text)
        return None if data is None else oracle.groups(self.pattern, data.decode("utf-8", "replace"))

    def refusal(self, text: bytes) -> dict[str, str] | None:
        """Check a finished text with ``regex`` and ``re``.

        Args:
            text: The text as UTF-8.

        Returns:
            ``None`` if both match it; else the pattern and who refuses, for a report.
        """
        return refusal(self, text)

    def guide(self, max_tokens: int | None = None) -> ReferenceGuide[State]:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.
        """
        return ReferenceGuide(self, max_tokens)

    def _can_match(self, completion: str, token: str, pending: bytes) -> bool:
        """Return whether the text can become a match, an unfinished character being any that begins so."""
        text = completion + token
        match = self._regex.fullmatch
        if not pending:
            return match(text, partial=True) is not None
        letters = self.classes.representatives(*characters_from(pending))
        return any(match(text + letter, partial=True) is not None for letter in letters)


def _checked(state: State) -> State:
    if isinstance(state, tuple) and [type(part) for part in state] == [str, bytes]:
        return state
    raise arguments.refusal("state", "the text so far and the bytes of an unfinished character", state)


def spelled(node: Node, *, lazy: bool = False) -> str:
    r"""Write a pattern anew for the ``regex`` package.

    >>> from sfgen.regex import parse
    >>> spelled(parse(r"(?i)k+?\.[0-9]|"))
    '(?:[Kk]{1,}\\.[0-9]|)'
    """
    match node:
        case Characters(ranges):
            return _spelled_set(ranges)
        case Concatenation(parts):
            return "".join(spelled(part, lazy=lazy) for part in parts)
        case Alternation(branches):
            return f"(?:{'|'.join(spelled(branch, lazy=lazy) for branch in branches)})"
        case Repeat(child, minimum, maximum):
            inner = spelled(child, lazy=lazy)
            most = "" if maximum is None else maximum
            repeated = inner if isinstance(child, Characters) else f"(?:{inner})"
            return f"{repeated}{{{minimum},{most}}}{'?' if lazy and node.lazy else ''}"
        case Look(child, behind, negative):
            return f"(?{'<' if behind else ''}{'!' if negative else '='}{spelled(child, lazy=lazy)})"
        case Atomic(child):
            return f"(?>{spelled(child, lazy=True)})"
        case _:
            return ""


def _spelled_set(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _spelled_character(ranges[0][0])
    pieces = [
        _spelled_character(first) if first == last else f"{_spelled_character(first)}-{_spelled_character(last)}"
        for first, last in ranges
    ]
    return f"[{''.join(pieces)}]"


def _spelled_character(code: int) -> str:
    character = chr(code)
    if character.isascii():
        return character if character.isalnum() else f"\\{character}" if character.isprintable() else f"\\x{code:02x}"
    return f"\\U{code:08x}"
