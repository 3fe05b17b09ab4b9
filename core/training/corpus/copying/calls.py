"""A request, and the call of a tool that does it."""

from __future__ import annotations

import json
from random import Random
from typing import NamedTuple

from .call_wordings import requested
from .extraction import filled
from .pair import Pair
from .slots import Leaf
from .words import Words


class Tool(NamedTuple):
    """A tool.

    Attributes:
        names: What it may be called.
        arguments: Slot to the names that the argument may have.
        requests: Templates with some of the slots.
        held_back: Templates for the evaluation alone.
    """

    names: tuple[str, ...]
    arguments: dict[str, tuple[str, ...]]
    requests: tuple[str, ...]
    held_back: tuple[str, ...]


TOOLS: tuple[Tool, ...] = (
    Tool(
        ("weather", "weather", "get_weather", "forecast"),
        {"city": ("city", "city", "location", "place"), "weekday": ("day", "weekday")},
        (
            "What is the weather in {city}?",
            "Weather in {city}",
            "How is the weather in {city} on {weekday}?",
            "Will it rain in {city}?",
            "Is it cold in {city} on {weekday}?",
            "How warm is it in {city}?",
            "Do I need a coat in {city}?",
            "Is the sun shining in {city}?",
            "Forecast for {city}, {weekday}",
        ),
        ("Tell me how the weather is in {city}.", "Is it going to rain in {city} on {weekday}?"),
    ),
    Tool(
        ("send_email", "send_mail", "email", "send_message"),
        {"email": ("to", "to", "address", "recipient")},
        (
            "Write an e-mail to {email}.",
            "Send a mail to {email}.",
            "Please send a message to {email}.",
            "I want to write to {email}.",
            "Mail this to {email}",
            "Answer {email}, please.",
        ),
        ("Could you send an e-mail to {email}?",),
    ),
    Tool(
        ("set_alarm", "alarm", "wake_me"),
        {"time": ("time", "time", "at"), "weekday": ("day", "day", "weekday")},
        (
            "Wake me at {time}.",
            "Set an alarm for {time}.",
            "I have to get up at {time} on {weekday}.",
            "Alarm at {time}",
            "Please wake me on {weekday} at {time}.",
            "Let the clock ring at {time}.",
        ),
        ("I would like to be woken at {time}.",),
    ),
    Tool(
        ("timer", "set_timer", "start_timer"),
        {"seconds": ("minutes", "minutes", "seconds", "duration")},
        (
            "Set a timer for {seconds} minutes.",
            "Start a timer of {seconds} minutes.",
            "Timer, {seconds} minutes",
            "Tell me when {seconds} minutes are over.",
            "Count down {seconds} seconds.",
        ),
        ("I need a timer of {seconds} minutes, please.",),
    ),
    Tool(
        ("play_music", "play", "play_song"),
        {"book": ("title", "song", "track"), "singer": ("artist", "artist", "singer")},
        (
            'Play "{book}".',
            'Play "{book}" by {singer}.',
            "Play something by {singer}.",
            "I want to hear {singer}.",
            "Music by {singer}, please.",
            'Can you play "{book}" for me?',
            "Let us listen to {singer}.",
        ),
        ('I would like to hear "{book}" by {singer}.',),
    ),
    Tool(
        ("book_flight", "find_flight", "flight", "book_trip"),
        {
            "start": ("from", "from", "origin"),
            "goal": ("to", "to", "destination"),
            "date": ("date", "date", "day"),
        },
        (
            "Book a flight from {start} to {goal}.",
            "I want to fly from {start} to {goal} on {date}.",
            "A flight to {goal} on {date}, please.",
            "Find me a flight from {start} to {goal}.",
            "I need a ticket to {goal}.",
            "Fly me to {goal} on {date}.",
            "We fly from {start} to {goal}.",
        ),
        ("Please find a flight to {goal} from {start}.",),
    ),
    Tool(
        ("search", "web_search", "find", "look_up"),
        {"product": ("query", "query", "q", "text")},
        (
            "Search for {product}.",
            "Look for {product} on the web.",
            "Find pages about {product}.",
            "What does the web say about {product}?",
            "Look up {product}.",
            "I want to read about {product}.",
        ),
        ("Please search the web for {product}.",),
    ),
    Tool(
        ("create_event", "add_event", "calendar", "plan"),
        {
            "event": ("title", "title", "event", "name"),
            "date": ("date", "date", "day"),
            "time": ("time", "time", "start"),
        },
        (
            "Put a(n) {event} on {date} into my calendar.",
            "New {event} on {date} at {time}",
            "Plan a(n) {event} for {date}.",
            "I have a(n) {event} on {date} at {time}.",
            "Enter a(n) {event} at {time} on {date}.",
            "Add a(n) {event} on {date}, {time}.",
        ),
        ("Please note a(n) {event} on {date} at {time}.",),
    ),
    Tool(
        ("call", "phone", "call_person", "dial"),
        {"name": ("name", "name", "person", "who"), "phone": ("number", "number", "phone")},
        (
            "Call {name}.",
            "Ring {name} at {phone}.",
            "I want to talk to {name}.",
            "Dial {phone}.",
            "Please call {name} under {phone}.",
            "Phone {name} for me.",
            "Get me {name} on the line.",
        ),
        ("Could you call {name} for me?",),
    ),
    Tool(
        ("translate", "translate_to", "translation"),
        {"product": ("text", "text", "words"), "language": ("language", "language", "to")},
        (
            'Translate "{product}" into {language}.',
            'What is "{product}" in {language}?',
            'How do you say "{product}" in {language}?',
            '"{product}" in {language}, please',
            'I need "{product}" in {language}.',
        ),
        ('Put "{product}" into {language}, please.',),
    ),
    Tool(
        ("order", "buy", "order_product", "add_to_cart"),
        {"product": ("product", "item", "item"), "count": ("quantity", "quantity", "count")},
        (
            "Order {count} pieces of {product}.",
            "Buy a(n) {product}.",
            "I want to buy {count} of the {product}.",
            "Get me a(n) {product}.",
            "Put {count} pieces of {product} into my cart.",
            "We need a(n) {product}, order it.",
        ),
        ("Please buy {count} pieces of {product} for me.",),
    ),
    Tool(
        ("pay", "transfer", "send_money"),
        {"total": ("amount", "amount", "sum"), "receiver": ("to", "to", "receiver")},
        (
            "Pay {total} to {receiver}.",
            "Send {total} to {receiver}.",
            "{receiver} gets {total} from me.",
            "Transfer {total} to {receiver}.",
            "I owe {receiver} {total}.",
        ),
        ("Please give {receiver} {total}.",),
    ),
    Tool(
        ("open_file", "read_file", "open"),
        {"file": ("path", "file", "name")},
        (
            "Open {file}.",
            "Show me {file}.",
            "Read the file {file}.",
            "What is in {file}?",
            "Open the file {file}, please.",
        ),
        ("Let me see the file {file}.",),
    ),
    Tool(
        ("open_page", "fetch", "browse", "get_page"),
        {"site": ("url", "url", "link", "page")},
        ("Open {site}.", "Go to {site}.", "Show me {site}.", "What is on {site}?", "Read {site}, please."),
        ("Let me see the page {site}.",),
    ),
)


