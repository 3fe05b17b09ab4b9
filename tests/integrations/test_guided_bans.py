"""Words that are banned beside a constraint never come out of a processor, however text and constraint meet in them.

The scanner is the oracle: it reads the finished text, by itself and after its prompt, and what the strings of JSON say.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tests.support.models.generated import END, OTHER_END, cut, json_vocabulary, prompts, small_model, written
from tests.support.running.tried import rounds
from tests.support.schemas.named import INTEGER, STRING, a_list, an_object

from sfgen import BannedWords, Dfa, Grammar, Index, JsonSchema, Template
from sfgen.ban import scan
from sfgen.errors import SfgenError
from sfgen.index.mask_ids import bits_of_row
from sfgen.integrations.request import ConstraintRequest, RequestTexts
from sfgen.integrations.transformers import GuidedLogitsProcessor
from sfgen.protocols import HasReadings

VOCABULARY = json_vocabulary()
ENDS = (END, OTHER_END)
LIMIT = 40

_TREE = an_object({"value": INTEGER, "children": a_list({"$ref": "#/$defs/n"}, maxItems=2)})
SCHEMAS: dict[str, Any] = {
    "numbers": an_object({"a": {**INTEGER, "minimum": 7, "maximum": 40}, "b": {"type": "number"}}),
    "literals": a_list({"enum": [True, None, False, 25, "na", "true"]}, minItems=1, maxItems=4),
    "escapes": a_list({"type": "string", "pattern": '^[\\t\\n"abn]{1,4}$'}, minItems=1, maxItems=2),
    "strings and keys": an_object({"na": {**STRING, "maxLength": 3}, "name": {"enum": ["ab", "ing", 'in"g', "1"]}}),
    "a long string": an_object({"a": {**STRING, "maxLength": 200}, "ab": INTEGER}, ["a"]),
    "recursion": {"$ref": "#/$defs/n", "$defs": {"n": _TREE}},
    "different items": a_list({"enum": ["na", "name", 10, None, True]}, uniqueItems=True, minItems=2),
    "a counter": a_list({"enum": [1, 25]}, minItems=3, maxItems=90),
    "anything": True,
}
GRAMMARS = {
    "brackets": 'root ::= "[" (root (", " root)*)? "]" | "na" "me"? | [0-9]{1,2}',
    "sums": 'root ::= root "+" term | term\nterm ::= [0-9]{1,2} | "(" root ")" | "true"',
}
TEMPLATES = {
    "a schema in it": "a: {{a: schema name, age int}} {{b: choices na, name, true}}.",
    "a copy": "{{a: regex [a-n]{1,4}}} {{b: regex [0-9]{1,2}}} {{a}}",
}
LARK = 'start: "[" [start ("," start)*] "]" | NAME | NUMBER\nNAME: /[a-n]+/\nNUMBER: /[0-9]+/\n%ignore " "'
CONSTRAINTS: dict[str, Any] = {
    **{name: JsonSchema(schema) for name, schema in SCHEMAS.items()},
    "any order": JsonSchema(SCHEMAS["strings and keys"], order="any"),
    **{name: Grammar.from_gbnf(text) for name, text in GRAMMARS.items()},
    "lark": Grammar.from_lark(LARK),
    **{name: Template(text) for name, text in TEMPLATES.items()},
    "a pattern": Dfa.from_regex(r'\{"[a-n]{1,3}": ([0-9]{1,2}|true|null)\}'),
}  # fmt: skip
NEVER_STUCK = {"numbers", "literals", "escapes", "strings and keys", "a schema in it", "a pattern"}
"""Regular, so that all is known beforehand."""

WORDS = [
    "1", "7", "12", "25", "10", "36", "true", "null", "false", "na", "n", "nab", "tab", "ab", "b", "in", "ing", "name",
    "value", "children", "a 1", "a 7", "ab 1", "1 na", "na ab", "na name", "true true", "null 25", "3*", "n*", '"a',
    "\\t", "[1", "na ing", "0", "1 b", "aa", "age", "true 25", "value 1", "1.",
]  # fmt: skip
PATTERNS = [r"[1-3]\d", r": [0-9]", r"(?<=\[)1", r"\btrue", r"\\.", "a.*a", r"n\b", r"^\{", r"\}$", r"ab|ba", r'"\W+"']
REFUSALS = {
    "nothing is left": "has a banned word",
    "nothing is left of this rule": "every text that the",
    "no room": "tokens is too small",
    "large": "cannot be taken out of the strings",
    "stuck": "only banned text could follow",
}
PROMPTS = [b"", b"a", b"we tru", b'a list: [1, {"', b"12 names and "]


class Case(NamedTuple):
    name: str
    banned: BannedWords
    prompt: bytes

    @classmethod
    def random(cls, random: Random) -> Case:
        words = random.sample(WORDS, random.randint(1, 4))
        patterns = random.sample(PATTERNS, random.choice([0, 0, 0, 1]))
        banned = BannedWords(
            words, patterns, random.choice(["word", "word", "prefix", "substring"]), normalize=random.random() < 0.1,
            allow=random.sample(WORDS, random.choice([0, 0, 1])),
        )  # fmt: skip
        return cls(random.choice(list(CONSTRAINTS)), banned, random.choice(PROMPTS))

    def fault(self, text: bytes, *, is_whole: bool = True) -> str | None:
        """What is wrong with a finished text."""
        constraint = CONSTRAINTS[self.name]
        if is_whole and not constraint.accepts(text):
            return "it is not a text of the constraint"
        if scan(text, self.banned, prompt=self.prompt):
            return f"it has a banned word: {scan(text, self.banned, prompt=self.prompt)[0]}"
        readings = constraint.readings(text) if is_whole and isinstance(constraint, HasReadings) else ()
        return next((f"{each!r} is banned" for each in readings if scan(each, self.banned)), None)


@functools.cache
def index_of(name: str) -> Index:
    index: Index = Index(CONSTRAINTS[name], VOCABULARY)
    return index


def texts_of(processor: Any, prompt: bytes, random: np.random.Generator, beams: int) -> Iterator[bytes]:
    """What greedy search, sampling or a beam search make of random scores, as transformers would ask for them."""
    rows, length = (
        [(0.0, prompts(VOCABULARY, [prompt])["input_ids"][0].tolist())] * beams,
        len(cut(VOCABULARY, prompt)) + 1,
    )
    for _ in range(LIMIT + 1):
        scores = torch.from_numpy(random.normal(size=(len(rows), len(VOCABULARY))) * 3)
        for row, (_, ids) in enumerate(rows):  # equal rows have equal scores
            scores[row] = scores[next(number for number, (_, other) in enumerate(rows) if other == ids)]
        masked = processor(torch.tensor([ids for _, ids in rows]), scores)
        assert torch.isfinite(masked).any(dim=1).all()
        if beams == 1:
            token = int(masked[0].argmax())
            rows = [(0.0, [*rows[0][1], token])]
        else:
            found = [
                (before + float(masked[row, token]), [*ids, token])
                for row, (before, ids) in enumerate(rows)
                for token in torch.isfinite(masked[row]).nonzero()[:, 0].tolist()
            ]
            rows = sorted({str(ids): (score, ids) for score, ids in found}.values(), reverse=True)[:beams]
            rows += rows[:1] * (beams - len(rows))
        if all(any(token in ENDS for token in ids[length:]) for _, ids in rows):
            break
    for _, ids in rows:
        end = next((place for place, token in enumerate(ids) if place >= length and token in ENDS), length + LIMIT)
        yield b"".join(VOCABULARY.tokens[token] or b"" for token in ids[length:end])


@pytest.mark.parametrize("beams", [1, 3])
def test_no_processor_writes_what_is_banned(beams: int) -> None:
    random, outcomes = Random(beams), Counter[str]()
    for number in range(rounds(250 // beams)):
        case = Case.random(random)
        try:
            processor = GuidedLogitsProcessor(index_of(case.name), banned=case.banned, max_tokens=LIMIT)
            for text in texts_of(processor, case.prompt, np.random.default_rng(number), beams):
                assert case.fault(text) is None, (case, text, case.fault(text))
            outcome = "whole"
        except SfgenError as error:
            outcome = next((name for name, said in REFUSALS.items() if said in str(error)), f"{case} {error}")
        outcomes[outcome] += 1
        assert outcome != "stuck" or case.name not in NEVER_STUCK, case
    assert outcomes.keys() <= {"whole", *REFUSALS}, outcomes
    assert outcomes["whole"] > outcomes["stuck"] * 10


class _Told(logging.Handler):
    """What is told the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


