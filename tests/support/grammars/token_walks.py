"""Random walks through grammars that ask for tokens, beside an oracle."""

from __future__ import annotations

import random

from tests.oracles.token_stacks import Item, TokenStacks

from sfgen import Vocabulary
from sfgen.protocols import Guide

Rules = dict[str, list[list[Item]]]

TOKENS: list[bytes | None] = [b"a", b"b", "é".encode()[:1], "é".encode()[1:], b"ab", b"ba", "é".encode(), b"aa"]
TOKENS += [None, None, b"bb", None]
VOCABULARY = Vocabulary(TOKENS, end_token_ids=[11], names={8: "<x>", 9: "<y>", 11: "<end>"})


def oracle_of(rules: Rules) -> TokenStacks:
    """The stacks of some rules over these tokens."""
    return TokenStacks(rules, TOKENS, VOCABULARY.end_token_ids)


def check_walk(guide: Guide, oracle: TokenStacks, draws: random.Random, steps: int) -> None:
    """Every token that the stacks read is allowed, and no other, at each of some steps."""
    stacks = oracle.start
    for _ in range(steps):
        expected = oracle.allowed(stacks)
        assert guide.allowed_tokens().tolist() == expected
        assert guide.is_accepting is oracle.accepts(stacks)
        text_tokens = [token for token in expected if token not in VOCABULARY.end_token_ids]
        if not text_tokens:
            assert guide.is_finished
            break
        token = draws.choice(text_tokens)
        guide.describe()
        guide.advance(token)
        stacks = oracle.read(stacks, token)
