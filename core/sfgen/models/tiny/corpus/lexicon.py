"""The words that all kinds of text share: names, places, things, qualities, and the rules made of them."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WOMEN = _words(
    "Anna Maria Clara Emma Julia Laura Sofia Nina Elena Ida Olivia Ruth Hannah Lucy Alice Vera Rosa Iris Nora "
    "Helen Grace Paula Sarah Marta Eva Leila Amina Mei Yuki Priya Ingrid Astrid Carmen Teresa Bianca Fiona Greta "
    "Hilda Joan Karin Linda Monica Naomi Petra Sandra Tanya Ursula Wendy"
)
MEN = _words(
    "Tom John Peter Paul Mark Lukas David Daniel Simon Jack Oscar Henry Felix Leo Max Martin Robert James George "
    "Albert Bruno Carlos Diego Erik Frank Gustav Hugo Ivan Jonas Karl Louis Marco Nils Omar Pavel Rafael Stefan "
    "Theo Victor Walter Adam Ben Chen Hiro Kofi Rahul Samir Tariq"
)
NAMES = WOMEN + MEN
SURNAMES = _words(
    "Miller Baker Cooper Fisher Mason Taylor Walker Turner Carter Weaver Hunter Porter Parker Shepherd Gardner "
    "Wood Hill Brook Stone Field Lake Rivers Marsh Forest Dale Moore North West Winter Summers King Knight Page "
    "Bishop Young Long Short Brown Green White Black Gray Reed Rose Berg Lindqvist Novak Moretti Okafor Tanaka "
    "Castillo Petrov Haddad Laurent Keller Jensen Silva Kowalski"
)
CITIES = _words(
    "London Paris Berlin Madrid Rome Vienna Lisbon Oslo Dublin Prague Warsaw Athens Helsinki Stockholm Budapest "
    "Brussels Amsterdam Copenhagen Geneva Hamburg Boston Chicago Denver Seattle Toronto Montreal Tokyo Kyoto "
    "Seoul Sydney Melbourne Cairo Nairobi Lima Santiago Istanbul Mumbai Singapore"
)
MONTHS = _words("January February March April May June July August September October November December")
WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
COLOURS = _words("red blue green yellow white black brown gray orange purple silver golden")
ANIMALS = _words(
    "dog cat bird horse fish cow sheep goat rabbit fox wolf bear mouse duck owl frog pig hen donkey squirrel "
    "hedgehog turtle swan crow deer"
)
FOODS = _words(
    "bread cheese soup rice pasta salad fruit cake chicken fish eggs beans potatoes tomatoes apples pears "
    "cherries honey chocolate pancakes noodles pizza yoghurt nuts"
)
DRINKS = _words("tea coffee water milk juice lemonade cocoa cider")
THINGS = _words(
    "book lamp chair table clock key letter map boat bicycle umbrella coat hat ring stone box bottle basket "
    "candle mirror window door ladder violin guitar drum camera radio telephone computer kettle spoon knife "
    "blanket pillow suitcase lantern notebook pencil painting carpet"
)
INSTRUMENTS = _words("guitar piano violin flute drums trumpet cello harp")
PLACES = _words(
    "park garden library market station school museum harbour bakery forest beach bridge village river hospital "
    "theatre kitchen office church castle field cafe mountain lake"
)
JOBS = _words(
    "teacher doctor baker farmer nurse gardener driver painter writer singer carpenter sailor cook engineer pilot "
    "librarian tailor musician lawyer student journalist photographer mechanic fisherman"
)
SUBJECTS = (
    *_words("music books films food history science sport travel art work school money friendship plants animals"),
    *_words("computers languages"),
    *("the weather", "the news", "the future"),
)
QUALITIES = _words(
    "small big old new young quiet kind happy sad bright dark warm clean strange beautiful simple heavy light "
    "soft strong wild gentle clever brave curious famous empty wonderful ordinary"
)
NUMBERS = _words("two three four five six seven eight nine ten twelve twenty")
ADVERBS = _words("slowly quickly quietly carefully happily softly gently suddenly proudly patiently")

RULES: dict[str, tuple[str, ...]] = {
    "name": NAMES,
    "woman": WOMEN,
    "man": MEN,
    "surname": SURNAMES,
    "city": CITIES,
    "month": MONTHS,
    "weekday": WEEKDAYS,
    "colour": COLOURS,
    "animal": ANIMALS,
    "food": FOODS,
    "drink": DRINKS,
    "thing": THINGS,
    "instrument": INSTRUMENTS,
    "place": PLACES,
    "job": JOBS,
    "subject": SUBJECTS,
    "quality": QUALITIES,
    "number": NUMBERS,
    "adverb": ADVERBS,
    "person": ("my friend <name>", "my brother", "my sister", "my mother", "my father", "my neighbour", "<name>"),
    "time_of_day": ("in the morning", "in the afternoon", "in the evening", "at night", "at noon", "after lunch"),
    "hour": tuple(f"{hour} o'clock" for hour in ("one", "two", "three", *NUMBERS[2:-2], "eleven", "twelve")),
    "when": ("today", "tomorrow", "tonight", "this evening", "next week", "on <weekday>", "in <month>", "soon"),
    "past": ("yesterday", "last week", "last night", "last <weekday>", "a year ago", "this morning", "in <month>"),
}
"""Rules of a :class:`~sfgen.models.tiny.corpus.grammar.Grammar` that every kind of text may use."""