ASKED: dict[str, dict[str, Any]] = {
    **{name: {"schema": schema} for name, schema in SCHEMAS.items() if schema is not True},
    **{name: {"grammar": grammar} for name, grammar in GRAMMARS.items()},
    "lark": {"grammar": LARK},
    "a pattern": {"regex": CONSTRAINTS["a pattern"].pattern},
}


def test_no_request_writes_what_is_banned() -> None:
    """A server can raise no error: a text that cannot be whole is broken off without a banned word."""
    random, cut_off, whole = Random(7), 0, 0
    log, told = logging.getLogger("sfgen"), _Told()
    log.addHandler(told)
    texts = RequestTexts(VOCABULARY)
    for number in range(rounds(400)):
        banned = BannedWords(random.sample(WORDS, random.randint(1, 4)))
        case = Case(random.choice(list(ASKED)), banned, random.choice(PROMPTS))
        request = ConstraintRequest.read({**ASKED[case.name], "ban": list(banned.words)})
        assert request is not None
        told.lines.clear()
        limit, draws = random.choice([3, 6, LIMIT]), np.random.default_rng(number)
        text, written_ids = texts.begin(request, cut(VOCABULARY, case.prompt), limit), list[int]()
        while len(written_ids) < limit:
            allowed = np.flatnonzero(bits_of_row(text.mask(written_ids))[: len(VOCABULARY)])  # type: ignore[arg-type]
            token = int(draws.choice(allowed))
            if token in ENDS:
                break
            written_ids.append(token)
        data = b"".join(VOCABULARY.tokens[token] or b"" for token in written_ids)
        is_whole = not told.lines
        fault = case.fault(data, is_whole=is_whole)
        assert fault is None, (case, data, told.lines, fault)
        whole += is_whole
        cut_off += not is_whole and bool(data)
    log.removeHandler(told)
    assert whole > 5
    assert cut_off > 5


@pytest.mark.parametrize("way", [{"do_sample": True}, {"num_beams": 3}])
@pytest.mark.parametrize("name", ["numbers", "recursion"])
def test_generate_of_transformers(name: str, way: dict[str, Any]) -> None:
    model = small_model(vocab_size=len(VOCABULARY), max_position_embeddings=256)
    banned = BannedWords(["1", "true", "25", "value 7", "n*", "ab"])
    inputs = prompts(VOCABULARY, PROMPTS)
    torch.manual_seed(0)
    processor = GuidedLogitsProcessor(index_of(name), banned=banned, max_tokens=LIMIT)
    ids = model.generate(**inputs, max_new_tokens=LIMIT, num_return_sequences=3, logits_processor=[processor], **way)
    texts = written(VOCABULARY, ids, inputs["input_ids"].shape[1])
    assert len(texts) == 3 * len(PROMPTS)
    for number, text in enumerate(texts):
        fault = Case(name, banned, PROMPTS[number // 3]).fault(text)
        assert fault is None or not text, (text, fault)  # beams that have died have no text
    assert sum(map(bool, texts)) > 2 * len(PROMPTS)
