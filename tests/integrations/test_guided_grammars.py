"""Texts that ``generate`` writes under a grammar are texts of it: a recogniser without a network is asked of every one.

What the processor allows is compared with a guide that reads the tokens of the row from scratch, of a grammar that was
read anew.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from tests.oracles.recogniser import Recogniser
from tests.support.models.generated import END, OTHER_END, json_vocabulary, prompts, small_model, written

from sfgen import Grammar, Index
from sfgen.errors import LimitTooSmall, UsageError
from sfgen.grammar.language.gbnf import read_gbnf
from sfgen.integrations.transformers import GuidedLogitsProcessor

VOCABULARY = json_vocabulary()
ENDS = [END, OTHER_END]
PROMPTS = [b"a", b'a list: [1, {"', b"", b"12 names and "]  # of different lengths: three rows are padded
LIMIT = 40

GRAMMARS = {
    "brackets": 'root ::= "[" (root ("," root)*)? "]" | "name"',
    "left recursion": 'root ::= root "+" term | term\nterm ::= [0-9]{1,2} | "(" root ")"',
    "more than one reading": 'root ::= "a" root "b" | "ab" root | "na" "me"? "b"? | root " " root',
    "any characters": 'root ::= "{" ([^{}"] | "é" | root)* "}"',
    "a list": 'root ::= item{2,5}\nitem ::= [a-z]+ ": " ("true" | "null" | [1-9] [0-9]*) ", "',
}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
}


@functools.cache
def model() -> Any:
    return small_model("llama", vocab_size=len(VOCABULARY), max_position_embeddings=256)


class Recorded:
    """A processor, and what it was given and gave back, call by call."""

    def __init__(self, grammar: str) -> None:
        self._processor = GuidedLogitsProcessor(Index(Grammar.from_gbnf(grammar), VOCABULARY), max_tokens=LIMIT)
        self.calls: list[tuple[list[list[int]], torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        masked = self._processor(input_ids, scores)
        self.calls.append((input_ids.tolist(), masked.clone()))
        return masked


def allowed_from_scratch(index: Any, tokens: list[int]) -> list[int]:
    """What a new guide allows behind some tokens; the end tokens behind one of them, or where it went another way."""
    guide = index.guide(LIMIT)
    for token in tokens:
        try:
            guide.advance(token)
        except UsageError:
            return ENDS
    allowed: list[int] = ENDS if guide.is_finished else guide.allowed_tokens().tolist()
    return allowed


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", GRAMMARS)
def test_every_text_is_one_and_every_mask_that_of_a_guide_from_scratch(name: str, way: str) -> None:
    processor, recogniser = Recorded(GRAMMARS[name]), Recogniser(read_gbnf(GRAMMARS[name]).grammar)
    inputs = prompts(VOCABULARY, PROMPTS, padding="left")
    torch.manual_seed(0)
    options = {"do_sample": False, "max_new_tokens": LIMIT, **WAYS[way]}
    ids = model().generate(**inputs, logits_processor=[processor], **options)
    texts = written(VOCABULARY, ids, inputs["input_ids"].shape[1])
    assert len(texts) == len(PROMPTS) * WAYS[way].get("num_return_sequences", 1)
    assert [text for text in texts if not recogniser.accepts(text)] == []

    fresh = Index(Grammar.from_gbnf(GRAMMARS[name]), VOCABULARY)
    start = len(processor.calls[0][0][0])
    expected: dict[tuple[int, ...], list[int]] = {}
    for rows, masked in processor.calls:
        for row, scores in zip(rows, masked, strict=True):
            tokens = tuple(row[start:])
            if tokens not in expected:
                expected[tokens] = allowed_from_scratch(fresh, list(tokens))
            assert torch.isfinite(scores).nonzero()[:, 0].tolist() == expected[tokens], tokens
    assert len(expected) > len(PROMPTS)


def test_a_limit_that_is_too_small_is_told_at_once() -> None:
    with pytest.raises(LimitTooSmall):
        GuidedLogitsProcessor(Index(Grammar.from_gbnf(GRAMMARS["a list"]), VOCABULARY), max_tokens=7)
