"""A text, and one of a few labels for it: tickets, opinions, topics."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from .extraction import filled
from .opinions import opinion
from .pair import Pair
from .words import Words


class Labels(NamedTuple):
    """A set of labels.

    Attributes:
        titles: What comes before the label.
        texts: Label to templates.
        held_back: Label to templates for the evaluation alone.
    """

    titles: tuple[str, ...]
    texts: dict[str, tuple[str, ...]]
    held_back: dict[str, tuple[str, ...]]


LABELS: tuple[Labels, ...] = (
    Labels(
        ("Label", "Topic", "Department", "Kind", "About", "Category"),
        {
            "billing": (
                "I was charged twice for the {product}.",
                "My invoice {code} is wrong.",
                "You took {total} from my account, but I owe nothing.",
                "The bill says {total}. That is too much.",
                "I paid {total} two times this month.",
                "Please send me the invoice for {date}.",
                "Why is there a fee of {total} on my bill?",
                "My card was charged on {date}, but I bought nothing.",
                "Can I pay the invoice with another card?",
                "The amount on invoice {code} is not right.",
                "I want my money back.",
                "The price on my bill is too high.",
            ),
            "delivery": (
                "My parcel has not arrived.",
                "Where is my order {code}?",
                "The {product} was sent to the wrong address.",
                "I have been waiting for the {product} since {weekday}.",
                "The parcel came on {date}, but it was empty.",
                "When will my {product} be delivered?",
                "The driver left the box in the rain.",
                "The parcel {code} is late.",
                "My order was shipped to {city}, but I live in {goal}.",
                "Nobody brought the {product}.",
                "The package is lost.",
                "How long does shipping to {country} take?",
            ),
            "login": (
                "I cannot log in.",
                "I forgot my password.",
                "The page says that my password is wrong.",
                "My account {email} is locked.",
                "How do I change my password?",
                "The login page does not know {email}.",
                "I do not get the code for the login.",
                "My user name does not work any more.",
                "Please unlock the account of {name}.",
                "I am locked out of my account.",
                "The reset link for my password is broken.",
                "I cannot sign in with {email}.",
            ),
            "bug": (
                "The app crashes when I open {file}.",
                "The program stops with an error.",
                "There is an error {code} on the screen.",
                "After the update nothing works.",
                "The button does nothing.",
                "The app closes by itself.",
                "I see an empty screen after the start.",
                "{file} cannot be opened, the program freezes.",
                "The page {site} shows an error.",
                "The new version is broken.",
                "The app is very slow and then crashes.",
                "Saving {file} fails with an error.",
            ),
        },
        {
            "billing": (
                "There are two charges of {total} on my card.",
                "I do not understand the invoice of {date}.",
                "You charged me {total} for nothing.",
            ),
            "delivery": (
                "The parcel with the {product} still is not here.",
                "You sent my order to {city}, the wrong address.",
                "When does the package arrive?",
            ),
            "login": (
                "My password does not work.",
                "I am not able to log in with {email}.",
                "Please give me a new password.",
            ),
            "bug": (
                "The app crashes again and again.",
                "An error appears when I save {file}.",
                "The program freezes after the update.",
            ),
        },
    ),
    Labels(
        ("Sentiment", "Opinion", "Mood", "Label", "Review", "Feeling"),
        {
            "positive": (
                "The {product} is wonderful.",
                "I love this {product}!",
                "Great, thank you!",
                "The best {product} that I ever had.",
                "We had a beautiful time in {city}.",
                "{name} was very friendly and helped us.",
                "Everything was perfect.",
                "I am very happy with the {product}.",
                "What a good book!",
                "The food was delicious.",
                "I would buy it again.",
                "Excellent work, {name}!",
                "The room was clean and quiet.",
                "It works very well.",
            ),
            "negative": (
                "The {product} is terrible.",
                "I hate this {product}.",
                "The {product} broke after one day.",
                "Never again!",
                "The worst {product} that I ever had.",
                "We had a bad time in {city}.",
                "{name} was rude and did not help us.",
                "Everything went wrong.",
                "I am very angry about the {product}.",
                "What a boring book!",
                "The food was cold and tasted awful.",
                "I want my money back.",
                "The room was dirty and loud.",
                "It does not work at all.",
            ),
        },
        {
            "positive": (
                "The {product} is great, I love it.",
                "{city} was wonderful.",
                "Thank you, the food was perfect.",
            ),
            "negative": (
                "The {product} is awful, I hate it.",
                "{city} was terrible.",
                "The food was bad and the room dirty.",
            ),
        },
    ),
    Labels(
        ("Topic", "Section", "About", "Subject", "News"),
        {
            "sport": (
                "{team} won the match.",
                "{name} scored {goals} goals.",
                "The race in {city} was won by {name}.",
                "The team of {city} lost the game.",
                "{name} ran {distance} kilometres.",
                "The goalkeeper stopped the ball.",
                "The championship begins on {weekday}.",
                "Tennis: {name} won the final.",
            ),
            "weather": (
                "It will rain in {city} on {weekday}.",
                "A storm is coming to {city}.",
                "{degrees} degrees and sunny.",
                "Snow and ice on the roads near {city}.",
                "The wind blows from the north.",
                "Tomorrow will be cloudy and cold.",
                "The sun shines in {city}, {degrees} degrees.",
                "Fog in the morning, rain in the evening.",
            ),
            "music": (
                'The new song of {singer} is called "{book}".',
                "{singer} gave a concert in {city}.",
                "The orchestra of {city} played for two hours.",
                "The singer {singer} has a new album.",
                "{name} plays the piano.",
                "The band sang for three hours.",
                "The choir of {city} is looking for singers.",
                "A guitar and a violin are enough for this song.",
            ),
            "money": (
                "{company} made a profit of {total}.",
                "The bank of {city} has no more money.",
                "Prices rose again in {country}.",
                "{company} bought {product} for {total}.",
                "The shares of {company} fell on {weekday}.",
                "Taxes in {country} are going up.",
                "{name} invested {total}.",
                "Interest rates fell, said the bank.",
            ),
        },
        {
            "sport": ("The team from {city} won the final.", "{name} scored in the last match."),
            "weather": ("Rain and wind in {city} on {weekday}.", "It is cold and cloudy, {degrees} degrees."),
            "music": ("{singer} sang new songs at the concert.", "The band of {city} has a new album."),
            "money": ("The shares of {company} rose.", "The bank lost {total}."),
        },
    ),
    Labels(
        ("Priority", "Urgent", "Level"),
        {
            "high": (
                "The server is down, nobody can work!",
                "Urgent: {service} stopped at {time}.",
                "There is a fire in room {room}!",
                "We lost all data, please help at once!",
                "Customers cannot pay since {time}.",
                "Emergency in {city}, come immediately.",
                "Everything is broken, we need help now.",
            ),
            "low": (
                "When you have time, please change the colour of the button.",
                "A small question: who wrote {file}?",
                "It would be nice to have a(n) {product} some day.",
                "There is no hurry, but {file} could be shorter.",
                "A typing error on page {pages}, not important.",
                "Perhaps next year we could have a new logo.",
                "Just an idea, whenever it suits you.",
            ),
        },
        {
            "high": ("Urgent: nobody can log in, the server is down!", "Help at once, all data are lost!"),
            "low": ("No hurry: the logo could be larger.", "When you have time, look at {file}."),
        },
    ),
)


def shown(random: Random, labels: Labels, text: str, title: str | None = None) -> str:
    """The prompt: the text, sometimes the labels, what comes before the answer."""
    title = title or random.choice(labels.titles)
    names = list(labels.texts)
    random.shuffle(names)
    listed = f"{', '.join(names[:-1])} or {names[-1]}"
    form = random.choice(
        (
            "{text}\n{title}: ",
            "{text}\n{title}: ",
            "{text}\n{title}:\n",
            "{text} {title}: ",
            "Text: {text}\n{title}: ",
            "Ticket: {text}\n{title}: ",
            "{text}\n{listed}? ",
            "{text}\n{title} ({listed}): ",
            "{listed}?\n{text}\n",
            "{text}\n",
            "{text} ",
        )
    )
    return form.format(text=text, title=title, listed=listed)


def label(random: Random) -> Pair:
    """A text and its label."""
    labels = random.choice(LABELS)
    right = random.choice(list(labels.texts))
    source = Words(random)
    opinions = "positive" in labels.texts and random.random() < 0.7
    text = filled(source, opinion(random, right) if opinions else random.choice(labels.texts[right])).text
    if random.random() < 0.2:
        text += " " + filled(source, random.choice(labels.texts[right])).text
    return Pair(shown(random, labels, text), right)
