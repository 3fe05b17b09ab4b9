"""No banned match lies in the text or ends in it: every way out that there is, under every strategy.

What is banned is told by regular expressions (``tests/oracles/banned_text.py``), never by sfgen's own scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScriptedModel, preferring
from tests.support.models.vocabularies import BYTES

from sfgen import BannedWords, Dfa, Finished, Index, Result, Sampler, TextReleased, Vocabulary, generate, stream
from sfgen.ban import MatchMode
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import DeadEnd

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.,!?'\n"]
SOURCE = ["talk", "listen", "fuck you"]
SPECIAL = b"|"  # what the oracle takes a special token of the prompt for: no letter, no white space


@dataclass
class Wish:
    """A text that a model wants to write, token by token, and that is banned.

    Args:
        name: What way out it is.
        tokens: The text; ``None`` is the end token.
        words, match: What is banned.
        prompt: The tokens before; ``None`` is a special token, a boundary.
        limit: The most tokens.
        stop: Stop strings.
        letters: The other tokens that there are.
    """

    name: str
    tokens: list[bytes | None]
    words: list[str] = field(default_factory=lambda: SOURCE)
    match: MatchMode = "word"
    prompt: list[bytes | None] = field(default_factory=lambda: [b"x", b" "])
    limit: int = 12
    stop: list[str] = field(default_factory=list)
    letters: Sequence[bytes] = field(default_factory=lambda: LETTERS)

    def __post_init__(self) -> None:
        pieces = [piece for piece in (*self.letters, *self.tokens, *self.prompt) if piece]
        self.pieces: list[bytes] = list(dict.fromkeys(pieces))
        size = len(self.pieces)  # then come a special token that writes nothing, and the end token
        self.vocabulary = Vocabulary([*self.pieces, None, None], end_token_ids=[size + 1])
        self.prompt_ids = [size if piece is None else self.pieces.index(piece) for piece in self.prompt]
        score = preferring(self.vocabulary, self.tokens, len(self.prompt))
        self.model = ScriptedModel(self.vocabulary, score)
        self.banned = BannedWords(self.words, match=self.match)
        self.oracle = BannedText(self.words, self.match, b"".join(piece or SPECIAL for piece in self.prompt))

    def write(self, strategy: StrategyName, sampler: Sampler | None = None) -> Result:
        """Write it twice, and streamed: all the same, and clean."""
        results = []
        for hold in (False, False, True):
            released = ""
            for event in stream(
                self.model,
                self.prompt_ids,
                banned=self.banned,
                strategy=strategy,
                sampler=sampler,
                max_tokens=self.limit,
                stop=self.stop,
                hold=hold,
            ):
                if isinstance(event, TextReleased):
                    released += event.text
                elif isinstance(event, Finished):
                    results.append(event.result)
            assert released == results[-1].text
        first, second, held = results
        assert first == second == held
        assert not self.oracle.is_in(first.text.encode())
        assert not any(stop in first.text for stop in self.stop)
        return first


TALK = "聊天".encode()
WAYS_OUT = [
    Wish("inside one token", [b" talk", b" about"]),
    Wish("inside one token, with more around it", [b"a talk about"]),
    Wish("at the end of a longer token", [b"small talk", b"."]),
    Wish("two in one token", [b"talk listen", b"!"]),
    Wish("across two tokens", [b" ta", b"lk", b" about"]),
    Wish("across many", [b"t", b"a", b"l", b"k", b"."]),
    Wish("across tokens, the end inside one", [b" ta", b"lk abo", b"ut"]),
    Wish("white space glued on", [b" talk ", b"about"]),
    Wish("punctuation glued on", [b"'talk'", b"!"]),
    Wish("punctuation on its own", [b"'", b"talk", b"'"]),
    Wish("punctuation glued on both tokens", [b"(ta", b"lk)"]),
    Wish("a line break", [b"\n", b"talk\n", b"x"]),
    Wish("capitals", [b" TA", b"lK", b" it"]),
    Wish("a phrase", [b"fuck", b" you", b"."]),
    Wish("a phrase with punctuation between", [b"fuck", b"...", b"\n", b"you", b" "]),
    Wish("a phrase cut in its gap", [b"fuck ", b" ", b"you "]),
    Wish("one word of a phrase twice", [b"fuck", b" fuck", b" you", b" "]),
    Wish("a word within a word", [b"xta", b"lk"], match="substring"),
    Wish("the beginning of a word", [b" talk", b"king"], match="prefix"),
    Wish("the end token", [b"a", b" talk", None]),
    Wish("the end token inside a phrase", [b"fuck", b" you", None]),
    Wish("the limit", [b"a", b" ta", b"lk", b"king"], limit=3),
    Wish("the limit inside one token", [b"a", b" talk", b"king"], limit=2),
    Wish("a stop string", [b"a", b" talk", b"\n\n"], stop=["\n\n"]),
    Wish("a stop string glued on", [b"a", b" talk\n\n"], stop=["\n\n"]),
    Wish("a stop string in pieces", [b"a", b" talk", b"\n", b"\n"], stop=["\n\n"]),
    Wish("a stop string that cuts a longer word", [b" talk", b"ing", b"!"], stop=["ing!"]),
    Wish("the seam", [b"lk", b"."], prompt=[b"x", b" ta"]),
    Wish("the seam, the end token", [b"k", None], prompt=[b" tal"]),
    Wish("the seam, only the boundary", [b"alk.", b" "], prompt=[b"t"]),
    Wish("the seam of a phrase", [b"you", b"."], prompt=[b"fuck", b" "]),
    Wish("the seam of a phrase, in its gap", [b" ", b"you", b"."], prompt=[b"fuck"]),
    Wish("behind a special token", [b"talk", b"."], prompt=[b" story", None]),
    Wish("between special tokens", [b"talk", b"."], prompt=[None, b" story", None, None, b"s", None]),
    Wish("the seam of a phrase, with a special token in it", [b"you", b"."], prompt=[b"fuck", None]),
    Wish("a word for who has the text alone", [b"talk", b"."], prompt=[b"s"]),
    Wish("a word alone, a piece at a time", [b"t", b"a", b"lk", b"."], prompt=[b"small"]),
    Wish("a phrase for who has the text alone", [b"fuck", b" you", b"."], prompt=[b"x"]),
    Wish("a word alone at the limit", [b"talk", b"x"], prompt=[b"s"], limit=1),
    Wish("after a prompt that has it", [b" ", b"talk", b"."], prompt=[b"talk", b" "]),
    Wish("Chinese, one token", ["我們聊天".encode(), b"."], ["聊天"], prompt=[b"x"]),
    Wish("Chinese, a character each", ["聊".encode(), "天".encode(), b"."], ["聊天"]),
    Wish("Chinese, byte by byte", [TALK[place : place + 1] for place in range(6)], ["聊天"], letters=BYTES),
    Wish("Chinese, cut within characters", [TALK[:1], TALK[1:4], TALK[4:], b"."], ["聊天"], letters=BYTES),
    Wish("Chinese, half a character glued on", [b"x" + TALK[:2], TALK[2:] + b"x"], ["聊天"], letters=BYTES),
    Wish("Chinese, the seam", ["天".encode(), b"."], ["聊天"], prompt=["我".encode(), "聊".encode()]),
    Wish("Chinese, the seam within a character", [TALK[2:], b"."], ["聊天"], prompt=[TALK[:2]], letters=BYTES),
    Wish("Chinese, at the limit", ["聊".encode(), "天".encode(), b"x"], ["聊天"], limit=2),
    Wish("Chinese, the end token", ["聊".encode(), "天".encode(), None], ["聊天"]),
    Wish("mixed scripts", ["我們".encode(), b"ta", b"lk", "吧".encode()], prompt=[b"x"]),
    Wish("mixed scripts, the seam", [b"lk", "吧".encode()], prompt=["我ta".encode()]),
    Wish("mixed scripts in one word", ["聊".encode(), b"ta", b"lk", b"."], ["聊talk"]),
    Wish("mixed scripts, byte by byte", [bytes([byte]) for byte in "聊talk.".encode()], ["聊talk"], letters=BYTES),
    Wish("letters that grow when they are folded", [b"STRA", "ß".encode(), b"E", b"."], ["strasse"]),
    Wish("after half a character", [b"\xe8", b"talk", b"."], letters=BYTES),
    Wish("before half a character", [b"talk", b"\xe8", b"x"], letters=BYTES),
    Wish("half a character at the end", [b"a ", b"talk", b"\xe8", None], letters=BYTES),
    Wish("inside a broken character", [b"\xe8", b"\x81", b"talk", b"\x8a"], letters=BYTES),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("wish", WAYS_OUT, ids=lambda wish: wish.name)
def test_no_way_out(wish: Wish, strategy: StrategyName) -> None:
    free = generate(wish.model, wish.prompt_ids, max_tokens=wish.limit, stop=wish.stop)
    assert wish.oracle.is_in(free.text.encode() if wish.stop else _data(wish, free)), "nothing to catch"
    result = wish.write(strategy)
    assert result.text != free.text
    if strategy == "mask":  # at most, half a character is taken back
        assert all(event.word is None and event.text.startswith("\ufffd") for event in result.rollbacks)
    else:
        assert result.rollbacks


def _data(wish: Wish, result: Result) -> bytes:
    return b"".join(wish.vocabulary.tokens[token] or b"" for token in result.token_ids)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("wish", WAYS_OUT, ids=lambda wish: wish.name)
def test_no_way_out_by_chance(wish: Wish, strategy: StrategyName) -> None:
    for seed in range(2):
        wish.write(strategy, Sampler(3.0, seed, top_k=[None, 2][seed]))


INNOCENT = [
    Wish("a longer word", [b" list", b"en", b"er", b" it"]),
    Wish("a longer word in one token", [b" talking", b" listener"]),
    Wish("a phrase with a longer word", [b"fuck you", b"r", b" x"]),
    Wish("a phrase with another word between", [b"fuck", b" it", b" you", b" x"]),
    Wish("a word that begins earlier", [b"s", b"talk", b"."]),
    Wish("the rest of a word in the prompt", [b"ing", b"."], prompt=[b"talk"]),
    Wish("half a word, a special token and the other half", [b"lk", b"."], prompt=[b" ta", None]),
    Wish("three pieces around special tokens", [b"k", b"."], prompt=[b" ta", None, b"l", None]),
    Wish("a word in the prompt alone", [b"?", b" it", b" is"], prompt=[b"we", b" talk"]),
    Wish("a phrase that the prompt has", [b", ", b"you", b" x"], prompt=[b"fuck you"]),
    Wish("a word of a phrase", [b" you", b" fuck", b" it"]),
    Wish("Chinese, another word", ["聊".encode(), "得".encode(), "天".encode()], ["聊天"]),
    Wish("Chinese, in the prompt alone", ["吧".encode(), b"."], ["聊天"], prompt=["聊天".encode()]),
    Wish("Chinese, another character with the same beginning", [TALK[:4], "夫".encode()[1:]], ["聊天"], letters=BYTES),
    Wish("a word that goes on after the limit of another script", [b"talk", b"ing", "吧".encode()]),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("wish", INNOCENT, ids=lambda wish: wish.name)
def test_what_is_innocent_is_left_alone(wish: Wish, strategy: StrategyName) -> None:
    result = wish.write(strategy)
    assert result.text.encode() == b"".join(piece or b"" for piece in wish.tokens)
    assert result.rollbacks == ()


# ---- where the source failed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
class TestWhereTheSourceFailed:
    def test_another_cutting_is_no_way_out(self, strategy: StrategyName) -> None:
        """``ta|lk`` must not become ``ta|l|k``: the second best everywhere is the same word, cut otherwise."""
        tokens = [b"ta", b"lk", b"l", b"k", b"t", b"a", b"alk", b"talk", b" ", b"x", b"."]
        vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
        oracle = BannedText(["talk"], "word", b" ")

        def score(read: tuple[int, ...]) -> NDArray[np.float64]:
            """What goes on with ``talk``, longer pieces first; after it, what ends a word."""
            text = b"".join(tokens[token] for token in read[1:])
            left = b"talk".removeprefix(text) if b"talk".startswith(text) else b""
            wanted = [20.0 + len(token) if left.startswith(token) and left else 0.0 for token in tokens]
            wanted[tokens.index(b".")] += 10
            wanted[tokens.index(b" ")] += 9
            return np.array([*wanted, 15.0])

        for match in ("word", "substring"):
            banned = BannedWords(["talk"], match=match)
            result = generate(ScriptedModel(vocabulary, score), [8], banned=banned, strategy=strategy, max_tokens=6)
            assert not oracle.is_in(result.text.encode())
            assert match == "word" or "talk" not in result.text

    def test_the_first_and_the_second_choice_are_banned(self, strategy: StrategyName) -> None:
        """With ``talk`` gone, ``listen`` is the best, and its check must not be skipped."""
        tokens = [b" talk", b" listen", b" help", b".", b"x"]
        vocabulary = Vocabulary([*tokens, None], end_token_ids=[5])
        scores = {0: [9, 8, 7, 0, 0, 0], 1: [0, 0, 0, 9, 0, 0], 2: [0, 0, 0, 0, 0, 9]}
        model = ScriptedModel(vocabulary, lambda read: np.array(scores[min(len(read) - 1, 2)]) * 3.0)
        result = generate(model, [4], banned=BannedWords(SOURCE, match="prefix"), strategy=strategy, max_tokens=4)
        assert result.text == " help."
        assert [event.word for event in result.rollbacks] == ([] if strategy == "mask" else ["talk", "listen"])

    def test_a_match_that_begins_where_another_breaks_off(self, strategy: StrategyName) -> None:
        wish = Wish("", [b"can", b"'", b"t", b" talk", b" it"])
        assert wish.write(strategy).text.startswith("can't")
        # " talk" is the fourth token; the block began with the "t", which could have become "talk" itself.
        assert strategy == "mask" or wish.write(strategy).rollbacks[0].position == (2 if strategy == "resample" else 3)
        wish = Wish("", [b"a", b"a", b"a", b"b", b"x"], ["aab"], "substring", limit=5)
        assert strategy == "mask" or wish.write(strategy).rollbacks[0].word == "aab"
        wish = Wish("", [b"fuck", b" fuck", b" you", b" x"])
        rollbacks = wish.write(strategy).rollbacks
        assert strategy == "mask" or rollbacks[0].word == "fuck you"
        assert strategy != "first-token" or rollbacks[0].position == 1  # the second "fuck" begins the match

    def test_everything_is_banned(self, strategy: StrategyName) -> None:
        """Never ``<pad>``, which is token 0 here and has the highest score of all, because nothing else is left."""
        tokens = [None, b"talk", b" talk", b"listen", None]
        vocabulary = Vocabulary(tokens, end_token_ids=[4])
        model = ScriptedModel(vocabulary, lambda _: np.array([99.0, 5, 4, 3, 0]))
        banned = BannedWords(SOURCE, match="substring")
        result = generate(model, [1], banned=banned, strategy=strategy)
        assert (result.text, result.token_ids, result.finish_reason) == ("", (), "end_token")
        without_end = ScriptedModel(Vocabulary(tokens), lambda _: np.array([99.0, 5, 4, 3, 0]))
        with pytest.raises(DeadEnd, match="only banned text could follow"):
            generate(without_end, [1], banned=banned, strategy=strategy)
        index = Index(Dfa.from_regex("talk|listen"), vocabulary)
        with pytest.raises(Exception, match="banned"):
            generate(model, [1], index=index, banned=banned, strategy=strategy)
