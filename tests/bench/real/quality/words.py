"""The vocabulary of the generated items: names, places, things, and phrases that say or hide what is asked for."""

from __future__ import annotations

FIRST_NAMES = (
    "Ada", "Bruno", "Carla", "Dmitri", "Elsa", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kirsten", "Lorenzo",
    "Mira", "Nora", "Oskar", "Paula", "Quentin", "Rosa", "Stefan", "Tilda", "Ulrich", "Vera", "Walter", "Yusuf",
)  # fmt: skip
LAST_NAMES = (
    "Abelin", "Bakker", "Castell", "Dorn", "Ekberg", "Ferro", "Gasser", "Holm", "Ivanov", "Jansen", "Kovacs", "Lund",
    "Moretti", "Novak", "Olsen", "Petrov", "Quist", "Rinaldi", "Solano", "Tanaka", "Unger", "Varga", "Weiss", "Zeller",
)  # fmt: skip
CITIES = (
    "Basel", "Bergen", "Bologna", "Cork", "Dresden", "Ghent", "Graz", "Krakow", "Leeds", "Lisbon", "Lyon", "Malmo",
    "Nantes", "Oslo", "Porto", "Prague", "Riga", "Seville", "Tallinn", "Turin", "Utrecht", "Vienna", "York", "Zagreb",
)  # fmt: skip
PRODUCTS = (
    "lamps", "chairs", "teapots", "blankets", "candles", "mirrors", "backpacks", "umbrellas", "notebooks", "clocks",
    "cushions", "kettles", "garden hoses", "coffee cups", "desk fans", "picture frames", "bread knives", "wool socks",
)  # fmt: skip
QUANTITIES = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "a dozen": 12, "fifteen": 15, "twenty": 20,
}  # fmt: skip
ORDERS = (
    "{name} wants {n} {product} sent to {city}.",
    "Please send {n} {product} to {city}; the customer is {name}.",
    "{name} called from {other_city}: {n} {product}, to be delivered in {city}.",
    "After {other_n} days of thinking {name} has ordered {n} {product} for an address in {city}.",
    "As a present: {n} {product} for {name}, who lives in {city} and is {house} years old.",
    "{other_name} took the order. The buyer is {name}, the address is in {city}, and it is about {n} {product}.",
    "It was {name} who asked for {n} {product}, not {other_name}; ship them to {city}.",
    "An order from {city}: {name} needs {n} {product}, since the old {other_product} broke.",
    "{name} first wanted {other_n} {other_product}, but then took {n} {product}. Send them to {city}.",
    "Our shop in {other_city} has sold {n} {product} to {name}. They go to {city}.",
    "For a house in {city}, number {house}, {name} buys {n} {product}.",
    "{name}'s order of {n} {product} leaves {other_city} on Monday and goes to {city}.",
    "The {n} {product} that {name} bought for {price} euros are to reach {city} soon.",
    "{other_name} in {other_city} is still waiting, but {name} in {city} now gets {n} {product}.",
)
"""Sentences of an order; what begins with ``other`` is there to be mistaken for what is asked for."""

TOPICS = {
    "sport": (
        "the goalkeeper saved a penalty", "the runners crossed the finish line", "our team lost the match by two goals",
        "a young swimmer won a gold medal", "the tennis final was over in an hour", "the coach left the football club",
        "the cyclists climbed the last hill", "she scored three times in the second half",
    ),
    "food": (
        "the baker sold out of fresh bread", "the soup needs more salt", "we ate a plate of pasta with mushrooms",
        "the cook fried the fish in butter", "her apple pie was still warm", "they roasted a chicken with potatoes",
        "the cheese on the pizza was burnt", "breakfast was eggs and toast",
    ),
    "music": (
        "the orchestra played a symphony", "the singer forgot the second verse", "he practised the violin all morning",
        "the band gave a concert in the park", "the pianist broke a string", "a choir sang old songs",
        "the drummer lost a stick on stage", "her new album is full of guitars",
    ),
    "weather": (
        "it rained all day", "a storm tore down the trees", "the sun came out after weeks of fog",
        "snow fell during the night", "the wind was cold and strong", "thunder and hail came in the afternoon",
        "the heat lasted until September", "the clouds hung low over the roofs",
    ),
    "travel": (
        "the train to the coast was late", "we missed our flight home", "the hotel had no room left",
        "tourists waited at the border with their passports", "the ferry carried two hundred cars",
        "they packed their suitcases for the journey", "the bus to the airport leaves at six",
        "her ticket was valid for one trip only",
    ),
}  # fmt: skip
NEWS = (
    "In {city} {event}.", "{event_first} in {city}.", "News from {city}: {event}.", "{city}, {day}: {event}.",
    "{first} writes from {city} that {event}.", "{event_first}, as {first} told me in {city}.",
    "While {first} was in {city}, {event}.", "On {day} {event} in {city}, and {first} saw it.",
)  # fmt: skip

ARTISTS = ("the Velvet Owls", "Mara Lind", "Johann Sebastian Bach", "Blue Harbour", "the Tin Sailors", "Nina Verde")
ROOMS = ("kitchen", "bedroom", "office", "garden")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
RESTAURANTS = ("Casa Luna", "The Old Mill", "Chez Odette", "Golden Carp", "Trattoria Pepe", "Green Door")
CURRENCIES = {"euros": "EUR", "dollars": "USD", "pounds": "GBP", "Swiss francs": "CHF", "yen": "JPY"}
MESSAGES = (
    "I will be late", "the keys are under the mat", "dinner is at eight", "call me back", "the meeting is over",
    "bring some bread", "happy birthday", "the train was on time",
)  # fmt: skip

REQUESTS = {
    "send_message": (
        'Tell {first} "{message}".', 'Write to {first}: "{message}"', 'Let {first} know this: "{message}".',
        '{other_first} asked, but the message is for {first}: "{message}".',
        'Send "{message}" to {first}, please.',
    ),
    "play_music": (
        "Play {artist} in the {room}.", "I would like to hear {artist} while I am in the {room}.",
        "Play some music by {artist} in the {room}, and not in the {other_room}.",
        "The {room} is so quiet; play {artist}.", "Play {artist} in the {room}, please; I am tired of {other_artist}.",
    ),
    "book_table": (
        "Book a table at {place} for {people} on {day}.", "We are {people} and want to eat at {place} on {day}.",
        "On {day} there will be {people} of us at {place}; book a table.",
        "{other_place} is closed on {other_day}, so book {place} on {day} for {people}.",
        "A table for {people}, {day}, {place}.",
    ),
    "convert": (
        "How much is {amount} {source} in {target}?", "Convert {amount} {source} to {target}.",
        "I have {amount} {source} and need {target}.", "Convert {amount} {source}, which I got on {day}, to {target}.",
        "Convert {amount} {source} to {target}; I do not care about {other_currency}.",
    ),
}  # fmt: skip
