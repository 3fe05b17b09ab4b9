"""langchain-openai against ``sfgen serve``: messages, streams, objects by a schema. The address is the one argument."""

from __future__ import annotations

import re
import sys
from typing import Any, Literal

import pydantic
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAI


class Person(pydantic.BaseModel):
    """A person."""

    name: str = pydantic.Field(pattern="^[A-Z][a-z]{1,9}$")
    kind: Literal["elf", "orc"]


def main(address: str) -> None:
    """Ask as its users do; print what was done."""
    talk = [SystemMessage("Be short."), HumanMessage("Hi!")]
    server: dict[str, Any] = {"base_url": address, "api_key": "none", "max_retries": 0, "seed": 1}
    chat = ChatOpenAI(model="chat", max_completion_tokens=20, **server)
    whole = chat.invoke(talk)
    print("invoked", repr(whole.content))
    streamed = "".join(str(chunk.content) for chunk in chat.stream(talk))
    assert streamed == whole.content
    year = chat.bind(extra_body={"regex": "20[0-9]{2}"}).invoke(talk)
    assert re.fullmatch("20[0-9]{2}", str(year.content))
    print("bound", year.content)
    clean = chat.bind(extra_body={"banned_strings": ["a", "e"]}).invoke(talk)
    assert not set("ae") & set(str(clean.content))
    long = ChatOpenAI(model="chat", **server)
    person = long.with_structured_output(Person, method="json_schema").invoke(talk)
    assert isinstance(person, Person)
    print("structured", person.model_dump_json())
    batch = long.with_structured_output(Person, method="json_schema").batch([talk, talk])
    assert batch == [person, person]
    texts = OpenAI(model="tiny", max_tokens=9, **server)
    print("completed", repr(texts.invoke("Once upon")))


if __name__ == "__main__":
    main(sys.argv[1])
