"""A pattern without banned words: the automaton of the texts that match the pattern and have no banned word.

It is a product of two automata: its states are the pairs of a state of the pattern and a state of the matcher that one
text can lead to. The matcher has no table, but finitely many states, so it becomes a table: the target of a state and a
class of characters is asked of it once, if some pair needs it. A step that completes a banned word leads nowhere, and
where the end of the text would complete one, the text may not end.

The product is built over whole characters (:mod:`sfgen.automata.by_character`). There are many states in the middle of
a character, but they follow from those between characters.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import cast

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.algebra import Keep, all_texts, product
from sfgen.automata.by_character import ByCharacter, CharacterMap, by_bytes, by_character, paired, smallest
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic
from sfgen.ban.detection import Match
from sfgen.ban.state_table import COMPLETE, UNKNOWN, StateTable, character_classes
from sfgen.ban.words import BannedWords
from sfgen.errors import BannedWordsError, PatternTooLarge
from sfgen.index import DfaIndex, Index, index_of
from sfgen.kernels import Int, Int32s, Int32sOut, Int32Table, Int32TableOut, Int64sOut, kernel
from sfgen.protocols import Constraint, GuideSource, GuidingConstraint, HasSuperset, Superset, TakesOutBans

MAX_STEPS = 30_000
"""The most steps that the matcher computes: a few microseconds each."""

MAX_CELLS = 5_000_000
"""The most pairs of states times labels of characters."""

_KEPT = 16  # automata without banned words

_LONGEST_SHOWN = 60  # characters of an example

_ASKED = -2
_SPREAD = 0x9E3779B97F4A7C15
_TOO_LARGE = -1

_lock = threading.Lock()


def without(dfa: Dfa, banned: BannedWords, prompt: bytes = b"") -> Dfa | None:
    """Subtract banned texts from an automaton; ``None``: a matcher must run beside it.

    A match may begin in the prompt; one that lies in the prompt alone is allowed. The end of the text is a boundary.
    The result is minimal, and ``dfa`` itself if nothing that it accepts is banned. It is ``None`` if the product passes
    its budget, the prompt ends inside a character, or ``dfa`` accepts what is not UTF-8. The last few answers are kept.

    >>> clean = without(Dfa.from_choices(["hot", "cold", "hotel"]), BannedWords(["hot"]))
    >>> [clean.accepts(text) for text in ("hot", "cold", "hotel")]
    [False, True, True]
    """
    start = Start(banned, prompt)
    if start.is_inside:
        return None
    with _lock:  # many threads ask for the same at once
        return _without(dfa, banned, start)


def without_banned(source: GuideSource, banned: BannedWords, prompt: bytes = b"") -> GuideSource | None:
    """Subtract banned words from a source of guides; texts are read alone and after ``prompt``.

    It is ``source`` itself if nothing that it accepts is banned; ``None`` where the difference cannot be made, and the
    matcher must watch over the text.
    """
    constraint = constraint_of(source)
    return None if constraint is None else over(clean_constraint(constraint, banned, prompt), source)


def clean_constraint(constraint: Constraint, banned: BannedWords, prompt: bytes = b"") -> Constraint | None:
    """Subtract banned words from a constraint, as :func:`without_banned` does it; no vocabulary is needed."""
    if isinstance(constraint, Dfa):
        return without(constraint, banned, prompt)
    clean = constraint.without_banned(banned, prompt) if isinstance(constraint, TakesOutBans) else None
    clean_superset(constraint if clean is None else clean, banned, prompt)  # raises where nothing is left
    return cast("Constraint | None", clean)


def constraint_of(source: GuideSource) -> Constraint | None:
    """Return the constraint of a source; ``None``: banned words are not taken out of its kind."""
    return source.dfa if isinstance(source, DfaIndex) else source.constraint if isinstance(source, Index) else None


def over(clean: Constraint | None, source: GuideSource) -> GuideSource | None:
    """Return the source of the guides of a constraint without banned words, over the vocabulary of ``source``."""
    if clean is None or clean is constraint_of(source):
        return None if clean is None else source
    vocabulary = cast(Index, source).vocabulary
    if isinstance(clean, Dfa):
        return index_of(clean, vocabulary)
    return Index(cast(GuidingConstraint, clean), vocabulary)


def is_wholly_clean(source: GuideSource) -> bool:
    """Return whether a result of :func:`without_banned` has no banned match at all.

    A difference of automata has none. In others matches may lie across the edges of strings, or in numbers and names,
    so that a matcher must watch.
    """
    return isinstance(source, DfaIndex) or isinstance(getattr(getattr(source, "constraint", None), "dfa", None), Dfa)


def clean_superset(constraint: object, banned: BannedWords, prompt: bytes = b"") -> Superset | None:
    """Subtract banned words from a regular superset of a constraint's texts; ``None``: there is none.

    It tells which beginnings some text of the superset completes without a banned match.
    """
    superset = constraint.superset() if isinstance(constraint, HasSuperset) else None
    if superset is None:
        return None
    try:
        clean = without(superset.dfa, banned, prompt)
    except BannedWordsError:
        raise _nothing_is_left(cast(Constraint, constraint), banned, prompt) from None
    return None if clean is None else superset._replace(dfa=clean)


class Start:
    """A prompt, and whether it ends inside a character; equal to all after which a matcher is in the same state."""

    def __init__(self, banned: BannedWords, prompt: bytes) -> None:
        matcher = banned.matcher(prompt)
        self.prompt, self.state, self.is_inside = prompt, matcher.state, bool(matcher.mark().pending)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Start) and self.state == other.state

    def __hash__(self) -> int:
        return hash(self.state)


@lru_cache(maxsize=_KEPT)
def _without(dfa: Dfa, banned: BannedWords, start: Start) -> Dfa | None:
    """Compute ``without`` once for equal automata, bans and states after the prompt."""
    name = dfa.pattern or ""
    pattern = Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting)
    if dfa.is_empty:
        return dfa
    try:
        if product(pattern, all_texts(), Keep.LEFT_ONLY, name).accepting.any():
            return None
        characters = by_character(pattern, name)
        ascii_only = bool((characters.labels.rows[characters.labels.row_of_block[2:]] < 0).all())
        classes, members = character_classes(banned.automata, ascii_only)
        matcher = banned.matcher(start.prompt)
        states = StateTable(matcher.automata, [member.encode() for member in members])
        clean = _product(characters, classes, states, states.begin(matcher.mark()))
        if clean is None:
            return dfa
        least = smallest(clean)
        if least is None:
            raise _nothing_is_left(dfa, banned, start.prompt)
        return Dfa(*by_bytes(least, name))
    except PatternTooLarge:
        return None


def _nothing_is_left(constraint: Constraint, banned: BannedWords, prompt: bytes) -> BannedWordsError:
    """Make the error for a constraint all texts of which are banned; it shows a shortest one."""
    text, matcher = constraint.shortest(), banned.matcher(prompt)
    is_pattern = isinstance(constraint, Dfa)
    return BannedWordsError(
        f"every text that {'matches the pattern' if is_pattern else 'the constraint allows'} has a banned word",
        details=(_shown(text, matcher.advance(text) or matcher.finish(), banned),),
        hint=f"Change the {'pattern' if is_pattern else 'constraint'}, or take a word off the list.",
    )


def _shown(text: bytes, match: Match | None, banned: BannedWords) -> str:
    shown = text.decode()
    line = f"  {shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + '…'!r}"
    if match is None:
        return line
    sort = "word" if match.word in banned.words else "pattern"
    return f"{line} has the banned {sort} {match.word!r}" + ", which begins in the prompt" * (match.start < 0)


def _product(pattern: ByCharacter, classes: CharacterMap, states: StateTable, start: int) -> ByCharacter | None:
    """Build the product of a pattern and a matcher, over the characters that either side tells apart.

    It is ``None`` where no match comes up.
    """
    labels, sides = paired(pattern.labels, classes)
    pattern_labels, character_classes = np.ascontiguousarray(sides.T)
    room = max(1, min(MAX_DFA_STATES, MAX_CELLS // max(1, len(sides))))
    bits = (2 * room).bit_length()
    pairs = np.zeros((room, 2), dtype=np.int32)
    slots = np.full(1 << bits, -1, dtype=np.int32)
    transitions = np.empty((room, len(sides)), dtype=np.int32)
    waiting = np.zeros(room, dtype=np.int32)
    questions = np.empty((MAX_STEPS, 2), dtype=np.int32)
    progress = np.zeros(_FIELDS, dtype=np.int64)
    pairs[0, 1] = start
    slots[(start * _SPREAD & (1 << 64) - 1) >> (64 - bits)] = 0
    asked = 0
    while True:
        status = _explore(
            pattern.transitions,
            pattern_labels,
            character_classes,
            states.steps,
            pairs,
            slots,
            64 - bits,
            transitions,
            waiting,
            questions[asked:],
            progress,
        )
        if status == _TOO_LARGE:
            raise PatternTooLarge("the product with the banned words passes its budget", "")
        more = int(progress[_QUESTIONS])
        if not more:
            break
        states.fill(questions[asked : asked + more])
        asked += more
    count = int(progress[_COUNT])
    ends = pattern.accepting[pairs[:count, 0]]
    ends_of, which = np.unique(pairs[:count, 1][ends], return_inverse=True)
    may_end = np.array([not states.ends_in_match(state) for state in ends_of.tolist()], dtype=np.bool_)
    if may_end.all() and (states.steps[tuple(questions[:asked].T)] != COMPLETE).all():
        return None
    ends[ends] = may_end[which]
    return ByCharacter(transitions[:count], ends, labels)


_COUNT, _WAITING, _QUESTIONS = 0, 1, 2
_FIELDS = 3
"""The fields of the kernel's progress: the numbers of pairs, of pairs that wait for a step, and of steps that it needs
now."""


@kernel
def _explore(
    targets: Int32Table,
    pattern_labels: Int32s,
    character_classes: Int32s,
    steps: Int32TableOut,
    pairs: Int32TableOut,
    slots: Int32sOut,
    shift: Int,
    transitions: Int32TableOut,
    waiting: Int32sOut,
    questions: Int32TableOut,
    progress: Int64sOut,
) -> Int:
    """Find the pairs that are reached and fill in ``transitions`` as far as ``steps`` are known.

    Pair number i is ``pairs[i]``, a state of the pattern and one of the matcher; the first, of the starts, is given.
    ``slots`` is a hash table of pair numbers with linear probing, at most half full; the slot of a key is its product
    with a large odd number without the ``shift`` low bits. Pairs that need an unknown step wait, and the step is
    written to ``questions``. Returns ``_TOO_LARGE`` when there is no room for a pair or a question.
    """
    labels = len(pattern_labels)
    count, waited = progress[_COUNT], progress[_WAITING]
    fresh = count  # from here on pairs are new
    asked, held, position = 0, 0, 0
    count = max(count, 1)
    while position < waited or fresh < count:
        if position < waited:
            pair = waiting[position]
            position += 1
        else:
            pair = fresh
            fresh += 1
        is_complete = True
        for label in range(labels):
            transitions[pair, label] = -1
            target = targets[pairs[pair, 0], pattern_labels[label]]
            if target < 0:
                continue
            step = steps[pairs[pair, 1], character_classes[label]]
            if step == UNKNOWN:
                if asked == len(questions):
                    return _TOO_LARGE
                steps[pairs[pair, 1], character_classes[label]] = _ASKED
                questions[asked, 0] = pairs[pair, 1]
                questions[asked, 1] = character_classes[label]
                asked += 1
                is_complete = False
            elif step == _ASKED:
                is_complete = False
            elif step != COMPLETE:
                key = np.uint64(target) << np.uint64(32) | np.uint64(step)
                slot = np.int64((key * np.uint64(_SPREAD)) >> np.uint64(shift))
                while slots[slot] >= 0 and (pairs[slots[slot], 0] != target or pairs[slots[slot], 1] != step):
                    slot = (slot + 1) & (len(slots) - 1)
                if slots[slot] < 0:
                    if count == len(pairs):
                        return _TOO_LARGE
                    slots[slot] = count
                    pairs[count, 0] = target
                    pairs[count, 1] = step
                    count += 1
                transitions[pair, label] = slots[slot]
        if not is_complete:
            waiting[held] = pair
            held += 1
    progress[_COUNT], progress[_WAITING], progress[_QUESTIONS] = count, held, asked
    return 0
