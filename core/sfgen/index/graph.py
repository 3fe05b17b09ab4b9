"""The index as a picture, of what characters read or of what tokens do."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from sfgen import arguments
from sfgen.automata.graph import STATES_DRAWN, Graph, character_graph, drawn
from sfgen.automata.label import CUT, columns, seen
from sfgen.index.export import token_names
from sfgen.index.statistics import reached
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.vocabulary import Vocabulary

_WIDTH = 28  # columns of the tokens on an edge
_ESCAPED = {"\\": "\\\\", '"': '\\"', CUT: r"\u2026"}
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def graph(index: TokenAutomaton, *, tokens: bool, ids: bool, max_states: int) -> Graph:
    """Draw an index by tokens or by characters.

    Args:
        index: The index.
        tokens: Whether edges are tokens, as in :func:`token_graph`; else they are characters.
        ids: Whether tokens are named by their ids instead of their text.
        max_states: The most states to draw.

    Raises:
        UsageError: Not even the start may be drawn.
    """
    arguments.flag("ids", ids)
    if arguments.flag("tokens", tokens):
        return token_graph(index, ids=ids, max_states=max_states)
    return character_graph(index.dfa, max_states=max_states)


def token_graph(index: TokenAutomaton, *, ids: bool = False, max_states: int = STATES_DRAWN) -> Graph:
    r"""Draw the states that tokens lead to.

    An edge stands for all tokens from one state to another, without end tokens.

    Args:
        index: The index.
        ids: Whether tokens are named by their ids instead of their text.
        max_states: The most states to draw; those more tokens away from the start are left out.

    Raises:
        UsageError: Not even the start may be drawn.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> for edge in token_graph(Index(Dfa.from_regex(r"[0-9]+\.[0-9]"), vocabulary)).edges:
    ...     print(*edge)
    0 1 "1", "12"
    1 1 "1", "12"
    1 2 "."
    1 3 ".5"
    2 3 "1"
    """
    name = token_labels(index.vocabulary, ids=ids)

    def leaving(state: int) -> Iterator[tuple[int, str]]:
        tokens, targets = index.transitions(state)
        by_target: dict[int, list[int]] = {}  # in the order of their first tokens
        for token, target in zip(tokens.tolist(), targets.tolist(), strict=True):
            by_target.setdefault(target, []).append(token)
        for target, group in by_target.items():
            yield target, _listed(name, group)

    return drawn(index.dfa, leaving, lambda: len(reached(index)), max_states)


def _listed(name: Callable[[int], str], tokens: list[int]) -> str:
    """The names of some of the tokens, and how many more there are."""
    shown = [name(tokens[0])]
    left = _WIDTH - columns(shown[0])
    for token in tokens[1:]:
        text = name(token)
        left -= columns(text) + 2
        if left < 0:
            break
        shown.append(text)
    more = len(tokens) - len(shown)
    return ", ".join(shown) + (f" {CUT} {more:,} more" if more else "")


def token_labels(vocabulary: Vocabulary, *, ids: bool) -> Callable[[int], str]:
    """Return a function that names tokens for people.

    Args:
        vocabulary: The tokens.
        ids: Whether a name is just the id. Else it is the text in quotes, with ``#id`` where several have the same.
    """
    if ids:
        return str
    names = token_names(vocabulary)

    def name(token: int) -> str:
        text = quoted(vocabulary.tokens[token] or b"")
        return text if names[token] == vocabulary.text(token) else f"{text}#{token}"

    return name


def quoted(token: bytes) -> str:
    r"""Quote the text of a token, escaping what is invisible.

    A long text is cut.

    >>> print(quoted(b"na"), quoted(b' "\n'), quoted("é".encode()[:1]), quoted(b"\\"), quoted(b"=" * 50))
    "na" " \"\n" "\xc3" "\\" "=========================…"
    """
    text = token.decode(errors="surrogateescape")
    shown = []
    for character, written in zip(text, seen(text), strict=True):
        if "\udc80" <= character <= "\udcff":  # a byte that is no UTF-8
            written = f"\\x{ord(character) - 0xDC00:02x}"
        shown.append(_ESCAPED.get(character, written))
    if sum(map(columns, shown)) > _WIDTH - 2:
        left = _WIDTH - 3
        for length, written in enumerate(shown):
            left -= columns(written)
            if left < 0:
                shown[length:] = [CUT]
                break
    if any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        # Words that are written from right to left would take the commas and the numbers behind them along.
        shown = [_ISOLATE, *shown, _END_ISOLATE]
    return f'"{"".join(shown)}"'
