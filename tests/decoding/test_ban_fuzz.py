"""Some thousand runs with random vocabularies, words, scores and settings: no leak, no hang, and no false alarm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import get_args

import pytest
from tests.oracles.banned_text import BannedText, characters
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import rounds

from sfgen import (
    BannedWords,
    BlockMoved,
    Dfa,
    Finished,
    Index,
    RolledBack,
    Sampler,
    TextReleased,
    TokenChosen,
    Vocabulary,
    stream,
)
from sfgen.ban import scan
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall

RUNS = rounds(8_000)
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LETTERS = ["a", "b", " ", ".", "é", "聊"]
PATTERNS = [
    ".{0,5}",
    "[ab ]*",
    "(ab|ba|a| )+",
    "a*b*",
    "(a|é| a){2,4}",
    "[ab]{2}( [ab]{1,2})?",
    "聊?[ab]+\\.",
    "b+|聊+",
]
BANNED_PATTERNS = ["ab?b", "[ab] [ab]", "b{2,3}", "聊.", "a.b", "(ab)+a"]
SHAPES_OF_A = ["a", "ａ", "а", "a\u200b", "á"]


@dataclass
class Case:
    """What one run is made of, but for the random numbers."""

    tokens: list[bytes]
    has_end: bool
    words: list[str]
    match: str
    prompt: list[int]
    pattern: str | None
    stops: list[str]
    max_tokens: int
    patterns: list[str] = field(default_factory=list)  # these three: see BannedWords
    allow: list[str] = field(default_factory=list)
    normalize: bool = False

    @classmethod
    def random(cls, random: Random) -> Case:
        letters = random.sample(LETTERS, random.randint(2, 4))
        pieces = {
            "".join(random.choices(letters, k=random.randint(1, 3))).encode() for _ in range(random.randint(1, 4))
        }
        if random.random() < 0.3:
            half = random.choice("é聊").encode()
            cut = random.randint(1, len(half) - 1)
            pieces |= {half[:cut], half[cut:]}
        tokens = sorted(pieces)
        wordy = [*(letter for letter in letters if letter != "."), " "]
        words = ["".join(random.choices(wordy, k=random.randint(1, 4))) for _ in range(random.randint(1, 5))]
        words = [word for word in words if word.strip()] or ["a"]
        constrained = random.random() < 0.4
        case = cls(
            tokens,
            random.random() < 0.7,
            words,
            random.choice(["word", "prefix", "substring", "substring"]),
            random.choices(range(len(tokens)), k=random.randint(1, 2)),
            random.choice(PATTERNS) if constrained else None,
            [] if constrained else ["".join(random.choices(letters, k=2)) for _ in range(random.randint(0, 2))],
            random.choice([0, 1, 2, 3, 4, 4, 5, 5, 6]),
        )
        if random.random() < 0.3:
            case.max_tokens = min(4, case.max_tokens)  # to look at all texts takes longer here
            case.patterns = random.sample(BANNED_PATTERNS, random.randint(0, 2))
            case.allow = ["".join(random.choices(wordy, k=random.randint(2, 5))) for _ in range(random.randint(0, 2))]
            case.allow = [word for word in case.allow if word.strip()]
            case.normalize = random.random() < 0.1
            if case.allow or case.normalize:
                case.stops = []  # brute force cannot tell what is certain before the text has ended
            if case.normalize:
                case.tokens = [token.replace(b"a", random.choice(SHAPES_OF_A).encode()) for token in tokens]
        return case

    def banned(self) -> BannedWords:
        return BannedWords(
            self.words,
            self.patterns,
            match=self.match,  # type: ignore[arg-type]
            normalize=self.normalize,
            allow=self.allow,
        )

    def data(self, path: Sequence[int]) -> bytes:
        return b"".join(self.tokens[token] for token in path)


class BruteForce:
    """All texts that a case could end in."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.oracle = BannedText(case.words, case.match, case.data(case.prompt), case.patterns, case.allow)

    def is_banned(self, data: bytes, *, ended: bool = True) -> bool:
        if self.case.normalize:  # only sfgen knows how, but what looks here is not what looked on the way
            prompt = self.case.data(self.case.prompt)
            text, starts = characters(prompt + data, ended=True)
            before = sum(end <= len(prompt) for end in starts[1:])
            return ended and bool(scan(text[before:], self.case.banned(), prompt=text[:before]))
        return (ended or not self.case.allow) and self.oracle.is_in(data, ended=ended)

    def cut(self, data: bytes) -> bytes | None:
        """The text before the first stop string that is whole, the longest of those; ``None`` if there is none."""
        for end in range(len(data) + 1):
            whole = [stop.encode() for stop in self.case.stops if data[:end].endswith(stop.encode())]
            if whole:
                return data[: end - max(map(len, whole))]
        return None

    def can_end(self, path: tuple[int, ...]) -> bool:
        """Whether a clean text can follow; the path itself is one that a run may come to."""
        case = self.case
        data = case.data(path)
        stopped = self.cut(data)
        if stopped is not None:
            return not self.is_banned(stopped)
        if self.is_banned(data, ended=False):
            return False
        at_limit = len(path) == case.max_tokens
        may_end = case.has_end or at_limit
        if case.pattern is not None:
            matches = self.matches(data)
            # Without an end token it ends where the pattern leaves nothing else, or where nothing else fits.
            may_end = matches and (case.has_end or at_limit or not self.any_match_follows(path))
        if may_end and not self.is_banned(data):
            return True
        return not at_limit and any(self.can_end((*path, token)) for token in range(len(case.tokens)))

    def matches(self, data: bytes) -> bool:
        try:
            return re.fullmatch(self.case.pattern or "", data.decode()) is not None
        except UnicodeDecodeError:
            return False

    def any_match_follows(self, path: tuple[int, ...]) -> bool:
        if len(path) == self.case.max_tokens:
            return False
        return any(
            self.matches(self.case.data((*path, token))) or self.any_match_follows((*path, token))
            for token in range(len(self.case.tokens))
        )


