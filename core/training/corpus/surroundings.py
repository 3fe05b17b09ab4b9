"""More facts of the world of the corpus: foods, instruments, places, opposites."""

from __future__ import annotations

from typing import NamedTuple

from .knowledge import rows


class Food(NamedTuple):
    """A food, how it is or tastes, whether its name is a plural."""

    name: str
    taste: str
    plural: bool


FOODS = tuple(
    Food(name, taste, plural == "s")
    for name, taste, plural in rows("""
bread | fresh | -
cheese | salty | -
soup | hot | -
rice | plain | -
pasta | delicious | -
salad | fresh | -
fruit | sweet | -
cake | sweet | -
chicken | tender | -
fish | salty | -
beef | heavy | -
butter | soft | -
honey | sweet | -
chocolate | sweet | -
yoghurt | sour | -
pizza | delicious | -
garlic | strong | -
cabbage | cheap | -
spinach | healthy | -
ginger | hot | -
eggs | soft | s
beans | healthy | s
potatoes | cheap | s
tomatoes | juicy | s
apples | juicy | s
pears | juicy | s
cherries | sweet | s
plums | sweet | s
grapes | sweet | s
lemons | sour | s
oranges | juicy | s
bananas | sweet | s
strawberries | sweet | s
peaches | juicy | s
carrots | healthy | s
onions | strong | s
mushrooms | tender | s
pancakes | sweet | s
noodles | hot | s
nuts | healthy | s
olives | salty | s
sausages | heavy | s
dumplings | hot | s
biscuits | crisp | s
lentils | healthy | s
peas | tender | s
""")
)

INSTRUMENTS = (
    "guitar",
    "piano",
    "violin",
    "flute",
    "trumpet",
    "cello",
    "harp",
    "clarinet",
    "organ",
    "accordion",
    "saxophone",
    "banjo",
)

PLACES = {
    "park": "in",
    "garden": "in",
    "library": "in",
    "market": "at",
    "station": "at",
    "school": "at",
    "museum": "in",
    "harbour": "in",
    "bakery": "in",
    "forest": "in",
    "beach": "on",
    "bridge": "on",
    "village": "in",
    "river": "by",
    "hospital": "in",
    "theatre": "in",
    "kitchen": "in",
    "office": "in",
    "church": "in",
    "castle": "in",
    "field": "in",
    "cafe": "in",
    "mountain": "on",
    "lake": "by",
    "restaurant": "in",
    "hotel": "in",
    "airport": "at",
    "cinema": "in",
    "university": "at",
    "bank": "in",
    "factory": "in",
    "farm": "on",
    "island": "on",
    "valley": "in",
    "cave": "in",
    "tower": "in",
    "lighthouse": "in",
    "palace": "in",
    "meadow": "in",
    "workshop": "in",
    "bookshop": "in",
    "stadium": "in",
    "square": "on",
    "cellar": "in",
    "attic": "in",
}
"""Places, each with the preposition that says where."""

OPPOSITES = {
    "hot": "cold",
    "big": "small",
    "old": "young",
    "long": "short",
    "heavy": "light",
    "fast": "slow",
    "loud": "quiet",
    "happy": "sad",
    "rich": "poor",
    "strong": "weak",
    "dry": "wet",
    "open": "closed",
    "full": "empty",
    "early": "late",
    "high": "low",
    "dark": "bright",
    "hard": "soft",
    "sweet": "sour",
    "cheap": "expensive",
    "easy": "difficult",
    "thick": "thin",
    "clean": "dirty",
    "deep": "shallow",
    "near": "far",
    "brave": "afraid",
    "true": "false",
}
