"""The words that all kinds of text share: names, places, things, qualities, and the rules made of them."""

from __future__ import annotations

from .knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from .surroundings import FOODS, INSTRUMENTS, PLACES


def words(text: str) -> tuple[str, ...]:
    """The words of a text that is a list of them."""
    return tuple(text.split())


WOMEN = words(
    "Anna Maria Clara Emma Julia Laura Sofia Nina Elena Ida Olivia Ruth Hannah Lucy Alice Vera Rosa Iris Nora "
    "Helen Grace Paula Sarah Marta Eva Leila Amina Mei Yuki Priya Ingrid Astrid Carmen Teresa Bianca Fiona Greta "
    "Hilda Joan Karin Linda Monica Naomi Petra Sandra Tanya Ursula Wendy Agnes Amelia Andrea Angela Beatrice "
    "Bella Bridget Camille Caroline Cecilia Charlotte Chloe Daphne Deborah Diana Dorothy Edith Eleanor Elisa "
    "Ella Emily Erika Esther Fatima Flora Frances Freya Gloria Hazel Heidi Irene Isabel Ivy Jane Jasmine Jenny "
    "Johanna Josephine Judith Kate Kira Lena Lily Livia Louise Luisa Lydia Mabel Magda Margaret Marion Martha "
    "Matilda Maya Mia Mina Mira Miriam Molly Nadia Nancy Natalie Noor Olga Pamela Pearl Phoebe Rachel Rebecca "
    "Rita Robin Sabine Salma Selma Signe Silvia Sonia Stella Susan Sylvia Tamara Tessa Tilda Uma Valentina "
    "Vanessa Violet Yara Yasmin Zara Zoe"
)
MEN = words(
    "Tom John Peter Paul Mark Lukas David Daniel Simon Jack Oscar Henry Felix Leo Max Martin Robert James George "
    "Albert Bruno Carlos Diego Erik Frank Gustav Hugo Ivan Jonas Karl Louis Marco Nils Omar Pavel Rafael Stefan "
    "Theo Victor Walter Adam Ben Chen Hiro Kofi Rahul Samir Tariq Aaron Ahmed Alan Alex Alfred Andrew Anton "
    "Arthur Axel Bernard Boris Calvin Casper Cecil Charles Christian Colin Dennis Dominic Edgar Edmund Edward "
    "Emil Ernest Ethan Eugene Fabian Finn Fred Gabriel Gerald Gilbert Gregory Hamid Harold Harry Hassan Hector "
    "Herman Howard Ian Igor Isaac Jacob Jasper Joel Jorge Joseph Julian Kenji Kevin Lars Laurence Leon Liam "
    "Lorenzo Luke Magnus Malik Manuel Matteo Matthew Maurice Michael Miguel Milo Mustafa Nathan Niko Noah Oliver "
    "Olaf Otto Pablo Patrick Philip Quentin Ralph Raymond Ricardo Richard Roger Roland Rupert Salim Samuel "
    "Sebastian Sven Thomas Timothy Toby Ugo Vincent Wilhelm William Xavier Yusuf"
)
NAMES = WOMEN + MEN
_FIRST_PARTS = words(
    "Ash Black Brad Brook Burn Clay Cran Dal East Ell Fair Gold Green Had Hamp Hart Haw Hol Kings Lang Lin Long "
    "Mil Nor Oak Pres Red Rock Sand Shel Stan Sun Thorn Wal Wes Whit Win Wood"
)
_SURNAME_ENDS = words("brook bury dale field ford ham land ley man more ton well wick wood worth")
_TOWN_ENDS = words("bridge brook bury dale field ford ham haven hill mouth pool port stead ton ville wick")
SURNAMES = words(
    "Miller Baker Cooper Fisher Mason Taylor Walker Turner Carter Weaver Hunter Porter Parker Shepherd Gardner "
    "Wood Hill Brook Stone Field Lake Rivers Marsh Forest Dale Moore North West Winter Summers King Knight Page "
    "Bishop Young Long Short Brown Green White Black Gray Reed Rose Berg Lindqvist Novak Moretti Okafor Tanaka "
    "Castillo Petrov Haddad Laurent Keller Jensen Silva Kowalski Abbott Adams Alvarez Andersson Archer Armstrong "
    "Barnes Becker Bell Bennett Blake Brandt Butler Campbell Chang Clarke Cohen Collins Costa Cruz Diaz Dubois "
    "Duncan Eklund Evans Ferrari Fischer Fleming Fletcher Fontaine Foster Garcia Gibson Gomez Gupta Hansen "
    "Harper Hoffmann Holmes Horvat Hughes Ibrahim Ivanov Jackson Jones Kaplan Khan Kim Klein Kumar Larsen "
    "Lehmann Lopez Mahmoud Marino Meyer Morgan Murphy Nakamura Nguyen Nielsen Olsen Ortiz Patel Perez Popov "
    "Ramirez Richter Romano Rossi Sanchez Santos Schneider Schmidt Sharma Singh Smith Suzuki Takahashi Thompson "
    "Vargas Vogel Wagner Watson Weber Williams Wilson Wright Yamamoto Zimmermann"
) + tuple(first + end for first in _FIRST_PARTS for end in _SURNAME_ENDS)
"""Names that are met everywhere, then two-part ones such as Ashford, most of which are rare."""
CITIES = tuple(country.capital for country in COUNTRIES) + words(
    "Amsterdam Barcelona Bergen Birmingham Bologna Bordeaux Boston Bristol Chicago Cologne Dallas Denver Dresden "
    "Edinburgh Florence Frankfurt Geneva Genoa Glasgow Gothenburg Granada Hamburg Houston Istanbul Kyoto Leeds "
    "Leipzig Liverpool Lyon Manchester Marseille Melbourne Miami Milan Montreal Mumbai Munich Naples Osaka "
    "Oxford Philadelphia Porto Rotterdam Salzburg Seattle Seville Shanghai Sydney Toronto Turin Valencia "
    "Vancouver Venice York Zurich"
)
TOWNS = tuple(first + end for first in _FIRST_PARTS for end in _TOWN_ENDS)
MONTHS = words("January February March April May June July August September October November December")
WEEKDAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
COLOURS = words("red blue green yellow white black brown grey orange purple silver golden pink turquoise")
DRINKS = words("tea coffee water milk juice lemonade cocoa cider")
SUBJECTS = (
    *words("music books films food history science sport travel art work school money friendship plants animals"),
    *words("computers languages gardening cooking poetry politics philosophy mathematics photography astronomy dreams"),
    *words("theatre football chess painting dancing architecture medicine geography cars trains"),
    *words("ships birds holidays"),
    *("the weather", "the news", "the future", "the sea", "the stars", "old films", "the past", "life in the city"),
)
PERSON_QUALITIES = words(
    "young old kind happy quiet clever brave curious famous gentle friendly patient honest lonely cheerful shy "
    "proud polite lazy busy careful generous wise strange stubborn elegant ambitious modest talented nervous"
)
ANIMAL_QUALITIES = words(
    "small big old young quiet clever hungry brave curious gentle wild friendly lazy sleepy strange tiny huge "
    "shy noisy playful nervous beautiful"
)
THING_QUALITIES = words(
    "small big old new beautiful simple heavy light strong strange wonderful ordinary broken cheap expensive "
    "useful ancient tiny dusty elegant precious ugly solid fragile modern"
)
PLACE_QUALITIES = words(
    "small big old new quiet beautiful famous empty dark bright warm strange wonderful clean crowded ancient "
    "modern pleasant narrow noisy peaceful abandoned"
)
FEELINGS = words("happy sad tired lonely nervous proud angry hopeful curious calm worried bored excited grateful")
MATERIALS = words("wood glass iron paper stone silver gold leather wool copper clay silk")
NUMBERS = words("two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty")
ADVERBS = words(
    "slowly quickly quietly carefully happily softly gently suddenly proudly patiently calmly silently finally "
    "bravely sadly politely eagerly nervously"
)

