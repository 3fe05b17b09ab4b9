"""The texts that the guides of templates can write, token by token, against brute force: with bans and limits."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.grammars.templates import RandomTemplate, short_texts
from tests.support.running.tried import tried

from sfgen import (
    BannedWords,
    GenerationConfig,
    Index,
    Job,
    Sampler,
    Template,
    Vocabulary,
    load_model,
    read_trace,
    run_job,
)
from sfgen.errors import BannedWordsError, LimitTooSmall
from sfgen.protocols import Guide
from sfgen.template.file import load, save

seeds = st.integers(0, 2**32)
TOKENS = ["a", "b", "ab", "ba", "aab", "bb"]
END = len(TOKENS)
VOCABULARY = Vocabulary([*(token.encode() for token in TOKENS), None], end_token_ids=[END])


def texts_of(guide: Guide, vocabulary: Vocabulary, text: bytes = b"") -> Iterator[str]:
    """All texts that a guide with a limit can write, some of them several times."""
    for token in guide.allowed_tokens().tolist():
        data = vocabulary.tokens[token]
        if data is None:
            yield text.decode()
            continue
        guide.advance(token)
        yield from texts_of(guide, vocabulary, text + data)
        guide.rollback(1)


def within(limit: int) -> set[str]:
    """All texts of at most so many tokens."""
    return {"".join(way) for length in range(limit + 1) for way in itertools.product(TOKENS, repeat=length)}


@tried("some")
@given(seed=seeds, limit=st.integers(0, 4), words=st.sets(st.sampled_from(["aa", "bb", "aba", "b"]), max_size=2))
def test_every_text_within_a_limit_without_banned_words_and_no_other(seed: int, limit: int, words: set[str]) -> None:
    random_template = RandomTemplate(Random(seed), copies=False)
    oracle = re.compile(random_template.pattern)
    expected = {text for text in within(limit) if oracle.fullmatch(text) and not any(word in text for word in words)}
    try:
        template = Template(random_template.text)
        clean = template.without_banned(BannedWords(sorted(words), match="substring")) if words else template
        assert clean is not None
        guide = Index(clean, VOCABULARY).guide(limit)
    except (BannedWordsError, LimitTooSmall):
        assert not expected
        return
    assert set(texts_of(guide, VOCABULARY)) == expected


@tried("some")
@given(seed=seeds, limit=st.integers(0, 4))
@pytest.mark.parametrize("kind", ["few texts", "rules", "threads"])
def test_templates_with_copies_and_rules_within_a_limit(kind: str, seed: int, limit: int) -> None:
    """Along all ways the fewest tokens are a bound above, so some texts at the limit may be left out."""
    random_template = RandomTemplate(Random(seed))
    end = '{{last: schema {"const": 1}}}' if kind == "rules" else ""
    with patch("sfgen.template.composition.MAX_TEXTS", 0 if kind == "threads" else 256):
        template = Template(random_template.text + end)
    oracle = re.compile(random_template.pattern)
    expected = {text for text in within(limit) if oracle.fullmatch(text)}
    tokens = [*(token.encode() for token in TOKENS), None, *([b"1"] if end else [])]
    vocabulary = Vocabulary(tokens, end_token_ids=[END])
    try:
        guide = Index(template, vocabulary).guide(limit + bool(end))
    except LimitTooSmall:
        assert not expected or template.dfa is None
        return
    found = set(texts_of(guide, vocabulary))
    if template.dfa is not None:
        assert found == expected
    assert found
    assert found <= {text + ("1" if end else "") for text in expected}


@tried("some")
@given(seed=seeds)
@pytest.mark.parametrize("copied", [0, 256])
def test_without_a_limit_every_beginning_of_a_text_can_be_written(copied: int, seed: int) -> None:
    random_template = RandomTemplate(Random(seed))
    oracle = re.compile(random_template.pattern)
    with patch("sfgen.template.composition.MAX_TEXTS", copied):
        source = Index(Template(random_template.text), VOCABULARY)
    texts = [text for text in short_texts(8) if oracle.fullmatch(text)]
    for way in itertools.product(range(END), repeat=2):
        guide, text = source.guide(), ""
        for token in way:
            allowed = set(guide.allowed_tokens().tolist())
            begins = {
                each for each in range(END) if any(longer.startswith(text + TOKENS[each]) for longer in texts)
            } | ({END} if oracle.fullmatch(text) else set())
            assert begins <= allowed
            if token not in allowed:
                break
            guide.advance(token)
            text += TOKENS[token]
        assert oracle.fullmatch(text + shortest_rest(guide))


@tried("few")
@given(seed=seeds, room=st.integers(0, 12), words=st.sets(st.sampled_from(["aa", "bb", "aba"]), max_size=2))
def test_whole_runs_of_any_template(
    tmp_path_factory: pytest.TempPathFactory, seed: int, room: int, words: set[str]
) -> None:
    """One by one, in batches, resumed, from a saved template, in traces: the same texts, which ``re`` divides so."""
    folder = tmp_path_factory.mktemp("run")
    random_template = RandomTemplate(Random(seed))
    template = Template(random_template.text)
    vocabulary = load_model("uniform").vocabulary
    save(template, vocabulary, folder / "saved")
    least = Index(template, vocabulary).guide().tokens_left()
    banned = BannedWords(sorted(words), match="substring") if words else None

    def records(constraint: Template, size: int) -> list[dict[str, Any]]:
        config = GenerationConfig(
            index=constraint, banned=banned, sampler=Sampler(1.0, seed), max_tokens=least + room, max_rollbacks=200
        )
        job, output = Job("uniform", config), folder / "out"
        run_job(job, prompts, output, batch_size=size, trace=folder / "trace")
        begun = output.read_bytes().split(b"\n", 1)[0] + b"\n"
        whole = [json.loads(line) for line in output.read_bytes().splitlines()]
        recordings = read_trace(folder / "trace").recordings if (folder / "trace").exists() else ()
        traced = [recording.result for recording in recordings]
        assert [(result.text, result.groups) for result in traced if result] == [
            (each["text"], each["groups"]) for each in whole if "text" in each
        ]
        output.write_bytes(begun)
        run_job(job, prompts, output, batch_size=size, resume=True)
        again = [json.loads(line) for line in output.read_bytes().splitlines()]
        for path in (output, folder / "trace"):
            path.unlink(missing_ok=True)
        kept = ("text", "groups", "error")
        assert [[each.get(key) for key in kept] for each in again] == [
            [each.get(key) for key in kept] for each in whole
        ]
        return [{key: each.get(key) for key in kept} for each in whole]

    prompts = ["x", "a", "ab"]
    alone = records(template, 1)
    assert alone == records(template, 3) == records(load(folder / "saved", vocabulary), 2)
    for record in alone:
        if record["error"] is not None:
            assert banned is not None
            continue
        text = record["text"]
        assert re.fullmatch(random_template.pattern, text)
        assert not any(word in text for word in words)
        spans = random_template.divided(text) or []
        given_texts = [text[slice(*span)] for span in spans]
        found = [
            each for group in record["groups"].values() for each in (group if isinstance(group, list) else [group])
        ]
        assert sorted(found) == sorted(given_texts)


def shortest_rest(guide: Guide) -> str:
    """What a guide can still write, with the fewest tokens that it tells."""
    text = ""
    while not guide.is_accepting:
        least = guide.tokens_left()
        for token in guide.allowed_tokens().tolist():
            guide.advance(token)
            if guide.tokens_left() < least:
                text += TOKENS[token]
                break
            guide.rollback(1)
        else:
            raise AssertionError("no token brings the end nearer")
    return text
