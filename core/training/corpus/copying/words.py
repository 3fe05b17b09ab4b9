"""Names, words and numbers to be copied: from lists, or put together from syllables.

One invented word in eight is held back, told by its checksum: a model that copies it has never read it. Some real names
are held back, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from random import Random

from training.corpus.knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from training.corpus.lexicon import (
    CITIES,
    COLOURS,
    MATERIALS,
    NAMES,
    SURNAMES,
    THING_QUALITIES,
    TOWNS,
    words,
)
from training.corpus.surroundings import FOODS

HELD_BACK_NAMES = words(
    "Ada Blaise Cassandra Dorian Evelyn Fergus Gwendolyn Horatio Imogen Jolene Kasimir Leopold Minerva Nigel Ottilie "
    "Percival Quincy Rosalind Sigrid Thaddeus Ulrich Vivienne Winifred Xenia Yolanda Zelda"
)
HELD_BACK_SURNAMES = words(
    "Lovelace Hopper Turing Curie Einstein Feynman Noether Babbage Darwin Galilei Hawking Kepler Mendel Newton Pasteur "
    "Tesla Volta Euler Gauss Fermat Leibniz Maxwell Faraday Bohr Planck"
)
HELD_BACK_CITIES = words(
    "Antwerp Bilbao Cardiff Dundee Eindhoven Freiburg Gdansk Heidelberg Innsbruck Jena Krakow Lausanne Maastricht "
    "Nantes Odense Palermo Ravenna Stuttgart Trieste Utrecht Verona Wroclaw Ypres Zaragoza"
)
HELD_BACK_JOBS = words(
    "mathematician locksmith surveyor jockey optician archivist botanist glazier paramedic upholsterer"
)
HELD_BACK_NOUNS = words("backpack stapler blender trombone ladle hammock wheelbarrow toaster snorkel corkscrew")
HELD_BACK_WORDS = frozenset(
    (*HELD_BACK_NAMES, *HELD_BACK_SURNAMES, *HELD_BACK_CITIES, *HELD_BACK_JOBS, *HELD_BACK_NOUNS)
)
"""Real words that no training text holds."""

_ONSETS = (
    words(
        "b br bl c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sk sl sn sp st t th tr v w y z "
        "b c d f g h j k l m n p r s t v w z b d f h k l m n p r s t v"
    )
    + ("",) * 8
)
_VOWELS = words("a a a a e e e e i i i i o o o o u u u y ai ea ee ei ia ie oo ou")
_CODAS = words("b ck d ff g k l ll lt m n nd ng nk nn nt p r rd rk rn rt s ss st t tt th v x z") + ("",) * 30
_NAME_ENDS = words(
    "a ah an ander ara as atz berg ck court dal der dottir ek ell els en er ez field ford gren haus i ia ian ic ich "
    "iel ier ik in ina ine ing ini ison itch ka kin la lin lo low ly man mann mont na nen ner ny o off olt on os ova "
    "ow owski quist ra ren rick rose ru s sen ska son stad stein strom ta tek thal ti ton tt uk us va vich vik wald "
    "well wicz wood wyn y ya zin"
)
_TOWN_ENDS = words(
    "a ach aro au berg bo borg bourg brook bury by castle chester dam dorf ene ford furt grad ham haven hill holm ia "
    "ing ino ingen kirk ley lund mar minster mouth nia ona ora os ow pool port polis rath sk stadt stock to ton ura "
    "vik ville wick worth"
)
_JOB_ENDS = words("er er er ist ist ian or maker keeper smith monger wright")
_ACCENTS = {"a": "áàäâãå", "e": "éèêë", "i": "íîï", "o": "óòöôø", "u": "úùûü", "n": "ñ", "c": "çč", "s": "š", "z": "ž"}
NUMBER_WORDS = words("two three four five six seven eight nine ten eleven twelve")
_FIRMS = words("Ltd Inc GmbH AG Foods Books Labs Systems Motors Bank Travel Media Energy Press Group Works Brothers")
_STREETS = words("Street Road Lane Avenue Square Hill Court Way Drive Close")
_NOUNS = (*(thing.name for thing in THINGS), *(food.name for food in FOODS))


def is_held_back(word: str) -> bool:
    """Whether an invented word belongs to the evaluation; by its checksum, in lower case, so one in eight."""
    return zlib.crc32(word.lower().encode()) % 8 == 0


class Words:
    """A source of names, words and numbers to copy."""

    def __init__(self, random: Random, *, held_back: bool = False) -> None:
        self.random = random
        self.held_back = held_back

    def word(self, ends: Sequence[str] = ("",)) -> str:
        """An invented word in lower case, of 3 to 12 letters."""
        draw = self.random
        while True:
            count = draw.choices((1, 2), (3, 2))[0] if any(ends) else draw.choices((1, 2, 3), (2, 5, 2))[0]
            syllables = (draw.choice(_ONSETS) + draw.choice(_VOWELS) + draw.choice(_CODAS) for _ in range(count))
            made = "".join(syllables) + draw.choice(ends)
            fits = 3 <= len(made) <= 12 and made.capitalize() not in HELD_BACK_WORDS and made not in HELD_BACK_WORDS
            if fits and is_held_back(made) == self.held_back:
                return made

    def _known(self, trained: Sequence[str], held_back: Sequence[str]) -> str:
        return self.random.choice(held_back if self.held_back else trained)

    def first_name(self) -> str:
        """A first name, more often a real one."""
        if self.random.random() < 0.55:
            return self._known(NAMES, HELD_BACK_NAMES)
        return self._accented(self.word(_NAME_ENDS).capitalize())

    def surname(self) -> str:
        """A surname; a few have two parts."""
        draw = self.random.random()
        if draw < 0.35:
            return self._known(SURNAMES, HELD_BACK_SURNAMES)
        made = self._accented(self.word(_NAME_ENDS).capitalize())
        if draw > 0.97:
            return f"{made}-{self.word(_NAME_ENDS).capitalize()}"
        if draw > 0.94:
            return self.random.choice(("van ", "de ", "von ", "O'", "Mc", "al-", "Di ")) + made
        return made

    def name(self) -> str:
        """A person: most often first name and surname."""
        draw = self.random.random()
        if draw < 0.3:
            return self.first_name()
        if draw < 0.36:
            return f"{self.first_name()} {self.random.choice('ABCDEFGHIJKLMNOPRSTVW')}. {self.surname()}"
        return f"{self.first_name()} {self.surname()}"

    def city(self) -> str:
        """A town or a city."""
        draw = self.random.random()
        if draw < 0.4:
            return self._known(self.random.choice((CITIES, CITIES, TOWNS)), HELD_BACK_CITIES)
        made = self._accented(self.word(_TOWN_ENDS).capitalize())
        if draw > 0.93:
            return self.random.choice(("New ", "Port ", "San ", "Bad ", "Saint ", "North ", "Upper ")) + made
        return made

    def country(self) -> str:
        """A country, half of them real."""
        if self.random.random() < 0.5 and not self.held_back:
            return self.random.choice(COUNTRIES).name
        return self.word(("ia", "land", "stan", "a", "onia", "istan", "ria")).capitalize()

    def job(self) -> str:
        """A person's job, in lower case."""
        if self.random.random() < 0.6:
            return self._known([job.name for job in JOBS], HELD_BACK_JOBS)
        return self.word(_JOB_ENDS)

    def noun(self) -> str:
        """A thing, in lower case."""
        return self._known(_NOUNS, HELD_BACK_NOUNS) if self.random.random() < 0.5 else self.word()

    def product(self) -> str:
        """A thing that is sold; half of them with a quality."""
        noun = self.noun()
        return noun if self.random.random() < 0.5 else f"{self.random.choice(COLOURS + THING_QUALITIES)} {noun}"

    def colour(self) -> str:
        """A colour."""
        return self.random.choice(COLOURS)

    def material(self) -> str:
        """A material."""
        return self.random.choice(MATERIALS)

    def animal(self) -> str:
        """An animal, half of them invented."""
        return self.random.choice(ANIMALS).name if self.random.random() < 0.5 else self.word()

    def company(self) -> str:
        """A company."""
        made = self.word(_NAME_ENDS).capitalize()
        draw = self.random.random()
        if draw < 0.2:
            return made
        if draw < 0.35:
            return f"{made} & {self.surname()}"
        return f"{made} {self.random.choice(_FIRMS)}"

    def street(self) -> str:
        """House number and street, or street and number."""
        number, made = self.random.randint(1, 250), self.word(_TOWN_ENDS).capitalize()
        if self.random.random() < 0.3:
            return f"{made}{self.random.choice(('weg', 'gata', 'straat', 'strasse'))} {number}"
        return f"{number} {made} {self.random.choice(_STREETS)}"

    def title(self) -> str:
        """The title of a book, a song or a film."""
        noun, other = (self.noun().capitalize() for _ in range(2))
        form = self.random.choice(
            ("The {noun}", "{noun} and {other}", "{noun} of {city}", "A {noun} in {city}", "{noun}")
        )
        return form.format(noun=noun, other=other, city=self.city())

    def email(self) -> str:
        """An e-mail address."""
        draw = self.random
        user = draw.choice((self.word(), f"{self.word()}.{self.word()}", f"{self.word()}{draw.randint(1, 99)}"))
        return f"{user}@{self.word()}.{draw.choice(('com', 'org', 'net', 'edu', 'io', 'de', 'co.uk'))}"

    def site(self) -> str:
        """A web address."""
        draw = self.random
        path = draw.choice(("", "", f"/{self.word()}", f"/{self.word()}/{draw.randint(1, 99)}"))
        return f"https://{draw.choice(('', 'www.'))}{self.word()}.{draw.choice(('com', 'org', 'net'))}{path}"

    def phone(self) -> str:
        """A telephone number."""
        digits = self.digits
        return self.random.choice(
            (f"555-{digits(4)}", f"+{digits(2)} {digits(3)} {digits(4)}", f"0{digits(3)} {digits(6)}", f"{digits(7)}")
        )

    def code(self) -> str:
        """A number of an order, a ticket or a room: letters and digits."""
        letters = "".join(self.random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=self.random.randint(1, 3)))
        return f"{letters}{self.random.choice(('', '-', '-'))}{self.digits(self.random.randint(2, 5))}"

    def digits(self, count: int) -> str:
        """Digits, the first of them not 0."""
        return str(self.random.randrange(10 ** (count - 1), 10**count))

    def number(self) -> tuple[str, int]:
        """A small whole number as it is written, sometimes in letters, and the number."""
        if self.random.random() < 0.15:
            word = self.random.choice(NUMBER_WORDS)
            return word, NUMBER_WORDS.index(word) + 2
        value = self.random.randint(1, self.random.choice((9, 99, 999, 9999)))
        return str(value), value

    def amount(self) -> float | int:
        """An amount of money, whose last digit is not 0 when it has cents."""
        if self.random.random() < 0.35:
            return self.random.randint(1, self.random.choice((9, 99, 999, 9999)))
        cents = 10 * self.random.randint(0, 9) + self.random.randint(1, 9)
        return round(self.random.randint(0, self.random.choice((9, 99, 999))) + cents / 100, 2)

    def _accented(self, name: str) -> str:
        if self.random.random() > 0.06:
            return name
        places = [place for place, letter in enumerate(name) if letter in _ACCENTS]
        if not places:
            return name
        place = self.random.choice(places)
        return name[:place] + self.random.choice(_ACCENTS[name[place]]) + name[place + 1 :]
