"""Record the golden corpus anew, where a difference is meant.

Usage: ``python -m tests.golden.record [masks] [texts] [large_masks]``; without a name the first two.

The walks and the draws here are seeded, and the files hold all that they chose: a test replays the files alone.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.oracles.quotations import DOCUMENTS
from tests.support import golden
from tests.support.grammars.lark import EXAMPLES
from tests.support.guides.kinds import (
    LARK,
    LARK_RECURSIVE,
    PATTERNS,
    TEMPLATES,
    TEMPLATES_WITH_COPIES,
    TEMPLATES_WITH_RULES,
)
from tests.support.schemas.combined import combined_schemas
from tests.support.schemas.named import SCHEMAS
from tests.support.schemas.varied import VARIED, closed

from sfgen import SfgenError
from sfgen.protocols import GuideSource

_DRAWN_SCHEMAS = 80
_MOST_TOKENS = 9  # of a prefix
_EACH = 6  # masks of a constraint over a vocabulary

BANS: list[dict[str, Any]] = [
    {"words": ["the", "and", "a"]},
    {"words": ["talk", "listen", "hello"], "match": "substring"},
    {"words": ["is", "was", "in"], "ignore_case": False},
    {"words": ["hel*", "pre*", "s*"]},
    {"words": ["you", "great", "of"], "normalize": True, "allow": ["of course", "thank you"]},
    {"patterns": ["[0-9]{2,}", "[aeiou]{2}"]},
    {"words": ["e"], "match": "substring"},
    {"words": ["to", "he"], "patterns": ["[A-Z][a-z]+ [A-Z]"]},
]
SHORT_FORMS = ["name, age int", "city, country?, population int?", "title, tags [], year int", "ok bool, why"]
PROMPTS = [
    "Once upon a time",
    "A person: ",
    "In our shop: ",
    "Can we talk?",
    "The answer is",
    "Date: ",
    "",
    "I think that",
]
OPTIONS: list[dict[str, Any]] = [
    {"order": "any"},
    {"spacing": "compact"},
    {"indent": 2},
    {"require_all": True},
    {"extra_properties": True},
]
TOOLS: dict[str, Any] = {
    "oneOf": [
        closed({"name": {"const": "add"}, "n": {"type": "integer"}}, "name", "n"),
        closed({"name": {"const": "say"}, "text": {"type": "string", "maxLength": 5}}, "name"),
    ]
}  # fmt: skip


def patterns() -> list[str]:
    """The patterns of the test data, of the benchmarks, and some more."""
    found = [pattern for pattern, *_ in PATTERNS]
    for file in sorted((golden.DATA / "patterns").glob("*.toml")):
        if file.stem != "refused":
            found += [
                entry["pattern"] for entry in tomllib.loads(file.read_text("utf-8")).values() if "pattern" in entry
            ]
    bench = tomllib.loads((golden.DATA.parent / "bench" / "patterns.toml").read_text("utf-8"))
    found += [pattern for part in bench.values() for pattern in part.values() if isinstance(pattern, str)]
    return [*dict.fromkeys([*found, '"[^"]{0,100}"', ".{0,2000}", ".*e.*", r"(?s).*", r"(?:\w+ ){3,40}end"])]


def schemas() -> list[dict[str, Any]]:
    """Schemas of the tests, drawn ones, and some with options."""
    found: list[dict[str, Any]] = [{"schema": schema} for schema in SCHEMAS.values()]
    found += [{"schema": varied.schema} for varied in VARIED]
    found += [{"schema": text} for text in SHORT_FORMS]
    drawn: list[Any] = []

    @seed(47)
    @settings(
        max_examples=_DRAWN_SCHEMAS, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(combined_schemas())
    def draw(schema: Any) -> None:
        drawn.append(schema)

    draw()
    found += [{"schema": schema} for schema in drawn if isinstance(schema, dict)]
    options = [
        {"order": "any"},
        {"spacing": "compact"},
        {"indent": 2},
        {"require_all": True},
        {"extra_properties": True},
    ]
    found += [{**case, "schema_options": options[n % len(options)]} for n, case in enumerate(found[::3])]
    kept = []
    for case in found:
        try:
            kept.append(json.loads(json.dumps(case)))
        except (TypeError, ValueError):
            continue
    return kept


def grammars() -> list[dict[str, Any]]:
    """Grammars of llama.cpp's and of lark's kind."""
    gbnf = [*(golden.DATA / "gbnf").glob("*.gbnf"), *(golden.DATA.parent / "bench" / "grammars").glob("*.gbnf")]
    found: list[dict[str, Any]] = [{"gbnf": file.read_text("utf-8")} for file in sorted(gbnf)]
    found += [{"gbnf": text} for text, _ in [known for *_, known in LARK_RECURSIVE]]
    found += [{"lark": text, "max_blanks": blanks} for text, blanks, _ in [*LARK, *LARK_RECURSIVE]]
    texts = dict.fromkeys(example.grammar for example in EXAMPLES)
    return [*found, *({"lark": text} for text in texts)]


def templates() -> list[dict[str, Any]]:
    """Templates of the tests, and some with literal text to jump over."""
    found = [text for text, _ in [*TEMPLATES, *TEMPLATES_WITH_RULES, *TEMPLATES_WITH_COPIES]]
    found += [
        "{{name: regex [A-Z][a-z]{2,8}}} is {{age: regex [1-9][0-9]}}. Hello {{name}}!",
        "A person: {{who: schema name, age int}}",
        "{% for i in 1, 2, 3 %}{{i}}. {{line: regex [a-z ]{3,20}}}\n{% endfor %}",
        "Verdict: {{v: choices good, bad, ugly}}; since {{why temperature 1: regex [a-z]+}}.",
    ]
    return [{"template": text} for text in found]


def substrings() -> list[dict[str, Any]]:
    texts = [*((text, unit) for text, unit, *_ in DOCUMENTS)]
    long = "Call me Ishmael. Some years ago, never mind how long, I thought I would sail about a little."
    return [{"substring": text, "unit": unit} for text, unit in [*texts, (long, "word"), (long, "character")]]


def constraints() -> dict[str, tuple[int, list[dict[str, Any]]]]:
    """The cases of the masks by kind, and how many masks the kind has."""
    plain = [{"regex": pattern} for pattern in patterns()]
    choices: list[dict[str, Any]] = [{"choices": names} for names in (["yes", "no", "maybe"], ["a", "ab", "abc", "é"])]
    choices.append({"choices": [f"item {n}" for n in range(300)]})
    banned = [*plain[::2], *schemas()[::3], *grammars()[::4]]
    calls: list[dict[str, Any]] = [{"when": "<call>", "schema": TOOLS}, {"when": "<call>", "regex": "[a-c]{2}</call>"}]
    thought: dict[str, Any] = {"after": "</think>", "after_tokens": 6}
    return {
        "regex": (1_200, plain),
        "choices": (80, choices),
        "schema": (1_400, schemas()),
        "grammar": (700, grammars()),
        "template": (400, templates()),
        "substring": (150, substrings()),
        "ban": (750, [{**case, "ban": BANS[n % len(BANS)]} for n, case in enumerate(banned)]),
        "after": (220, [{**thought, **case} for case in [*plain[:20:2], *schemas()[:6], *grammars()[:4]]]),
        "when": (100, calls),
    }


def masks(vocabularies: Sequence[str], share: float) -> Iterator[list[Any]]:
    """``[vocabulary, case, [[prefix, room, digest], …]]`` of each constraint over some of the vocabularies."""
    rng = random.Random(47)
    for kind, (whole, cases) in constraints().items():
        count = round(whole * share)
        places = list(itertools.product(cases, vocabularies))
        rng.shuffle(places)
        for case, name in itertools.cycle(places):
            try:
                guides = golden.guides_of(case, golden.vocabulary(name))
                steps = list(_steps(guides, rng, min(count, _EACH)))
            except (SfgenError, AssertionError):
                continue
            if steps:
                yield [name, case, steps]
            count -= len(steps)
            if not count:
                break
        print(kind, file=sys.stderr)


def _steps(guides: GuideSource, rng: random.Random, wanted: int) -> Iterator[list[Any]]:
    """Masks along random walks, without a limit and close to it."""
    seen: set[tuple[int | None, ...]] = set()
    ends = guides.vocabulary.end_token_ids
    for _ in range(wanted * 6):
        if len(seen) == wanted:
            return
        guide, prefix = guides.guide(), []
        for _ in range(rng.randrange(_MOST_TOKENS)):
            allowed = [token for token in guide.allowed_tokens().tolist() if token not in ends]
            if not allowed:
                break
            prefix.append(rng.choice(allowed))
            guide.advance(prefix[-1])
        room = rng.choice([None, None, 0, 1, 2, 5])
        room = room if room is None else guide.tokens_left() + room
        key = (*prefix, room)
        if key in seen:
            continue
        try:
            digest = golden.digest_of_mask(guides, prefix, room)
        except SfgenError:
            continue
        seen.add(key)
        yield [prefix, room, digest]


def texts() -> Iterator[dict[str, Any]]:
    """``{kind, model, prompt, case, expected}`` of each text."""
    rng = random.Random(48)
    narrow: list[dict[str, Any]] = [
        *({"regex": r"[A-Za-z ,]{5,60}\.", "ban": ban} for ban in BANS),
        *({"schema": "name, note", "ban": ban} for ban in BANS),
    ]
    exact: list[dict[str, Any]] = [
        *({"regex": pattern} for pattern in ("[0-9]{1,3}", "yes|no|maybe", "[ab]{2,4}", "(red|green) (cat|dog)")),
        {"choices": ["hot", "cold", "warm"]},
        {"schema": {"enum": [1, 11, "a"]}},
        {"ban": BANS[1], "max_tokens": 3},
    ]
    kinds: dict[str, tuple[int, Sequence[dict[str, Any]]]] = {
        "pattern": (120, [{"regex": pattern} for pattern in patterns()]),
        "schema": (120, schemas()),
        "grammar": (110, grammars()),
        "template": (90, templates()),
        "substring": (30, substrings()),
        "ban, resample": (70, [{"ban": ban, "strategy": "resample"} for ban in BANS]),
        "ban, first-token": (70, [{"ban": ban, "strategy": "first-token"} for ban in BANS]),
        "ban, mask": (70, [{"ban": ban, "strategy": "mask"} for ban in BANS]),
        "ban and constraint": (60, narrow),
        "word bias": (30, [{"word_bias": {"the": -2.0, "you": -0.5, "is": -3}}, {"word_bias": {"a": -1.0}}]),
        "exact": (60, [{"strategy": "exact", **case} for case in exact]),
        "thought": (
            30,
            [{"after": ".", "after_tokens": 12, "regex": " ?[0-9]{2}"}, {"after": "!", "schema": "ok bool"}],
        ),
        "calls": (20, [{"when": "e", "schema": TOOLS}, {"when": " a", "regex": "[a-c]{2}!"}]),
        "stop": (10, [{"stop": [".", ","]}, {"stop": "the"}]),
        "healed": (30, [{"heal": True, "regex": "[A-Za-z ]{3,20}"}, {"heal": True}, {"heal": True, "schema": "name"}]),
    }
    for kind, (count, cases) in kinds.items():
        for number in range(count):
            case = dict(rng.choice(cases))
            plain = {
                "max_tokens": rng.choice([12, 24, 48]),
                "seed": number,
                "temperature": rng.choice([0.0, 0.7, 1.0, 1.5]),
            }
            if case.get("strategy") == "exact":
                plain["temperature"] = 1.0
            model = rng.choice(["tiny", "tiny", "hashed:tiny", "hashed:llama3", "hashed:bytes"])
            yield {"kind": kind, "model": model, "prompt": rng.choice(PROMPTS), "case": {**plain, **case}}


def batches() -> Iterator[dict[str, Any]]:
    """Jobs whose texts are made side by side, 8 texts each."""
    rng = random.Random(49)
    pool: list[dict[str, Any]] = [
        {"regex": "[A-Z][a-z]{2,8}"},
        {"schema": "name, age int"},
        {"ban": BANS[0]},
        {"ban": BANS[3], "strategy": "mask"},
        {"gbnf": 'root ::= [0-9] ("+" [0-9])*'},
        {"template": "{{a: regex [a-z]{1,9}}}-{{a}}"},
        {"ban": BANS[1], "regex": "[a-z ]{4,30}"},
    ]
    for number in range(10):
        case = {"max_tokens": 24, "seed": number, "temperature": 1.0, **pool[number % len(pool)]}
        prompts = [rng.choice(PROMPTS[:4]) for _ in range(4)]
        yield {"kind": "batch", "model": "tiny", "prompts": prompts, "samples": 2, "batch_size": 3, "case": case}


def main(parts: Sequence[str]) -> None:
    if "masks" in parts or not parts:
        golden.write("masks", list(masks(golden.VOCABULARIES, 1)))
    if "large_masks" in parts:
        golden.write("large_masks", list(masks([golden.PUBLISHED + "llama3"], 0.08)))
    if "texts" in parts or not parts:
        records = list(texts())
        for record in records:
            record["expected"] = golden.text_of(record)
        jobs = list(batches())
        for record in jobs:
            record["expected"] = golden.batch_of(record)
        golden.write("texts", [*records, *jobs])
        count = len(records) + sum(len(record["expected"]) for record in jobs)
        errors = sum("error" in record["expected"] for record in records)
        print(f"{count} texts, {errors} of them errors", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
