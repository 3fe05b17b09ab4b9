"""The tokens of each lexer state, and where terminals end inside of them, against single steps of the lexer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.grammars.lark import EXAMPLES, Example, vocabulary_of
from tests.support.models.vocabularies import byte_vocabulary

from sfgen import Index, Vocabulary
from sfgen.grammar.lalr.masks import LalrMasks
from sfgen.grammar.lalr.positions import LalrPositions
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.index.mask_ids import TOKEN_IDS
from sfgen.vocabulary import TokenTrie

BEYOND_ASCII = ("é", "ñ1", "né", "é ", "×", "日本", "日", "'日\"", '"é"', "# ×\n", "🙂", "a🙂b", " ̈")
"""Tokens that begin beyond ASCII, or go on there, or end inside of a character."""


def vocabulary_beyond_ascii(example: Example) -> Vocabulary:
    """The pieces of an example, and tokens with other characters."""
    more = [*BEYOND_ASCII, "_" * 9, "abcdefgh", "9" * 9]
    cut = [text.encode()[:-1] for text in BEYOND_ASCII if len(text.encode()) > 2]
    known = vocabulary_of(example)
    return byte_vocabulary(
        *(known.tokens[token] or b"" for token in range(256, len(known) - 1)), *map(str.encode, more), *cut
    )


def masks_of(example: Example, vocabulary: Vocabulary) -> LalrMasks:
    guide = Index(example.ours, vocabulary).guide()
    assert isinstance(guide.tokens, LalrPositions)  # type: ignore[attr-defined]
    return LalrMasks(guide.tokens.reader, vocabulary)  # type: ignore[attr-defined]


def texts_of_nodes(trie: TokenTrie) -> list[bytes]:
    """The bytes on the way to each trie node."""
    texts, way = list[bytes](), b""
    for byte, depth in zip(trie.bytes.tolist(), trie.depths.tolist(), strict=True):
        way = way[: depth - 1] + bytes([byte])
        texts.append(way)
    return texts


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_tokens_of_each_lexer_state(example: Example, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.grammar.lalr.masks._ROWS", rows)
    vocabulary = vocabulary_beyond_ascii(example)
    masks = masks_of(example, vocabulary)
    lexer = masks._reader.lexer
    step, commits = lexer.step[:, lexer.byte_classes].tolist(), masks._reader.commits_of
    label_numbers = {label: number for number, label in enumerate(masks._reader.distances.labels)}
    is_open = masks._is_open.reshape(-1, lexer.step.shape[1])[:, lexer.byte_classes]
    texts = texts_of_nodes(vocabulary.trie)
    for lexer_state in range(0, len(step), max(1, len(step) // 60)):
        behind, exits = dict[bytes, int](), set[tuple[int, bytes]]()
        for text in texts:  # each begins with one before it, or is a byte
            before = lexer_state if len(text) == 1 else behind[text[:-1]]
            if before == NO_STATE:
                behind[text] = NO_STATE
                continue
            labels = [label_numbers[commit] for commit in commits(before)] if len(text) > 1 else []
            exits |= {(label, text) for label in labels if is_open[label, text[-1]]}
            behind[text] = step[before][text[-1]]
        found = masks.lexeme_tokens(lexer_state)
        expected = {token: behind[vocabulary.tokens[token] or b""] for token in vocabulary.text_token_ids.tolist()}
        assert masks.lexer_state_of(lexer_state)[[*expected]].tolist() == [*expected.values()]
        assert set(found.reached.tolist()) == {*expected.values()} - {NO_STATE}
        classes, told = masks.classes_of(np.arange(len(step), dtype=np.int32)).tolist(), dict[int, int]()
        for state, mask in zip(found.lexer_states.tolist(), found.masks, strict=True):
            told |= dict.fromkeys(TOKEN_IDS.of(mask).tolist(), classes[state])
        assert told == {token: classes[state] for token, state in expected.items() if state != NO_STATE}
        bounds = found.child_starts.tolist()
        assert exits == {
            (label, texts[node])
            for number, label in enumerate(found.labels.tolist())
            for node in found.children[bounds[number] : bounds[number + 1]].tolist()
        }
        for number in range(len(found.labels)):
            assert (
                np.diff(vocabulary.trie.bytes[found.children[bounds[number] : bounds[number + 1]]].astype(int)) >= 0
            ).all()
