"""sfgen's models in ``llm``, by its command and its Python API."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sfgen
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Model

llm = pytest.importorskip("llm")

ROOT = Path(__file__).parents[2]


class Chatting(UniformModel):
    """Equal scores, with a chat template."""

    def chat(self, messages: Any) -> list[int]:
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return self.encode("".join(f"[{each['role']}]{each['content']}" for each in listed))


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The plugin as its entry point names it, in an ``llm`` that has nothing else."""
    from llm.plugins import load_plugins, pm

    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["llm"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_USER_PATH", str(tmp_path_factory.mktemp("llm")))
        load_plugins()  # type: ignore[no-untyped-call]  # the installed ones, of which this may be one
        module = __import__(named["sfgen"], fromlist=["register_models"])
        is_new = not pm.is_registered(module)
        if is_new:
            pm.register(module)
        yield
        if is_new:
            pm.unregister(module)


def run(*words: str, stdin: str | None = None) -> str:
    """What the command ``llm`` prints."""
    from click.testing import CliRunner
    from llm.cli import cli

    done = CliRunner().invoke(cli, list(words), input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return str(done.output)


def test_the_models_are_listed() -> None:
    listed = run("models", "--schemas", "--options")
    assert "sfgen/tiny" in listed
    assert "regex" in listed
    assert "zip:" not in listed


def test_a_schema_in_short_form() -> None:
    told = json.loads(run("-m", "sfgen/tiny", "--schema", "name, age int", "A person: "))
    assert set(told) == {"name", "age"}
    assert type(told["age"]) is int


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (["regex", "[0-9]{4}-[0-9]{2}"], "[0-9]{4}-[0-9]{2}"),
        (["choices", "hot, cold"], "hot|cold"),
        (["grammar", 'root ::= "<" [0-9]+ ">"'], "<[0-9]+>"),
        (["template", "{{a: regex [0-9]}} of 9"], "[0-9] of 9"),
        (["ban", "e*, o*", "max_tokens", "20"], r"(?!(.*\W)?[eo]).*"),
    ],
)
def test_options(options: list[str], pattern: str) -> None:
    given = [word for name, value in zip(options[::2], options[1::2], strict=True) for word in ("-o", name, value)]
    assert re.fullmatch(pattern + "\n", run("-m", "sfgen/tiny", *given, "It is "), re.DOTALL)


def test_a_text_is_the_library_s() -> None:
    text = run("-m", "sfgen/tiny", "-o", "seed", "3", "-o", "max_tokens", "9", "Once ")
    assert text == sfgen.generate("tiny", "Once ", seed=3, max_tokens=9).text + "\n"


def test_a_fault_is_told() -> None:
    from click.testing import CliRunner
    from llm.cli import cli

    done = CliRunner().invoke(cli, ["-m", "sfgen/tiny", "-o", "regex", "[0-9", "x"])
    assert done.exit_code == 1
    assert "unterminated character set at position 0" in done.output


def test_a_text_is_streamed() -> None:
    response = llm.get_model("sfgen/tiny").prompt("The date: ", regex="[0-9]{4}-[0-9]{2}")
    parts = list(response)
    assert len(parts) > 3
    assert re.fullmatch("[0-9]{4}-[0-9]{2}", "".join(parts))
    result = sfgen.generate("tiny", "The date: ", regex="[0-9]{4}-[0-9]{2}")
    assert (response.usage().input, response.usage().output) == (result.prompt_tokens, len(result.token_ids))


def test_a_chat(tmp_path: Path) -> None:
    talk = run("chat", "-m", "sfgen/tiny", "-o", "regex", "[a-z]{3}", stdin="Hello\nMore\nquit\n")
    answers = re.findall(r"^(?:> )?([a-z]{3})$", talk, re.MULTILINE)
    assert len(answers) == 2, talk
    conversation = llm.get_model("sfgen/tiny").conversation()
    first, second = (conversation.prompt(text, regex="[a-z]{3}").text() for text in ("Hello", "More"))
    assert second == sfgen.generate("tiny", f"Hello\n\n{first}\n\nMore", regex="[a-z]{3}").text


def test_a_chat_template_writes_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfgen.integrations import llm as module

    model: Model = Chatting()
    monkeypatch.setattr(module, "_loaded", lambda name: model)
    conversation = llm.get_model("sfgen/tiny").conversation()
    first = conversation.prompt("Hi!", system="Be kind.", regex="[a-c]+", max_tokens=3).text()
    second = conversation.prompt("Ho!", regex="[a-c]+", max_tokens=3).text()
    messages = [("system", "Be kind."), ("user", "Hi!"), ("assistant", first), ("user", "Ho!")]
    talk: Any = [{"role": role, "content": content} for role, content in messages]
    assert second == sfgen.generate(model, talk, regex="[a-c]+", max_tokens=3).text


def test_beside_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfgen.integrations import llm as module

    loaded = module._loaded

    def noted(name: str) -> Model:
        assert threading.current_thread() is not threading.main_thread(), "others wait while a model is loaded"
        return loaded(name)

    monkeypatch.setattr(module, "_loaded", noted)

    async def parts() -> list[str]:
        response = llm.get_async_model("sfgen/tiny").prompt("The date: ", regex="[0-9]{4}")
        return [part async for part in response]

    assert re.fullmatch("[0-9]{4}", "".join(asyncio.run(parts())))
