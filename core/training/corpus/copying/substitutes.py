"""Prose in which one common word is replaced by others.

So the model reads how the same things are said without ``the``, without ``talk``: what it has to do under a ban.
"""

from __future__ import annotations

import re
from random import Random

from training.corpus.grammar import with_articles

_ARTICLE = re.compile(r"\b([Aa])n? (?=[a-zA-Z])")
SUBSTITUTES: dict[str, tuple[str, ...]] = {
    word: tuple(others.split(", "))
    for word, _, others in (
        line.partition(": ")
        for line in """
the: this, that, our, my, her, his, your, one
a: the, one, this, some, another
and: or, as well as, plus
is: was, seems
was: is, seemed
me: us, them
my: our, the, her
you: they, we
your: their, our, the
it: this, that
said: answered, replied, called, cried
very: really, so, quite, too
old: aged, ancient, grey
small: little, tiny
big: large, huge, great
good: fine, nice, great
beautiful: lovely, pretty
happy: glad, cheerful, merry
sad: unhappy, gloomy
went: walked, came, hurried
talk: speak, chat
talked: spoke, chatted
talking: speaking, chatting
listen: hear more, pay attention
listened: paid attention, sat still
help: support, join
want: wish, hope, need
wanted: wished, hoped, tried
think: believe, guess, feel
know: see, understand
found: saw, discovered, got
told: showed, gave
asked: begged, invited
lived: worked, slept, stayed
day: morning, evening, night
time: moment
friend: neighbour, companion, cousin
house: cottage, home, hut
man: fellow, stranger
always: often, usually
never: hardly, rarely
many: several, countless
because: since, as
but: yet, though
when: whenever
story: tale, legend
hello: hi, welcome, greetings
yes: sure, certainly, of course
tomorrow: soon, later, tonight
today: now, tonight
then: later, afterwards
there: here, somewhere
here: there, nearby
this: that
that: this, which
can: could, may, should
will: can, may, must
would: might, could
they: people, we
we: they, people
he: somebody, she
she: somebody, he
one: some, another
""".strip().splitlines()
    )
}
"""A common word to what may stand in its place."""


def without(text: str, word: str, random: Random) -> str:
    """The text with another word wherever ``word`` stands; capitals stay, and articles fit."""

    def other(match: re.Match[str]) -> str:
        found = random.choice(SUBSTITUTES[word])
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    ways = r"an?" if word == "a" else re.escape(word)
    replaced = re.sub(rf"(?<![\w'@./-])(?:{ways})(?![\w'@/-]|\.\w)", other, text, flags=re.IGNORECASE)
    return with_articles(_ARTICLE.sub(r"\1(n) ", replaced))


def common_word(text: str, random: Random) -> str | None:
    """A word of the text that has substitutes; ``None`` if there is none."""
    found = sorted(set(re.findall(r"[A-Za-z]+", text)) & set(SUBSTITUTES))
    return random.choice(found) if found else None
