"""What the embedded model can do: copy names, choose, write queries and calls, hold together under a ban.

Usage: ``python -m tests.bench.tiny``, or with ``--model DIRECTORY`` for other weights. Prompts are made of templates
and words that no training text has; they are given as the README gives its own. Prints a line of JSON for each item.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sfgen
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from training.corpus import corpus
from training.corpus.copying.answers import told, with_pair
from training.corpus.copying.calls import TOOLS, Tool, called
from training.corpus.copying.extraction import filled, keys_of
from training.corpus.copying.held_back import held_back_sentence
from training.corpus.copying.labels import LABELS
from training.corpus.copying.queries import HELD_BACK as QUERIES
from training.corpus.copying.queries import asked
from training.corpus.copying.told_facts import FACTS, HELD_BACK_TOLD
from training.corpus.copying.words import Words
from training.corpus.held_back import held_back

WORD = re.compile(r"\w+")
OPENINGS = (
    "Once upon a time",
    "Can we talk?",
    "Tell me a story",
    "Hello, how are you?",
    "What did you do yesterday?",
    "The old man",
    "I think that",
    "My friend",
    "In the morning",
    "Where do you live?",
)
"""Prompts of the free texts from which words are banned."""
MOST_TOKENS = 60
"""Of a free text."""


def records(model: TinyModel, source: Words) -> tuple[str, str, str]:
    """A sentence, its record under a schema, and the record that is right."""
    sentence = held_back_sentence(source)
    keys = keys_of(source.random, list(sentence.values))
    right = {key: sentence.values[slot] for slot, key in keys.items()}
    types = {bool: "boolean", int: "integer", float: "number", str: "string"}
    properties = {key: {"type": types[type(value)]} for key, value in right.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return sentence.text, _written(model, sentence.text, sfgen.JsonSchema(schema)), _json(right)


def calls(model: TinyModel, source: Words) -> tuple[str, str, str]:
    """A request, the call of one of three tools, and the right one."""
    random = source.random
    tools = random.sample(TOOLS, 3)
    chosen = random.choice(tools)
    text, name, arguments, _names = called(source, chosen, random.choice(chosen.held_back))
    listed = [
        _listed(tool, name if tool is chosen else tool.names[0], arguments if tool is chosen else {}) for tool in tools
    ]
    return (
        text,
        _written(model, text, sfgen.JsonSchema(sfgen.tools_schema(listed))),
        _json({"name": name, "arguments": arguments}),
    )


def queries(model: TinyModel, source: Words) -> tuple[str, str, str]:
    """A table and a question, the query under a pattern of the table's columns, and the right one."""
    question, right = asked(source, source.random.choice(QUERIES))
    table, *columns = WORD.findall(question.removeprefix("Table ").partition("\n")[0])
    column = "|".join(columns)
    what = rf"(\*|count\(\*\)|(min|max|avg|sum)\(({column})\)|({column})(, ({column}))?)"
    where = rf"({column}) (= ('[^']{{1,30}}'|[0-9]{{1,6}})|[<>] [0-9]{{1,6}})"
    pattern = rf"SELECT {what} FROM {table}( WHERE {where}( AND {where})?)?( ORDER BY ({column})( DESC)?)?"
    return question, _written(model, f"{question}\n", sfgen.Dfa.from_regex(pattern)), right


def choices(model: TinyModel, source: Words) -> tuple[str, str, str]:
    """Facts and a question, or a ticket; the likeliest of two to four choices, and the right one."""
    random = source.random
    if random.random() < 0.5:
        labels = random.choice(LABELS)
        right = random.choice(list(labels.held_back))
        prompt = f"{filled(source, random.choice(labels.held_back[right])).text}\n{labels.titles[0]}: "
        return prompt, likeliest(model, prompt, list(labels.texts)), right
    place, templates = random.choice(HELD_BACK_TOLD)
    sentences, drawn = told(source, FACTS[place], random.choice((2, 3, 4)), templates)
    chosen = random.choice(drawn)
    prompt = f"{' '.join([*sentences, with_pair(random.choice(FACTS[place].second), chosen)])} "
    return prompt, likeliest(model, prompt, [pair["b"] for pair in drawn]), chosen["b"]


ITEMS: dict[str, Callable[[TinyModel, Words], tuple[str, str, str]]] = {
    "records": records,
    "choices": choices,
    "queries": queries,
    "calls": calls,
}
"""What is measured: a prompt, what the model makes of it, what is right."""


def likeliest(model: TinyModel, prompt: str, offered: list[str]) -> str:
    """The choice of the greatest probability, its end included: what ``--scores`` puts first."""
    return sfgen.score(model, prompt, offered)[0].text


