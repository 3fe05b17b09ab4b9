"""Call a function: the model chooses one of several, with its arguments, and Python calls it.

``sfgen.tools_schema`` makes a schema of the functions' descriptions; what is written is always a call of one of them
whose arguments have the right names and types. What it prints:

    It is 21 degrees in Oslo.
    The timer rings in 12 minutes.
"""

from collections.abc import Callable

import sfgen


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is 21 degrees in {city}."


def timer(minutes: int) -> str:
    """Start a timer."""
    return f"The timer rings in {minutes} minutes."


FUNCTIONS: dict[str, Callable[..., str]] = {"weather": weather, "timer": timer}
TOOLS = [
    {"name": "weather", "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]}},
    {"name": "timer", "parameters": {"properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]}},
]

model = sfgen.load_model("tiny")
schema = sfgen.JsonSchema(sfgen.tools_schema(TOOLS))
for request in ("Tell me how the weather is in Oslo.", "I need a timer of 12 minutes, please."):
    call = sfgen.generate(model, f"{request}\n", schema=schema).value
    print(FUNCTIONS[call["name"]](**call["arguments"]))
