"""Guides share caches that may forget at any time: what lives, is forked and is taken back goes on as before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.models.vocabularies import byte_vocabulary
from tests.support.running.tried import rounds

from sfgen import Index, JsonSchema
from sfgen.index.mask_store import CACHE

VOCABULARY = byte_vocabulary(
    b'{"', b'",', b', "', b'":', b'": ', b'"}', b'"},', b"1,", b"12", b'["', b'","', b'"]', b"}]",
    b"name", b'"ab', b'ab"', b'a":"', b'b":"a',
)  # fmt: skip

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ab": {"type": "array", "items": {"$ref": "#"}, "maxItems": 3},
        "name": {"type": "string", "maxLength": 5},
        "a": {"type": "number"},
    },
    "required": ["name"],
}
SETS: dict[str, Any] = {
    "type": "array",
    "items": {"anyOf": [{"type": "array", "items": {"enum": ["a", "b", "ab", "abc"]}, "uniqueItems": True}, TREE]},
}
FORMS: list[dict[str, Any]] = [{"order": "any", "spacing": "any", "extra_properties": True}, {}]

MODULES = ("stack", "registers.counts", "registers.names")


def forget(patched: pytest.MonkeyPatch) -> None:
    """Let all caches that guides share keep as good as nothing."""
    for module in MODULES:
        patched.setattr(f"sfgen.grammar.network.{module}._KEPT", 0)
    patched.setattr("sfgen.grammar.shell.masks.KEPT", 0)
    patched.setattr("sfgen.grammar.shell.positions._KEPT", 0)
    patched.setattr("sfgen.grammar.network.positions._KEPT_GROUPS", 1)
    patched.setattr("sfgen.grammar.network.leaf_masks._LEAVES", 1)
    patched.setattr("sfgen.grammar.network.leaf_masks._STATES", 1)
    patched.setattr(CACHE, "limit", 0)


def played(index: Index, seed: int) -> Iterator[tuple[int, bytes, bool]]:
    """Advance, fork and take back some guides by chance; after each step yield where one is, its mask, and its end."""
    chance = random.Random(seed)
    guides: list[Any] = [index.guide(), index.guide(max_tokens=60)]
    for _ in range(60):
        number = chance.randrange(len(guides))
        guide = guides[number]
        taken = len(guide._positions) - 1
        deed = chance.random()
        if deed < 0.1 and taken:
            guide.rollback(chance.randint(1, taken))
        elif deed < 0.2:
            guides = [*guides[-3:], guide.fork()]
        else:
            allowed = [token for token in guide.allowed_tokens().tolist() if token not in VOCABULARY.end_token_ids]
            if allowed:
                longest = sorted(allowed, key=lambda token: -len(VOCABULARY.tokens[token] or b""))[:8]
                guide.advance(chance.choice(longest if chance.random() < 0.7 else allowed))
        yield number, guide.mask().tobytes(), guide.is_accepting


@pytest.mark.parametrize("form", FORMS)
def test_caches_forget_under_guides(form: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(rounds(20)):
        known = [list(played(Index(JsonSchema(schema, **form), VOCABULARY), seed)) for schema in (TREE, SETS)]
        with monkeypatch.context() as patched:
            forget(patched)
            anew = [{**schema, "title": f"compiled for round {seed}"} for schema in (TREE, SETS)]
            guides = [played(Index(JsonSchema(schema, **form), VOCABULARY), seed) for schema in anew]
            for number, steps in enumerate(zip(*known, strict=True)):
                assert tuple(map(next, guides)) == steps, number
