"""The three tasks: what the model is shown before it is asked, and the schema of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sfgen

from . import words

Value = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """A text with its answer, and a thought that leads from one to the other."""

    text: str
    thought: str
    answer: Value


@dataclass(frozen=True)
class Task:
    """One kind of question.

    Attributes:
        name: That of its file.
        title: For people.
        head: What stands before the examples.
        schema: Of the answers.
        examples: What the model is shown.
    """

    name: str
    title: str
    head: str
    schema: Value
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Layout:
    """How examples are written.

    Attributes:
        name: For records.
        title: For people.
        write: The JSON of an answer.
        thinks: Whether a thought stands before it.
    """

    name: str
    title: str
    write: Callable[[Value], str]
    thinks: bool = False

    def prompt(self, task: Task, text: str) -> str:
        """The examples and a text, up to where the answer begins, without the blank before it."""
        shown = "".join(
            f"{self._question(example.text)}{self._thought(example)} {self.write(example.answer)}\n\n"
            for example in task.examples
        )
        return task.head + shown + self._question(text)

    def _question(self, text: str) -> str:
        return f"Text: {text}\n{'Thought:' if self.thinks else 'JSON:'}"

    def _thought(self, example: Example) -> str:
        return f" {example.thought}\nJSON:" if self.thinks else ""


def backwards(value: Any) -> Any:
    """The same with the properties of each object in the opposite order."""
    if isinstance(value, dict):
        return {name: backwards(value[name]) for name in reversed(value)}
    return value


def spaced(value: Value) -> str:
    """As ``json.dumps`` writes it."""
    return json.dumps(value, ensure_ascii=False)


def compact(value: Value) -> str:
    """Without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("spaced", "examples as `json.dumps` writes them, properties in the schema's order", spaced),
        Layout("compact", "examples without blanks", compact),
        Layout("backwards", "examples with properties against the schema's order", lambda v: spaced(backwards(v))),
        Layout("thought", "examples with a thought before the JSON", spaced, thinks=True),
    )
}


def _object(**properties: Value) -> Value:
    """The schema of an object that has these properties and no others."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


_TEXT: Value = {"type": "string"}
_INTEGER: Value = {"type": "integer"}
_CODES: Value = {"type": "string", "enum": list(words.CURRENCIES.values())}

_EXTRACTION = Task(
    "extraction",
    "extraction: four fields of an order",
    "",
    _object(customer=_TEXT, product=_TEXT, quantity=_INTEGER, city=_TEXT),
    (
        Example(
            "Maria Lopez of Hamburg has bought three vases from our agent in Rome.",
            "Maria Lopez buys 3 vases for Hamburg.",
            {"customer": "Maria Lopez", "product": "vases", "quantity": 3, "city": "Hamburg"},
        ),
        Example(
            "Tom Reed took the order: send 14 towels to Bern, to Ivo Brandt, who has paid 60 euros.",
            "Ivo Brandt buys 14 towels for Bern.",
            {"customer": "Ivo Brandt", "product": "towels", "quantity": 14, "city": "Bern"},
        ),
        Example(
            "Five days ago Lena Hoff ordered thirteen bowls, which Tom Reed is to pack for Paris.",
            "Lena Hoff buys 13 bowls for Paris.",
            {"customer": "Lena Hoff", "product": "bowls", "quantity": 13, "city": "Paris"},
        ),
    ),
)

_CLASSIFICATION = Task(
    "classification",
    "classification: one of five topics, and the place",
    f"Topics: {', '.join(words.TOPICS)}.\n\n",
    _object(place=_TEXT, topic={"type": "string", "enum": list(words.TOPICS)}),
    (
        Example(
            "In Madrid the referee sent two players off.",
            "Players and a referee belong to a game.",
            {"place": "Madrid", "topic": "sport"},
        ),
        Example(
            "Ella writes from Dublin that the road was covered with ice.",
            "Ice on a road comes from cold.",
            {"place": "Dublin", "topic": "weather"},
        ),
        Example(
            "The stew was full of beans, as Peter told me in Naples.",
            "A stew with beans is a meal.",
            {"place": "Naples", "topic": "food"},
        ),
        Example(
            "News from Athens: the travellers boarded the ship.",
            "Travellers on a ship make a journey.",
            {"place": "Athens", "topic": "travel"},
        ),
        Example(
            "Monday, Warsaw: a trumpet was heard.",
            "A trumpet makes sounds.",
            {"place": "Warsaw", "topic": "music"},
        ),
    ),
)


def _tool(name: str, **parameters: Value) -> Value:
    return {"name": name, "parameters": _object(**parameters)}


_TOOLS = [
    _tool("send_message", to=_TEXT, text=_TEXT),
    _tool("play_music", artist=_TEXT, room={"type": "string", "enum": list(words.ROOMS)}),
    _tool("book_table", place=_TEXT, people=_INTEGER, day={"type": "string", "enum": list(words.DAYS)}),
    _tool("convert", amount={"type": "number"}, **{"from": _CODES, "to": _CODES}),
]

_FUNCTION_CALL = Task(
    "function_call",
    "function calls: one of four functions with two or three arguments",
    "",
    sfgen.tools_schema(_TOOLS),
    (
        Example(
            'Say "good night" to Peter for me.',
            "A message to Peter.",
            {"name": "send_message", "arguments": {"to": "Peter", "text": "good night"}},
        ),
        Example(
            "Book a table for ten at Bella Vista on Sunday.",
            "A table at Bella Vista for 10 on Sunday.",
            {"name": "book_table", "arguments": {"place": "Bella Vista", "people": 10, "day": "Sunday"}},
        ),
        Example(
            "Turn 80 francs into dollars.",
            "80 CHF become USD.",
            {"name": "convert", "arguments": {"amount": 80, "from": "CHF", "to": "USD"}},
        ),
        Example(
            "Play the Copper Birds in the bedroom.",
            "Music by the Copper Birds in the bedroom.",
            {"name": "play_music", "arguments": {"artist": "the Copper Birds", "room": "bedroom"}},
        ),
        Example(
            "What are 7.5 pounds in yen?",
            "7.5 GBP become JPY.",
            {"name": "convert", "arguments": {"amount": 7.5, "from": "GBP", "to": "JPY"}},
        ),
    ),
)

TASKS = {task.name: task for task in (_EXTRACTION, _CLASSIFICATION, _FUNCTION_CALL)}