@contextmanager
def product(is_there: bool) -> Iterator[None]:
    """Whether the automaton of pattern and ban fits its budget."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_there:
            patch.setattr("sfgen.ban.difference.without", lambda *_: None)
        yield


@pytest.mark.parametrize("part", range(4))
def test_no_leak_no_hang_no_false_alarm(part: int) -> None:
    seen: Counter[str] = Counter()
    random = Random(part)
    runs = 0
    while runs < RUNS // 4:
        case = Case.random(random)
        vocabulary = Vocabulary([*case.tokens, *([None] if case.has_end else [])], [len(case.tokens)] * case.has_end)
        try:
            index = Index(Dfa.from_regex(case.pattern), vocabulary) if case.pattern else None
        except DeadEnd:  # these tokens write no match
            continue
        for _ in range(8):
            runs += 1
            seen[run(case, vocabulary, case.banned(), index, random)] += 1
    if runs >= 500:  # shares say something of many runs only
        assert seen["rollbacks"] > runs / 20
        assert seen["dead end"] > runs / 50
        assert seen["too many"] < runs / 50
        assert seen["nothing fits"] > 0


def run(case: Case, vocabulary: Vocabulary, banned: BannedWords, index: Index | None, random: Random) -> str:
    """One run; what came of it."""
    strategy, hold = random.choice(STRATEGIES), random.random() < 0.5
    sampler = Sampler(
        random.choice([0.0, 1.0, 3.0, 10.0]),
        random.randrange(1000),
        top_k=random.choice([None, None, 1, 2]),
        top_p=random.choice([None, None, 0.7]),
    )
    max_block, max_rollbacks = random.choice([1, 2, 32]), random.choice([0, 3, 300, 300, 300])
    with_product, seed = random.random() < 0.5, random.randrange(1000)
    model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
    brute = BruteForce(case)
    where = (case, strategy, hold, sampler, max_block, with_product, seed)
    path: list[int] = []
    released, rollbacks, moved, result = "", 0, 0, None
    try:
        with product(with_product):
            for event in stream(
                model,
                case.prompt,
                index=index,
                banned=banned,
                sampler=sampler,
                stop=case.stops,
                max_tokens=case.max_tokens,
                strategy=strategy,
                max_rollbacks=max_rollbacks,
                max_block=max_block,
                hold=hold,
            ):
                if isinstance(event, TokenChosen):
                    assert event.position == len(path), where
                    path.append(event.token_id)
                elif isinstance(event, RolledBack):
                    assert path[event.position :] == list(event.token_ids), where
                    del path[event.position :]
                    rollbacks += 1
                elif isinstance(event, TextReleased):
                    released += event.text
                elif isinstance(event, BlockMoved):
                    moved += 1
                elif isinstance(event, Finished):
                    result = event.result
    except DeadEnd:
        text, _ = characters(case.data(path), ended=False)
        assert text.startswith(released), where
        goes_back = hold and (strategy != "mask" or index is not None)
        # But for what may be the beginning of a stop string, all of it was written.
        assert goes_back or strategy == "mask" or text == released or (moved and case.stops), where
        assert not brute.can_end(() if goes_back else tuple(path)), where
        return "dead end"
    except LimitTooSmall:
        assert not path, where
        assert not brute.can_end(()), where
        return "nothing fits"
    except BannedWordsError:
        assert not path, where
        brute.case = replace(case, max_tokens=5)
        assert not brute.can_end(()), where
        return "nothing is clean"
    except GenerationError as error:
        gave_up = f"after {max_rollbacks} rollbacks" in str(error)
        assert gave_up, where
        assert rollbacks == max_rollbacks, where
        return "too many" if max_rollbacks > 3 else "too many for a small limit"
    assert result is not None
    data = case.data(result.token_ids)
    stopped = brute.cut(data)
    written = data if stopped is None else stopped
    assert list(result.token_ids) == path, where
    assert released == result.text == written.decode("utf-8", "replace"), where
    assert not brute.is_banned(written), where
    assert len(result.token_ids) <= case.max_tokens, where
    assert (result.finish_reason == "stop") == (stopped is not None), where
    assert (len(result.rollbacks), result.moved_blocks) == (rollbacks, moved), where
    if index is not None:
        assert brute.matches(written), where
        prompt = case.data(case.prompt)
        there_is_a_product = with_product and characters(prompt, ended=False)[1][-1] == len(prompt)
        assert not (there_is_a_product and strategy == "mask" and rollbacks), where
    return "rollbacks" if rollbacks else "clean at once"
