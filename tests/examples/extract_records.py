"""Extract records: sentences become objects of a class, and lines of JSON that jq reads.

A dataclass is the schema (so are pydantic's models, a dict, a file, or ``"name, age int"``). The text is valid by it,
whatever the model would have liked to write. ``python extract_records.py | jq .city`` takes one field. What it prints:

    {"name": "Ada Lovelace", "age": 36, "job": "mathematician", "city": "London"}
    {"name": "Peter Smith", "age": 41, "job": "baker", "city": "Rome"}
    {"name": "Maria Rossi", "age": 52, "job": "nurse", "city": "Madrid"}
"""

import json
from dataclasses import asdict, dataclass

import sfgen


@dataclass
class Person:
    """Someone in a sentence."""

    name: str
    age: int
    job: str
    city: str


SENTENCES = [
    "Ada Lovelace, 36, is a mathematician in London.",
    "Call me on Monday, says Peter Smith, 41, a baker in Rome.",
    "Maria Rossi, 52, works as a nurse in Madrid.",
]

model = sfgen.load_model("tiny")
schema = sfgen.JsonSchema(Person)  # made once: the token masks are shared by all texts
for sentence in SENTENCES:
    person: Person = sfgen.generate(model, sentence, schema=schema).parsed
    print(json.dumps(asdict(person)))
