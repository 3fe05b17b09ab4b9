"""instructor against ``sfgen serve``: objects of a class by its schema. The address of the API is the one argument."""

from __future__ import annotations

import sys
from typing import Any, Literal

import instructor
import openai
import pydantic


class Person(pydantic.BaseModel):
    """A person."""

    name: str = pydantic.Field(pattern="^[A-Z][a-z]{1,9}$")
    age: int = pydantic.Field(ge=0, le=120)
    kind: Literal["elf", "orc"]


def main(address: str) -> None:
    """Ask as its users do, whole and streamed; print what was done."""
    messages: Any = [{"role": "user", "content": "A person, please."}]
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as own:
        client: Any = instructor.from_openai(own, mode=instructor.Mode.JSON_SCHEMA)
        for seed in range(3):
            wish = {"model": "chat", "messages": messages, "response_model": Person, "seed": seed, "max_retries": 0}
            person = client.chat.completions.create(**wish)
            assert isinstance(person, Person)
            print(person.model_dump_json())
            *_, last = client.chat.completions.create_partial(**wish)
            assert last.model_dump() == person.model_dump()


if __name__ == "__main__":
    main(sys.argv[1])
