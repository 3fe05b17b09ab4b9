"""What a template costs beside one pattern of the same language.

Usage: ``python -m tests.bench.template [--rounds N] [--vocabulary NAME]``. Each case is a template and a pattern that
matches the same texts. Measured are: to make the constraint; the masks of a walk through a text, token by token, when
all are made; and whole generations with ``tiny``, of the same texts. The two take turns, and of all rounds the least
time of the processor counts. The last column is that of the template divided by that of the pattern, for generations.

A second table has the calls of a text (``when``) whose banned words are taken out: then a second guide reads each call.
Masks are those of a walk through one call with it and without; generations are with the ban and without.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sfgen
from sfgen import GenerationConfig, Index, Sampler, Template, Vocabulary
from sfgen.index import Marker
from sfgen.index.sequence import Calls
from sfgen.protocols import Constraint, GuideSource, Model

from .vocabularies import EMBEDDED, NAMES, Cutter, find

CASES = {
    "a sentence": (
        "{{name: regex [A-Z][a-z]{2,9}}} is {{age: regex [1-9][0-9]}} years old.",
        r"[A-Z][a-z]{2,9} is [1-9][0-9] years old\.",
    ),
    "a block": (
        "{% for x in a, b, c, d %}{{x}}: {{word: regex [a-z]{3,9}}}\n{% endfor %}",
        "".join(f"{x}: [a-z]{{3,9}}\n" for x in "abcd"),
    ),
    "choices again": (
        "{{m: choices good, bad, fair}}, {{w: regex [a-z]{1,9}}}, {{m}}",
        "good, [a-z]{1,9}, good|bad, [a-z]{1,9}, bad|fair, [a-z]{1,9}, fair",
    ),
    "lines": ('{{a: text until "\\n" max 40}}\n{{b: text until "\\n" max 40}}\n', r"[^\n]{0,40}\n[^\n]{0,40}\n"),
}
CALL = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["name", "city", "days"],
}
MAX_TOKENS = 60


@dataclass(frozen=True)
class Times:
    """Seconds, of a template and of a pattern."""

    making: tuple[float, float]
    masks: tuple[float, float]
    texts: tuple[float, float]


def measured(template: str, pattern: str, vocabulary: Vocabulary, rounds: int) -> Times:
    """Measure one case."""
    makes: list[Callable[[], Constraint]] = [lambda: Template(template), lambda: sfgen.Dfa.from_regex(pattern)]
    made = [make() for make in makes]
    text = made[0].shortest()
    walks = [_walk(Index(constraint, vocabulary), text) for constraint in made]  # type: ignore[call-overload]
    model = sfgen.load_model("tiny")
    indexes = [Index(constraint, model.vocabulary) for constraint in made]  # type: ignore[call-overload]
    generations = [_generation(model, index) for index in indexes]
    return Times(_least(makes, rounds), _least(walks, rounds * 20), _least(generations, rounds))


def with_a_reader(vocabulary: Vocabulary, rounds: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Measure calls with a second guide, and without: the masks of one, and whole generations."""
    schema = sfgen.JsonSchema(CALL)
    banned = sfgen.BannedWords(["listen", "wool*"])
    clean = schema.without_banned(banned)
    assert clean is not None, "its strings can have the banned words"
    marker, whole = Marker(b". "), Index(schema, vocabulary)
    sources = [Calls(marker, Index(clean, vocabulary), each) for each in (whole, None)]
    walks = [_walk(source, b'. {"name": "weather", "city": "Reykjavik", "days": 12}') for source in sources]
    model = sfgen.load_model("tiny")
    generations = [
        _generation(model, Index(schema, model.vocabulary), when=". ", banned=each) for each in (banned, None)
    ]
    return _least(walks, rounds * 5), _least(generations, rounds)


def _walk(index: GuideSource, text: bytes) -> Callable[[], object]:
    """Takes a text byte by byte as far as there are tokens for that, and asks for each mask."""
    single = {data[0]: token for token, data in enumerate(index.vocabulary.tokens) if data and len(data) == 1}
    tokens = [single[byte] for byte in text if byte in single]

    def walk() -> None:
        guide = index.guide(MAX_TOKENS * 4)
        for token in tokens:
            guide.mask()
            guide.advance(token)

    return walk


def _generation(model: Model, index: GuideSource, **more: Any) -> Callable[[], object]:
    def generate() -> None:
        for seed in range(5):
            config = GenerationConfig(index=index, sampler=Sampler(1.0, seed), max_tokens=MAX_TOKENS, **more)
            sfgen.generate(model, "A person: ", config)

    return generate


def _least(works: Sequence[Callable[[], object]], rounds: int) -> tuple[float, float]:
    """The least time of each of two, which take turns."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            begun = time.process_time()
            work()
            best[number] = min(best[number], time.process_time() - begun)
    return best[0], best[1]


def main() -> None:
    """Measure all cases, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.template", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="how often each is done (default: 40)")
    parser.add_argument("--vocabulary", choices=[*NAMES, EMBEDDED], default=EMBEDDED, help="of the masks")
    options = parser.parse_args()
    name, directory = next(iter(find([options.vocabulary]).items()))
    vocabulary = Cutter(name, directory).vocabulary
    print("| case | made, ms | masks of a text, ms | five texts, ms | ratio |\n| --- | --- | --- | --- | --- |")
    for title, (template, pattern) in CASES.items():
        times = measured(template, pattern, vocabulary, options.rounds)
        cells = [f"{1e3 * mine:.2f} / {1e3 * other:.2f}" for mine, other in (times.making, times.masks, times.texts)]
        print(f"| {title} | {' | '.join(cells)} | {times.texts[0] / times.texts[1]:.3f} |", flush=True)
    masks, texts = with_a_reader(vocabulary, options.rounds)
    print("\n| calls with a ban | with, ms | without, ms | ratio |\n| --- | --- | --- | --- |")
    for title, (mine, other) in (("masks of a call", masks), ("five texts", texts)):
        print(f"| {title} | {1e3 * mine:.2f} | {1e3 * other:.2f} | {mine / other:.3f} |", flush=True)


if __name__ == "__main__":
    main()