def log_probability(model: TinyModel, prompt: str, text: str) -> float:
    """Of a text, and of the end behind it, after a prompt: in nats."""
    given, tokens = model.encode(prompt), [*model.encode_inside(text), *model.vocabulary.end_token_ids]
    scores = np.asarray(model.session().extend_all([*given, *tokens[:-1]]), dtype=np.float64)[len(given) - 1 :]
    return float(sum(row[token] - np.logaddexp.reduce(row) for row, token in zip(scores, tokens, strict=True)))


def bits_per_character(model: TinyModel, texts: list[str]) -> float:
    """How well texts are foreseen; of two tokenizers the figures can be compared."""
    bits = -sum(log_probability(model, "", text) for text in texts) / math.log(2)
    return bits / sum(map(len, texts))


def commonest_words(model: TinyModel, count: int, texts: int = 10) -> list[str]:
    """The commonest words of some texts that the model writes freely after each opening."""
    found: Counter[str] = Counter()
    for opening in OPENINGS:
        for seed in range(texts):
            sampler = sfgen.Sampler(temperature=1.0, seed=seed)
            text = sfgen.generate(model, opening, sampler=sampler, max_tokens=MOST_TOKENS).text
            found.update(word.lower() for word in WORD.findall(text))
    return [word for word, _ in found.most_common(count)]


def holds_together(text: str, known: set[str]) -> bool:
    """Whether a text has three words, only known ones, and no three of them come again; ``the08`` is no word."""
    words = [word.lower() for word in WORD.findall(text) if not word.isdigit()]
    threes = list(zip(words, words[1:], words[2:], strict=False))
    return len(words) >= 3 and known.issuperset(words) and len(set(threes)) == len(threes)


def banned(model: TinyModel, words: Iterable[str], known: set[str]) -> Iterator[tuple[str, str, bool]]:
    """Each word, what the model writes where it may not, and whether that holds together."""
    for number, word in enumerate(words):
        opening = OPENINGS[number % len(OPENINGS)]
        result = sfgen.generate(model, opening, banned=sfgen.BannedWords([word]), max_tokens=MOST_TOKENS)
        # The limit may have cut the last word.
        text = result.text if result.finish_reason != "limit" else result.text.rpartition(" ")[0]
        yield word, f"{opening}{result.text}", holds_together(text, known)


def _listed(tool: Tool, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    kinds = {int: "integer", float: "number", str: "string", bool: "boolean"}
    named = {key: {"type": kinds[type(value)]} for key, value in arguments.items()}
    properties = named or {names[0]: {"type": "string"} for names in tool.arguments.values()}
    return {"name": name, "parameters": {"properties": properties, "required": list(properties)}}


def _written(model: TinyModel, prompt: str, constraint: sfgen.JsonSchema | sfgen.Dfa) -> str:
    index = sfgen.Index(constraint, model.vocabulary)
    return sfgen.generate(model, prompt, index=index, max_tokens=300).text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def is_same(found: str, right: str) -> bool:
    """Whether two texts are the same, as JSON where they are JSON."""
    try:
        return bool(json.loads(found) == json.loads(right))
    except ValueError:
        return found == right


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tiny", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--model", type=Path, default=DIRECTORY, help="directory of the weights (default: the package's)"
    )
    parser.add_argument("--count", type=int, default=200, help="prompts of each kind (default: %(default)s)")
    parser.add_argument("--words", type=int, default=100, help="words to ban (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the prompts (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="print what is wrong, too")
    options = parser.parse_args()
    model = TinyModel(options.model)
    for name, item in ITEMS.items():
        source = Words(Random(f"{name} {options.seed}"), held_back=True)
        tried = [item(model, source) for _ in range(options.count)]
        wrong = [one for one in tried if not is_same(one[1], one[2])]
        print(json.dumps({"item": name, "right": 1 - len(wrong) / len(tried), "of": len(tried)}), flush=True)
        for prompt, found, right in wrong if options.show else ():
            print(json.dumps({"prompt": prompt, "found": found, "right": right}, ensure_ascii=False))
    for kind in ("small_talk", "story"):
        bits = bits_per_character(model, held_back(kind, options.seed, options.count))
        print(json.dumps({"item": f"bits per character, {kind}", "bits": round(bits, 4)}), flush=True)
    known = {word.lower() for text in corpus(2, 30_000) for word in WORD.findall(text)}
    tried_words = list(banned(model, commonest_words(model, options.words), known))
    held = sum(together for _, _, together in tried_words)
    print(json.dumps({"item": "bans", "right": held / max(1, len(tried_words)), "of": len(tried_words)}))
    for word, text, together in tried_words if options.show else ():
        if not together:
            print(json.dumps({"banned": word, "found": text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
