"""The golden corpus: token masks and seeded texts that the code wrote at one commit, and how each is made again.

A case is a constraint in JSON: the parameters of ``GenerationConfig``, and beside them ``schema_options``,
``max_blanks``, ``gbnf``, ``lark``, ``substring``, ``ban``, ``seed``. ``tests/golden/record.py`` has recorded the files;
a change that is meant is told in ``tests/golden/README.md``, and its cases are recorded again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel
from tests.support.models.vocabularies import loaded

import sfgen
from sfgen import BannedWords, GenerationConfig, Grammar, JsonSchema, Substring, Vocabulary
from sfgen.ban.difference import without_banned
from sfgen.decoding import prepare
from sfgen.decoding.plain_forms import source_of
from sfgen.protocols import Guide, GuideSource, Model

DATA = Path(__file__).resolve().parents[1] / "data"
FOLDER = DATA / "golden"
VOCABULARIES = ("tiny", "gemma2", "llama3", "gpt2", "unigram", "bytes")
PUBLISHED = "published:"
"""Begins the name of a vocabulary that is no part of the project."""
TOKENIZERS = Path(os.environ.get("SFGEN_TOKENIZERS") or DATA.parents[2] / "shared" / "tokenizers")

Case = Mapping[str, Any]


@cache
def vocabulary(name: str) -> Vocabulary:
    """The embedded model's, a small published tokenizer's, or single bytes."""
    if name == "tiny":
        return sfgen.load_model("tiny").vocabulary
    if name == "bytes":
        return Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
    published = name.removeprefix(PUBLISHED)
    return loaded((DATA / "tokenizers" if published == name else TOKENIZERS) / published)[1]


@cache
def model(name: str) -> Model:
    """A model over a vocabulary: ``tiny`` itself, or ``hashed:NAME``, whose scores are the same on every machine."""
    kind, _, tokens = name.rpartition(":")
    if kind != "hashed":
        return sfgen.load_model(name)
    return _Hashed(vocabulary(tokens))


class _Hashed(ScriptedModel):
    """Scores are drawn from a generator of whole numbers, whose seed is the last three tokens."""

    def __init__(self, tokens: Vocabulary) -> None:
        self._rank = np.random.default_rng(0).integers(0, 64, len(tokens)).astype(np.float32) / 8
        super().__init__(tokens, self._after)

    def _after(self, tokens: tuple[int, ...]) -> NDArray[np.floating]:
        drawn = np.random.default_rng([len(tokens), *tokens[-3:]]).integers(0, 64, len(self.vocabulary))
        return (drawn.astype(np.float32) / 8 + self._rank).astype(np.float32)

    def encode(self, text: str) -> list[int]:
        if len(self.vocabulary) == 257:
            return list(text.encode())
        longest = max(len(data) for data in self.vocabulary.tokens if data)
        return _greedy(text.encode(), self.vocabulary.ids, longest)


def _greedy(data: bytes, ids: Mapping[bytes, int], longest: int) -> list[int]:
    """The longest tokens from left to right."""
    tokens, at = [], 0
    while at < len(data):
        size = next(size for size in range(longest, 0, -1) if data[at : at + size] in ids)
        tokens.append(ids[data[at : at + size]])
        at += size
    return tokens


def config_of(case: Case, **more: Any) -> GenerationConfig:
    """The configuration that a case describes."""
    named = {name: value for name, value in case.items() if name not in _OWN} | more
    if "schema" in case:
        named["index"] = JsonSchema(case["schema"], **case.get("schema_options", {}))
    if "gbnf" in case:
        named["index"] = Grammar.from_gbnf(case["gbnf"])
    if "lark" in case:
        named["index"] = Grammar.from_lark(case["lark"], max_blanks=case.get("max_blanks", 1))
    if "substring" in case:
        named["index"] = Substring(case["substring"], case.get("unit", "character"))
    if "ban" in case:
        named["banned"] = _banned(case)
    return GenerationConfig(**named)


_OWN = {"schema", "schema_options", "gbnf", "lark", "max_blanks", "substring", "unit", "ban"}


def _banned(case: Case) -> BannedWords:
    return BannedWords(**case["ban"])


def guides_of(case: Case, tokens: Vocabulary) -> GuideSource:
    """The source of the guides that follow a case over a vocabulary.

    With a ban it is the difference; with ``after`` or ``when`` the whole text's.
    """
    if "after" in case or "when" in case:
        return _WholeText(case, tokens)
    source = source_of(config_of({name: value for name, value in case.items() if name != "ban"}).index, tokens)
    assert source is not None, case
    if "ban" not in case:
        return source
    left = without_banned(source, _banned(case))
    assert left is not None, case
    return left


class _WholeText:
    """The guides of texts with a free part, as generation makes them."""

    def __init__(self, case: Case, tokens: Vocabulary) -> None:
        self._case = case
        self._model = ScriptedModel(tokens, lambda _: np.zeros(len(tokens), np.float32), {"": []})
        self.vocabulary = tokens

    def guide(self, max_tokens: int | None = None) -> Guide:
        limit = {} if max_tokens is None else {"max_tokens": max_tokens}
        return prepare(self._model, "", config_of(self._case, **limit)).text.guide

    def refusal(self, data: bytes) -> dict[str, str] | None:
        raise NotImplementedError


def digest_of_mask(guides: GuideSource, prefix: Sequence[int], room: int | None) -> str:
    """A digest of the tokens that a guide allows behind a prefix, where ``room`` more may be written."""
    guide = guides.guide(None if room is None else len(prefix) + room)
    for token in prefix:
        guide.advance(token)
    allowed = np.sort(np.asarray(guide.allowed_tokens(), np.int32))
    mask = np.unpackbits(guide.mask().view(np.uint8), bitorder="little")
    assert np.array_equal(allowed, np.flatnonzero(mask))
    return hashlib.blake2b(allowed.tobytes(), digest_size=6).hexdigest()


def text_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The text that a record's case makes, with the digest of its tokens and why it ended; or its error."""
    try:
        result = sfgen.generate(model(record["model"]), record["prompt"], config_of(record["case"]))
    except sfgen.SfgenError as error:
        return {"error": type(error).__name__}
    tokens = hashlib.blake2b(np.asarray(result.token_ids, np.int32).tobytes(), digest_size=6).hexdigest()
    return {"text": result.text, "tokens": tokens, "reason": result.finish_reason}


def batch_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The texts of a job with several rows, in order."""
    job = sfgen.Job(model(record["model"]), config_of(record["case"]), samples=record["samples"])
    records = sfgen.job_records(job, record["prompts"], batch_size=record["batch_size"])
    return [{"text": told.get("text"), "failed": told.get("error") is not None} for told in records]


def read(name: str) -> list[Any]:
    """The records of a file."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(name: str, records: Sequence[Any]) -> None:
    """Write the records of a file; equal records are equal bytes."""
    lines = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