RULES: dict[str, tuple[str, ...]] = {
    "name": NAMES,
    "woman": WOMEN,
    "man": MEN,
    "surname": SURNAMES,
    "town": TOWNS,
    "city": CITIES,
    "somewhere": ("<city>", "<city>", "<town>"),
    "month": MONTHS,
    "weekday": WEEKDAYS,
    "colour": COLOURS,
    "animal": tuple(animal.name for animal in ANIMALS),
    "food": tuple(food.name for food in FOODS),
    "drink": DRINKS,
    "thing": tuple(thing.name for thing in THINGS),
    "instrument": INSTRUMENTS,
    "place": tuple(PLACES),
    "job": tuple(job.name for job in JOBS),
    "subject": SUBJECTS,
    "person_quality": PERSON_QUALITIES,
    "animal_quality": ANIMAL_QUALITIES,
    "thing_quality": THING_QUALITIES,
    "place_quality": PLACE_QUALITIES,
    "feeling": FEELINGS,
    "material": MATERIALS,
    "number": NUMBERS,
    "small_number": NUMBERS[:9],
    "adverb": ADVERBS,
    "person": (
        "my friend <name>",
        "my brother",
        "my sister",
        "my mother",
        "my father",
        "my neighbour",
        "my uncle",
        "my aunt",
        "my grandmother",
        "my cousin",
        "<name>",
        "<name>",
    ),
    "time_of_day": ("in the morning", "in the afternoon", "in the evening", "at night", "at noon", "after lunch"),
    "hour": tuple(f"{hour} o'clock" for hour in ("one", "two", "three", *NUMBERS[2:9], "eleven", "twelve")),
    "when": (
        "today",
        "tomorrow",
        "tonight",
        "this evening",
        "next week",
        "on <weekday>",
        "in <month>",
        "soon",
        "at the weekend",
        "later",
    ),
    "past": (
        "yesterday",
        "last week",
        "last night",
        "last <weekday>",
        "a year ago",
        "this morning",
        "last <month>",
        "two days ago",
        "long ago",
    ),
}
"""Rules of a :class:`~training.corpus.grammar.Grammar` that every kind of text may use."""
