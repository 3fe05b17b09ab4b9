"""Choices scored as whole texts, beside choices written token by token: the section *Choices*.

Questions and right answers are those of ``tests/data/real/questions.json``; the wrong choices are answers to other
questions of the same kind, drawn with a fixed seed. The prompt is three answered questions and then the question. The
scores are looked up in the model by this module, too, token by token, and compared.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfgen import GenerationConfig, Job, job_records, score
from sfgen.decoding.sampler import Sampler, log_sum

from .liked_phrases import DATA

QUESTIONS = DATA / "questions.json"
EXAMPLES = (
    "Question: What do bees make?\nAnswer: honey\n\n"
    "Question: Who works in a hospital?\nAnswer: a nurse\n\n"
    "Question: Which ocean lies between Europe and North America?\nAnswer: the Atlantic Ocean\n\n"
)
DRAWS = 10
"""Texts that are drawn for each question."""
ROWS = 10


@dataclass(frozen=True)
class Question:
    """A question with its choices.

    Attributes:
        prompt: The text before the answer.
        choices: What may be answered, each with the blank before it.
        right: The right one.
    """

    prompt: str
    choices: tuple[str, ...]
    right: str


@dataclass(frozen=True)
class Answers:
    """The answers of one way.

    Attributes:
        texts: To each question, once or several times.
        seconds: The processor time of all.
    """

    texts: list[list[str]]
    seconds: float


@dataclass(frozen=True)
class Looked:
    """The log-probabilities of a question's choices, looked up token by token.

    Attributes:
        of_tokens: Of the tokens of each choice.
        with_end: Of them and an end token.
        counts: How many tokens each has.
    """

    of_tokens: tuple[float, ...]
    with_end: tuple[float, ...]
    counts: tuple[int, ...]


def questions() -> list[Question]:
    """All questions, with four to ten choices each."""
    draw, found = random.Random(0), []
    for kind in json.loads(QUESTIONS.read_text(encoding="utf-8")):
        for subject, right in kind["answers"].items():
            others = [answer for answer in dict.fromkeys(kind["answers"].values()) if answer != right]
            choices = [right, *draw.sample(others, min(len(others), draw.randint(3, 9)))]
            draw.shuffle(choices)
            prompt = f"{EXAMPLES}Question: {kind['question'].format(subject)}\nAnswer:"
            found.append(Question(prompt, tuple(f" {choice}" for choice in choices), f" {right}"))
    return found


def section(sketch: bool) -> str:
    """Measure, and write the section of the report."""
    from tests.support.real.model import gguf_model

    model, asked = gguf_model(), questions()[:: 25 if sketch else 1]
    score(model, asked[0].prompt, asked[0].choices)  # what is made once is no part of the times
    looked = [look_up(model, question) for question in asked]
    begun = time.process_time()
    scores = [{choice.text: choice.logprob for choice in score(model, one.prompt, one.choices)} for one in asked]
    seconds = time.process_time() - begun
    scored = Answers([[max(found, key=found.__getitem__)] for found in scores], seconds)
    apart = [
        abs(found[choice] - logprob)
        for question, found, one in zip(asked, scores, looked, strict=True)
        for choice, logprob in zip(question.choices, one.with_end, strict=True)
    ]
    by_name = {"scores": scored}
    drawn = GenerationConfig(temperature=1.0, seed=0)
    for name, config in (
        ("greedy", GenerationConfig()),
        ("sampled", drawn),
        ("exact", replace(drawn, strategy="exact")),
    ):
        by_name[name] = written(model, asked, config, 1 if name == "greedy" else 4 if sketch else DRAWS)
        print(f"choices: {name}, {by_name[name].seconds:.0f} s", file=sys.stderr, flush=True)
    return report(asked, looked, by_name, apart)


def look_up(model: Any, question: Question) -> Looked:
    """Read the prompt and each choice, and add up the log-probabilities of its tokens.

    The prompt ends in a sign that no token goes on with, so each choice is tokenized by itself.
    """
    read = model.encode(question.prompt)
    ends, one = list(model.vocabulary.end_token_ids), Sampler(1.0, seed=0)
    session = model.session()
    first = session.extend(read).copy()
    totals, ended, counts = [], [], []
    for choice in question.choices:
        tokens = model.encode_inside(choice)
        assert [*read, *tokens] == model.encode(question.prompt + choice), "a token reaches across the seam"
        after = one.log_probabilities(first)
        total = 0.0
        for token in tokens:
            total += float(after[token])
            after = one.log_probabilities(session.extend([token]))
        session.rewind(len(read))
        totals.append(total)
        ended.append(total + log_sum(after[ends]))
        counts.append(len(tokens))
    return Looked(tuple(totals), tuple(ended), tuple(counts))


def best(question: Question, logprobs: Sequence[float]) -> str:
    """The choice with the highest of some numbers."""
    return question.choices[int(np.argmax(logprobs))]


def written(model: Any, asked: Sequence[Question], config: GenerationConfig, samples: int) -> Answers:
    """Write answers that are among the choices."""
    job = Job(model, config, samples=samples)
    prompts = [{"prompt": question.prompt, "sfgen": {"choices": list(question.choices)}} for question in asked]
    begun = time.process_time()
    records = list(job_records(job, prompts, batch_size=ROWS))
    seconds = time.process_time() - begun
    texts: list[list[str]] = [[] for _ in asked]
    for record in records:
        texts[record["line"] - 1].append(record["text"])
    return Answers(texts, seconds)


def distance(texts: Sequence[str], question: Question, logprobs: Sequence[float]) -> tuple[float, float]:
    """The total variation between the shares of drawn texts and probabilities, and that of as many true draws.

    Args:
        texts: What was drawn.
        question: The question.
        logprobs: Those of its choices.
    """
    shares = np.exp(np.array(logprobs) - log_sum(np.array(logprobs)))
    counts = Counter(texts)
    drawn = np.array([counts[choice] for choice in question.choices]) / len(texts)
    true = np.random.default_rng(0).multinomial(len(texts), shares / shares.sum(), 2000) / len(texts)
    return float(np.abs(drawn - shares).sum() / 2), float(np.abs(true - shares).sum(axis=1).mean() / 2)


def report(
    asked: Sequence[Question], looked: Sequence[Looked], by_name: dict[str, Answers], apart: Sequence[float]
) -> str:
    """The section.

    Args:
        asked: The questions.
        looked: What was looked up of each.
        by_name: What each way answered.
        apart: The differences between scores and what was looked up.
    """
    of_tokens = [one.of_tokens for one in looked]
    means = [[total / count for total, count in zip(one.of_tokens, one.counts, strict=True)] for one in looked]
    draws = len(by_name["exact"].texts[0])
    reference = by_name["scores"].texts
    ways = [
        ("scores of whole texts (`sfgen.score`)", reference, by_name["scores"].seconds),
        ("the same without the end token", [[best(*pair)] for pair in zip(asked, of_tokens, strict=True)], None),
        ("the same, divided by the number of tokens", [[best(*pair)] for pair in zip(asked, means, strict=True)], None),
        ("greedy, token by token", by_name["greedy"].texts, by_name["greedy"].seconds),
        (f"drawn token by token, {draws} times", by_name["sampled"].texts, by_name["sampled"].seconds),
        (f"drawn as a whole (`exact`), {draws} times", by_name["exact"].texts, by_name["exact"].seconds),
    ]
    counts = [count for one in looked for count in one.counts]
    sizes = [len(question.choices) for question in asked]
    chance = np.mean([1 / size for size in sizes])
    lines = [
        "## Choices",
        "",
        f"{len(asked)} questions with {min(sizes)} to {max(sizes)} choices of {min(counts)} to {max(counts)} tokens "
        "(`tests/data/real/questions.json`), three answered ones before each. By chance "
        f"{chance:.0%} would be right. Processor time for a question, on one thread; greedy and drawn answers are "
        f"written {ROWS} at once.",
        "",
        "| way | right | as the scores say | seconds a question |",
        "|---|---:|---:|---:|",
    ]
    for name, texts, seconds in ways:
        right = agreement(texts, [question.right for question in asked])
        same = agreement(texts, [first for (first,) in reference])
        lines.append(
            f"| {name} | {right:.0%} | {same:.0%} | {'' if seconds is None else f'{seconds / len(asked):.2f}'} |"
        )
    lines += [
        "",
        f"Looked up token by token, the logarithm of a choice's probability differs by {np.median(apart):.2g} in the "
        f"median, {np.quantile(apart, 0.95):.2g} at the 95th percentile and {max(apart):.2g} at most: llama.cpp rounds "
        "otherwise where it reads several tokens at once.",
        "",
    ]
    for name, title in (("exact", "drawn as a whole"), ("sampled", "drawn token by token")):
        pairs = [distance(*found) for found in zip(by_name[name].texts, asked, of_tokens, strict=True)]
        here, expected = np.mean(pairs, axis=0)
        lines.append(
            f"Shares of the texts {title} against the probabilities of their tokens: total variation {here:.3f} in "
            f"the mean, where {draws} true draws would have {expected:.3f}."
        )
    return "\n".join(lines)


def agreement(answers: Sequence[Sequence[str]], wanted: Sequence[str]) -> float:
    """The share of answers that are the wanted ones, the mean of all questions."""
    return float(np.mean([texts.count(text) / len(texts) for texts, text in zip(answers, wanted, strict=True)]))
