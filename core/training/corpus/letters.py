"""Short letters: place and date, salutation, three to six sentences, closing."""

from __future__ import annotations

from random import Random

from .dates import day, notation
from .grammar import Grammar
from .lexicon import RULES

_RULES: dict[str, tuple[str, ...]] = {
    "salutation": (
        "Dear <to>,",
        "Dear <to>,",
        "Hello <to>,",
        "My dear <to>,",
        "Dear Mr <surname>,",
        "Dear Mrs <surname>,",
    ),
    "thanks": (
        "thank you for your letter.",
        "many thanks for the <thing_quality> <thing>.",
        "how are you?",
        "I hope you are well.",
        "it is a long time since we talked.",
        "I am writing to you from <somewhere>.",
        "at last I have time to write to you.",
        "thank you for listening to me <past>.",
        "I have good news for you.",
    ),
    "middle": (
        "The weather is <weather>, and I drink <drink> all day long.",
        "It is <weather> here, and the <place> is full of people.",
        "<Past> I visited the <place> and saw a(n) <animal_quality> <animal>.",
        "I am learning to play the <instrument>, and my neighbours are very patient.",
        "My <thing> is broken, but <name> wants to repair it.",
        "We live in a(n) <place_quality> house near the <place>.",
        "I have found work as a(n) <job>.",
        "In the evening we sit by the fire, talk about <subject> and listen to the radio.",
        "The food is <weather>: we eat <food> and <other=food> every day.",
        "Please send me your new address.",
        "I would like to talk to you about <subject> when you have time.",
        "Do you still work as a(n) <job>?",
        "The order has arrived, but the <thing> was not in the box.",
        "Could you please tell me the price of the <colour> <thing>?",
        "My sister asks whether you still have her <thing>.",
        "There is so much that I want to tell you.",
        "I often think of our days in <city>.",
        "<Name> is a(n) <job> now and lives in <somewhere>.",
        "I have read your book about <subject>, and I liked it very much.",
        "The children are <feeling>, and the <pet> is well.",
    ),
    "pet": ("dog", "cat", "horse", "rabbit", "parrot", "donkey", "turtle"),
    "weather": ("hot", "cold", "hot", "cold", "warm", "wonderful", "terrible", "good"),
    "last": (
        "Will you come to <somewhere> <when>?",
        "Please write soon.",
        "I will call you <when>.",
        "I look forward to your answer.",
        "Give my love to <name>.",
        "See you in <month>.",
        "Until then, take care of yourself.",
        "I hope to see you <when>.",
    ),
    "closing": ("Yours,", "With kind regards,", "Best wishes,", "Love,", "Many greetings,", "Yours sincerely,"),
}
_GRAMMAR = Grammar(RULES, _RULES)


def letter(random: Random) -> str:
    """A letter or a short note with line breaks between its parts."""
    writer, reader = random.sample(RULES["name"], 2)
    body = [_GRAMMAR.fill(random, "<Thanks>")]
    body += dict.fromkeys(_GRAMMAR.write(random, "middle") for _ in range(random.randint(1, 4)))
    body.append(_GRAMMAR.write(random, "last"))
    lines = [
        _GRAMMAR.write(random, "salutation", to=reader),
        "",
        " ".join(body),
        "",
        _GRAMMAR.write(random, "closing"),
        writer,
    ]
    if random.random() < 0.3:
        lines = [f"{random.choice(RULES['city'])}, {notation(random, day(random))}", "", *lines]
    return "\n".join(lines)
