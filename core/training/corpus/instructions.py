"""How to do something, as a numbered list of steps."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import RULES

_TASKS: dict[str, tuple[str, ...]] = {
    "make a cup of tea": (
        "Fill the kettle with fresh water.",
        "Boil the water.",
        "Put the tea into a(n) <colour> cup.",
        "Pour the hot water over it.",
        "Wait for <number> minutes.",
        "Add milk or honey if you like.",
    ),
    "write a letter": (
        "Sit down at a quiet table.",
        "Write the date and the name of your friend.",
        "Tell what happened <past>.",
        "Ask a question, so that there is something to answer.",
        "Sign the letter and put it into an envelope.",
        "Take it to the <place> before <hour>.",
    ),
    "plant a tree": (
        "Look for a(n) <place_quality> place in the garden.",
        "Dig a hole, <number> feet deep.",
        "Put the tree into the hole.",
        "Fill the hole with earth.",
        "Give the tree a lot of water.",
        "Come back in <month> and see how it grows.",
    ),
    "bake bread": (
        "Mix flour, water and salt.",
        "Let it rest for <number> hours.",
        "Heat the oven until it is very hot.",
        "Bake the bread for forty minutes.",
        "Let the bread get cold on a(n) <colour> cloth.",
        "Eat it with <food>.",
    ),
    "learn the <instrument>": (
        "Find a(n) <person_quality> teacher.",
        "Listen to good music every day.",
        "Play for <number> minutes <time_of_day>.",
        "Begin with a simple song.",
        "Do not talk while you play.",
        "Play for <person> <when>.",
    ),
    "make a friend": (
        "Smile and say hello.",
        "Ask <person> for the way to the <place>.",
        "Listen to the answer.",
        "Talk about <subject>, or about the weather.",
        "Share your <food>.",
        "Meet again on <weekday>.",
    ),
    "repair a bicycle": (
        "Turn the bicycle upside down.",
        "Take off the wheel.",
        "Look for the hole with the help of water.",
        "Close the hole and wait for <number> minutes.",
        "Put the wheel back.",
        "Ride to the <place> and see whether it works.",
    ),
    "travel to <somewhere>": (
        "Pack your suitcase, but take only <number> books.",
        "Buy a ticket at the station.",
        "Take the train at <hour>.",
        "Look out of the window and listen to the wheels.",
        "Visit the <place> and the <other=place>.",
        "Send <person> a card.",
    ),
    "learn a language": (
        "Buy a small dictionary.",
        "Learn <number> new words every day.",
        "Listen to the radio, even if you do not understand everything.",
        "Talk to people from <city>.",
        "Read a book about <subject>.",
        "Do not be afraid of mistakes.",
    ),
    "paint a room": (
        "Carry the furniture out of the room.",
        "Put paper on the floor.",
        "Open the window.",
        "Mix the <colour> paint.",
        "Paint the walls with a big brush.",
        "Wait until everything is dry.",
    ),
    "find a lost <thing>": (
        "Sit down and think about where you saw it last.",
        "Look under the bed and behind the sofa.",
        "Ask <person>.",
        "Go back to the <place>.",
        "Drink a cup of <drink> and start again.",
        "Buy a new one <when>.",
    ),
    "make vegetable soup": (
        "Wash and cut the vegetables.",
        "Boil <number> cups of water.",
        "Put everything into the pot.",
        "Cook it slowly for <number> minutes.",
        "Add salt and a little pepper.",
        "Serve it with <other=food>.",
    ),
}
_GRAMMAR = Grammar(RULES)


def instruction(random: Random) -> str:
    """Three to six numbered steps under a heading."""
    task, steps = random.choice(tuple(_TASKS.items()))
    chosen = sorted(random.sample(range(len(steps)), random.randint(3, len(steps))))
    heading = random.choice((f"How to {task}:", f"How do you {task}?", f"To {task}:"))
    lines = [heading, *(f"{number}. {steps[step]}" for number, step in enumerate(chosen, start=1))]
    return _GRAMMAR.fill(random, "\n".join(lines))
