"""Two to four sentences of somebody who tells of something: it begins, it goes on, it ends."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import RULES
from .sentences import GRAMMAR as PHRASES

_RULES: dict[str, tuple[str, ...]] = {
    "begin": (
        "I think that <reason>.",
        "I think that <subject> is good for everybody.",
        "I think that we should <do> <when>.",
        "I think that <person> <did>.",
        "I think that a(n) <animal> needs more time than a(n) <other=animal>.",
        "I believe that <reason>.",
        "I know that <person> <did>.",
        "I heard that <reason>.",
        "I <did> <past>.",
        "My friend taught me to <do>.",
        "My friend <name> <did>.",
        "My friend and I <did> <past>.",
        "My friend lives in <somewhere> and likes <subject>.",
        "My friend has a(n) <thing_quality> <thing>.",
        "My <relative> <did> <past>.",
        "The old man <did>.",
        "The old man at the <place> <did>.",
        "The old man wanted to <do>.",
        "The old man had a(n) <animal_quality> <animal> and a(n) <thing>.",
        "The young woman <did>.",
        "The <job> <did> <where>.",
        "In the morning <who> <did>.",
        "In the morning I <did>.",
        "In the morning it was <temperature>.",
        "In the morning we took the train to <city>.",
        "In the evening <who> <did>.",
        "Yesterday <person> <did>.",
        "Last <weekday> I <did> <where>.",
        "It was <temperature> in <city>.",
        "There was a(n) <animal_quality> <animal> <where>.",
        "<Who> wanted to <do>.",
        "<Who> <did> <where>.",
        "We <did>.",
        "Where do you live? I live in <city>, near the <place>.",
        "Where do you live? In <somewhere>, with my <relative>.",
        "Where do you live? In a(n) <place_quality> house behind the <place>.",
        "Where do you live? I have a flat in <city>.",
        "What did you do <past>? I <did>.",
        "Hello, how are you? I am <feeling>, thank you.",
        "Hello, how are you? Quite well, but <reason>.",
        "Why are you <feeling>? Because <person> <did>.",
    ),
    "go_on": (
        "At first nobody noticed.",
        "It was not easy, but it worked.",
        "That made everybody <feeling>.",
        "The others only laughed about it.",
        "Then the rain began.",
        "After that we needed some <drink>.",
        "Nobody had expected this.",
        "All in all it took <number> hours.",
        "Even the <job> was surprised.",
        "You should have seen it!",
        "For <number> minutes all was silent.",
        "Suddenly somebody called my name.",
        "Of course there were many questions.",
        "My <relative> could not believe it.",
        "What else could I do?",
        "<Name> had already told me so.",
        "The whole <place> was full of people.",
        "To be honest, I was a little <feeling>.",
        "Sometimes life is like that.",
        "Such things happen every <weekday>.",
        "It cost us <number> dollars.",
        "A(n) <animal> watched from the roof.",
    ),
    "turn": (
        "Later <other_who> came along and <did>.",
        "But then <name> <did>.",
        "So we decided to <do>.",
        "In the end <person> <adverb> <did>.",
        "Instead, <name> <surname> <did>.",
        "Some say that <reason>, others do not.",
        "<Person> even offered us <food>.",
        "Only <name> stayed and <did>.",
    ),
    "end": (
        "Now everything is quiet again.",
        "So the day came to a good end.",
        "I will never forget it.",
        "Perhaps we can do it again <when>.",
        "That is all I know.",
        "What do you think about it?",
        "It was late when we came home.",
        "And that was that.",
        "Tell me if you know more.",
        "Let us hope for the best.",
        "Is it the same with you?",
        "Since then I have felt much better.",
        "Nothing could be nicer.",
        "The rest is another story.",
        "I am looking forward to <weekday>.",
        "Please do not tell anybody.",
    ),
}
_GRAMMAR = Grammar(RULES, PHRASES.rules, _RULES)
_SHAPES = (
    "<begin> <go_on> <end>",
    "<begin> <turn> <end>",
    "<begin> <go_on> <turn> <end>",
    "<begin> <turn> <go_on> <end>",
    "<begin> <go_on>",
    "<begin> <end>",
)


def musing(random: Random) -> str:
    """One text."""
    return _GRAMMAR.fill(random, random.choice(_SHAPES))
