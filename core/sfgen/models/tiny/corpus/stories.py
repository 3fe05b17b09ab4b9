"""Short stories of four to nine sentences: a hero, a wish, a trouble, a friend, an end."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import ANIMALS, CITIES, MEN, RULES, THINGS, WOMEN

_RULES: dict[str, tuple[str, ...]] = {
    "title": ("The <Quality> <Prize>", "<Hero> and the <Beast>", "The <Beast> of <Land>", "A Day at the <Place>"),
    "opening": (
        "Once upon a time there was a(n) <quality> <job> called <hero> who lived near a(n) <place>.",
        "Once upon a time, in a(n) <quality> village near <city>, lived a(n) <job> called <hero>.",
        "Once there was a(n) <quality> <animal> that lived in a garden with <hero>.",
        "<Hero> was a(n) <job> in <city>.",
        "<Hero> lived alone in a(n) <quality> house by the <place>.",
        "In the winter <hero> worked as a(n) <job>, and in the summer <he> went to the sea.",
        "Every morning <hero> walked from the <place> to the <other=place>.",
        "Long ago, when the world was young, <hero> kept a(n) <animal> and <number> sheep.",
    ),
    "detail": (
        "<He> had a(n) <quality> <thing> and a(n) <animal> with <colour> eyes.",
        "Everybody in the village knew <him>.",
        "<His> house was full of books and <colour> flowers.",
        "<He> liked <food> and <drink> more than anything else.",
        "<He> could play the <instrument> better than anybody in <city>.",
        "People said that <he> talked to the trees.",
        "At night <he> listened to the wind and thought about <subject>.",
        "<He> was <quality>, but nobody ever came to visit <him>.",
    ),
    "wish": (
        "One day <he> wanted to see the world.",
        "But more than anything <he> wanted a(n) <quality> <prize>.",
        "One morning <he> found a letter under the door.",
        "One evening <he> heard a strange sound behind the <place>.",
        "One day in <month> the king asked for the best <job> in the land.",
        "One night <he> had a dream about a(n) <colour> <beast>.",
    ),
    "journey": (
        "So <he> packed a(n) <thing> and some <food> and went to <land>.",
        "<He> walked for <number> days until <he> came to a(n) <quality> <place>.",
        "<He> took the <colour> boat and crossed the river.",
        "<He> <adverb> opened the door and went out into the snow.",
        "<He> asked <friend=name> to come along, and they left at <hour>.",
        "It was cold and it rained, but <he> did not turn back.",
    ),
    "trouble": (
        "On the way <he> lost <his> <thing>, and the night was dark.",
        "There <he> met a(n) <quality> <beast> who asked <him> three questions.",
        "But the <place> was empty, and nobody answered.",
        "Suddenly a(n) <quality> <beast> stood in front of <him>.",
        "Then a storm came, and <he> had to hide in a(n) <place>.",
        "An old woman stopped <him> and would not let <him> go on.",
    ),
    "speech": (
        '"Do not be afraid," said the <beast>. "I only want to talk."',
        '"Who are you?" asked <hero>. "I am your friend," said the <beast>.',
        '"Sit down and listen," said the old man, "and I will tell you a story."',
        '"What do you need?" asked the <job>. "Only a little <drink>," said <hero>.',
        '"I have waited for you for <number> years," said a(n) <quality> voice.',
        '"Give me your <thing>," said the <job>, "and I will show you the way."',
        "<Hero> did not say a word, but <he> smiled <adverb>.",
    ),
    "turn": (
        "They shared the <food> and talked until the morning.",
        "<He> <adverb> gave away <his> <thing>, and the door opened.",
        "Together they looked behind the <thing>, and there was the <prize>.",
        "<He> sang the song that <his> mother had taught <him>, and the wind grew quiet.",
        "In the <place> <he> found a(n) <colour> <prize> that shone like the sun.",
        "<He> remembered what the old <job> had told <him>.",
    ),
    "end": (
        "From that day on <he> was never alone again.",
        "When <he> came home, everybody was waiting for <him>.",
        "And if you go to <land> today, you can still see the <prize>.",
        "And so <hero> learned to listen before <he> talked.",
        "They became friends and lived happily in the house by the <place>.",
        "<He> never told anybody about it, but <he> was happy.",
        "The end of the story is known only to the <beast>.",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)


def story(random: Random) -> str:
    """One story, sometimes under a title on a line of its own."""
    hero, pronouns = random.choice(
        (
            (random.choice(WOMEN), {"he": "she", "him": "her", "his": "her"}),
            (random.choice(MEN), {"he": "he", "him": "him", "his": "his"}),
        )
    )
    known = {"hero": hero, **pronouns}
    known |= {"prize": random.choice(THINGS), "beast": random.choice(ANIMALS), "land": random.choice(CITIES)}
    parts = ["opening", "detail", "wish", "journey", "trouble", "speech", "turn", "end"]
    if random.random() < 0.3:
        parts = ["opening", "wish", "turn", "end"]
    parts = [part for part in parts if part not in ("detail", "speech", "turn") or random.random() < 0.7]
    text = _GRAMMAR.fill(random, " ".join(f"<{part}>" for part in parts), **known)
    if random.random() < 0.2:
        return f"{_GRAMMAR.write(random, 'title', **known)}\n\n{text}"
    return text