def called(source: Words, tool: Tool, template: str) -> tuple[str, str, dict[str, Leaf], dict[str, str]]:
    """A request: its text, the tool's name, the arguments of the call, and the argument of each slot of the tool."""
    random = source.random
    names: dict[str, str] = {}
    for slot, keys in tool.arguments.items():
        names[slot] = random.choice([key for key in keys if key not in names.values()])
    sentence = filled(source, template)
    arguments = {names[slot]: sentence.values[slot] for slot in tool.arguments if slot in sentence.values}
    return sentence.text, random.choice(tool.names), arguments, names


def call(random: Random) -> Pair:
    """A request, sometimes under a list of tools, and the call."""
    source = Words(random)
    tool = random.choice(TOOLS)
    template = random.choice(tool.requests) if random.random() < 0.45 else requested(random, tool.names[0])
    text, name, arguments, names = called(source, tool, template)
    if random.random() < 0.35:
        listed = [f"{name}({', '.join(names.values())})"]
        for other in random.sample([one for one in TOOLS if one is not tool], random.randint(1, 3)):
            listed.append(f"{random.choice(other.names)}({', '.join(keys[0] for keys in other.arguments.values())})")
        random.shuffle(listed)
        text = f"{random.choice(('Tools: ', 'Functions: ', ''))}{random.choice((', ', chr(10))).join(listed)}\n{text}"
    shape = random.choice((("name", "arguments"),) * 6 + (("tool", "arguments"), ("function", "parameters")))
    layout = random.choice(((", ", ": "), (", ", ": "), (", ", ": "), (",", ":")))
    answer = json.dumps({shape[0]: name, shape[1]: arguments}, ensure_ascii=False, separators=layout)
    return Pair(text + random.choice(("", "", "", "\n", "\n", " ", "\nCall: ")), answer)
