"""Small talk: one question with its answer, or a dialogue of several turns."""

from __future__ import annotations

from random import Random

from .conversation import ASKED, FITTING, MORE
from .grammar import Grammar
from .lexicon import RULES

_GRAMMAR = Grammar(RULES, ASKED, MORE)
_PAIRS = (
    ("ask_talk", "agree_talk"),
    ("ask_feeling", "feeling_answer"),
    ("ask_plan", "plan"),
    ("ask_help", "agree_help"),
    ("ask_day", "day"),
    ("ask_meet", "meet"),
    ("thanks", "welcome"),
    ("sorry", "forgive"),
    ("worry", "comfort"),
    ("news", "react"),
)
_SHARES = (10, 3, 2, 3, 2, 2, 1, 1, 3, 2)


def _pair(random: Random, me: str) -> tuple[str, str]:
    """What one says and what the other, whose name is ``me``, answers."""
    if random.random() < 0.35:
        asked = random.choice(tuple(FITTING))
        pair = _GRAMMAR.fill(random, f"{asked}\n{random.choice(FITTING[asked])}", me=me)
    else:
        question, answer = random.choices(_PAIRS, _SHARES)[0]
        pair = _GRAMMAR.fill(random, f"<{question}>\n<{answer}>")
    asked, _, answered = pair.partition("\n")
    return asked, answered


def exchange(random: Random) -> str:
    """A question and its answer, on one line or two, sometimes after a greeting."""
    asked, answered = _pair(random, random.choice(RULES["name"]))
    joint = " " if random.random() < 0.7 else "\n"
    greeting = _GRAMMAR.write(random, "hello") + " " if random.random() < 0.12 else ""
    return f"{greeting}{asked}{joint}{answered}"


def dialogue(random: Random) -> str:
    """Two people in turns, each line opened by the speaker's name."""
    first, second = random.sample(RULES["name"], 2)
    lines = []
    if random.random() < 0.4:
        lines += [f"{first}: Hello, {second}!", f"{second}: Hello, {first}!"]
    for _ in range(random.randint(1, 4)):
        asked, answered = _pair(random, second)
        lines += [f"{first}: {asked}", f"{second}: {answered}"]
        if random.random() < 0.3:
            first, second = second, first
    if random.random() < 0.5:
        lines += [f"{first}: {_GRAMMAR.write(random, 'farewell')}"]
    return "\n".join(lines)
